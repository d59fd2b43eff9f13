"""Parts of the lumped method against their definitions: gyroscopic terms as printed, turns of open loops."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from closed_robots import five_bar
from pliant import Beam, ModelError, Properties, Spring
from pliant.analysis.lumped import elastic_motion as recovery
from pliant.analysis.lumped.elastic_motion import static
from pliant.analysis.lumped.lumped_model import LumpedModel
from pliant.analysis.lumped.mesh import first_partition
from pliant.analysis.lumped.node_equations import NodeBodies, node_terms, tilde
from pliant.analysis.lumped.nominal_motion import gaps
from pliant.analysis.lumped.successive import STEPS_PER_PERIOD, low_pass, step_times
from pliant.bodies.profile import beam_profile
from pliant.simulation.inverse.approximate_forward import ApproximateForward
from pliant.simulation.inverse.elastic_run import with_jumps


def test_the_gyroscopic_term_as_printed_is_the_slope_of_w_cross_I_w():
    """(4.2): a turn at the rate x beside w adds w x (I x) + x x (I w)."""
    rng = np.random.default_rng(1)
    half = rng.normal(size=(1, 3, 3))
    inertia = half @ half.swapaxes(1, 2)
    bodies = NodeBodies(np.zeros((1, 3)), np.array([0.0]), np.zeros((1, 3)), inertia)
    w, x, step = rng.normal(size=3), rng.normal(size=3), 1e-30
    fast = w + 1j * step * x
    slope = np.cross(fast, inertia[0] @ fast).imag / step
    found = node_terms(bodies, w, np.zeros(3), np.zeros(3), "printed").C[0, 3:, 3:] - 2 * inertia[0] @ tilde(w)
    assert found @ x == pytest.approx(slope, rel=1e-12)


def test_the_turn_of_an_open_loop_is_its_angle():
    """The two frames of a welded loop, one turned against the other by a small angle."""
    angle, axis = 1e-4, np.array([0.6, 0.0, 0.8])
    ahead = Rotation.from_rotvec([0.3, -0.5, 0.4]).as_matrix()
    behind = Rotation.from_rotvec(-angle * axis).as_matrix() @ ahead
    poses = {"a": (np.array([[0.1, 0.2, 0.3]]), ahead[None]), "b": (np.array([[0.1, 0.0, 0.3]]), behind[None])}
    skeleton = SimpleNamespace(pose=lambda links, name, place: poses[name])
    loop = SimpleNamespace(ends=(("a", None), ("b", None)), directions=lambda R: np.eye(6)[None])
    (found,) = gaps(skeleton, [loop], [])
    assert found == pytest.approx([0.0, 0.2, 0.0, *(angle * axis)], abs=1e-8 * angle)


@pytest.mark.parametrize(
    ("family", "deflection", "turn", "EI", "GA"), [("bend_y", 1, 5, 30.0, 400.0), ("bend_z", 2, 4, 50.0, 700.0)]
)
@pytest.mark.parametrize("elements", [1, 3])
def test_nodes_of_a_beam_that_shears_bend_as_a_timoshenko_beam(family, deflection, turn, EI, GA, elements):
    """A cantilever's tip under a force: L^3/3EI + L/GA and L^2/2EI; under a moment L^2/2EI and L/EI."""
    L = 0.8
    given = Properties(mass_per_length=1.0, EIy=50.0, EIz=30.0, kGAy=400.0, kGAz=700.0)
    profile = beam_profile(Beam(length=L, properties=given))
    K = first_partition(profile, np.linspace(0.0, L, elements + 1), (family,), timoshenko=True).toarray()
    free = [6 * node + k for node in range(1, elements + 1) for k in (deflection, turn)]
    found = np.linalg.inv(K[np.ix_(free, free)])[-2:, -2:]
    # a positive slope dz/dx is a negative turn about y
    slope = 1.0 if turn == 5 else -1.0
    across = slope * L**2 / (2 * EI)
    assert found == pytest.approx(np.array([[L**3 / (3 * EI) + L / GA, across], [across, L / EI]]), rel=1e-10)
    # moved and turned as a whole it stores nothing
    rigid = np.zeros((elements + 1, 6))
    rigid[:, deflection], rigid[:, turn] = 0.3 + slope * 0.2 * np.linspace(0.0, L, elements + 1), 0.2
    assert np.abs(K @ rigid.ravel()).max() < 1e-10 * np.abs(K).max()


