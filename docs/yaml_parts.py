"""YAML of the pages, checked as what it is: a robot, a study, an overlay of a URDF, or a part of a robot."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ruamel.yaml import YAML

BEAM = {"length": "1 m", "material": "steel", "section": {"round": {"diameter": "20 mm"}}}
RIGID = {"mass": 1.0, "com": [0.1, 0, 0], "inertia": 0.1, "length": "0.3 m"}
IN_BEAM = ("modes", "elements", "lumped")
GIRDER = Path(__file__).resolve().parents[1] / "examples" / "05_lattice_arm"


def check(text: str, path: Path | None = None) -> None:
    """Read a block as the program would; raises what the program says. ``path``: where it was written, if it was."""
    data = YAML(typ="safe").load(text)
    if "robot" in data or "until" in data:
        _study(text, path)
    elif "urdf" in data:
        _overlay(data)
    elif "name" in data and "links" in data:
        _robot(text, path)
    else:
        _robot(_text(_around(data)), None)


def _around(data: dict[str, Any]) -> dict[str, Any]:
    """A whole robot with the part in its place."""
    key = next(iter(data))
    if key in IN_BEAM:
        return _with({"beam": {**BEAM, **data}})
    if key in ("beam", "fe", "rigid"):
        return _with(data)
    if key == "frames":
        ends = [
            {"beam" if "x" in frame else "rigid": BEAM if "x" in frame else RIGID, "frames": [frame]}
            for frame in data[key]
        ]
        return _with(*ends)
    if key == "loops":
        words = [frame for loop in data[key] for frame in loop["frames"] if isinstance(frame, str)]
        names = sorted({word.partition(".")[0] for word in words} - {"base"})
        links = [{"name": name, "joint": {"parent": "base"}, "rigid": RIGID} for name in names]
        return {"name": "part", "links": links, **data}
    if key == "assembly":
        names = sorted({joint for mode in data[key]["modes"].values() for joint in mode})
        links = [{"name": f"link_{name}", "joint": {"name": name, "parent": "base"}, "rigid": RIGID} for name in names]
        return {"name": "part", "links": links, **data}
    if key == "dh":
        links = [{"name": row["link"], "beam": {**BEAM, "length": row["a"]}} for row in data[key]["rows"]]
        return {"name": "part", "links": links, **data}
    if key == "links":
        return {"name": "part", **data}
    if key == "sensors":
        return {"name": "part", "links": [{"name": "upper", "joint": {"name": "shoulder"}, "beam": BEAM}], **data}
    if key == "actuators":
        eye = {"name": "eye", "position": [1.5, 0, 0]}
        return {
            "name": "part",
            "links": [{"name": "boom", "joint": {"name": "luff"}, "rigid": RIGID, "frames": [eye]}],
            **data,
        }
    raise ValueError(f"'{key}' is no robot, study or known part of one")


def _with(*parts: dict[str, Any]) -> dict[str, Any]:
    links = [{"name": f"link_{k}", "joint": {"parent": "base"}, **part} for k, part in enumerate(parts)]
    return {"name": "part", "links": links}


def _text(data: dict[str, Any]) -> str:
    from io import StringIO

    out = StringIO()
    YAML(typ="safe").dump(data, out)
    return out.getvalue()


def _robot(text: str, path: Path | None) -> None:
    import pliant

    with TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "robot.yaml"
            path.write_text(text, encoding="utf-8")
            for file in GIRDER.glob("*"):
                (Path(folder) / file.name).write_bytes(file.read_bytes())
        pliant.load(path)


def _study(text: str, path: Path | None) -> None:
    import pliant

    with TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder) / "study.yaml"
            path.write_text(text, encoding="utf-8")
        pliant.load_study(path)


def _overlay(data: dict[str, Any]) -> None:
    """Over the URDF that comes with the package, if the one that is named is not there."""
    import pliant

    named = Path(data["urdf"])
    bundled = Path(pliant.__file__).parent / "robots" / "six-dof.urdf"
    pliant.load(named if named.exists() else bundled, overlay={key: x for key, x in data.items() if key != "urdf"})
