"""Cases of the verification by MuJoCo: beams as chains of rigid segments with springs between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import root

from pliant.verification.claims import Floats

SPRINGS = 40
"""Of a beam that begins and ends with half a segment: the error falls with the square of this number."""
STEP = 1e-6
LOAD_STEPS = 5
LAG, FLAP = 2, 1
"""Axes of the springs: z bends in the plane of rotation, y out of it."""


def results() -> dict[str, float]:
    """Case -> number; raises ImportError where MuJoCo is not installed."""
    import mujoco

    found: dict[str, float] = {}
    plain = _Chain(mujoco, 0.0, 0.0)
    for k, value in enumerate(plain.frequencies(0.0, LAG)[:4]):
        found[f"published.beam.clamped-free.{k + 1}"] = value
    for mass, inertia in ((1.0, 0.0), (1.0, 0.1), (0.0, 0.1)):
        for k, value in enumerate(_Chain(mujoco, mass, inertia).frequencies(0.0, LAG)[:4]):
            found[f"published.tip-mass.{mass:g}.{inertia:g}.{k + 1}"] = value
    for speed in (6.0, 12.0):
        for word, axis in (("flapping", FLAP), ("lag", LAG)):
            for bending in ("second-order", "exact"):
                found[f"bending.rotating.{bending}.{word}.{speed:g}"] = plain.frequencies(speed, axis)[0]
    for load in (1.0, 10.0):
        for axis_name, value in zip("xy", plain.elastica(load), strict=True):
            found[f"bending.elastica.{load:g}.{axis_name}"] = value
    return found


class _Chain:
    """EI = rhoA = L = 1 along x on a hub that turns about z, with a part at the tip."""

    def __init__(self, mujoco: Any, mass: float, inertia: float) -> None:
        self.mujoco = mujoco
        self.model = mujoco.MjModel.from_xml_string(_xml(mass, inertia))
        self.data = mujoco.MjData(self.model)

    def own(self, axis: int) -> list[int]:
        """Springs about an axis; the first joint is the hub."""
        return [k for k in range(1, self.model.nv) if self.model.jnt_axis[k][axis] == 1]

    def at(self, q: Floats, speed: float = 0.0) -> Floats:
        """Bias forces with those of the springs (n,), at a state that turns with the hub."""
        self.data.qpos[:], self.data.qvel[:] = q, 0.0
        self.data.qvel[0] = speed
        self.mujoco.mj_forward(self.model, self.data)
        return np.asarray(self.data.qfrc_bias - self.data.qfrc_passive)

    def frequencies(self, speed: float, axis: int) -> list[float]:
        """Frequencies of the beam on a hub that is held at a speed."""
        own, n = self.own(axis), self.model.nv
        K = np.stack([(self.at(x, speed) - self.at(-x, speed)) / (2 * STEP) for x in STEP * np.eye(n)[own]], axis=1)
        self.at(np.zeros(n))
        # columns of M by solving with it
        inverse = np.zeros((n, n))
        self.mujoco.mj_solveM(self.model, self.data, inverse, np.eye(n))
        M = np.linalg.inv(inverse)[np.ix_(own, own)]
        K = K[own]
        return [float(x) for x in np.sqrt(eigh((K + K.T) / 2, M, eigvals_only=True)[:4])]

    def elastica(self, load: float) -> tuple[float, float]:
        """Place of the tip under a force along y."""
        own, J, tip = self.own(LAG), np.zeros((3, self.model.nv)), self.model.site("tip").id
        stiffness = self.model.jnt_stiffness[own]

        def left(x: Floats, part: float) -> Floats:
            q = np.zeros(self.model.nv)
            q[own] = x
            self.at(q)
            self.mujoco.mj_jacSite(self.model, self.data, J, None, tip)
            return np.asarray(stiffness * x - part * load * J[1, own])

        x = np.zeros(len(own))
        for part in np.linspace(0.0, 1.0, LOAD_STEPS + 1)[1:]:
            x = root(left, x, args=(part,)).x
        left(x, 1.0)
        place = self.data.site("tip").xpos
        return float(place[0]), float(place[1])


def _xml(mass: float, inertia: float) -> str:
    h = 1.0 / SPRINGS
    springs = "".join(f'<joint axis="{axis}" stiffness="{1 / h!r}"/>' for axis in ("0 0 1", "0 1 0"))
    text = _inertia(h / 2, mass, inertia) + f'<site name="tip" pos="{h / 2!r} 0 0"/>'
    for k in reversed(range(SPRINGS)):
        text = f'<body pos="{h if k else h / 2!r} 0 0">{springs}{text}</body>'
        text = _inertia(h if k else h / 2) + text
    return f"""<mujoco><option gravity="0 0 0"><flag contact="disable" constraint="disable"/></option>
<worldbody><body><joint name="hub" axis="0 0 1"/>{text}</body></worldbody></mujoco>"""


def _inertia(length: float, mass: float = 0.0, inertia: float = 0.0) -> str:
    """A slender segment with what sits at its end."""
    whole = length + mass
    centre = (length**2 / 2 + mass * length) / whole
    J = length**3 / 3 + mass * length**2 + inertia - whole * centre**2
    return f'<inertial pos="{centre!r} 0 0" mass="{whole!r}" diaginertia="{J!r} {J!r} {J!r}"/>'
