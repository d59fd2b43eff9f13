"""How a beam is made into a finite number of coordinates: assumed modes, beam elements or lumped nodes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    StrictBool,
    WrapSerializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import show
from pliant.model.element import Array, Element, at, refuse, rule
from pliant.model.expressions import Expression, ExpressionError, parse_expression
from pliant.model.once import once_per_element
from pliant.model.units import NON_NEGATIVE, Quantity, Rate, Ratio, Time, WholeNumber

FAMILIES = ("bend_y", "bend_z", "torsion", "axial", "shear_y", "shear_z")
MOST_MODES = 100
MOST_NODES = 1000

Shape = Literal[
    "auto",
    "clamped-free",
    "clamped-mass",
    "pinned-pinned",
    "pinned-free",
    "free-free",
    "polynomial",
    "legendre",
    "user",
]
LOADED: Shape = "clamped-mass"
"""What ``auto`` means: the shapes of the beam that carries its load, with which one mode is within 0.1 %."""
AUTO: Literal["auto"] = "auto"
"""A number of modes that an error estimate finds: see ``bodies/auto_counts.py``."""
Count = Annotated[int | Literal["auto"], WholeNumber(0, MOST_MODES, words=(AUTO,))]
Normalise = Literal["mass", "tip", "unit", "none"]
TipMass = Annotated[float | Literal["auto"], Quantity("kg", NON_NEGATIVE, words=("auto",))]
TipInertia = Annotated[float | Literal["auto"], Quantity("kg m^2", NON_NEGATIVE, words=("auto",))]
ShapeFunction = Callable[[Array, float], tuple[Array, ...]]


class _ExpressionOrFunction:
    """The reading of one user shape: text in the safe language, or (in Python only) a function."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(
            self.read, serialization=core_schema.plain_serializer_function_ser_schema(self.write)
        )

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "string", "examples": ["1 - cos(pi*x/(2*L))"]}

    @staticmethod
    def read(value: Any) -> Any:
        if callable(value):
            return value
        if not isinstance(value, str):
            raise PydanticCustomError(
                "value", "is {given}; it must be an expression in x and L, in quotes", {"given": show(value)}
            )
        try:
            parse_expression(value)
        except ExpressionError as error:
            raise PydanticCustomError("value", "cannot be read: {why}", {"why": str(error)}) from None
        return value

    @staticmethod
    def write(value: Any) -> str:
        if not isinstance(value, str):
            raise ValueError("a mode shape that is a Python function cannot be written to a file")
        return value


Expressions = tuple[Annotated[str | ShapeFunction, _ExpressionOrFunction()], ...]


class Family(Element):
    """The assumed modes of one family; keys that are left out are those of `modes`."""

    count: Count | None = Field(
        default=None,
        description="number of modes, or auto: as many as an error estimate asks for, none where nothing excites the "
        "family; default for the shape user: one per expression",
    )
    shape: Shape | None = Field(default=None, description="boundary conditions, polynomial, legendre or user")
    normalise: Normalise | None = Field(default=None, description="mass, tip, unit or none")
    tip_mass: TipMass | None = Field(default=None, description="mass at the tip for the shape clamped-mass, or auto")
    tip_inertia: TipInertia | None = Field(default=None, description="inertia at the tip for clamped-mass, or auto")
    expressions: Expressions | None = Field(default=None, description="shapes in x and L for the shape user")


def _count_alone(value: Any) -> Any:
    """``bend_y: 2`` is short for ``bend_y: {count: 2}``."""
    return value if isinstance(value, dict | Family) or value is None else {"count": value}


def _as_count(value: Family | None, handler: Any) -> Any:
    data = handler(value)
    return data["count"] if data is not None and set(data) == {"count"} else data


