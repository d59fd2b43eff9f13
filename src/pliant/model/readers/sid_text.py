"""Standard input data (SID) of elastic bodies: the text that Simpack, FEMBS and others exchange (Wallrapp 1994).

Matrices are Taylor series to first order in the coordinates: m0, and m1(i, j, k) by coordinate k. What is read becomes
modal data, and modal data are written; a text that was read is written with the same numbers. The symmetric part of the
second-order integrals cannot be told apart from the inertia of deflections: both stand in Oe, with the same energy.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from pliant.errors import ModelError, Problem
from pliant.model.description.modal import ModalData, ModalFrame
from pliant.model.element import Array

EPSILON = np.zeros((3, 3, 3))
EPSILON[(0, 1, 2), (1, 2, 0), (2, 0, 1)], EPSILON[(0, 2, 1), (2, 1, 0), (1, 0, 2)] = 1.0, -1.0
PAIRS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (2, 0))
"""Order of the squares of the angular velocity in Oe."""
ZERO, DIAGONAL, SYMMETRIC, FULL, UNIT = range(5)
NEEDED = ("mdCM", "J", "Ct", "Cr", "Me", "Ke")
_ENTRY = re.compile(r"m([01])\s*\(([\d\s,]+)\)\s*=\s*(\S+)")
_KEY = re.compile(r"([\w ]+?)\s*(?:\(\s*(\d+)\s*\))?\s*=\s*(.*)")


class Taylor(NamedTuple):
    """A matrix (r, c) and its derivatives by the coordinates (r, c, n); none where it is of order zero."""

    m0: Array
    m1: Array


# ---------------------------------------------------------------- reading


def read_sid(text: str, name: str = "SID") -> ModalData:
    """The modal data of a text; raises ModelError with the line."""
    mass, count, names, nodes, whole = _parsed(text, name)
    if mass is None or count < 1:
        _refuse(name, "has no refmod with mass and nelastq")
    n = count
    for key in NEEDED:
        if key not in whole:
            _refuse(name, f"has no {key}; an elastic body needs {', '.join(NEEDED)}")
    part = {key: _shaped(name, key, whole.get(key), shape, n) for key, shape in _shapes(n).items()}
    turned = part["Cr"].m1
    lam = (turned - turned.swapaxes(0, 2)) / 2  # [i, a, j] of lam[j, i, a]
    cross = (turned + turned.swapaxes(0, 2)) / 2
    second = np.einsum("abc,iaj->bcij", EPSILON, cross) / 2
    lam = lam.transpose(2, 0, 1)
    I_re = part["Gr"].m0.reshape(3, n, 3).swapaxes(0, 1) / 2
    I_ee = np.einsum("abc,ijc->ijab", EPSILON, lam) / 2
    for c, (a, b) in enumerate(PAIRS):
        value = -part["Oe"].m1[:, c] / (1 if a == b else 2)
        I_ee[..., a, b] += value
        if a != b:
            I_ee[..., b, a] += value
    stiffens = bool(part["Ct"].m1.any() or cross.any())
    frames = {}
    for label, node in nodes.items():
        if label != "root":
            frames[label] = _frame(name, label, node, n)
    if not frames:
        _refuse(name, "has no node but the root; a link needs the frame tip")
    if "tip" not in frames:
        # the last node is the tip of the link
        last = list(frames)[-1]
        frames = {key if key != last else "tip": frame for key, frame in frames.items()}
    more: dict[str, Any] = {}
    if stiffens:
        more = {"Gamma_first": np.moveaxis(part["Ct"].m1, 1, 0), "Gamma_second": second}
    else:
        frames = {key: frame.model_copy(update={"Gamma": (), "Gamma_r": ()}) for key, frame in frames.items()}
    labels = tuple(re.sub(r"[^\w+.-]+", "_", word).strip("_.") or f"mode.{k + 1}" for k, word in enumerate(names))
    return ModalData(
        names=labels if len(set(labels)) == n else (),
        mass=mass,
        length=float(np.linalg.norm(frames["tip"].position)),
        first=part["mdCM"].m0[:, 0],
        first_modal=part["Ct"].m0.T,
        beta=part["Cr"].m0.T,
        lam=lam,
        I_rr=part["J"].m0,
        I_re=I_re,
        I_ee=I_ee,
        M_ee=part["Me"].m0,
        K_ee=part["Ke"].m0,
        D_ee=part["De"].m0,
        frames=frames,
        **more,
    )


def _shapes(n: int) -> dict[str, tuple[int, int]]:
    return {
        "mdCM": (3, 1), "J": (3, 3), "Ct": (n, 3), "Cr": (n, 3), "Me": (n, n), "Gr": (3, 3 * n), "Oe": (n, 6),
        "Ke": (n, n), "De": (n, n),
    }  # fmt: skip


def _frame(name: str, label: str, node: Mapping[str, Taylor], n: int) -> ModalFrame:
    parts = {
        key: _shaped(name, f"{key} of node '{label}'", node.get(key), shape, n)
        for key, shape in {"origin": (3, 1), "phi": (3, n), "psi": (3, n), "AP": (3, 3)}.items()
    }
    R = parts["AP"].m0 if "AP" in node else np.eye(3)
    gamma, gamma_r = parts["phi"].m1, parts["psi"].m1
    return ModalFrame(
        position=tuple(parts["origin"].m0[:, 0].tolist()),
        rotation=() if np.allclose(R, np.eye(3), atol=1e-12) else {"matrix": R.tolist()},
        Phi_d=parts["phi"].m0,
        Phi_r=parts["psi"].m0,
        Gamma=(gamma + gamma.swapaxes(1, 2)) / 2 if gamma.any() else (),
        Gamma_r=(gamma_r + gamma_r.swapaxes(1, 2)) / 2 if gamma_r.any() else (),
    )


def _shaped(name: str, key: str, given: Taylor | None, shape: tuple[int, int], n: int) -> Taylor:
    if given is None:
        return Taylor(np.zeros(shape), np.zeros((*shape, n)))
    if given.m0.shape != shape:
        _refuse(name, f"{key} is {given.m0.shape[0]} x {given.m0.shape[1]}; it must be {shape[0]} x {shape[1]}")
    if not given.m1.size:
        return Taylor(given.m0, np.zeros((*shape, n)))
    if given.m1.shape != (*shape, n):
        _refuse(name, f"{key} has derivatives by {given.m1.shape[2]} coordinates; there are {n}")
    return given


def _parsed(text: str, name: str) -> tuple[float | None, int, list[str], dict[str, Any], dict[str, Taylor]]:
    """Mass, number and names of coordinates, nodes with their matrices, and the matrices of the body."""
    mass: float | None = None
    count, names = 0, list[str]()
    nodes: dict[str, dict[str, Taylor]] = {}
    whole: dict[str, Taylor] = {}
    node: dict[str, Taylor] | None = None
    inside: str | None = None
    keys: dict[str, str] = {}
    entries: list[tuple[int, tuple[int, ...], float]] = []
    for number, line in enumerate(text.splitlines(), 1):
        row = line.strip()
        if not row or (number == 1 and "=" not in row):
            continue
        if match := _ENTRY.fullmatch(row):
            try:
                place = tuple(int(word) for word in match[2].split(","))
                entries.append((int(match[1]), place, float(match[3].upper().replace("D", "E"))))
            except ValueError:
                _refuse(name, f"has '{row[:40]}' in line {number}; it must be m0(i, j) or m1(i, j, k) = a number")
            continue
        if row.startswith("end"):
            word = row[3:].strip()
            if inside is not None and word == inside:
                made = _taylor(name, inside, keys, entries, number)
                (whole if node is None else node)[inside] = made
                inside = None
            elif word == "node":
                node = None
            continue
        if match := _KEY.fullmatch(row):
            key, value = match[1].strip(), match[3].strip()
            if key == "mass":
                mass = _number(name, value, number)
            elif key == "nelastq":
                count = int(_number(name, value, number))
            elif key == "ielastq":
                names.append(value)
            elif key == "new node":
                node = nodes.setdefault(value or f"node{len(nodes) + 1}", {})
            elif inside is not None:
                keys[key] = value
            continue
        if row in ("part", "new modal", "refmod", "frame"):
            continue
        inside, keys, entries = row, {}, []
    if inside is not None:
        _refuse(name, f"ends inside {inside}")
    if len(names) != count:
        names = [f"mode.{k + 1}" for k in range(count)]
    return mass, count, names, nodes, whole


def _taylor(
    name: str, key: str, given: Mapping[str, str], entries: list[tuple[int, tuple[int, ...], float]], line: int
) -> Taylor:
    try:
        rows, columns, q, order, structure = (int(given[k]) for k in ("nrow", "ncol", "nq", "order", "structure"))
    except (KeyError, ValueError):
        _refuse(name, f"{key}, which ends in line {line}, needs order, nrow, ncol, nq and structure")
    m0 = np.zeros((rows, columns))
    m1 = np.zeros((rows, columns, q if order else 0))
    if structure == UNIT:
        m0 = np.eye(rows, columns)
    for which, place, value in entries:
        try:
            if which == 0:
                i, j = (place[0] - 1, place[-1] - 1)
                m0[i, j] = value
                if structure == SYMMETRIC:
                    m0[j, i] = value
            elif m1.size:
                i, j, k = (x - 1 for x in place)
                m1[i, j, k] = value
                if structure == SYMMETRIC and not m1[j, i, k]:
                    m1[j, i, k] = value
        except (IndexError, ValueError):
            what = ", ".join(map(str, place))
            _refuse(name, f"{key} has the entry m{which}({what}) before line {line}; it is {rows} x {columns}")
    return Taylor(m0, m1)


def _number(name: str, text: str, line: int) -> float:
    try:
        return float(text.upper().replace("D", "E"))
    except ValueError:
        _refuse(name, f"has '{text[:40]}' in line {line}; it must be a number")


# ---------------------------------------------------------------- writing


def write_sid(modal: ModalData, name: str = "link") -> str:
    """The text of modal data, with 17 digits."""
    n = modal.size
    lines = [name, "part", "    new modal", "        refmod", f"            mass           = {modal.mass:.17g}"]
    lines.append(f"            nelastq        = {n}")
    lines += [f"            ielastq ({k + 1:4d}) = {word}" for k, word in enumerate(modal.names)]
    lines += ["        end refmod", "        frame"]
    for label in dict.fromkeys(("root", *modal.frames)):
        lines += _node(modal, label)
    lines.append("        end frame")
    first, second = (modal.array(key) for key in ("Gamma_first", "Gamma_second"))
    lam, I_re, I_ee = (modal.array(key) for key in ("lam", "I_re", "I_ee"))
    oe0, oe1 = np.zeros((n, 6)), np.zeros((n, 6, n))
    trace = np.einsum("aaij->ij", second)
    for c, (a, b) in enumerate(PAIRS):
        if a == b:
            oe0[:, c] = -I_re[:, a, a]
            oe1[:, c] = -(I_ee[..., a, a] + I_ee[..., a, a].T) / 2 - (trace - second[a, a])
        else:
            oe0[:, c] = -(I_re[:, a, b] + I_re[:, b, a])
            both = I_ee[..., a, b] + I_ee[..., b, a]
            oe1[:, c] = -(both + both.T) / 2 + second[a, b] + second[b, a]
    cr1 = np.einsum("jia->iaj", lam) + np.einsum("abc,bcij->iaj", EPSILON, second)
    none = np.zeros((0, 0, 0))
    body = {
        "mdCM": (Taylor(modal.array("first")[:, None], modal.array("first_modal")[:, None]), FULL),
        "J": (Taylor(modal.array("I_rr"), np.moveaxis(I_re + I_re.swapaxes(1, 2), 0, 2)), SYMMETRIC),
        "Ct": (Taylor(modal.array("first_modal").T, np.moveaxis(first, 0, 1)), FULL),
        "Cr": (Taylor(modal.array("beta").T, cr1), FULL),
        "Me": (Taylor(modal.array("M_ee"), none), SYMMETRIC),
        "Gr": (Taylor(2 * np.concatenate(list(I_re), axis=1), none), FULL),
        "Ge": (Taylor(2 * np.concatenate(list(lam), axis=1), none), FULL),
        "Oe": (Taylor(oe0, oe1), FULL),
        "ksigma": (Taylor(np.zeros((n, 1)), none), ZERO),
        "Ke": (Taylor(modal.array("K_ee"), none), SYMMETRIC),
        "De": (Taylor(modal.array("D_ee"), none), SYMMETRIC),
    }
    for key, (matrix, structure) in body.items():
        lines += _matrix(key, matrix, structure, n, " " * 8)
    return "\n".join([*lines, "    end modal", "end part", ""])


def _node(modal: ModalData, label: str) -> list[str]:
    n = modal.size
    frame = modal.frames.get(label, ModalFrame())
    Phi_d, Phi_r = modal.frame_shapes(label)
    R = frame.matrix()
    turned = np.einsum("abc,bk,cd->adk", EPSILON, Phi_r, R)
    gamma, gamma_r = modal.frame_shortening(label), modal.frame_turning(label)
    none = np.zeros((0, 0, 0))
    pad = " " * 20
    lines = [f"                new node   = {label}", f"{pad}rframe = body ref"]
    for key, matrix in (
        ("origin", Taylor(frame.vector()[:, None], Phi_d[:, None])),
        ("phi", Taylor(Phi_d, gamma if gamma.any() else none)),
        ("psi", Taylor(Phi_r, gamma_r if gamma_r.any() else none)),
        ("AP", Taylor(R, turned)),
    ):
        lines += _matrix(key, matrix, FULL, n, pad)
    return [*lines, "                end node"]


def _matrix(key: str, matrix: Taylor, structure: int, n: int, pad: str) -> list[str]:
    order = 1 if matrix.m1.size else 0
    rows, columns = matrix.m0.shape
    heads = {"order": order, "nrow": rows, "ncol": columns, "nq": n, "nqn": 0, "structure": structure}
    lines = [f"{pad}{key}", *(f"{pad}    {word:12s} = {value}" for word, value in heads.items())]
    for i, j in np.ndindex(rows, columns) if structure != ZERO else ():
        if structure == FULL or j <= i:
            lines.append(f"{pad}    m0({i + 1:2d},{j + 1:2d})    = {matrix.m0[i, j] + 0.0:.17g}")
    # the structure is that of m0; derivatives have all entries
    for i, j, k in np.ndindex(*matrix.m1.shape) if order else ():
        lines.append(f"{pad}    m1({i + 1:2d},{j + 1:2d},{k + 1:2d}) = {matrix.m1[i, j, k] + 0.0:.17g}")
    return [*lines, f"{pad}end {key}"]


def _refuse(name: str, message: str) -> NoReturn:
    raise ModelError(Problem(name, message))