def test_steps_are_equal_and_resolve_the_lowest_vibration():
    """Twenty periods of 2 Hz in ten seconds, with so many steps each; or as many steps as are asked for."""
    for times, steps in (
        (step_times(10.0, 4 * np.pi), 20 * STEPS_PER_PERIOD),
        (step_times(10.0, 4 * np.pi, steps=200), 200),
    ):
        assert times == pytest.approx(10.0 * np.arange(steps + 1) / steps, rel=1e-12)
    with pytest.raises(ModelError, match="of 2 Hz, needs at least 160 of them in 10 s"):
        step_times(10.0, 4 * np.pi, steps=159)


def test_a_band_limited_signal_goes_on_as_it_begins_and_ends():
    """The filter sees as much beyond the ends as it remembers: more of the same changes nothing."""
    step, band, more = 0.01, 20.0, 400
    t = step * np.arange(300)
    signal = np.column_stack([np.sin(3 * t + 0.4) + 0.2 * t, np.cos(11 * t)])
    longer = low_pass(np.pad(signal, ((more, more), (0, 0)), mode="edge"), step, band)[more:-more]
    assert low_pass(signal, step, band) == pytest.approx(longer, rel=0, abs=1e-5)


def test_no_step_goes_over_a_jump():
    found = with_jumps(np.array([0.1, 0.2, 0.3, 0.4]), [0.0, 0.1, 0.15, 0.2, 0.37, 0.5])
    assert found == pytest.approx([0.1, 0.15, 0.2, 0.3, 0.37, 0.4])


def test_loops_give_what_the_open_tree_lacks():
    """A five-bar with springs in its passive joints, bent by its weight: every row is in balance, not only those that
    the forces of the loop are found from."""
    given = five_bar(bend_y=True, bend_z=False, axial=True)
    links = [
        link if link.joint.actuated else link.with_changes(joint=link.joint.with_changes(spring=Spring(stiffness=40.0)))
        for link in given.links
    ]
    model = LumpedModel(given.with_changes(links=links, gravity=(0.0, -9.81, 0.0)))
    motion = model.at_rest()
    assembled, z = model.assemble(motion), static(model, motion)[None]
    y = recovery.with_loops(assembled, recovery.ElasticState(z, 0 * z, 0 * z))
    forces = [recovery.link_forces(model, assembled, y, i) for i in range(len(links))]
    lacking = recovery._lacking(model, assembled, y, forces)
    (found,) = model.multipliers(assembled.J, lacking)
    given_by_loops = np.einsum("tri,tr->ti", assembled.J[0], found)
    assert given_by_loops == pytest.approx(lacking, rel=0, abs=1e-9 * np.abs(lacking).max())


class FullRun(NamedTuple):
    """Channels of a run, by name."""

    time: np.ndarray
    channels: dict

    def __getitem__(self, name):
        return self.channels[name]


def test_the_error_of_the_approximate_motion_is_a_distance():
    """Between the two tips at the times of the approximation, the full run sampled at others."""
    tip = np.array([[1.0, 0.0, 0.0], [1.0, 0.5, 0.2], [0.4, 0.5, 0.2]])
    run = FullRun(np.array([0.0, 2.0]), {"tip.position": np.array([[1.0, 0.0, 0.0], [0.4, 1.0, 0.2]])})
    none = np.zeros((3, 1))
    found = ApproximateForward(np.array([0.0, 1.0, 2.0]), none, tip, none, none, run).position_error
    assert found == pytest.approx(0.5)
