"""Chains beside the recursive method, linearised about the same motion: what remains has names, and is just that.

K of the recursion = K of the nodes + frames + shortening - bodies, and all other matrices are the same.
"""

from functools import cache

import numpy as np
import pytest

from lumped_arms import coordinates_of, recursion
from pliant import Dynamics, Robot
from pliant.analysis.lumped import lumped_model
from pliant.analysis.lumped.displacements import AppliedLoads
from pliant.analysis.lumped.elastic_motion import ElasticState, reactions
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.nominal_motion import JointMotion

TOLERANCE = 1e-9
"""Of the largest entry that the motion causes; what is left is rounding of the elastic stiffness."""
DIFFERENCES = 1e-7
"""The same where the recursion of a closed chain is differentiated by differences of fourth order."""
ORDER = 0.02
"""How far a fitted order may be from that of the terms."""

SIDE = {"axis": "y", "placement": {"position": [0.05, 0.02, -0.03], "rotation": {"rpy": [0.3, -0.2, 0.4]}}}
LOOSE = {"actuated": False, "spring": {"stiffness": 3.0}, "child_placement": {"position": [0.1, 0.05, 0.02]}}
SIDE_PLACE = {"placement": SIDE["placement"]}
FAR = {"child_placement": LOOSE["child_placement"]}
FAMILIES = {
    "plane": ("bend_y", "axial"),
    "bent": ("bend_y", "bend_z"),
    "twisted": ("bend_y", "bend_z", "torsion", "axial"),
}


def chain(joints, families="bent", bending="linear", frames=()):
    """Soft beams of two elements, the last with an excentric payload."""
    beam = {
        "length": 0.4,
        "properties": {
            "mass_per_length": 1.0, "EIy": 3.0, "EIz": 2.0, "GJ": 1.0, "EA": 50.0,
            "rhoIy": 4e-4, "rhoIz": 6e-4, "rhoJ": 1e-3,
        },
        "bending": bending,
        "lumped": {"nodes": 2, **{name: name in FAMILIES[families] for name in FAMILIES["twisted"]}},
    }  # fmt: skip
    links = [{"name": name, "joint": joint, "beam": beam} for name, joint in zip("abc", joints, strict=False)]
    payload = {"mass": 0.3, "com": [0.02, 0.03, 0.01], "inertia": [1e-3, 2e-3, 2.5e-3]}
    links[0]["frames"] = list(frames)
    links[0]["payloads"] = [{**payload, "frame": frame["name"]} for frame in frames if frame["name"].startswith("load")]
    links[-1]["payloads"] = [payload]
    return Robot(name="chain", gravity=(1.0, 2.0, -9.81), links=links)


Z, Y, X = {"axis": "z"}, {"axis": "y"}, {"axis": "x"}
CHAINS = {
    "two links in the plane": lambda bending: chain([Z, Z], "plane", bending).with_changes(gravity=(3.0, 9.0, 0.0)),
    "two links in space": lambda bending: chain([Z, SIDE], "bent", bending),
    "three links that twist": lambda bending: chain([Z, Y, X], "twisted", bending),
    "a flexible joint": lambda bending: chain([Z, {**SIDE, **LOOSE}, X], "bent", bending),
    "a flexible slide": lambda bending: chain([Z, {**SIDE, **LOOSE, "type": "prismatic"}, X], "bent", bending),
    "a flexible joint on the frame": lambda bending: chain([{**Z, **LOOSE}, SIDE], "bent", bending),
    "a frame beside the axis": lambda bending: chain(
        [Z, {**SIDE, "parent": "a.side"}], "bent", bending, [{"name": "side", "x": 0.2, "position": [0.01, 0.04, 0.02]}]
    ),
    "a ball with a spring": lambda bending: chain(
        [Z, {**SIDE_PLACE, **LOOSE, "type": "spherical"}, X], "bent", bending
    ),
    "a plate": lambda bending: chain([Z, {**SIDE_PLACE, **FAR, "type": "planar"}, X], "bent", bending),
    "a sleeve": lambda bending: chain([Z, {**SIDE, **FAR, "type": "cylindrical"}, X], "twisted", bending),
    "a screw": lambda bending: chain([Z, {**SIDE, **LOOSE, "type": "helical", "pitch": 0.3}, X], "bent", bending),
    "frames between the nodes": lambda bending: chain([Z, {**SIDE, "parent": "a.side"}], "twisted", bending, BETWEEN),
}
BETWEEN = [
    {"name": "side", "x": 0.31, "position": [0.01, 0.04, 0.02], "rotation": {"rpy": [0.2, 0.1, -0.3]}},
    {"name": "load", "x": 0.05},
    {"name": "load_beside", "x": 0.3100001, "position": [0.0, -0.02, 0.03]},
    {"name": "bare", "x": 0.2000001},
]
"""Near a node, near each other, and anywhere; with and without something on them."""


