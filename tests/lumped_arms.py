"""Robots of the tests of the lumped method."""

import numpy as np

from pliant import Robot
from pliant.analysis.lumped.node_equations import Matrices, congruence, tilde
from pliant.analysis.lumped.nominal_motion import JointMotion
from pliant.analysis.lumped.reduced_link import ReducedLink

MATERIAL = {"E": 70e9, "nu": 0.3, "density": 2700.0}


def two_link_arm(nodes=2, gravity=(0.0, 0.0, 0.0), pose=(0.3, 0.5), kind="lumped", axial=True, **beam):
    """The arm of the reference data: two bars in the plane, 12 mm thick in it, 0.25 kg at the tip; linear, as there."""
    bar = {
        "length": 0.5,
        "material": MATERIAL,
        "section": {"rectangle": {"width": 0.012, "height": 0.02}},
        "bending": "linear",
        kind: {"nodes" if kind == "lumped" else "number": nodes, "bend_y": True, "bend_z": False, "axial": axial},
        **beam,
    }
    links = [
        {"name": "upper", "joint": {"name": "shoulder", "axis": "z"}, "beam": bar},
        {"name": "fore", "joint": {"name": "elbow", "axis": "z"}, "beam": bar, "payloads": [{"mass": 0.25}]},
    ]
    return Robot(name="bars", gravity=gravity, links=links, pose={"shoulder": pose[0], "elbow": pose[1]})


def quintic_move(model, start, by, duration=1.0):
    """A nominal motion by quintic profiles."""
    start, by = np.asarray(start), np.asarray(by)

    def at(t):
        s = np.clip(np.asarray(t) / duration, 0.0, 1.0)[:, None]
        return model.nominal(
            JointMotion(
                start + by * s**3 * (10 - 15 * s + 6 * s**2),
                by * 30 * s**2 * (1 - s) ** 2 / duration,
                by * 60 * s * (1 - s) * (1 - 2 * s) / duration**2,
            )
        )

    return at


# ---- the recursive method, linearised about the same motion, on the displacements of the nodes


def joint_map(seat, motion):
    """Coordinates of a joint by displacements along and about axes of its link, with derivatives (m, m) each."""
    q, v, a = (x[0, list(seat.coordinates)] for x in motion)
    one, none = np.eye(len(q)), np.zeros((len(q), len(q)))
    if seat.kind.name == "spherical":
        # theta_dot = (1 + theta~ / 2 + theta~ theta~ / 12) omega, where theta is zero
        assert not q.any()
        return one, tilde(v) / 2, tilde(a) / 2 + tilde(v) @ tilde(v) / 6
    if seat.kind.name == "planar":
        # slides are along axes that the turn takes along
        c, s = np.cos(q[2]), np.sin(q[2])
        R, turned = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1.0]]), np.array([[-s, -c, 0], [c, -s, 0], [0, 0, 0.0]])
        away = np.array([[c, -s, 0], [s, c, 0], [0, 0, 0.0]])
        return R, v[2] * turned, a[2] * turned - v[2] ** 2 * away
    return one, none, none


def coordinates_of(model, arm, assembled):
    """Coordinates of the recursion by the displacements y of the nodes, with derivatives (1, n, y)."""
    D = [np.zeros((1, arm.size, model.numbering.size)) for _ in range(3)]
    families = {
        0: ("axial", 1),
        1: ("bend_y", 1),
        2: ("bend_z", 1),
        3: ("torsion", 1),
        4: ("bend_z", 2),
        5: ("bend_y", 2),
    }
    for i, (mesh, root, own) in enumerate(zip(model.meshes, assembled.roots, model.numbering.own, strict=True)):
        seat, places = model.skeleton.seats[i], model.numbering.joint[i]
        if len(places):
            rows = [arm.names.index(model.skeleton.joints[k]) for k in seat.coordinates]
            for part, C in zip(D, joint_map(seat, assembled.motion), strict=True):
                part[0][np.ix_(rows, places)] = C
        if isinstance(mesh, ReducedLink):
            # its own coordinates are those of the recursion
            for word, place in zip(mesh.words, own, strict=True):
                D[0][0, arm.names.index(f"{mesh.name}.{word}"), place] = 1.0
            continue
        for node in range(1, mesh.nodes):
            carried = np.eye(6)
            carried[:3, 3:] = -tilde(mesh.bodies.x[node])
            for component, place in mesh.own_at(node).items():
                family, second = families[component]
                k = node if family in ("axial", "torsion") else 2 * (node - 1) + second
                # the slope dz/dx is a negative turn about y
                sign = -1.0 if component == 4 else 1.0
                row = arm.names.index(f"{mesh.name}.{family}.{k}")
                D[0][0, row, own[place]] = sign
                for part, X_k in zip(D, root.X, strict=True):
                    part[0, row, root.columns] -= sign * (carried[component] @ X_k[0])
    return D


def pulled(arm, q, wrenches):
    """Generalised forces of wrenches on frames."""
    return sum(arm.jacobian(name, q).T @ w for name, w in wrenches.items())


def recursion(model, arm, assembled, wrenches=None):
    """Tangents of the recursive method about the motion, on y; and those of the joints' efforts by its coordinates."""
    joints = [arm.names.index(name) for name in model.joints]
    q, v, a = np.zeros((3, arm.size))
    q[joints], v[joints], a[joints] = (x[0] for x in assembled.motion)
    by = arm.inverse_derivatives(q, v, a)
    given = Matrices(by.a[None], by.v[None], by.q[None], arm.forces(q, v, a)[None])
    if wrenches:
        # central differences of fourth order
        h, unit = 1e-3, np.eye(arm.size)
        at = [np.array([pulled(arm, q + k * h * e, wrenches) for e in unit]).T for k in (-2, -1, 1, 2)]
        slope = (at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h)
        given = given._replace(K=given.K - slope, f=given.f - pulled(arm, q, wrenches))
    D = coordinates_of(model, arm, assembled)
    return congruence(given, tuple(D)), given, D
