"""``pliant schema``: the robot file for editors."""

from __future__ import annotations

import typer


def schema() -> None:
    """Print the JSON schema of robot files, with which editors complete and check them."""
    import json

    from pliant.model.schema import json_schema

    typer.echo(json.dumps(json_schema(), indent=2, ensure_ascii=False))