@cache
def arms(name, bending):
    robot = CHAINS[name](bending)
    return robot, Dynamics(robot, compile="never")


def some_motion(model, speed=1.0, seed=0):
    rng = np.random.default_rng(seed)
    q, v, a = (rng.normal(size=(1, len(model.joints))) for _ in range(3))
    for seat in model.skeleton.seats:
        if seat.kind.rotation_vector is not None:
            # where its coordinates are small displacements, and its spring is at rest
            q[:, list(seat.coordinates)] = 0.0
    return JointMotion(q, 3 * speed * v, 5 * speed**2 * a)


WRENCHES = {"a.side": np.array([3.0, -2.0, 4.0, 0.3, 0.5, -0.2]), "b.tip": np.array([-5.0, 6.0, 2.0, 0.1, 0.4, 0.7])}
"""On a frame of the first link, and on the last one."""


def applied(model, wrenches):
    return AppliedLoads(tuple((model.skeleton.frame(name), w[None]) for name, w in wrenches.items()))


def size(A):
    return np.abs(A).max()


def moving_part(model, assembled):
    """The part of K that the motion and gravity cause."""
    still = LumpedModel(model.robot.with_changes(gravity=(0.0, 0.0, 0.0)), stiffening=False)
    rest = still.assemble(JointMotion(assembled.motion.q, 0 * assembled.motion.v, 0 * assembled.motion.a))
    return size(model.equations_at(assembled, 0).K - still.equations_at(rest, 0).K)


@pytest.mark.parametrize("bending", ["linear", "second-order"])
@pytest.mark.parametrize("name", CHAINS)
def test_what_remains_is_what_is_named(name, bending):
    robot, arm = arms(name, bending)
    model = LumpedModel(robot, stiffening=False if bending == "linear" else None)
    assembled = model.assemble(some_motion(model))
    wanted, _, _ = recursion(model, arm, assembled)
    found, scale = model.equations_at(assembled, 0), moving_part(model, assembled)
    for x, y in zip((found.M, found.C, found.f), (wanted.M, wanted.C, wanted.f), strict=True):
        assert size(x - y[0]) < TOLERANCE * max(size(y), scale)
    named = model.beside_recursion(assembled)
    left = wanted.K[0] - found.K
    if bending == "linear":
        assert size(left) > 0.1 * scale
        assert size(left - named.frames[0] + named.bodies[0]) < TOLERANCE * scale
    else:
        # frames and shortening are part of the model
        assert size(named.shortening) > scale / 10
        assert size(left + named.bodies[0]) < TOLERANCE * scale


