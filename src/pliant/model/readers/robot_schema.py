"""The JSON schema of robot files, with which editors complete and check them."""

from __future__ import annotations

from typing import Any

from pliant.model.description.robot import Robot

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema of a robot file; numbers may also be text with a unit."""
    schema = Robot.model_json_schema(mode="validation")
    without_titles(schema)
    links = schema["properties"]["links"]
    # a dh table brings the joints, a urdf file the links; then this file only adds to them
    schema["$defs"]["Link"]["required"] = ["name"]
    schema["$defs"]["Link"]["properties"]["body"] = _link_file(schema)
    overlay = {"type": "object", "additionalProperties": _without_name(schema["$defs"]["Link"])}
    schema["properties"]["links"] = {
        "description": links["description"],
        "anyOf": [{"type": "array", "items": links["items"], "minItems": 1}, overlay],
    }
    schema["properties"]["dh"] = _dh_table()
    schema["properties"]["urdf"] = {
        "type": "string",
        "description": "a URDF file that brings the links and joints",
    }
    schema["properties"]["strict"] = {
        "type": "boolean",
        "description": "refuse what would be repaired in the URDF file",
    }
    schema["required"] = ["name"]
    return {"$schema": DIALECT, "title": "Pliant robot", **schema}


def without_titles(node: Any) -> None:
    """Drop the titles that only repeat the key, and defaults that stand for a missing value."""
    if isinstance(node, dict):
        if isinstance(node.get("title"), str):
            del node["title"]
        if "default" in node and node["default"] in (None, [], {}, 0.0) and "anyOf" in node:
            del node["default"]
        for value in node.values():
            without_titles(value)
    elif isinstance(node, list):
        for value in node:
            without_titles(value)


def _without_name(link: dict[str, Any]) -> dict[str, Any]:
    """A link of an overlay: its name is the key that it stands under."""
    properties = {key: value for key, value in link["properties"].items() if key != "name"}
    properties["urdf_mass"] = {
        "enum": ["keep", "replace"],
        "description": "whether a beam keeps the mass of the URDF's link, with rigid parts at its root and tip",
    }
    return {**link, "properties": properties, "required": []}


def _link_file(schema: dict[str, Any]) -> dict[str, Any]:
    """A file that `pliant body` wrote, or a mapping with more about it."""
    modal = schema["$defs"]["ModalData"]["properties"]
    damping = {"anyOf": [{"$ref": "#/$defs/Damping"}]}
    keys = {"file": {"type": "string"}, "bending": modal["bending"], "damping": damping}
    mapping = {"type": "object", "properties": keys, "required": ["file"], "additionalProperties": False}
    return {"description": "a file of a link, as pliant body writes it", "anyOf": [{"type": "string"}, mapping]}


def _dh_table() -> dict[str, Any]:
    return {
        "type": "object",
        "description": "a Denavit-Hartenberg table that places the joints",
        "properties": {
            "convention": {"enum": ["standard", "modified", "saha"]},
            "rows": {"type": "array", "items": {"type": "object"}},
        },
        "required": ["convention", "rows"],
        "additionalProperties": False,
    }
