"""What robots and runs may have: small robots, each with one thing that sets it apart."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np

from closed_robots import five_bar
from pliant import Beam, Dynamics, Robot
from pliant.analysis.lumped.mesh import first_partition, second_partition
from pliant.analysis.lumped.node_equations import block_diagonal
from pliant.bodies.profile import beam_profile
from pliant.model.readers.finite_elements import finite_elements
from pliant.model.readers.library import read_text


def beam_link(name, joint, parent="", *, EI, bending="linear", more="", payload=0.0):
    """The text of a beam on a joint about z."""
    load = f"\n    payloads: [{{frame: tip, mass: {payload}}}]" if payload else ""
    return f"""
  - name: {name}
    joint: {{name: {joint}, axis: z{parent and f", parent: {parent}"}{more}}}
    hub: {{mass: 0.3, inertia: 0.002}}
    beam:
      length: 0.5
      properties: {{mass_per_length: 0.4, EIy: {EI}, EIz: {EI}}}
      bending: {bending}
      modes: {{bend_y: 1}}
      damping: {{rayleigh: {{mass: 0, stiffness: 2.0e-4}}}}{load}"""


def robot(name, *links, gravity="[0, 0, 0]"):
    return read_text(f"name: {name}\ngravity: {gravity}\nlinks:{''.join(links)}\n")


def two_link(bending="linear", gravity="[0, 0, 0]"):
    return robot(
        "two-link",
        beam_link("upper", "shoulder", EI=50, bending=bending),
        beam_link("fore", "elbow", "upper.tip", EI=12, bending=bending, payload=0.2),
        gravity=gravity,
    )


def branching():
    return robot(
        "branching",
        beam_link("trunk", "waist", EI=60),
        beam_link("left", "left_joint", "trunk.tip", EI=12, payload=0.1),
        beam_link("right", "right_joint", "trunk.tip", EI=15, payload=0.2),
    )


def following():
    return robot(
        "following",
        beam_link("upper", "shoulder", EI=50),
        beam_link("fore", "elbow", "upper.tip", EI=20),
        beam_link("hand", "wrist", "fore.tip", EI=12, more=", mimic: {joint: elbow, ratio: -0.5}", payload=0.1),
    )


def damped_five_bar():
    return five_bar(bend_y=True).with_changes(damping={"ratio": 0.01})


def floating():
    body = "\n  - name: body\n    joint: {name: drift, type: free}\n    rigid: {mass: 4, inertia: [0.1, 0.1, 0.1]}"
    return robot("floating", body, beam_link("arm", "shoulder", "body", EI=12, payload=0.2))


def of_matrices():
    """A first link whose stiffness and mass are matrices of finite elements, which bend, twist and stretch."""
    section = {"rectangle": {"width": 0.012, "height": 0.02}}
    profile = beam_profile(Beam(length=0.5, material="aluminium", section=section, bending="linear"))
    x = np.linspace(0.0, 0.5, 4)
    K = first_partition(profile, x, ("bend_y", "bend_z", "torsion", "axial"), timoshenko=False)
    bodies = second_partition(profile, x, sections=True)
    data = finite_elements(K, block_diagonal(bodies.mass_matrices()), bodies.x).reduced([0], {"tip": [3]}, modes=0)
    rest = two_link()
    first = rest.links[0].with_changes(beam=None, modal=data)
    return rest.with_changes(name="matrices", links=(first, rest.links[1]), damping={"ratio": 0.01})


@dataclass(frozen=True)
class Feature:
    """Something that a robot or a run may have.

    name   head of its column
    build  its robot; None: it is something of a run, which capabilities know by the name
    pose   joint positions about which it is looked at
    move   by which its drives move
    output a place of a frame
    order  of a reduced model: motions that do not decay stay, and some of the others
    """

    name: str
    build: Callable[[], Robot] | None = None
    pose: tuple[float, ...] = (0.3, 0.8)
    move: tuple[float, ...] = (0.05, -0.03)
    output: str = "tip.y"
    order: int = 4


FEATURES = (
    Feature("tree", branching, (0.3, 0.9, -0.7), (0.05, -0.03, 0.04)),
    Feature(
        "loop",
        lambda: five_bar(bend_y=True).with_changes(damping={"ratio": 0.01}),
        (2.0944, 1.0472),
        (0.04, 0.02),
        "left_coupler.tip.y",
    ),
    Feature("linear bending", two_link),
    Feature("second-order bending", lambda: two_link("second-order")),
    Feature("exact bending", lambda: two_link("exact")),
    Feature("finite-element link", of_matrices),
    Feature("joint that follows", following),
    Feature("floating base", floating, (0.4,), (0.05,), order=14),
    Feature("gravity", lambda: two_link("second-order", "[0, -9.81, 0]")),
    Feature("prescribed motion"),
    Feature("loads"),
    Feature("sweep in lanes"),
    Feature("kill and resume"),
    Feature("export"),
)


@cache
def arm_of(name: str) -> Dynamics:
    """The robot of a feature; that of linear bending for features of runs."""
    feature = next(each for each in FEATURES if each.name == name)
    return Dynamics(feature.build() if feature.build is not None else two_link())


def start_of(feature: Feature) -> dict[str, float]:
    """The pose of a feature by the names of the inputs."""
    return dict(zip(arm_of(feature.name).inputs, feature.pose, strict=True))


def target_of(feature: Feature) -> dict[str, float]:
    """Where its drives move."""
    return {name: at + by for (name, at), by in zip(start_of(feature).items(), feature.move, strict=True)}