class _CountAllowed:
    """The JSON schema of a family that may be a count."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 0, "maximum": MOST_MODES}, {"enum": [AUTO]}, handler(schema)]}


FamilyOrCount = Annotated[Family | None, BeforeValidator(_count_alone), WrapSerializer(_as_count), _CountAllowed()]


class Modes(Element):
    """Assumed modes. Each family is a count, or a mapping that overrides the common keys."""

    shape: Shape = Field(
        default="auto",
        description="boundary conditions, polynomial, legendre or user; auto: clamped, with what the tip carries",
    )
    bend_y: FamilyOrCount = Field(default=None, description="bending in y: a count or a mapping")
    bend_z: FamilyOrCount = Field(default=None, description="bending in z: a count or a mapping")
    torsion: FamilyOrCount = Field(
        default=None, description="torsion: a count or a mapping; switches the inertia of the sections on"
    )
    axial: FamilyOrCount = Field(default=None, description="elongation: a count or a mapping")
    shear_y: FamilyOrCount = Field(default=None, description="shear in y of an exact beam: a count or a mapping")
    shear_z: FamilyOrCount = Field(default=None, description="shear in z of an exact beam: a count or a mapping")
    normalise: Normalise = Field(default="mass", description="mass, tip, unit or none")
    tip_mass: TipMass = Field(default="auto", description="mass at the tip for the shape clamped-mass, or auto")
    tip_inertia: TipInertia = Field(default="auto", description="inertia at the tip for clamped-mass, or auto")
    expressions: Expressions = Field(default=(), description="shapes in x and L for the shape user")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self._check()
        return self

    @once_per_element
    def _check(self) -> None:
        """Modes of another robot as well were checked with that one."""
        given = [name for name in FAMILIES if getattr(self, name) is not None]
        if not given:
            raise rule(
                "no family of modes is given; say how many there are of bend_y, bend_z, torsion or axial (a number, or "
                "auto), leave `modes` out to have them chosen, or write rigid: true instead"
            )
        refuse([problem for name in given for problem in self._problems_of(name)])
        shapes = {self.resolve(name).shape for name in given}
        for key, shape in (
            ("expressions", "user"),
            ("tip_mass", "clamped-mass"),
            ("tip_inertia", "clamped-mass"),
        ):
            if key in self.model_fields_set and shape not in shapes:
                refuse([at(key, message=f"{key} is read only for the shape {shape}; write shape: {shape}")])

    def _problems_of(self, name: str) -> Iterator[InitErrorDetails]:
        family, own = self.resolve(name), getattr(self, name)
        if family.shape != "user" and family.count is None:
            yield at(name, message="key 'count' is missing")
        if family.shape == "user" and not family.expressions:
            yield at(name, message="the shape user needs expressions, such as ['x^2/L^2']")
        elif family.shape == "user" and family.count == AUTO:
            yield at(name, message="count is auto; the shape user has one mode per expression: leave count out")
        elif family.shape == "user" and int(family.count or 0) > len(family.expressions or ()):
            n = len(family.expressions or ())
            yield at(name, message=f"count is {family.count}; there are only {n} expressions")
        for key, shape in (
            ("expressions", "user"),
            ("tip_mass", "clamped-mass"),
            ("tip_inertia", "clamped-mass"),
        ):
            if getattr(own, key) is not None and family.shape != shape:
                yield at(
                    name,
                    key,
                    message=f"{key} is read only for the shape {shape}; the shape is {family.shape}",
                )

    @once_per_element
    def resolve(self, name: str) -> Family:
        """A family with the common keys filled in and no shape auto; its count is 0 when it is not given."""
        own: Family | None = getattr(self, name)
        if own is None:
            return Family(count=0, shape=LOADED if self.shape == "auto" else self.shape)
        common = {key: getattr(self, key) for key in ("shape", "normalise", "tip_mass", "tip_inertia", "expressions")}
        filled = {key: value if getattr(own, key) is None else getattr(own, key) for key, value in common.items()}
        count = own.count
        if filled["shape"] == "auto":
            filled["shape"] = LOADED
        if filled["shape"] == "user" and count is None:
            count = len(filled["expressions"])
        if filled["shape"] != "user":
            filled["expressions"] = ()
        return Family(count=count, **filled)

    def families(self) -> Mapping[str, Family]:
        """The families that have modes, in the order of the coordinates."""
        return {name: self.resolve(name) for name in self.family_names}

    @property
    def family_names(self) -> tuple[str, ...]:
        """Their names, without what they are."""
        return tuple(name for name in FAMILIES if self._count(name))

    def _count(self, name: str) -> int | str:
        own: Family | None = getattr(self, name)
        if own is None:
            return 0
        if own.count is None and (own.shape or self.shape) == "user":
            return len(own.expressions or self.expressions or ())
        return own.count or 0

    @property
    def automatic(self) -> tuple[str, ...]:
        """The families whose number of modes is left to an error estimate."""
        return tuple(name for name in FAMILIES if self._count(name) == AUTO)

    def with_counts(self, counts: Mapping[str, int]) -> Modes:
        """These modes with other numbers of shapes; families that it does not have yet get its common shape."""
        # of modes that were checked
        own = {name: getattr(self, name) or Family() for name in counts}
        return self.model_copy(update={name: own[name].model_copy(update={"count": n}) for name, n in counts.items()})


def user_shape(shape: str | ShapeFunction) -> Expression | ShapeFunction:
    """A user shape as a function of (x, L) that returns phi, phi' and phi'' (an expression also phi''')."""
    return parse_expression(shape) if isinstance(shape, str) else shape


class Reduction(Element):
    """The reduction of a beam of elements: none, static (tip only), Craig-Bampton (and interior modes)."""

    method: Literal["none", "static", "craig_bampton"] = Field(
        default="none", description="none, static or craig_bampton"
    )
    modes: Annotated[int, WholeNumber(0, MOST_MODES)] = Field(
        default=0, description="fixed-tip modes per family for craig_bampton"
    )

    @model_validator(mode="after")
    def _modes_of_method(self) -> Self:
        if self.modes and self.method != "craig_bampton":
            raise rule("modes are kept only by the method craig_bampton")
        return self


def _read_reduction(value: Any) -> Any:
    """``reduce: static`` and ``reduce: {craig_bampton: 3}`` are the short forms."""
    if isinstance(value, str):
        return {"method": value}
    if isinstance(value, dict) and set(value) == {"craig_bampton"}:
        return {"method": "craig_bampton", "modes": value["craig_bampton"]}
    if isinstance(value, dict) and set(value) == {"static"} and value["static"] in (True, None):
        return {"method": "static"}
    return {"method": "none"} if value is None else value


def _write_reduction(value: Reduction, handler: Any) -> Any:
    return {"craig_bampton": value.modes} if value.method == "craig_bampton" else value.method


class _ReductionSchema:
    """The JSON schema of the short forms."""

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        modes = {"type": "integer", "minimum": 0, "maximum": MOST_MODES}
        return {
            "anyOf": [
                {"enum": ["none", "static"]},
                {
                    "type": "object",
                    "properties": {"craig_bampton": modes},
                    "required": ["craig_bampton"],
                    "additionalProperties": False,
                },
                handler(schema),
            ]
        }


class _Switches(Element):
    """Families that are switched on or off."""

    bend_y: StrictBool = Field(default=True, description="bending in y")
    bend_z: StrictBool = Field(default=True, description="bending in z")
    torsion: StrictBool = Field(default=False, description="torsion; switches the inertia of the sections on")
    axial: StrictBool = Field(default=False, description="elongation")

    @model_validator(mode="after")
    def _some_family(self) -> Self:
        if not self.families():
            raise rule("no family is switched on; choose among bend_y, bend_z, torsion and axial")
        return self

    def families(self) -> tuple[str, ...]:
        """The families that bend, twist or stretch, in the order of the coordinates."""
        return tuple(name for name in FAMILIES if getattr(self, name, False))


class Elements(_Switches):
    """Cubic beam elements, clamped at the root."""

    number: Annotated[int, WholeNumber(1, MOST_NODES)] = Field(description="number of elements")
    timoshenko: StrictBool = Field(default=False, description="shear deformation")
    reduce: Annotated[
        Reduction, BeforeValidator(_read_reduction), WrapSerializer(_write_reduction), _ReductionSchema()
    ] = Field(default_factory=lambda: Reduction(), description="none, static or {craig_bampton: number of modes}")


class Lumped(_Switches):
    """Rigid lumps at nodes, joined by massless cubic beams; the root is clamped."""

    nodes: Annotated[int, WholeNumber(1, MOST_NODES)] = Field(description="number of moving nodes, the tip included")


class Rayleigh(Element):
    """Damping proportional to mass and stiffness: ``D = mass M + stiffness K``."""

    mass: Rate = Field(default=0.0, description="factor of the mass matrix")
    stiffness: Time = Field(default=0.0, description="factor of the stiffness matrix")


class Damping(Element):
    """Structural damping of a link: a ratio of critical damping for all modes, or Rayleigh damping.

    Of a whole robot: the ratio of its own modes in the reference pose while the drives hold it.
    """

    ratio: Ratio | None = Field(
        default=None, description="fraction of critical damping of every mode of the link with all that it carries"
    )
    rayleigh: Rayleigh | None = Field(default=None, description="factors of the mass and stiffness matrices")

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if (self.ratio is None) == (self.rayleigh is None):
            raise rule("give either ratio or rayleigh")
        return self
