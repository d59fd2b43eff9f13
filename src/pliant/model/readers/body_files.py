"""Links from files of their own: `body: link.yaml` in a robot file names a link that `pliant body` wrote.

What the file holds becomes the link's `modal` data before the robot is checked. `body: {file: link.yaml, bending:
linear, damping: {ratio: 0.01}}` says more of it. Files .sid (standard input data) and .mat (P, K, M of Simscape) are
reduced bodies of other programs.
"""

from __future__ import annotations

import os
from typing import Any

from pliant.errors import ModelError, Problem, show
from pliant.files import content_of, no_file
from pliant.model.description.discretisation import Damping
from pliant.model.description.modal import ModalData, damping_matrix
from pliant.model.readers.attach import line_of
from pliant.model.readers.interface_form import from_interface_form
from pliant.model.readers.sid_text import read_sid
from pliant.model.readers.yaml_data import Content

KEY = "body"
LARGEST = 2**28
LINK = Content("link", ("mass", "M_ee", "K_ee", "frames"))


def expand_bodies(data: Any, folder: str) -> Any:
    """The data of a robot with links of files as ordinary ones; the others stay as they are."""
    links = data.get("links")
    rows = links.items() if isinstance(links, dict) else enumerate(links) if isinstance(links, list) else ()
    changed = {}
    for place, link in rows:
        if isinstance(link, dict) and KEY in link:
            changed[place] = _expanded(link, place, folder)
    if not changed:
        return data
    out = data.copy()
    new = links.copy()
    for place, link in changed.items():
        new[place] = link
    out["links"] = new
    return out


def _expanded(link: Any, place: object, folder: str) -> Any:
    given = link[KEY]
    more = {key: value for key, value in given.items() if key != "file"} if isinstance(given, dict) else {}
    name = given.get("file") if isinstance(given, dict) else given
    element = f"links[{place}]" if isinstance(place, int) else f"links.{place}"
    label = link.get("name")
    element = f"{element} '{label}'" if isinstance(label, str) else element
    line = line_of(link, KEY)
    if not isinstance(name, str) or not name or "\0" in name:
        raise ModelError(Problem(element, f"body is {show(name)}; it must be the name of a file", line=line))
    path = os.path.join(folder, name)
    if no_file(path):
        where = folder or "this folder"
        raise ModelError(Problem(element, f"body is {show(name)}; there is no such file in {where}", line=line))
    if unknown := sorted(set(more) - {"bending", "damping"}):
        message = f"body has the key '{unknown[0]}'; its keys are file, bending and damping"
        raise ModelError(Problem(element, message, line=line))
    taken = [key for key in ("rigid", "beam", "modal", "fe", "cad") if key in link]
    if taken:
        raise ModelError(Problem(element, f"give body or {taken[0]}, not both", line=line))
    out = link.copy()
    del out[KEY]
    out["modal"] = read_body(path)
    if "bending" in more:
        out["modal"]["bending"] = more["bending"]
    if "damping" in more:
        damping = Damping.model_validate(more["damping"], context={"units": True})
        out["modal"]["D_ee"] = damping_matrix(ModalData.model_validate(out["modal"]), damping)
    return out


def _simscape(path: str) -> ModalData:
    """P, K, M and maybe D of a .mat file."""
    from scipy.io import loadmat

    name = os.path.basename(path)
    try:
        data = loadmat(path)
    except (OSError, ValueError, TypeError, NotImplementedError) as error:
        raise ModelError(Problem(name, f"cannot be read as a .mat file: {error}")) from None
    missing = [key for key in "PKM" if key not in data]
    if missing:
        raise ModelError(Problem(name, f"has no {missing[0]}; a reduced body has P, K and M"))
    return from_interface_form(data["P"], data["K"], data["M"], data.get("D"), name=name)


def _sid(path: str) -> ModalData:
    return read_sid(content_of(path, LARGEST).decode("utf-8", "replace"), os.path.basename(path))


FOREIGN = {".mat": _simscape, ".sid": _sid, ".sid_fem": _sid}
"""Files of other programs, by their endings."""


def read_body(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The modal data of a link file, checked, as plain data; raises ModelError with its file and line."""
    from pliant.model.readers.library import read_document

    ending = os.path.splitext(os.fspath(path))[1].lower()
    if ending in FOREIGN:
        return FOREIGN[ending](os.fspath(path)).model_dump(mode="json", exclude_unset=True)
    document = read_document(path, LINK)
    folder = os.path.dirname(os.path.abspath(path))
    checked = document.build(ModalData, context={"folder": folder})
    plain = dict(document.data)
    if checked.stress is not None:
        plain["stress"] = checked.stress
    return plain
