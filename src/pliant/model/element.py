"""The common base of all parts of a robot description, how their problems are put into words, and their keys as lists.

``help()`` lists the keys of an element with their units and meanings.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from inspect import Parameter, Signature
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Self, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, GetJsonSchemaHandler, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails, PydanticCustomError

from pliant.errors import MOST_PROBLEMS, ModelError, Problem, did_you_mean, nearest, show
from pliant.model.units import Acceleration, FirstMoment, Length, Number, Quantity

if TYPE_CHECKING:
    from pydantic._internal._model_construction import ModelMetaclass
else:
    # its home is no public one
    ModelMetaclass = type(BaseModel)

Array = NDArray[np.float64]
Path = tuple[int | str, ...]
K = TypeVar("K")
V = TypeVar("V")

SHOWN_KEYS = 6
LONGEST_NAME = 100
LONGEST_TITLE = 200
_NAME = re.compile(r"\w[\w+-]*")


_OF_PYDANTIC = frozenset(dir(BaseModel))


class _Kind(ModelMetaclass):
    """Classes of elements: ``help()`` and ``dir()`` show what Pliant gives them, not what every pydantic class has."""

    def __dir__(cls) -> list[str]:
        own = (name for name in super().__dir__() if name not in _OF_PYDANTIC)
        return [name for name in own if not name.startswith("__") or callable(getattr(cls, name, None))]


class Element(BaseModel, metaclass=_Kind):
    """A part of a robot: immutable, hashable, without unknown keys; construction raises ModelError only."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def __init__(self, /, **data: Any) -> None:
        try:
            self.__pydantic_validator__.validate_python(data, self_instance=self)
        except ValidationError as error:
            raise model_error(error, data, type(self)) from None

    @classmethod
    def __pydantic_init_subclass__(cls, **options: Any) -> None:
        """``help()`` lists the keys with their units below what the class says of itself."""
        super().__pydantic_init_subclass__(**options)
        own = inspect.cleandoc(cls.__dict__.get("__doc__") or "")
        # a schema lists its keys itself
        cls.model_config["json_schema_extra"] = {"description": own} if own else None
        cls._show_keys(own)

    @classmethod
    def _show_keys(cls, own: str) -> None:
        """Below its own words a class lists its keys; types and units stand there, annotations would fill a page."""
        cls.__doc__ = f"{own}\n\n{key_list(cls)}"
        cls.__signature__ = key_signature(cls)

    @classmethod
    def rebuild(cls) -> None:
        """Take up keys that were added to the class, or to its parts, since it was made."""
        cls.model_rebuild(force=True)
        extra = cls.model_config.get("json_schema_extra")
        cls._show_keys(str(extra.get("description", "")) if isinstance(extra, dict) else "")

    # pydantic must not take this constructor for one that changes what is validated
    __init__.__pydantic_base_init__ = True  # type: ignore[attr-defined]

    @classmethod
    def model_validate(cls, obj: Any, **options: Any) -> Self:
        """An element from a mapping of its keys, as pydantic offers it; raises ModelError."""
        try:
            return super().model_validate(obj, **options)
        except ValidationError as error:
            raise model_error(error, obj, cls) from None

    def with_changes(self, **changes: Any) -> Self:
        """A copy with some keys changed, checked like a new one."""
        return type(self)(**{**self.given(), **changes})

    def given(self) -> dict[str, Any]:
        """The keys that the user gave, without the filled-in ones."""
        return {key: getattr(self, key) for key in type(self).model_fields if key in self.model_fields_set}


def one_key_schema(kinds: Mapping[str, type[BaseModel]], handler: GetJsonSchemaHandler) -> dict[str, Any]:
    """The JSON schema of one of several kinds, written as a mapping with the kind as its only key."""
    return {
        "oneOf": [
            {
                "type": "object",
                "properties": {name: handler(kind.__pydantic_core_schema__)},
                "required": [name],
                "additionalProperties": False,
            }
            for name, kind in kinds.items()
        ]
    }