@pytest.mark.parametrize("bending", ["linear", "second-order"])
@pytest.mark.parametrize("name", ["a frame beside the axis", "frames between the nodes"])
def test_what_remains_under_loads_from_outside(name, bending):
    """Forces and moments on frames are internal forces of everything that carries them; efforts are those of them."""
    robot, arm = arms(name, bending)
    model = LumpedModel(robot)
    loads = applied(model, WRENCHES)
    assembled = model.assemble(some_motion(model), loads)
    wanted, given, D = recursion(model, arm, assembled, WRENCHES)
    found, scale = model.equations_at(assembled, 0), moving_part(model, assembled)
    bare = model.equations_at(model.assemble(assembled.motion), 0)
    assert size(found.f - bare.f) > 0.1 * size(bare.f)
    assert size(found.f - wanted.f[0]) < TOLERANCE * size(wanted.f)
    named = model.beside_recursion(assembled)
    left = wanted.K[0] - found.K + named.bodies[0]
    if bending == "linear":
        left = left - named.frames[0]
    assert size(left) < DIFFERENCES * scale
    y, rate = np.random.default_rng(5).normal(size=(2, model.size))
    second = -np.linalg.solve(found.M, found.C @ rate + found.K @ y + found.f)
    q, v = D[0][0] @ y, D[0][0] @ rate + D[1][0] @ y
    a = D[0][0] @ second + 2 * D[1][0] @ rate + D[2][0] @ y
    if bending == "second-order":
        rows = [arm.names.index(name) for name in model.inputs]
        efforts = (given.f[0] + given.M[0] @ a + given.C[0] @ v + given.K[0] @ q)[rows]
        got = reactions(model, assembled, ElasticState(y[None], rate[None], second[None])).efforts[0]
        np.testing.assert_allclose(got, efforts, atol=DIFFERENCES * size(efforts))


def test_sparse_and_full_matrices_have_the_same_loads(monkeypatch):
    robot, _ = arms("frames between the nodes", "second-order")
    full = LumpedModel(robot)
    monkeypatch.setattr(lumped_model, "FULL_SIZE", 0)
    sparse = LumpedModel(robot)
    motion = some_motion(full)
    left = full.equations_at(full.assemble(motion, applied(full, WRENCHES)), 0)
    right = sparse.equations_at(sparse.assemble(motion, applied(sparse, WRENCHES)), 0)
    np.testing.assert_allclose(right.K.toarray(), left.K, atol=TOLERANCE * size(left.K))
    np.testing.assert_allclose(right.f, left.f, atol=TOLERANCE * size(left.f))


def test_what_remains_vanishes_with_the_internal_forces():
    """It has nothing but them: it falls with the square of the speed, as they do."""
    robot, arm = arms("three links that twist", "linear")
    robot = robot.with_changes(gravity=(0.0, 0.0, 0.0))
    model, arm = LumpedModel(robot), Dynamics(robot, compile="never")
    left = []
    for speed in (1.0, 0.1, 0.01):
        assembled = model.assemble(some_motion(model, speed))
        left.append(size(recursion(model, arm, assembled)[0].K[0] - model.equations_at(assembled, 0).K))
    np.testing.assert_allclose(np.log10(np.divide(left[:-1], left[1:])), 2.0, atol=ORDER)


def test_turning_pieces_vanish_with_their_size():
    """What the recursion leaves out is that pieces turn: their inertia falls with the square of the elements."""
    sizes = []
    for elements in (2, 4, 8):
        model = LumpedModel(CHAINS["two links in space"]("linear"), elements=elements)
        assembled = model.assemble(some_motion(model))
        K = model.beside_recursion(assembled).bodies[0]
        # on one and the same shape, a turn of all sections that grows along the links
        shape = np.concatenate([_bow(mesh) for mesh in model.meshes])
        sizes.append(shape @ K @ shape)
    np.testing.assert_allclose(np.log2(np.divide(sizes[:-1], sizes[1:])), 2.0, atol=0.2)


def _bow(mesh):
    """Own displacements of a link bent as x^2, in both planes."""
    out = np.zeros(mesh.own)
    for node in range(1, mesh.nodes):
        x = mesh.bodies.x[node, 0]
        bow = {0: 0.0, 1: x**2, 2: -(x**2), 3: 0.0, 4: 2 * x, 5: 2 * x}
        for component, place in mesh.own_at(node).items():
            out[place] = bow[component]
    return out


