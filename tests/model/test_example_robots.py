"""The URDF files of the package example-robot-data: all are read, and their dynamics are those of Pinocchio.

Runs where both packages are installed (``pip install '.[peers]'``). Pinocchio reads the same file by itself; only
inertias that no body can have, and masses of zero, are replaced by the repaired ones before.
"""

import warnings
import xml.etree.ElementTree as ElementTree
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import pliant
from pliant.errors import ModelError, RepairWarning
from pliant.model.description.derived_links import tie_matrix
from pliant.model.readers.library import load
from pliant.model.readers.urdf import read_urdf
from pliant.model.readers.urdf_values import words

# double precision through a hundred links, times the condition of the mass matrix
EQUAL = 1e-10
FILES = 69
# what a file without a robot says: ur3.urdf is the expansion of a xacro that only defines macros
EMPTY = {"ur_description/urdf/ur3.urdf": "there is no <link>"}
# moving links without mass, also for Pinocchio: no forward dynamics
MASSLESS = {"romeo_description/urdf/romeo.urdf", "romeo_description/urdf/romeo_laas_small.urdf"}
MOMENTS = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")


def robot_files():
    """The files of the package by their path below its folder `robots`."""
    try:
        files = metadata.files("example-robot-data") or []
    except metadata.PackageNotFoundError:
        return {}
    found = {}
    for file in files:
        if file.suffix == ".urdf":
            parts = file.parts
            found["/".join(parts[parts.index("robots") + 1 :])] = Path(str(file.locate()))
    return dict(sorted(found.items()))


ROBOTS = robot_files()
pin = pytest.importorskip("pinocchio", reason="Pinocchio (package pin) is not installed")
if not ROBOTS:
    pytest.skip("the package example-robot-data is not installed", allow_module_level=True)


def quietly(file, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RepairWarning)
        return load(file, **options)


def repaired_text(file):
    """The file with the inertias that were repaired, in the axes of their links."""
    urdf = read_urdf(file)
    mended = {repair.element for repair in urdf.repairs}
    root = ElementTree.parse(file).getroot()
    for link in root.findall("link"):
        ours = urdf.renamed.get(link.get("name"), link.get("name"))
        inertial = link.find("inertial")
        if f"link '{ours}'" not in mended or inertial is None:
            continue
        link.remove(inertial)
        body = urdf.links[ours].rigid
        if body is not None:
            inertial = ElementTree.SubElement(link, "inertial")
            ElementTree.SubElement(inertial, "origin", xyz=" ".join(repr(c) for c in body["com"]))
            ElementTree.SubElement(inertial, "mass", value=repr(body["mass"]))
            values = zip(MOMENTS, body["inertia"], strict=True)
            ElementTree.SubElement(inertial, "inertia", {key: repr(value) for key, value in values})
    return ElementTree.tostring(root, encoding="unicode")


def without_friction(robot):
    """Pinocchio's algorithms know no friction."""
    links = []
    for link in robot.links:
        joint = link.joint.model_copy(update={"friction": None})
        links.append(link.model_copy(update={"joint": joint}))
    return robot.model_copy(update={"links": tuple(links)})


class Peer:
    """Pinocchio's model with its coordinates in our order."""

    def __init__(self, file, names, *, mimic=False):
        self.model = pin.buildModelFromXML(repaired_text(file), mimic)
        self.data = self.model.createData()
        ours = words(list(self.model.names)[1:])
        own = {ours[self.model.names[j]]: self.model.joints[j] for j in range(1, self.model.njoints)}
        self.joints = [own[name] for name in names]
        self.order = [joint.idx_v for joint in self.joints]
        assert sorted(self.order) == list(range(self.model.nv))

    def state(self, q, *rates):
        out = [pin.neutral(self.model)]
        for joint, value in zip(self.joints, q, strict=True):
            # a continuous joint is a point on a circle there
            whole = [value] if joint.nq == 1 else [np.cos(value), np.sin(value)]
            out[0][joint.idx_q : joint.idx_q + joint.nq] = whole
        for rate in rates:
            out.append(np.zeros(self.model.nv))
            out[-1][self.order] = rate
        return out

    def mass_matrix(self, q):
        M = pin.crba(self.model, self.data, *self.state(q))
        return (np.triu(M) + np.triu(M, 1).T)[np.ix_(self.order, self.order)]

    def bias(self, q, v):
        return pin.nonLinearEffects(self.model, self.data, *self.state(q, v))[self.order]

    def forward(self, q, v, tau):
        return pin.aba(self.model, self.data, *self.state(q, v, tau))[self.order]


def meeting(file, robot):
    """Our dynamics, Pinocchio's, and a random state that obeys the ties, with random efforts."""
    arm = pliant.Dynamics(without_friction(robot), compile="never")
    rng = np.random.default_rng(1)
    T, q_0 = tie_matrix(robot.joint_coordinates, robot.ties)
    u, w = rng.uniform(-1, 1, (2, T.shape[1]))
    return arm, Peer(file, arm.names), (T @ u + q_0, T @ w, rng.uniform(-1, 1, arm.size))


def expected(robot, peer, q, v, tau):
    """Pinocchio's accelerations; its recursion knows no ties: its matrices, with the tied coordinates eliminated."""
    if not robot.ties:
        return peer.forward(q, v, tau)
    T, _ = tie_matrix(robot.joint_coordinates, robot.ties)
    return T @ np.linalg.solve(T.T @ peer.mass_matrix(q) @ T, T.T @ (tau - peer.bias(q, v)))


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=EQUAL, atol=EQUAL * (np.abs(theirs).max() or 1.0))


def test_the_package_is_the_one_of_the_table():
    assert len(ROBOTS) == FILES


@pytest.mark.parametrize("name", ROBOTS)
def test_a_real_robot_has_the_dynamics_of_its_file(name):
    file = ROBOTS[name]
    if name in EMPTY:
        with pytest.raises(ModelError, match=EMPTY[name]):
            quietly(file)
        return
    robot = quietly(file)
    if not robot.joint_coordinates:
        assert robot.mass > 0  # a drone: one body
        return
    arm, peer, (q, v, tau) = meeting(file, robot)
    close(arm.mass_matrix(q), peer.mass_matrix(q))
    close(arm.bias(q, v), peer.bias(q, v))
    if name in MASSLESS:
        with pytest.raises(ValueError, match="moves no inertia"):
            arm.forward(q, v, force=tau)
        return
    close(arm.forward(q, v, force=tau), expected(robot, peer, q, v, tau))


# Pinocchio takes only joints that follow one before them
TIED = [
    "baxter_description/urdf/baxter.urdf",
    "panda_description/urdf/panda.urdf",
    "pr2_description/urdf/pr2.urdf",
    "tiago_pro_description/robots/tiago_pro.urdf",
]


@pytest.mark.parametrize("name", TIED)
def test_ties_are_those_of_the_file(name):
    """The inertia and forces that the free joints feel, T^T M T and T^T h, against Pinocchio's own mimic joints."""
    robot = without_friction(quietly(ROBOTS[name]))
    assert robot.ties
    arm = pliant.Dynamics(robot, compile="never")
    T, q_0 = tie_matrix(robot.joint_coordinates, robot.ties)
    free = [joint for joint in arm.names if joint not in robot.ties]
    peer = Peer(ROBOTS[name], free, mimic=True)
    rng = np.random.default_rng(2)
    u, w = rng.uniform(-1, 1, (2, len(free)))
    close(T.T @ arm.mass_matrix(T @ u + q_0) @ T, peer.mass_matrix(u))
    close(T.T @ arm.bias(T @ u + q_0, T @ w), peer.bias(u, w))
