"""Random robots with several closed loops, and their accelerations from material points with multipliers."""

import numpy as np
from scipy.linalg import null_space

from oracle import Oracle
from pliant import Robot
from pliant.model.description.derived_links import frame_in_base

ROUNDING = 1e-7
"""Part of the largest row, or singular value, that counts as none."""

SECTION = {"rectangle": {"width": 0.01, "height": 0.02}}
FAMILIES = {True: ("bend_y", "axial"), False: ("bend_y", "bend_z", "torsion", "axial")}


def _body(rng, planar, star):
    """A rigid bar or a beam of any kind, with frames at its end, close to it and in the middle."""
    length = float(rng.choice([0.4, 0.5, 1.0]))
    kind = "elements" if star else rng.choice(["rigid", *["elements"] * 6, "modes", "second-order", "exact", "pinned"])
    if kind == "rigid":
        body = {"rigid": {"mass": 1.0, "com": [length / 2, 0.01, 0], "inertia": 0.02, "length": length}}
        return body | {"frames": [{"name": "mid", "position": [length / 2, 0, 0]}]}
    beam = {"length": length, "material": "steel", "section": SECTION}
    families = FAMILIES[planar]
    if kind == "elements":
        used = {f: star or bool(rng.random() < 0.8) for f in families}
        used[str(rng.choice(families))] = True
        beam |= {"bending": "linear", "elements": {"number": int(rng.integers(1, 3)), **used}}
        if not star and rng.random() < 0.3:
            beam["bending"] = "second-order"
            beam["elements"]["bend_y"] = True
    elif kind == "modes":
        beam |= {"bending": "linear", "modes": dict.fromkeys(families, 1)}
    elif kind == "second-order":
        beam |= {"bending": "second-order", "modes": {"bend_y": 2} | ({} if planar else {"bend_z": 1})}
    elif kind == "exact":
        shapes = {"bend_y": 2} | ({} if planar else {"bend_z": 1, "torsion": 1})
        # enough stations to be followed as the material points are
        beam |= {"bending": "exact", "stations": 8, "modes": {"shape": "legendre", **shapes}}
    else:
        beam |= {"bending": "linear", "modes": {"shape": "pinned-pinned", "bend_y": 2}}
    frames = [
        {"name": "mid", "x": length / 2},
        {"name": "end", "x": length},
        {"name": "near", "x": length - 1e-4},
        {"name": "side", "x": length, "position": [0.0, 0.05, 0.0]},
    ]
    return {"beam": beam, "frames": frames}


def _joint(rng, planar, name, parent):
    types = ["revolute"] * 6 + ["fixed", "prismatic"] + ([] if planar else ["spherical"])
    kind = str(rng.choice(types))
    joint = {"name": f"j{name}", "type": kind, "parent": parent}
    if kind in ("revolute", "prismatic"):
        joint["axis"] = ("z" if kind == "revolute" else "x") if planar else str(rng.choice(["x", "y", "z"]))
        joint["actuated"] = bool(rng.random() < 0.4)
    turn = {"z": float(rng.uniform(-1, 1))} if rng.random() < 0.6 else {}
    if not planar and rng.random() < 0.4:
        turn["y"] = float(rng.uniform(-1, 1))
    place = {"rotation": turn} if turn else {}
    if parent == "base":
        place["position"] = [*rng.uniform(-0.5, 0.5, 2), 0.0 if planar else rng.uniform(-0.5, 0.5)]
    if place:
        joint["placement"] = place
    return joint