@pytest.mark.parametrize(
    "name", ["two links in space", "a flexible joint", "a frame beside the axis", "frames between the nodes"]
)
def test_efforts_of_second_order_links_are_those_of_the_recursion(name):
    """To first order in displacements that obey the equations."""
    robot, arm = arms(name, "second-order")
    model = LumpedModel(robot)
    assembled = model.assemble(some_motion(model, seed=2))
    _, given, D = recursion(model, arm, assembled)
    y, rate = np.random.default_rng(5).normal(size=(2, model.size))
    M, C, K, f = model.equations_at(assembled, 0)
    second = -np.linalg.solve(M, C @ rate + K @ y + f)
    q = D[0][0] @ y
    v = D[0][0] @ rate + D[1][0] @ y
    a = D[0][0] @ second + 2 * D[1][0] @ rate + D[2][0] @ y
    rows = [arm.names.index(name) for name in model.inputs]
    wanted = (given.f[0] + given.M[0] @ a + given.C[0] @ v + given.K[0] @ q)[rows]
    found = reactions(model, assembled, ElasticState(y[None], rate[None], second[None])).efforts[0]
    np.testing.assert_allclose(found, wanted, atol=TOLERANCE * size(wanted))


def five_bar(kind, families, frame):
    """Two driven cranks and two couplers of soft beams; what closes it is a point in the plane, or a hinge in space."""
    beam = {
        "length": 0.4,
        "properties": {"mass_per_length": 1.0, "EIy": 3.0, "EIz": 2.0, "GJ": 1.0, "EA": 50.0, "rhoJ": 1e-3},
        "bending": "linear",
        "lumped": {"nodes": 1, **{name: name in families for name in FAMILIES["twisted"]}},
    }
    passive = {"axis": "z", "actuated": False}
    places = {"left": [0.0, 0.0, 0.0], "right": [0.3, 0.0, 0.0]}
    links = []
    for side, at in places.items():
        links.append(
            {"name": side, "joint": {"axis": "z", "parent": "base", "placement": {"position": at}}, "beam": beam}
        )
        coupler = {"name": f"{side}_coupler", "joint": {**passive, "parent": side}, "beam": beam}
        links.append({**coupler, "payloads": [{"mass": 0.2}]} if side == "left" else coupler)
    links[1]["frames"] = [{"name": "pin", "x": 0.33, "position": [0.0, 0.02, 0.0]}]
    loop = {"name": "tool", "frames": [f"left_coupler.{frame}", "right_coupler.tip"], **kind}
    pose = {"left": 2.0, "left_coupler": -1.2, "right": 1.1, "right_coupler": 1.2}
    return Robot(name="five-bar", gravity=(1.0, -9.81, -5.0), links=links, loops=[loop], pose=pose)


class ClosedRecursion:
    """The recursion of a closed chain about a nominal motion, projected on independent displacements z of the nodes."""

    def __init__(self, robot, model, motion):
        self.arm, self.open = Dynamics(robot, compile="never"), Dynamics(robot.with_changes(loops=()), compile="never")
        self.e, assembled = model.elimination, model.assemble(motion)
        self.D = [part[0] for part in coordinates_of(model, self.arm, assembled)]
        joints = [self.arm.names.index(name) for name in model.joints]
        self.nominal = np.zeros((3, self.arm.size))
        self.nominal[:, joints] = [x[0] for x in motion]

    def residual(self, z, z_dot, z_ddot):
        """Z^T f, exact."""
        y, y_dot, y_ddot = (np.zeros(self.D[0].shape[1]) for _ in range(3))
        loops, d, i = self.arm.loops.constraints, self.e.dependent, self.e.independent
        y[i], y_dot[i], y_ddot[i] = z, z_dot, z_ddot
        D0, D1, D2 = self.D
        for _ in range(6):
            q = self.nominal[0] + D0 @ y
            J = loops.jacobian(q)
            y[d] -= np.linalg.lstsq(J @ D0[:, d], loops.gaps(q), rcond=None)[0]
        q = self.nominal[0] + D0 @ y
        J = loops.jacobian(q)
        on_y = J @ D0
        v = self.nominal[1] + D0 @ y_dot + D1 @ y
        y_dot[d] = -np.linalg.lstsq(on_y[:, d], J @ v, rcond=None)[0]
        v = self.nominal[1] + D0 @ y_dot + D1 @ y
        a = self.nominal[2] + D0 @ y_ddot + 2 * D1 @ y_dot + D2 @ y
        y_ddot[d] = -np.linalg.lstsq(on_y[:, d], J @ a + loops.closing(q, v)[2], rcond=None)[0]
        a = self.nominal[2] + D0 @ y_ddot + 2 * D1 @ y_dot + D2 @ y
        f = D0.T @ self.open.forces(q, v, a)
        held = np.linalg.lstsq(on_y[:, d].T, f[d], rcond=None)[0]
        return f[i] - on_y[:, i].T @ held

    def tangent(self, which, step):
        """Derivative by z, its rate or its acceleration, by central differences of fourth order."""
        n, columns = len(self.e.independent), []
        for k in range(n):
            values = []
            for shift in (-2, -1, 1, 2):
                state = np.zeros((3, n))
                state[which, k] = shift * step
                values.append(self.residual(*state))
            columns.append((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * step))
        return np.array(columns).T


