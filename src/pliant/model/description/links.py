"""Links: a joint, a body and what is mounted on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Protocol, Self

import numpy as np
from pydantic import Field, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, did_you_mean
from pliant.model.description.beams import Beam
from pliant.model.description.cad import CadFiles
from pliant.model.description.fe import FiniteElementFiles
from pliant.model.description.inertia import Rigid, RigidPart
from pliant.model.description.joints import Joint
from pliant.model.description.modal import ModalData
from pliant.model.description.placement import Frame, Visual
from pliant.model.element import Array, Element, Name, at, of_value, refuse, rule
from pliant.model.once import once_per_element

# a frame may lie outside the beam by rounding only
END = 1e-9
BODY_KEYS = ["rigid", "beam", "modal", "fe", "cad"]
"""Keys of the bodies that a link may have; see ``add_body_key``."""


class BodyDescription(Protocol):
    """What a link needs to know of its body, whatever kind it is.

    length       distance of the tip from the root along x, m
    mass         kg
    is_flexible  whether it has elastic coordinates
    has_axis     whether frames of the link are given by their place x along it; others have positions
    """

    @property
    def length(self) -> float: ...
    @property
    def mass(self) -> float: ...
    @property
    def is_flexible(self) -> bool: ...
    @property
    def has_axis(self) -> bool: ...
    def section_pose(self, x: float) -> tuple[Array, Array]:
        """Position (3,) and axes (3, 3) of the section at x of the unloaded body; asked for where it has an axis."""
        ...

    def stiffened(self) -> Any:
        """The body without elastic coordinates; asked for where it has some."""
        ...


class Link(Element):
    """A link with its inboard joint: `rigid`, `beam`, `modal`, `fe` or `cad`; none of them is a massless connector.

    The link frame sits at the moving side of the joint. The frames ``root`` (the link frame itself) and
    ``tip`` always exist.
    """

    name: Name = Field(description="name of the link")
    joint: Joint = Field(description="the joint that carries the link")
    rigid: Rigid | None = Field(default=None, description="a rigid body")
    beam: Beam | None = Field(default=None, description="a beam along x")
    modal: ModalData | None = Field(default=None, description="modal data from elsewhere")
    fe: FiniteElementFiles | None = Field(default=None, description="matrices of a finite-element program")
    cad: CadFiles | None = Field(default=None, description="a solid of a STEP or STL file")
    hub: RigidPart | None = Field(
        default=None, description="rigid part on the moving side of the joint, at the root frame"
    )
    payloads: tuple[RigidPart, ...] = Field(default=(), description="rigid parts carried by frames of the link")
    frames: tuple[Frame, ...] = Field(default=(), description="further named frames")
    visuals: tuple[Visual, ...] = Field(default=(), description="what the link looks like, for drawings")

    @model_validator(mode="after")
    def _complete(self) -> Self:
        self._check()
        return self

    @once_per_element
    def _check(self) -> None:
        """A link of another robot as well was checked with that one."""
        kinds = [key for key in BODY_KEYS if getattr(self, key) is not None]
        if len(kinds) > 1:
            known = f"{', '.join(BODY_KEYS[:-1])} and {BODY_KEYS[-1]}"
            raise rule("give at most one of {known}; {found} are given", known=known, found=" and ".join(kinds))
        for key in ("fe", "cad"):
            if (given := getattr(self, key)) is not None:
                # the files are read: from here on the link is what they say
                self.__dict__.update({"modal": given.modal, key: None})
                self.__pydantic_fields_set__.symmetric_difference_update({"modal", key})
        if self.joint.name is None:
            self.__dict__["joint"] = self.joint.model_copy(update={"name": self.name})
        refuse([*self._name_problems(), *self._frame_problems(), *self._part_problems()])

    def _name_problems(self) -> Iterator[InitErrorDetails]:
        if self.name == "base":
            yield of_value("name", message="is 'base'; that name means the fixed base, choose another")
        taken = {"root", "tip"} if self._tip_is_given else {"root"}
        for i, frame in enumerate(self.frames):
            if frame.name in taken:
                message = f"is '{frame.name}'; the link has a frame of that name, choose another"
                yield of_value("frames", i, "name", message=message)
            taken.add(frame.name)

    @property
    def _tip_is_given(self) -> bool:
        return self.body is not None and (self.rigid is None or bool(self.rigid.length))

    def _frame_problems(self) -> Iterator[InitErrorDetails]:
        if self.modal is not None and self.frames:
            yield at(
                "frames",
                message="frames of a link with modal data need their shapes; put them in modal.frames",
            )
            return
        for i, frame in enumerate(self.frames):
            if not self.has_axis and frame.x is not None:
                yield at("frames", i, "x", message="x is the place along a beam; give position instead")
            if self.has_axis and frame.x is None:
                yield at("frames", i, message="key 'x' is missing: the place along the beam")
            if self.has_axis and not -END <= (frame.x or 0.0) / self.length <= 1 + END:
                message = f"is {frame.x} m; it must lie between 0 and the length {self.length} m"
                yield of_value("frames", i, "x", message=message)

    def _part_problems(self) -> Iterator[InitErrorDetails]:
        if self.hub is not None and self.hub.frame not in (None, "root"):
            yield at("hub", "frame", message="a hub sits at the root; use payloads for other frames")
        for i, payload in enumerate(self.payloads):
            name = payload.frame or "tip"
            if name not in self.frame_names:
                hint = did_you_mean(name, self.frame_names) or f"; its frames: {', '.join(self.frame_names)}"
                yield at("payloads", i, "frame", message=f"the link has no frame '{name}'{hint}")

    @property
    def body_key(self) -> str | None:
        """The key under which its body stands; None: it is a massless connector."""
        return next((key for key in BODY_KEYS if getattr(self, key) is not None), None)

    @property
    def body(self) -> BodyDescription | None:
        """The description of its body, of whatever kind; None: it is a massless connector."""
        return None if (key := self.body_key) is None else getattr(self, key)

    def with_body(self, description: Any) -> Self:
        """A copy, not checked again, with another description of the same kind of body."""
        assert self.body_key is not None
        return self.model_copy(update={self.body_key: description})

    @property
    def has_axis(self) -> bool:
        """Whether its frames are given by their place x along its body."""
        return self.body is not None and self.body.has_axis

    def section_pose(self, x: float) -> tuple[Array, Array]:
        """Position (3,) and axes (3, 3) of the section at x of the unloaded body; of one without an axis, on x."""
        if self.body is None or not self.body.has_axis:
            return np.array([x, 0.0, 0.0]), np.eye(3)
        return self.body.section_pose(x)

    @property
    def length(self) -> float:
        """Distance of the tip from the root along x."""
        return self.body.length if self.body is not None else 0.0

    @property
    def mass(self) -> float:
        """Mass of the link with its hub and payloads."""
        parts = [*self.payloads, *([self.hub] if self.hub else [])]
        return (self.body.mass if self.body is not None else 0.0) + sum(part.mass for part in parts)

    @property
    def is_flexible(self) -> bool:
        """Whether the link has elastic coordinates."""
        return self.body is not None and self.body.is_flexible

    @property
    def frame_names(self) -> tuple[str, ...]:
        """The names of all frames of the link, ``root`` and ``tip`` first."""
        own = tuple(self.modal.frames) if self.modal is not None else tuple(frame.name for frame in self.frames)
        return tuple(dict.fromkeys(("root", "tip", *own)))

    def frame(self, name: str) -> Frame:
        """A frame of the undeformed link; on a beam `x` is its place and `position` the offset from there."""
        if self.modal is not None and name in self.modal.frames:
            given = self.modal.frames[name]
            return Frame(name=name, position=given.position, rotation=given.rotation)
        for frame in self.frames:
            if frame.name == name:
                return frame
        if name not in ("root", "tip"):
            raise ModelError(f"link '{self.name}' has no frame '{name}'{did_you_mean(name, self.frame_names)}")
        return _end(name, self.length if name == "tip" else 0.0, self.has_axis)


@lru_cache(maxsize=256)
def _end(name: str, x: float, on_axis: bool) -> Frame:
    """A frame that nobody wrote, at a place that was checked with its link."""
    return Frame.model_construct(name=name, **({"x": x} if on_axis else {"position": (x, 0.0, 0.0)}))


def add_body_key(key: str, description: type[Element], words: str) -> None:
    """Let links have a further kind of body, written under its own key in files; see ``BodyDescription``."""
    from pliant.model.description.robot import Robot

    BODY_KEYS.append(key)
    Link.model_fields[key] = FieldInfo(annotation=description | None, default=None, description=words)  # type: ignore[arg-type]
    for part in (Link, Robot):
        part.rebuild()


def remove_body_key(key: str) -> None:
    """Undo ``add_body_key``."""
    from pliant.model.description.robot import Robot

    BODY_KEYS.remove(key)
    del Link.model_fields[key]
    for part in (Link, Robot):
        part.rebuild()
