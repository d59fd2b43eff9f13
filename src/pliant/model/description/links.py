"""Links: a joint, a body and what is mounted on it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Self

from pydantic import Field, model_validator
from pydantic_core import InitErrorDetails

from pliant.errors import ModelError, did_you_mean
from pliant.model.description.beams import Beam
from pliant.model.description.fe_files import FiniteElementFiles
from pliant.model.description.inertia import Rigid, RigidPart
from pliant.model.description.joints import Joint
from pliant.model.description.modal import ModalData
from pliant.model.description.placement import Frame
from pliant.model.description.visuals import Visual
from pliant.model.element import Element, Name, at, of_value, refuse, rule
from pliant.model.once import once_per_element

# a frame may lie outside the beam by rounding only
END = 1e-9


class Link(Element):
    """A link with its inboard joint: `rigid`, `beam`, `modal` or `fe`; none of them is a massless connector.

    The link frame sits at the moving side of the joint. The frames ``root`` (the link frame itself) and
    ``tip`` always exist.
    """

    name: Name = Field(description="name of the link")
    joint: Joint = Field(description="the joint that carries the link")
    rigid: Rigid | None = Field(default=None, description="a rigid body")
    beam: Beam | None = Field(default=None, description="a beam along x")
    modal: ModalData | None = Field(default=None, description="modal data from elsewhere")
    fe: FiniteElementFiles | None = Field(default=None, description="matrices of a finite-element program")
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
        kinds = [key for key in ("rigid", "beam", "modal", "fe") if getattr(self, key) is not None]
        if len(kinds) > 1:
            raise rule("give at most one of rigid, beam, modal and fe; {found} are given", found=" and ".join(kinds))
        if self.fe is not None:
            # the files are read: from here on the link is what they say
            self.__dict__.update(modal=self.fe.modal, fe=None)
            self.__pydantic_fields_set__.symmetric_difference_update({"modal", "fe"})
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
        return self.beam is not None or self.modal is not None or bool(self.rigid and self.rigid.length)

    def _frame_problems(self) -> Iterator[InitErrorDetails]:
        if self.modal is not None and self.frames:
            yield at(
                "frames",
                message="frames of a link with modal data need their shapes; put them in modal.frames",
            )
            return
        for i, frame in enumerate(self.frames):
            if self.beam is None and frame.x is not None:
                yield at("frames", i, "x", message="x is the place along a beam; give position instead")
            if self.beam is not None and frame.x is None:
                yield at("frames", i, message="key 'x' is missing: the place along the beam")
            if self.beam is not None and not -END <= (frame.x or 0.0) / self.beam.length <= 1 + END:
                message = f"is {frame.x} m; it must lie between 0 and the length {self.beam.length} m"
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
    def length(self) -> float:
        """Distance of the tip from the root along x."""
        body = self.beam or self.rigid or self.modal
        return body.length if body is not None else 0.0

    @property
    def mass(self) -> float:
        """Mass of the link with its hub and payloads."""
        body = self.beam or self.rigid or self.modal
        parts = [*self.payloads, *([self.hub] if self.hub else [])]
        return (body.mass if body is not None else 0.0) + sum(part.mass for part in parts)

    @property
    def is_flexible(self) -> bool:
        """Whether the link has elastic coordinates."""
        return self.modal is not None or (self.beam is not None and self.beam.is_flexible)

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
        return _end(name, self.length if name == "tip" else 0.0, self.beam is not None)


@lru_cache(maxsize=256)
def _end(name: str, x: float, on_beam: bool) -> Frame:
    """A frame that nobody wrote, at a place that was checked with its link."""
    return Frame.model_construct(name=name, **({"x": x} if on_beam else {"position": (x, 0.0, 0.0)}))