@pytest.mark.parametrize(
    ("kind", "families", "frame"),
    [
        ({"type": "spherical", "planar": "xy"}, ("bend_y", "axial"), "tip"),
        ({"type": "revolute"}, FAMILIES["twisted"], "tip"),
        ({"type": "spherical", "planar": "xy"}, ("bend_y", "axial"), "pin"),
    ],
    ids=["a point in the plane", "a hinge in space", "a point between nodes"],
)
def test_what_remains_of_a_closed_chain(kind, families, frame):
    """Forces of the closure are internal, too."""
    robot = five_bar(kind, families, frame)
    model = LumpedModel(robot)
    driven = [[2.0, 1.1], [1.5, -2.0], [3.0, 4.0]]
    motion = model.nominal(JointMotion(*np.array(driven)[:, None]))
    assembled = model.assemble(motion)
    found, scale = model.equations_at(assembled, 0), moving_part(model, assembled)
    exact, named = ClosedRecursion(robot, model, motion), model.beside_recursion(assembled)
    for k, (A, step) in enumerate(((found.K, 2e-3), (found.C, 0.1), (found.M, 1.0))):
        wanted = exact.tangent(k, step)
        left = wanted - A
        if not k:
            assert size(left) > 0.1 * scale
            left = left - named.frames[0] + named.bodies[0]
        assert size(left) < DIFFERENCES * max(scale, size(wanted) if k else 0.0), "KCM"[k]


@pytest.mark.parametrize("curved", ["right_coupler", "left"])
def test_nothing_remains_of_a_closed_chain_with_a_curved_link(curved):
    """A link by its own coordinates in a loop of links of nodes: internal forces of all links are in the equations."""
    robot = five_bar({"type": "spherical", "planar": "xy"}, ("bend_y", "axial"), "tip")
    rod = {
        "length": 0.4,
        "properties": robot.links[0].beam.properties.given(),
        "bending": "exact",
        "curvature": {"bend_y": [0.8]},
        "modes": {"bend_y": 2, "bend_z": 0, "torsion": 0, "axial": 1},
    }
    links = [link.with_changes(beam=rod) if link.name == curved else link for link in robot.links]
    robot = robot.with_changes(links=links)
    model = LumpedModel(robot)
    start = model.reference_pose()
    driven = np.array([[2.0, 1.1], [1.5, -2.0], [3.0, 4.0]])[:, None]
    motion = model.nominal(JointMotion(*driven), start)
    assembled = model.assemble(motion)
    found, bodies = model.equations_at(assembled, 0), model.beside_recursion(assembled).bodies[0]
    light = LumpedModel(robot.with_changes(gravity=(0.0, 0.0, 0.0)))
    still = light.nominal(JointMotion(driven[0], 0 * driven[0], 0 * driven[0]), start)
    scale = size(found.K - light.equations_at(light.assemble(still), 0).K)
    exact = ClosedRecursion(robot, model, motion)
    for k, (A, step) in enumerate(((found.K, 5e-4), (found.C, 0.1), (found.M, 1.0))):
        wanted = exact.tangent(k, step)
        left = wanted - A + (0.0 if k else bodies)
        assert size(left) < DIFFERENCES * max(scale, size(wanted)), "KCM"[k]
