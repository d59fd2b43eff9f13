"""``pliant schema``: robot and study files for editors."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Kind(StrEnum):
    """What a file describes."""

    ROBOT = "robot"
    STUDY = "study"


def schema(
    kind: Annotated[Kind, typer.Argument(metavar="[robot|study]", help="Which files: robots or studies.")] = Kind.ROBOT,
) -> None:
    """Print the JSON schema of robot or study files, with which editors complete and check them."""
    import json

    if kind is Kind.STUDY:
        from pliant.simulation.study import study_schema

        found = study_schema()
    else:
        from pliant.model.readers.robot_schema import json_schema

        found = json_schema()
    typer.echo(json.dumps(found, indent=2, ensure_ascii=False))
