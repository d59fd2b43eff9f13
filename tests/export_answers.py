"""What exported functions must give at a state, each by the package's own calls, which share no code with exports."""

import numpy as np

import zoo

FRAMES = ("tip",)


def answers(arm):
    """Function -> (inputs, value); a state on the loops where there are any."""
    rng = np.random.default_rng(4)
    q, v, a = zoo.state(arm)
    f = np.linspace(-1.0, 1.0, arm.size)
    if arm.loops.rows:
        q, v = arm.project(arm.assemble(), 0.05 * rng.standard_normal(arm.size))
    moved = arm.forward(q, v, force=f)
    poses = [arm.pose(frame, q) for frame in FRAMES]
    slopes = arm.inverse_derivatives(q, v, a)
    by_q, by_v, by_f = arm.loops.sensitivities(q, v, moved, f)
    out = {
        "forward": ((q, v, f), moved),
        "inverse": ((q, v, a), arm.forces(q, v, a)),
        "bias": ((q, v), arm.bias(q, v)),
        "mass_matrix": ((q,), arm.mass_matrix(q)),
        "energy": ((q, v), np.array(arm.energy(q, v))),
        "pose": ((q,), np.array([[*p.position, *p.rotation.ravel()] for p in poses])),
        "jacobian": ((q,), np.array([arm.jacobian(frame, q) for frame in FRAMES])),
        "forward_by_q": ((q, v, f), by_q),
        "forward_by_v": ((q, v, f), by_v),
        "forward_by_f": ((q, v, f), by_f),
        "inverse_by_q": ((q, v, a), slopes.q),
        "inverse_by_v": ((q, v, a), slopes.v),
    }
    reactions = arm.reactions(q, v, moved, np.zeros(len(arm.inputs)), force=f)
    out["reactions"] = ((q, v, moved, f), reactions)
    if arm.inputs and arm.loops.inverse_is_traced:
        driven = [arm.names.index(name) for name in arm.inputs]
        others = f.copy()
        others[driven] = 0.0
        found = arm.inverse(q, v, a[driven], force=others)
        every = a.copy()
        every[[k for k in range(arm.size) if k not in driven]] = found[1]
        given = others.copy()
        given[driven] = a[driven]
        out["efforts"] = ((q, v, given), np.concatenate([found[0], every]))
    if arm.loops.rows:
        J = arm.loops.jacobian(q)
        near = q + 1e-3 * arm.loops.column_scale * rng.standard_normal(arm.size)
        rates = v + 1e-2 * rng.standard_normal(arm.size)
        on_loops = arm.loops.corrected(near, rates)[0]
        out |= {
            "closure": ((near,), arm.closure(near)),
            "closure_rate": ((near, rates), arm.closure_rate(near, rates)),
            "closure_jacobian": ((q,), J),
            "closure_acceleration": ((q, v, a), J @ a + arm.loops.bias(q, v)),
            "multipliers": ((q, v, moved, f), arm.multipliers(q, v, force=f)),
            "project": ((near, rates), np.concatenate(arm.loops.corrected(on_loops, rates))),
            "assemble": ((near,), arm.assemble(near, hold=arm.independent, bend=True)),
        }
    return out
