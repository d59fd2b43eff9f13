"""The ringing arm in MuJoCo: each bar a chain of rigid segments with springs and dampers between them.

A bar of n springs begins and ends with half a segment, which makes the chain second-order accurate in 1/n. The joints'
springs and dampers are the control law; what it follows comes as a force for every step, at its middle. The loop over
the steps is MuJoCo's own, in C.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from peers import NoPeerError
from ringing_arm import JOINTS, RINGING, SAMPLES, UNTIL, Bar, Floats, Solve


def load() -> tuple[Any, Any]:
    """The package and its loop over steps; raises NoPeerError."""
    try:
        import mujoco
        from mujoco import rollout
    except ImportError:
        raise NoPeerError("MuJoCo is not installed: pip install mujoco") from None
    return mujoco, rollout


def prepare(springs: int, steps: int, *, until: float = UNTIL) -> Solve:
    """The compiled model, for springs per bar and a multiple of SAMPLES time steps."""
    mujoco, rollout = load()
    step = until / steps
    model = mujoco.MjModel.from_xml_string(_xml(springs, step))
    data = mujoco.MjData(model)
    mujoco.mj_kinematics(model, data)
    kind = mujoco.mjtState.mjSTATE_FULLPHYSICS
    q, v = RINGING.desired((np.arange(steps) + 0.5) * step)
    forces = np.split(q * RINGING.kp + v * RINGING.kd, round(until / UNTIL * SAMPLES))

    def solve() -> Floats:
        state = np.zeros(mujoco.mj_stateSize(model, kind))
        mujoco.mj_getState(model, data, state, kind)
        positions = [data.site("tip").xpos[:2].copy()]
        with rollout.Rollout(nthread=0) as loop:
            for part in forces:
                states, _ = loop.rollout(model, data, state, part)
                state = states[0, -1]
                mujoco.mj_setState(model, data, state, kind)
                mujoco.mj_kinematics(model, data)
                positions.append(data.site("tip").xpos[:2].copy())
        return np.array(positions)

    return solve


def tip(springs: int, steps: int, **options: Any) -> Floats:
    """Positions of the tip in the plane (samples, 2)."""
    return prepare(springs, steps, **options)()


def _xml(springs: int, step: float) -> str:
    inner = f'<site name="tip" pos="{RINGING.bars[-1].length / springs / 2!r} 0 0"/>'
    for k in reversed(range(len(RINGING.bars))):
        x = RINGING.bars[k - 1].length / springs / 2 if k else 0.0
        inner = _bar(RINGING.bars[k], JOINTS[k], RINGING.kp[k], RINGING.kd[k], springs, x, inner)
    motors = "".join(f'<motor joint="{name}"/>' for name in JOINTS)
    return f"""<mujoco>
  <option timestep="{step!r}" integrator="implicitfast" gravity="0 0 0">
    <flag contact="disable" constraint="disable" warmstart="disable"/>
  </option>
  <worldbody>{inner}</worldbody>
  <actuator>{motors}</actuator>
</mujoco>"""


def _bar(bar: Bar, joint: str, kp: float, kd: float, springs: int, x: float, tip: str) -> str:
    """Half a segment on the joint, then whole ones, then half a segment that carries what is beyond the bar."""
    length = bar.length / springs
    bend = bar.bending_stiffness / length
    text = _inertia(bar, length / 2, tip_mass=bar.tip_mass, tip_inertia=bar.tip_inertia) + tip
    for k in reversed(range(springs)):
        place = length / 2 if k == 0 else length
        text = f'<body pos="{place!r} 0 0">{_hinge(bend, RINGING.damping * bend)}{text}</body>'
        text = (_inertia(bar, length / 2, hub=bar.hub_inertia) if k == 0 else _inertia(bar, length)) + text
    return f'<body pos="{x!r} 0 0">{_hinge(kp, kd, joint)}{text}</body>'


def _hinge(stiffness: float, damping: float, name: str = "") -> str:
    label = f'name="{name}" ' if name else ""
    return f'<joint {label}axis="0 0 1" stiffness="{stiffness!r}" damping="{damping!r}"/>'


def _inertia(bar: Bar, length: float, *, hub: float = 0.0, tip_mass: float = 0.0, tip_inertia: float = 0.0) -> str:
    """A slender segment with what sits at its two ends; only the inertia about z matters."""
    own = bar.mass_per_length * length
    mass = own + tip_mass
    centre = (own * length / 2 + tip_mass * length) / mass
    about_root = own * length**2 / 3 + hub + tip_mass * length**2 + tip_inertia
    J = about_root - mass * centre**2
    return f'<inertial pos="{centre!r} 0 0" mass="{mass!r}" diaginertia="{J!r} {J!r} {J!r}"/>'
