"""Modes of a solid in words: which way most of its mass moves, as bend_y, bend_z, torsion, stretch, or oval.

The link is cut into slices along the line from its root to its tip. In each slice a rigid motion is fitted to the mode;
what the slices do as a whole is bending, stretch or torsion, and what is left is a change of their shape.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from pliant.solid_mechanics.solid_mesh import Array

SLICES = 12
LETTERS = "xyz"
TOLD = {
    "bend": "bending in {axis}",
    "torsion": "torsion",
    "stretch": "stretch",
    "oval": "oval",
}


def mode_names(nodes: Array, masses: Array, shapes: Array, root: Array, tip: Array) -> list[str]:
    """Names with numbers, such as bend_y.1 and torsion.1, of shapes (3 N, n), in their order.

    masses  (N,) of the nodes, which weigh their motion
    """
    words = [_word(nodes, masses, shape.reshape(-1, 3), root, tip) for shape in shapes.T]
    seen: Counter[str] = Counter()
    out = []
    for word in words:
        seen[word] += 1
        out.append(f"{word}.{seen[word]}")
    return out


def told(name: str) -> str:
    """A name as a sentence has it: "2nd bending in y"."""
    word, _, number = name.partition(".")
    family, _, axis = word.partition("_")
    ordinal = {"1": "1st", "2": "2nd", "3": "3rd"}.get(number, f"{number}th")
    return f"{ordinal} {TOLD.get(family, family).format(axis=axis)}"


def _word(nodes: Array, masses: Array, u: Array, root: Array, tip: Array) -> str:
    line = tip - root if np.linalg.norm(tip - root) > 0 else np.ptp(nodes, axis=0)
    axis = int(np.argmax(np.abs(line)))
    along = line / np.linalg.norm(line)
    x = (nodes - root) @ along
    place = np.clip(((x - x.min()) / max(float(np.ptp(x)), 1e-300) * SLICES).astype(int), 0, SLICES - 1)
    across = [k for k in range(3) if k != axis]
    shares: Counter[str] = Counter()
    for k in range(SLICES):
        own = place == k
        w = masses[own]
        if own.sum() < 3 or not w.sum() > 0:
            continue
        r, v = nodes[own], u[own]
        mean, centre = w @ v / w.sum(), w @ r / w.sum()
        s = r - centre
        inertia = np.einsum("m,mij->ij", w, np.einsum("mk,mk,ij->mij", s, s, np.eye(3)) - np.einsum("mi,mj->mij", s, s))
        turn = np.linalg.lstsq(inertia, w @ np.cross(s, v), rcond=1e-9)[0]
        torsion = np.cross((turn @ along) * along, s)
        tilt = np.cross(turn - (turn @ along) * along, s)
        rest = v - mean - torsion - tilt
        for a in across:
            shares[f"bend_{LETTERS[a]}"] += w.sum() * mean[a] ** 2
        shares["stretch"] += w.sum() * (mean @ along) ** 2
        shares["torsion"] += w @ (torsion**2).sum(axis=1)
        shares["oval"] += w @ (rest**2).sum(axis=1)
    return shares.most_common(1)[0][0] if shares else "mode"