class FrozenDict(dict[K, V]):
    """A mapping that cannot change, so that what holds it can be hashed."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))

    def _refuse(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("this mapping cannot be changed; make a new robot with `with_changes`")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = __ior__ = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return (FrozenDict, (dict(self),))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self


# ---------------------------------------------------------------- names and vectors


def _check_name(value: Any) -> Any:
    if isinstance(value, str) and _NAME.fullmatch(value) and len(value) <= LONGEST_NAME:
        return value
    remedy = "it must be a word of letters, digits, '_' and '-'"
    if isinstance(value, int) and not isinstance(value, bool):
        remedy = f"it must be a word: write '{value}' in quotes"
    raise PydanticCustomError("value", "is {given}; {remedy}", {"given": show(value), "remedy": remedy})


def sequence(*lengths: int, of: str = "numbers") -> Callable[[Any], Any]:
    """A check that a value is a list of one of some lengths; numpy arrays become lists."""

    def check(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            value = value.tolist()
        wanted = " or ".join(str(n) for n in lengths)
        if not isinstance(value, list | tuple):
            raise PydanticCustomError(
                "value",
                "is {given}; it must be a list of {wanted} {of}",
                {"given": show(value), "wanted": wanted, "of": of},
            )
        if len(value) not in lengths:
            raise PydanticCustomError(
                "value",
                "has {n} entries; it must be a list of {wanted} {of}",
                {"n": len(value), "wanted": wanted, "of": of},
            )
        return value

    return check


def _encodable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise PydanticCustomError("value", "is {given}; it contains half a character", {"given": show(text)}) from None
    return text


def _one_line(name: str) -> str:
    if not name.strip() or len(name) > LONGEST_TITLE or not name.isprintable():
        raise PydanticCustomError("value", "is {given}; it must be one line of text", {"given": show(name)})
    return name


Text = Annotated[str, AfterValidator(_encodable)]
Title = Annotated[str, AfterValidator(_encodable), AfterValidator(_one_line)]
"""A name that people read: one line, without signs that steer a terminal."""
Name = Annotated[str, BeforeValidator(_check_name)]
three = BeforeValidator(sequence(3))
four = BeforeValidator(sequence(4))
Position = Annotated[tuple[Length, Length, Length], three]
Moment3 = Annotated[tuple[FirstMoment, FirstMoment, FirstMoment], three]
Acceleration3 = Annotated[tuple[Acceleration, Acceleration, Acceleration], three]
Direction = Annotated[tuple[Number, Number, Number], three]
Quaternion = Annotated[tuple[Number, Number, Number, Number], four]
Matrix3 = Annotated[tuple[Direction, Direction, Direction], BeforeValidator(sequence(3, of="rows"))]
Frozen = AfterValidator(FrozenDict)


# ---------------------------------------------------------------- raising and wording


def rule(message: str, **values: Any) -> PydanticCustomError:
    """An error of the element as a whole; the message is a full sentence, with values as ``str.format`` writes them."""
    # pydantic's own templates know no formats such as {end:g}
    return PydanticCustomError("rule", "{text}", {"text": message.format(**values) if values else message})


def at(*path: int | str, message: str) -> InitErrorDetails:
    """An error at a place below the element that is being checked; the message is a full sentence."""
    return InitErrorDetails(type=PydanticCustomError("rule", "{text}", {"text": message}), loc=path, input=None)


def of_value(*path: int | str, message: str) -> InitErrorDetails:
    """An error of the value at a place; the message goes on after its name ('is ...; it must ...')."""
    return InitErrorDetails(type=PydanticCustomError("value", "{text}", {"text": message}), loc=path, input=None)


def within(path: Path, problems: Iterable[InitErrorDetails]) -> Iterator[InitErrorDetails]:
    """The problems of a part, seen from the element that holds it at a path."""
    for problem in problems:
        yield InitErrorDetails(type=problem["type"], loc=(*path, *problem.get("loc", ())), input=None)


def refuse(problems: Iterable[InitErrorDetails], also: ValidationError | None = None) -> None:
    """Raise all problems at once, together with those of an earlier error."""
    lines = [
        InitErrorDetails(
            type=PydanticCustomError(line["type"], "{text}", {**line.get("ctx", {}), "text": line["msg"]}),
            loc=line["loc"],
            input=line["input"],
        )
        for line in (also.errors(include_url=False) if also else ())
    ]
    lines.extend(problems)
    if lines:
        raise ValidationError.from_exception_data("robot", lines)


def model_error(
    error: ValidationError,
    data: Any,
    kind: type[BaseModel],
    place: Callable[[Path, bool], tuple[str | None, int | None]] | None = None,
) -> ModelError:
    """The problems of a pydantic error in the user's words; `place` finds file and line of a path."""
    lines = error.errors(include_url=False)
    more, lines = len(lines) - MOST_PROBLEMS, lines[:MOST_PROBLEMS]
    # a misspelt key is one problem, not an unknown one and a missing one
    misspelt = {
        (*line["loc"][:-1], meant)
        for line in lines
        if line["type"] == "extra_forbidden"
        and (meant := nearest(line["loc"][-1], _known_keys(kind, line["loc"][:-1])))
    }
    problems = []
    for line in lines:
        path: Path = tuple(line["loc"])
        if line["type"] == "missing" and path in misspelt:
            continue
        element, inner = _element(path, data, kind)
        file, number = place(path, line["type"] == "missing") if place else (None, None)
        problems.append(Problem(element, _message(line, inner, kind), file, number))
    if more > 0:
        problems.append(Problem(kind.__name__, f"and {more} more problems"))
    return ModelError(problems)


def _element(path: Path, data: Any, kind: type[BaseModel]) -> tuple[str, Path]:
    """The name of the part that a path belongs to, and the rest of the path inside that part."""
    group, rest = (path[0], path[1:]) if path else ("", ())
    if group in ("links", "loops") and rest and isinstance(rest[0], int):
        part = peek(peek(data, group), rest[0])
        return f"{group}[{rest[0]}]{_quoted_name(part)}", rest[1:]
    if group == "materials" and rest:
        return f"materials '{rest[0]}'", rest[1:]
    return f"{kind.__name__}{_quoted_name(data)}", path


