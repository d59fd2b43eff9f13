"""Where the joints of a robot stand: poses by name of the joint, and from which of them its loops are closed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, StrictBool, ValidationInfo, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError, core_schema

from pliant.errors import ModelError, did_you_mean, show
from pliant.model.element import Element, Frozen, FrozenDict, Title, of_value, refuse
from pliant.model.units import Quantity


class PoseValues:
    """The reading of a reference pose: each joint coordinate is an angle or a length, as its joint is."""

    number = Quantity("rad", sliding="m")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": {"type": ["number", "string"]}}

    def read(self, value: Any, info: ValidationInfo) -> FrozenDict[str, float]:
        if not isinstance(value, dict):
            raise PydanticCustomError(
                "value", "is {given}; it must be a mapping of joint names to values", {"given": show(value)}
            )
        context = info.context if isinstance(info.context, dict) else {}
        lengths = context.get("lengths", ())
        read: dict[str, float] = {}
        problems = []
        for key, entry in value.items():
            try:
                read[key] = float(self.number.read(entry, {**context, "slides": key in lengths}))
            except PydanticCustomError as error:
                problems.append(InitErrorDetails(type=error, loc=(str(key),), input=entry))
        refuse(problems)
        return FrozenDict(read)


PoseOfJoints = Annotated[dict[str, float], PoseValues()]


class Assembly(Element):
    """How the loops of a robot are closed.

    Loops often close in several ways, with elbows in or out. The way that is nearest to the reference pose is taken;
    a mode gives other positions from which passive joints start.
    """

    bend: StrictBool = Field(
        default=False, description="whether links may bend to close the loops where joints alone cannot"
    )
    modes: Annotated[dict[Title, PoseOfJoints], Frozen] = Field(
        default_factory=FrozenDict, description="assembly modes by name: positions from which joints start"
    )
    mode: Title | None = Field(default=None, description="the mode that is taken; default: the reference pose")

    @model_validator(mode="after")
    def _known(self) -> Assembly:
        if self.mode is not None and self.mode not in self.modes:
            refuse([of_value("mode", message=f"is '{self.mode}'; {self._names(self.mode)}")])
        return self

    def _names(self, mode: str) -> str:
        known = ", ".join(f"'{name}'" for name in self.modes) or "none"
        return f"the assembly modes are {known}{did_you_mean(mode, self.modes)}"

    def positions(self, mode: str | None = None) -> Mapping[str, float]:
        """Positions from which joints start in a mode; default: the chosen one."""
        name = self.mode if mode is None else mode
        if name is not None and name not in self.modes:
            raise ModelError(f"there is no assembly mode '{name}'; {self._names(name)}")
        return {} if name is None else self.modes[name]
