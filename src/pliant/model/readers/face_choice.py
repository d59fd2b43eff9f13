"""Faces of a part as users name them: x=0, x=max, cylinder r=18mm, a name of the CAD file, #3, and sums of these.

x=600mm                      plane faces at a place along an axis (plain numbers are in m); also min and max
cylinder r=18mm axis=z x=0.15    cylinders by radius, direction, and a place of their axis or centre
flange                       faces of that name in the STEP file
#3                           by number, as `--list-faces` shows them
x=0 + #5                     several
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NoReturn

import numpy as np
from pydantic_core import PydanticCustomError

from pliant.errors import ModelError, Problem, did_you_mean, show
from pliant.model.units import Quantity
from pliant.solid_mechanics.cad_faces import LETTERS, SolidFace
from pliant.solid_mechanics.solid_mesh import Array

NEAR = 1e-4
"""Part of the solid's extent by which a face may lie beside the place that was said."""
_PLANE = re.compile(r"([xyz])\s*=\s*(.+)")
_KEY = re.compile(r"(\w+)\s*=\s*(\S+)")
_MANY = 12


def chosen_faces(text: str, faces: Sequence[SolidFace], what: str) -> list[SolidFace]:
    """The faces that a text means, at least one; raises ModelError with those that there are.

    what  whose face it is, for errors: root, or frame 'tip'
    """
    found: dict[int, SolidFace] = {}
    for part in text.split("+"):
        for face in _one(part.strip(), faces, what):
            found[face.number] = face
    return list(found.values())


def face_and_point(text: str, what: str) -> tuple[str, Array | None]:
    """A text FACE or FACE@x,y,z: the face, and the origin that is given with it (m)."""
    face, _, point = text.partition("@")
    if not point:
        return face.strip(), None
    numbers = [_length(word, what, text) for word in point.split(",")]
    if len(numbers) != 3:
        _refuse(what, f"is {show(text)}; an origin is three lengths after '@', such as @0.6,0,0")
    return face.strip(), np.array(numbers)


def _one(text: str, faces: Sequence[SolidFace], what: str) -> list[SolidFace]:
    if match := re.fullmatch(r"#?(\d+)", text):
        own = [face for face in faces if face.number == int(match[1])]
        numbers = [str(face.number) for face in faces]
        return own or _refuse(
            what, f"is face {text}; the part has the faces {', '.join(numbers[:_MANY])}{_more(numbers)}"
        )
    if match := _PLANE.fullmatch(text):
        return _planes(match[1], match[2].strip(), faces, what)
    if text.startswith("cylinder"):
        return _cylinders(text, faces, what)
    own = [face for face in faces if face.name == text]
    named = sorted({face.name for face in faces if face.name})
    if own:
        return own
    known = f"; its names are {', '.join(named[:_MANY])}{_more(named)}" if named else "; its faces have no names"
    return _refuse(
        what,
        f"is {show(text)}, which is no face of the part{did_you_mean(text, named) or known}. Write x=0, "
        "cylinder r=18mm, a name, or #3 (--list-faces shows them)",
    )


def _planes(letter: str, value: str, faces: Sequence[SolidFace], what: str) -> list[SolidFace]:
    axis = LETTERS.index(letter)
    planes = [f for f in faces if f.plane is not None and abs(f.plane[axis]) > 1 - 1e-6]
    places = sorted({round(float(face.centroid[axis]), 9) for face in planes})
    if not planes:
        _refuse(what, f"is {letter}={value}; no plane face of the part lies across {letter}")
    if value in ("min", "max"):
        wanted = places[0] if value == "min" else places[-1]
    else:
        wanted = _length(value, what, f"{letter}={value}")
    near = NEAR * float(np.ptp(faces[0].places, axis=0).max())
    own = [face for face in planes if abs(face.centroid[axis] - wanted) <= near]
    shown = ", ".join(f"{1e3 * x:.6g}" for x in places[:_MANY])
    known = f"plane faces across {letter} are at {shown} mm{_more(places)}"
    return own or _refuse(what, f"is {letter}={value}; {known}, none at {1e3 * wanted:g} mm")


def _cylinders(text: str, faces: Sequence[SolidFace], what: str) -> list[SolidFace]:
    rest = text.removeprefix("cylinder").strip()
    keys = dict(_KEY.findall(rest))
    unknown = sorted(set(keys) - {"r", "axis", *LETTERS})
    if _KEY.sub("", rest).strip() or unknown or keys.get("axis", "x") not in LETTERS:
        _refuse(what, f"is {show(text)}; a cylinder is written as cylinder r=18mm, with axis=z and x=0.15 where needed")
    own = [face for face in faces if face.cylinder is not None]
    near = NEAR * float(np.ptp(faces[0].places, axis=0).max())
    tests: list[Callable[[SolidFace], bool]] = []
    if "r" in keys:
        r = _length(keys["r"], what, text)
        tests.append(lambda face: face.cylinder is not None and abs(face.cylinder[2] - r) <= max(near, 0.01 * r))
    if "axis" in keys:
        along = LETTERS.index(keys["axis"])
        tests.append(lambda face: face.cylinder is not None and abs(face.cylinder[0][along]) > 1 - 1e-6)
    for k, letter in enumerate(LETTERS):
        if letter in keys:
            place = _length(keys[letter], what, text)
            tests.append(lambda face, k=k, place=place: _is_at(face, k, place, near))  # type: ignore[misc]
    found = [face for face in own if all(test(face) for test in tests)]
    known = ", ".join(f"#{face.number} {face.words}" for face in own[:_MANY]) or "none"
    return found or _refuse(what, f"is {show(text)}; the part's cylinders are {known}{_more(own)}")


def _is_at(face: SolidFace, k: int, place: float, near: float) -> bool:
    """Whether the axis of a cylinder passes a place, or its centre lies there along its axis."""
    assert face.cylinder is not None
    direction, point, _ = face.cylinder
    here = face.centroid if abs(direction[k]) > 0.5 else point
    return bool(abs(here[k] - place) <= near)


def _length(text: str, what: str, whole: str) -> float:
    try:
        try:
            return float(text)
        except ValueError:
            return float(Quantity("m").read(text.strip(), {"units": True}))
    except PydanticCustomError:
        _refuse(what, f"is {show(whole)}; '{text}' is no length, such as 0.6 (m) or 600mm")


def _more(items: Sequence[object]) -> str:
    return f" and {len(items) - _MANY} more" if len(items) > _MANY else ""


def _refuse(what: str, message: str) -> NoReturn:
    raise ModelError(Problem(what, message))