def _quoted_name(part: Any) -> str:
    name = peek(part, "name")
    return f" '{name}'" if isinstance(name, str) and len(name) <= LONGEST_NAME else ""


def peek(part: Any, key: Any) -> Any:
    """A key of a mapping, an item of a list or a field of an element, or None: raw data may be anything."""
    if isinstance(part, Mapping):
        return part.get(key)
    if isinstance(part, list | tuple) and isinstance(key, int):
        return part[key] if 0 <= key < len(part) else None
    return getattr(part, str(key), None) if isinstance(part, Element) else None


def path_text(path: Path) -> str:
    """``beam.segments[1].length``."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _message(line: Any, path: Path, kind: type[BaseModel]) -> str:
    error, given, context = line["type"], line["input"], line.get("ctx", {})
    where = path_text(path)
    if error == "missing":
        return _within(path[:-1], f"key '{path[-1]}' is missing")
    if error == "extra_forbidden":
        known = _known_keys(kind, tuple(line["loc"])[:-1])
        key = str(path[-1])[:LONGEST_NAME]
        hint = did_you_mean(key, known) or (f"; known keys: {', '.join(known)}" if known else "")
        return _within(path[:-1], f"unknown key '{key}'{hint}")
    if error == "value":
        return f"{where or 'it'} {line['msg']}"
    if error == "rule":
        return _within(path, line["msg"])
    if error == "literal_error":
        expected = str(context.get("expected", ""))
        hint = did_you_mean(given, re.findall(r"'([^']*)'", expected))
        return f"{where} is {show(given)}; it must be {expected}{hint}"
    wanted = {
        "bool_type": "true or false",
        "string_type": "text (numbers and the like in quotes)",
        "tuple_type": "a list",
        "list_type": "a list",
        "dict_type": "a mapping of names to values",
        "model_type": "a mapping of keys to values",
        "model_attributes_type": "a mapping of keys to values",
    }.get(error)
    if wanted:
        known = _known_keys(kind, tuple(line["loc"])) if error.startswith("model") else []
        keys = f": {', '.join(known[:SHOWN_KEYS])}{', ...' if len(known) > SHOWN_KEYS else ''}" if known else ""
        return f"{where or 'it'} is {show(given)}; it must be {wanted}{keys}"
    return _within(path, str(line["msg"]))


def _within(path: Path, sentence: str) -> str:
    return f"{path_text(path)}: {sentence}" if path else sentence


def _known_keys(kind: type[BaseModel], path: Path) -> list[str]:
    """The keys of the class that stands at a path below `kind`."""
    options: list[type[BaseModel]] = [kind]
    for step in path:
        found = [model.model_fields[step].annotation for model in options if step in model.model_fields]
        # a step that names no field is the index of a list, the key of a mapping or the tag of a union
        if found:
            options = [model for annotation in found for model in _models_in(annotation)]
        elif isinstance(step, str):
            tagged = [model for model in options if getattr(model, "kind", None) == step]
            options = tagged or options
    return [key for model in options for key in model.model_fields]


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    # one of several kinds, see ``tagged.OneOf``
    kinds: Mapping[str, type[BaseModel]] = getattr(annotation, "kinds", {})
    return [*kinds.values(), *(model for part in get_args(annotation) for model in _models_in(part))]


# ---- key list


WIDTH = 100


def key_list(kind: type[BaseModel]) -> str:
    """One entry per key: name, unit, default, meaning."""
    lines = ["Keys:"]
    for name, field in kind.model_fields.items():
        unit = _unit(field)
        facts = [f"[{unit}]"] if unit else []
        facts += ["required"] if field.is_required() else [f"default {field.default!r}"] if _plain(field) else []
        head = f"    {' '.join([name, *facts[:1]]) if unit else name}"
        told = "; ".join(filter(None, [field.description or "", *facts[1 if unit else 0 :]]))
        lines += wrap(f"{head}: {told}", WIDTH, subsequent_indent=" " * 8)
    return "\n".join(lines)


def key_signature(kind: type[BaseModel]) -> Signature:
    """The keys of an element and their defaults, as a call shows them."""
    return Signature(
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if field.is_required() else field.get_default(call_default_factory=True),
            )
            for name, field in kind.model_fields.items()
        ]
    )


def _plain(field: FieldInfo) -> bool:
    return isinstance(field.default, str | int | float | bool) and field.default != ""


def _unit(field: FieldInfo) -> str:
    found = list(dict.fromkeys(_units([*field.metadata, field.annotation])))
    return " or ".join(found)


def _units(parts: Any) -> list[str]:
    """Units of all quantities in an annotation; parts of an element have their own list."""
    out: list[str] = []
    for part in parts:
        if isinstance(part, Quantity):
            out += [unit for unit in (part.unit, part.sliding) if unit]
        elif not isinstance(part, type):
            # what Annotated carries beside its type is among its metadata
            out += _units([*get_args(part), *getattr(part, "__metadata__", ())])
            number = getattr(part, "number", None) or getattr(part, "reading", None)
            out += _units([number]) if isinstance(number, Quantity) else []
    return out
