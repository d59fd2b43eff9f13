"""The JSON schema of study files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from pliant.model.readers.robot_schema import DIALECT, json_schema, without_titles
from pliant.simulation.outputs import NAMES_SCHEMA
from pliant.simulation.study import Study


def study_schema() -> dict[str, Any]:
    """The schema of a study file; its robot is a name, a path or a robot written out."""
    schema = Study.model_json_schema(mode="validation")
    without_titles(schema)
    robot = json_schema()
    definitions = {**schema["$defs"], **robot.pop("$defs")}
    definitions.pop("Robot", None)
    del robot["$schema"]
    given = schema["properties"]["robot"].get("description", "")
    schema["properties"]["robot"] = {"description": given, "anyOf": [{"type": "string"}, robot]}
    outputs = schema["properties"]["outputs"]
    forms = [*NAMES_SCHEMA, {"$ref": outputs.pop("$ref")}]
    schema["properties"]["outputs"] = {"anyOf": forms, **outputs}
    # the name is that of the file where it is not given
    return {"$schema": DIALECT, "title": "Pliant study", **schema, "$defs": definitions}