def random_robot(seed):
    """A tree of links of all kinds with one to three loops, most of them on the end of one beam; every third a star."""
    rng = np.random.default_rng(seed)
    planar, star = bool(rng.random() < 0.5), seed % 3 == 0
    links, names = [], []
    for k in range(int(rng.integers(2, 6))):
        name = f"l{k}"
        parent = (
            "base" if star or not names or rng.random() < 0.5 else f"{rng.choice(names)}.{rng.choice(['tip', 'mid'])}"
        )
        links.append({"name": name, "joint": _joint(rng, planar, name, parent), **_body(rng, planar, star)})
        names.append(name)
    tree = {"name": "random", "gravity": [0.3, -9.81, 0.0 if planar else 2.0], "links": links}
    open_tree = Robot.model_validate(tree)

    def end(name):
        link = next(link for link in links if link["name"] == name)
        ends = (
            ["tip", "tip", "end"]
            if star
            else ["tip", "tip", "end", "side", "mid", "near"]
            if "beam" in link
            else ["tip", "mid", "root"]
        )
        return f"{name}.{rng.choice(ends)}"

    loops, shared = [], str(rng.choice(names))
    for k in range(int(rng.integers(1, 4))):
        first = end(shared if star or rng.random() < 0.7 else str(rng.choice(names)))
        other = str(rng.choice([*names, "base"])) if not star else names[k % len(names)]
        if other == first.partition(".")[0]:
            other = "base"
        second = "base" if other == "base" else end(other)
        (p_a, R_a), (p_b, R_b) = (frame_in_base(open_tree, x) for x in (first, second))
        moved = {"frame": second, "position": (R_b.T @ (p_a - p_b)).tolist()}
        if planar or rng.random() < 0.5:
            moved["rotation"] = [{"matrix": (R_b.T @ R_a).tolist()}]
        kind = str(rng.choice(["weld", "revolute"] if planar else ["weld", "revolute", "spherical"]))
        loop = {"name": f"c{k}", "type": kind, "frames": [first, moved] if rng.random() < 0.5 else [moved, first]}
        if planar:
            loop["planar"] = "xy"
        if kind == "revolute" and not planar:
            moved["rotation"] = [{"matrix": (R_b.T @ R_a).tolist()}]
        loops.append(loop)
    return Robot.model_validate({**tree, "loops": loops})


def closing_rows(points, loop, q):
    """Rows (rows, n) of a loop's frames: relative velocity along base axes, relative turns that it holds."""
    first, second = (points.frame_jacobian(f, q) if f != "base" else np.zeros((6, points.size)) for f in loop.frames)
    apart = first - second
    if loop.planar:
        return apart[[0, 1, 5]] if loop.type == "weld" else apart[:2]
    if loop.type == "weld":
        return apart
    if loop.type == "spherical":
        return apart[:3]
    R = points.frame(loop.frames[0], q)[0].real
    across = np.delete(R.T, int(np.argmax(np.abs(loop.axis_vector()))), axis=0)
    return np.vstack([apart[:3], across @ apart[3:]])


def point_accelerations(arm, q, v, force):
    """M a + h = f + J^T lambda, J a = -dJ/dt v, all from material points; rows may follow from others."""
    points = Oracle(arm.robot, arm.names)

    def J(x):
        return np.vstack([closing_rows(points, loop, x) for loop in arm.robot.loops])

    t, now = 1e-3, J(q)
    drift = (8 * (J(q + t * v) - J(q - t * v)) - J(q + 2 * t * v) + J(q - 2 * t * v)) @ v / (12 * t)
    M, h = points.mass_matrix(q), points.forces(q, v, 0 * q)
    scale = 1 / np.sqrt(np.where(np.diag(M) > 0, np.diag(M), 1.0))
    # a particular solution of the rows, and what moves freely
    size = np.linalg.norm(now * scale, axis=1)
    used = size > ROUNDING * size.max()
    rows = (now * scale)[used] / size[used, None]
    particular = scale * np.linalg.lstsq(rows, -drift[used] / size[used], rcond=ROUNDING)[0]
    free = scale[:, None] * null_space(rows, rcond=ROUNDING)
    return particular + free @ np.linalg.solve(free.T @ M @ free, free.T @ (force - h - M @ particular))


__all__ = ["point_accelerations", "random_robot"]
