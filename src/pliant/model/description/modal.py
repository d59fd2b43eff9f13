"""Modal data from elsewhere: the constants of a flexible link in numbers, of an experiment or a program."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self
from weakref import WeakValueDictionary

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import show
from pliant.model.description.discretisation import Damping
from pliant.model.description.placement import Placement
from pliant.model.element import Array, Element, Frozen, Name, of_value, refuse
from pliant.model.units import LARGEST, Length, PositiveMass, Quantity
from pliant.spatial.rounding import exceeds

MOST_COORDINATES = 300
DEEPEST_ARRAY = 4
# eigenvalues of matrices that were printed with few digits
DEFINITE = 1e-6
SYMMETRIC = 1e-6
SINGULAR = 1e-12


_COORDINATE = re.compile(r"[\w+-]{1,40}(\.[\w+-]{1,40}){0,3}")


class _Numbers:
    """The reading of nested lists of plain SI numbers as nested tuples."""

    number = Quantity("")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "array"}

    def read(self, value: Any, info: ValidationInfo) -> Any:
        if isinstance(value, np.ndarray):
            if _is_plain(value):
                return _tuples(value)
            value = value.tolist()
        if not isinstance(value, list | tuple):
            raise PydanticCustomError("value", "is {given}; it must be a list of numbers", {"given": show(value)})
        return self._nested(value, DEEPEST_ARRAY, info.context)

    def _nested(self, value: Any, depth: int, context: Any) -> Any:
        if isinstance(value, list | tuple) and depth:
            # a large body has half a million plain numbers; what is not finite is not less than anything
            if all(type(entry) is float and abs(entry) < LARGEST for entry in value):
                return tuple(value)
            return tuple(self._nested(entry, depth - 1, context) for entry in value)
        return self.number.read(value, context)


def _is_plain(A: Array) -> bool:
    """Whether an array needs no more than to be kept; what is not finite is not less than anything."""
    return A.dtype == float and 1 <= A.ndim <= DEEPEST_ARRAY and A.size > 0 and bool((np.abs(A) < LARGEST).all())


def _tuples(A: Array) -> tuple[Any, ...]:
    """An array as nested tuples."""
    items: Iterable[Any] = A.ravel().tolist()
    for n in reversed(A.shape[1:]):
        items = zip(*[iter(items)] * n, strict=True)
    return tuple(items)


NumberArray = Annotated[tuple[Any, ...], _Numbers()]


def _check_coordinate(name: str) -> str:
    if not _COORDINATE.fullmatch(name):
        raise PydanticCustomError(
            "value", "is {given}; it must be words joined by dots, such as bend_y.1", {"given": show(name)}
        )
    return name


CoordinateName = Annotated[str, AfterValidator(_check_coordinate)]


class ModalFrame(Placement):
    """A frame of a link with modal data: where it sits, and how each coordinate moves and turns it."""

    Phi_d: NumberArray = Field(default=(), description="displacement shapes, 3 rows of n numbers; default zero")
    Phi_r: NumberArray = Field(default=(), description="rotation shapes, 3 rows of n numbers; default zero")
    Gamma: NumberArray = Field(
        default=(), description="second-order displacement: the frame moves by q^T Gamma q / 2 more, 3 x n x n"
    )
    Gamma_r: NumberArray = Field(
        default=(), description="second-order turn: the frame turns by rot(Phi_r q + q^T Gamma_r q / 2), 3 x n x n"
    )


class ModalData(Element):
    """The constants of a flexible link in its own frame, as plain SI numbers (n elastic coordinates).

    names        names of the coordinates      n words; default mode.1, mode.2, ...
    mass         m                             kg
    first        int r dm                      (3,)
    first_modal  int phi_k dm                  (3, n)
    beta         int r x phi_k dm              (3, n)
    lam          int phi_k x phi_i dm          (n, n, 3)
    I_rr         int r~^T r~ dm                (3, 3)
    I_re         int r~^T phi_k~ dm            (n, 3, 3)
    I_ee         int phi_i~^T phi_k~ dm        (n, n, 3, 3)
    M_ee, K_ee, D_ee                           (n, n)

    A link whose points move by q^T Gamma q / 2 beyond their shapes bends to second order:

    Gamma_first   int Gamma dm                 (3, n, n)
    Gamma_second  int r_a Gamma_b dm           (3, 3, n, n)

    Its frames move and turn further by their own Gamma and Gamma_r; `bending: linear` leaves all of them out.
    """

    is_flexible: ClassVar[bool] = True
    has_axis: ClassVar[bool] = False

    names: tuple[CoordinateName, ...] = Field(
        default=(), description="names of the elastic coordinates; default mode.1, mode.2, ..."
    )
    mass: PositiveMass = Field(description="mass")
    length: Length = Field(default=0.0, description="length of the link, for drawings")
    first: NumberArray = Field(default=(0.0, 0.0, 0.0), description="int r dm, 3 numbers")
    first_modal: NumberArray = Field(default=(), description="int phi_k dm, 3 x n; default zero")
    beta: NumberArray = Field(default=(), description="int r x phi_k dm, 3 x n; default zero")
    lam: NumberArray = Field(default=(), description="int phi_k x phi_i dm, n x n x 3; default zero")
    I_rr: NumberArray = Field(description="int r~^T r~ dm, 3 x 3")
    I_re: NumberArray = Field(default=(), description="int r~^T phi_k~ dm, n x 3 x 3; default zero")
    I_ee: NumberArray = Field(default=(), description="int phi_i~^T phi_k~ dm, n x n x 3 x 3; default zero")
    M_ee: NumberArray = Field(description="modal mass matrix, n x n")
    K_ee: NumberArray = Field(description="modal stiffness matrix, n x n")
    D_ee: NumberArray = Field(default=(), description="modal damping matrix, n x n; default zero")
    Gamma_first: NumberArray = Field(
        default=(), description="int Gamma dm, 3 x n x n; none: the link bends linearly, loads do not stiffen it"
    )
    Gamma_second: NumberArray = Field(default=(), description="int r_a Gamma_b dm, 3 x 3 x n x n; with Gamma_first")
    bending: Literal["linear", "second-order"] | None = Field(
        default=None, description="linear or second-order; default second-order where Gamma_first is given"
    )
    stress: str | None = Field(default=None, description="stress data of the link: an .npz file, relative to this one")
    frames: Annotated[dict[Name, ModalFrame], Frozen] = Field(description="frames by name; tip is needed")

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        # asked again where the data become part of a robot; they cannot have changed, and to check takes long
        if _CHECKED.get(id(self)) is self:
            return self
        n = len(self.M_ee)
        if not 1 <= n <= MOST_COORDINATES:
            refuse([of_value("M_ee", message=f"has {n} rows; it must have 1 to {MOST_COORDINATES}")])
        if not self.names:
            self.__dict__["names"] = tuple(f"mode.{k + 1}" for k in range(n))
        refuse(self._shape_problems(n))
        refuse(self._frame_problems())
        refuse(self._matrix_problems())
        refuse(self._second_order_problems())
        _CHECKED[id(self)] = self
        return self

    @field_validator("stress")
    @classmethod
    def _beside_its_file(cls, value: str | None, info: ValidationInfo) -> str | None:
        """The place of the stress data, which the link keeps wherever it goes."""
        folder = (info.context or {}).get("folder") if isinstance(info.context, dict) else None
        if value is None or folder is None:
            return value
        path = Path(folder) / value
        if "\0" in value or not path.is_file():
            refuse([of_value(message=f"is {show(value)}; there is no such file in {folder}")])
        return str(path.absolute())

    @property
    def size(self) -> int:
        """Number of elastic coordinates."""
        return len(self.M_ee)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every array."""
        n = self.size
        return {
            "first": (3,),
            "first_modal": (3, n),
            "beta": (3, n),
            "lam": (n, n, 3),
            "I_rr": (3, 3),
            "I_re": (n, 3, 3),
            "I_ee": (n, n, 3, 3),
            "M_ee": (n, n),
            "K_ee": (n, n),
            "D_ee": (n, n),
        }

    @property
    def shortens(self) -> bool:
        """Whether it bends to second order."""
        return bool(self.Gamma_first) and self.bending != "linear"

    def second_order_shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of the arrays of second order."""
        n = self.size
        return {"Gamma_first": (3, n, n), "Gamma_second": (3, 3, n, n)}

    def array(self, key: str) -> Array:
        """One of the arrays, zeros when it is not given."""
        return _filled(getattr(self, key), (self.shapes() | self.second_order_shapes())[key])

    def frame_shapes(self, name: str) -> tuple[Array, Array]:
        """Phi_d and Phi_r (3, n) of a frame; zeros for the root when it is not given."""
        frame = self.frames.get(name, ModalFrame())
        return _filled(frame.Phi_d, (3, self.size)), _filled(frame.Phi_r, (3, self.size))

    def frame_shortening(self, name: str) -> Array:
        """Gamma (3, n, n) of a frame."""
        return _filled(self.frames.get(name, ModalFrame()).Gamma, (3, self.size, self.size))

    def frame_turning(self, name: str) -> Array:
        """Gamma_r (3, n, n) of a frame."""
        return _filled(self.frames.get(name, ModalFrame()).Gamma_r, (3, self.size, self.size))

    def _shape_problems(self, n: int) -> Iterator[InitErrorDetails]:
        if len(self.names) != n or len(set(self.names)) != n:
            yield of_value("names", message=f"has {len(self.names)} entries; it must be {n} different names")
        for key in ("I_rr", "M_ee", "K_ee"):
            if not getattr(self, key):
                yield of_value(key, message="is empty; it is needed")
        for key, wanted in (self.shapes() | self.second_order_shapes()).items():
            if (problem := _shape_problem(getattr(self, key), wanted)) is not None:
                yield of_value(key, message=problem)
        for name, frame in self.frames.items():
            wanted_shapes = {"Phi_d": (3, n), "Phi_r": (3, n), "Gamma": (3, n, n), "Gamma_r": (3, n, n)}
            for key, wanted in wanted_shapes.items():
                if (problem := _shape_problem(getattr(frame, key), wanted)) is not None:
                    yield of_value("frames", name, key, message=problem)

    def _frame_problems(self) -> Iterator[InitErrorDetails]:
        if "tip" not in self.frames:
            yield of_value("frames", message="has no frame 'tip'; give its position, Phi_d and Phi_r")

    def _matrix_problems(self) -> Iterator[InitErrorDetails]:
        for key in ("I_rr", "M_ee", "K_ee", "D_ee"):
            A = self.array(key)
            size = np.abs(A).max()
            if np.abs(A - A.T).max() > SYMMETRIC * size:
                yield of_value(key, message="is not symmetric; it must be")
            elif size == 0 or (key == "M_ee" and exceeds(A, SINGULAR * size)):
                continue
            elif not exceeds(A, -DEFINITE * size):
                yield of_value(key, message="has a negative eigenvalue; it must be positive semi-definite")
            elif key == "M_ee":
                yield of_value(key, message="is singular; every coordinate must move some mass")
        M = self.mass_matrix()
        if not exceeds(M, -DEFINITE):
            yield of_value("M_ee", message="does not fit mass, first, first_modal, beta and I_rr: kinetic energy < 0")

    def _second_order_problems(self) -> Iterator[InitErrorDetails]:
        """Frames and mass must move back together, and quadratic forms are symmetric."""
        both = [bool(self.Gamma_first), bool(self.Gamma_second)]
        if any(both) and not all(both):
            missing, given = ("Gamma_second", "Gamma_first") if both[0] else ("Gamma_first", "Gamma_second")
            yield of_value(missing, message=f"is not given, but {given} is; second-order bending needs both")
        if self.bending == "second-order" and not any(both):
            remedy = "give Gamma_first and Gamma_second, or write bending: linear"
            yield of_value("bending", message=f"is second-order, which these data do not know; {remedy}")
        for name, frame in self.frames.items():
            for key in ("Gamma", "Gamma_r"):
                if getattr(frame, key) and not all(both):
                    message = (
                        "is given without Gamma_first and Gamma_second of the mass; second-order bending needs them"
                    )
                    yield of_value("frames", name, key, message=message)
        if self.frame_turning("root").any():
            message = "turns the root to second order; the joint holds the root's tangent, leave it out"
            yield of_value("frames", "root", "Gamma_r", message=message)
        forms: list[tuple[tuple[str, ...], Array]] = [((key,), self.array(key)) for key in self.second_order_shapes()]
        forms += [(("frames", name, "Gamma"), self.frame_shortening(name)) for name in self.frames]
        forms += [(("frames", name, "Gamma_r"), self.frame_turning(name)) for name in self.frames]
        for place, form in forms:
            if np.abs(form - np.swapaxes(form, -1, -2)).max() > SYMMETRIC * np.abs(form).max():
                yield of_value(*place, message="is not symmetric in its last two indices; it must be")

    def mass_matrix(self) -> Array:
        """The mass matrix of the free body, rows scaled to a unit diagonal."""
        s, B, c = self.array("first"), self.array("first_modal"), self.array("beta")
        S = np.array([[0.0, -s[2], s[1]], [s[2], 0.0, -s[0]], [-s[1], s[0], 0.0]])
        M = np.block(
            [
                [self.mass * np.eye(3), -S, B],
                [S, self.array("I_rr"), c],
                [B.T, c.T, self.array("M_ee")],
            ]
        )
        scale = np.sqrt(np.maximum(np.diag(M), 0.0))
        scale = np.maximum(scale, SINGULAR * scale.max())
        scaled: Array = M / np.outer(scale, scale)
        return scaled


_CHECKED: WeakValueDictionary[int, ModalData] = WeakValueDictionary()
"""Data that have been checked, by their identity."""


def _filled(value: tuple[Any, ...], shape: tuple[int, ...]) -> Array:
    return np.array(value, dtype=float) if len(value) else np.zeros(shape)


def _shape_problem(value: tuple[Any, ...], wanted: tuple[int, ...]) -> str | None:
    """What is wrong with the shape of an array; an empty one stands for zeros."""
    if not len(value):
        return None
    try:
        found = np.array(value, dtype=float).shape
    except ValueError:
        return f"has rows of different lengths; it must be {_by(wanted)} numbers"
    return None if found == wanted else f"is {_by(found)}; it must be {_by(wanted)} numbers"


def _by(shape: tuple[int, ...]) -> str:
    return " x ".join(str(n) for n in shape)


def damping_matrix(modal: ModalData, given: Damping) -> list[list[float]]:
    """D (n, n): a ratio of every mode of the clamped link, or Rayleigh's factors."""
    from scipy.linalg import eigh

    M, K = modal.array("M_ee"), modal.array("K_ee")
    if given.rayleigh is not None:
        D = given.rayleigh.mass * M + given.rayleigh.stiffness * K
    else:
        squares, V = eigh(K, M)
        MV: Array = M @ V
        D = MV * (2 * float(given.ratio or 0.0) * np.sqrt(np.maximum(squares, 0.0))) @ MV.T
    return np.asarray((D + D.T) / 2).tolist()  # type: ignore[no-any-return]
