"""Natural frequencies and mode shapes of a whole robot at a configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import pi
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pliant.analysis.equilibrium import resting, settle
from pliant.analysis.limits import state_limits, tell
from pliant.analysis.line_forces import RestingLines
from pliant.analysis.statics import Loads, is_symmetric, wrenches
from pliant.analysis.tangent import Tangent, tangent
from pliant.analysis.vibrations import complex_vibrations, rigid_motions, vibrations
from pliant.errors import did_you_mean
from pliant.model.notebook import html_page, made_by

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure
    from pandas import DataFrame

    from pliant.dynamics import Dynamics
    from pliant.states import States

Floats = NDArray[np.float64]

MODE_COLUMNS = ("mode", "frequency [Hz]", "frequency [rad/s]", "damping ratio", "growth [1/s]", "mostly")
HELD = 1e-9
"""A joint that can turn by no more than this part of its motion is held by the loops and by other joints."""
UNDAMPED = 1e-9
"""Damping ratio that rounding leaves of a pole without damping."""
CLEAR = 0.1
"""A joint is eliminated itself if its part in its own row is above this part of the largest."""


@dataclass(frozen=True, eq=False)
class ModeSet:
    """Natural vibrations of a robot, the lowest first.

    squares         omega^2, rad^2/s^2 (count,); negative where the robot falls away from the configuration
    shapes          columns (n, count): motion of all coordinates, of unit modal mass; complex where a rotation or a
                    load that follows lets the coordinates move out of phase
    damping_ratios  modal damping over critical damping (count,); nan for motions without stiffness
    shares          part of the kinetic energy of each mode that each coordinate carries (n, count); columns add to 1
    names           coordinates of the rows of the shapes
    q               the configuration (n,)
    arm             the robot that vibrates
    warnings        what is beyond the limits of the model there, in words
    v               rates of the steady rotation about which it vibrates (n,); none at rest
    """

    squares: Floats
    shapes: Floats | NDArray[np.complex128]
    damping_ratios: Floats
    shares: Floats
    names: tuple[str, ...]
    q: Floats
    arm: Dynamics
    warnings: tuple[str, ...] = ()
    v: Floats = field(default_factory=lambda: np.zeros(0))

    @property
    def frequencies(self) -> Floats:
        """rad/s; zero for motions without stiffness and for unstable ones."""
        return np.sqrt(np.maximum(self.squares, 0.0))

    @property
    def hertz(self) -> Floats:
        """Frequencies in Hz."""
        return self.frequencies / (2 * pi)

    @property
    def growth(self) -> Floats:
        """1/s: rate at which an unstable motion grows, falling or fluttering; zero for all others."""
        flutters = np.maximum(-np.nan_to_num(self.damping_ratios), 0.0) * self.frequencies
        return np.where(self.squares < 0, np.sqrt(np.maximum(-self.squares, 0.0)), flutters)

    def errors(self, count: int | None = None) -> Floats:
        """How much the frequencies are too high because beams have few shapes, as parts of them; NaN: not known.

        One inverse iteration tells it, no finer model is needed; links of modal data count as exact.
        """
        from pliant.analysis.mode_errors import mode_errors

        return mode_errors(self, count)

    @property
    def rigid(self) -> int:
        """Number of motions without stiffness."""
        return int(np.count_nonzero(self.squares == 0.0))

    def __len__(self) -> int:
        return len(self.squares)

    def leading(self, mode: int) -> str:
        """The coordinate that carries the largest part of the kinetic energy of a mode (counted from 0)."""
        return self.names[int(np.argmax(np.abs(self.shares[:, mode])))]

    def shape(self, mode: int) -> dict[str, complex]:
        """The motion of a mode (counted from 0) by the names of the coordinates."""
        return dict(zip(self.names, self.shapes[:, mode].tolist(), strict=True))

    def draw(self, path: str | Path | None = None) -> Figure:
        """A picture of the lowest vibrations; ``path``: PNG, SVG or PDF file to write."""
        figure: Figure = made_by("pictures.vibration_plots", "mode_figure")(self.arm, self, path)
        return figure

    def rows(self) -> list[tuple[int, float, float, float, float, str]]:
        """Number, Hz, rad/s, damping ratio, growth (1/s) and leading coordinate of each mode."""
        return [
            (k + 1, float(self.hertz[k]), float(self.frequencies[k]), float(self.damping_ratios[k]),
             float(self.growth[k]), self.leading(k))
            for k in range(len(self))
        ]  # fmt: skip

    def to_dataframe(self) -> DataFrame:
        """A pandas table with a row for each mode: Hz, rad/s, damping ratio, growth (1/s), leading coordinate."""
        pandas: Any = made_by("results.tables", "needed")("pandas", "a table")
        table: DataFrame = pandas.DataFrame(self.rows(), columns=list(MODE_COLUMNS)).set_index("mode")
        return table

    def _repr_html_(self) -> str:
        rows = [
            (k + 1, f"{hertz:.4g}", f"{100 * ratio:.3g}" if square > 0 else "", self.leading(k))
            for k, (hertz, ratio, square) in enumerate(zip(self.hertz, self.damping_ratios, self.squares, strict=True))
        ]
        return html_page(repr(self), ("mode", "Hz", "damping %", "mostly"), rows)

    def __repr__(self) -> str:
        first = ", ".join(f"{f:.4g}" for f in self.hertz[:5])
        listed = f": {first}{', ...' if len(self) > 5 else ''} Hz" if len(self) else ""
        return f"ModeSet({len(self)} modes{listed})"


def modes(
    arm: Dynamics,
    q: States | None = None,
    v: States | None = None,
    *,
    locked: bool | Sequence[str] = True,
    count: int | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> ModeSet:
    """Natural modes of small vibrations about a state of rest, or of steady rotation.

    q          coordinates; default, and joints by name ({"elbow": 0.5}): that pose, bent as gravity, loads and rotation
               bend it while the drives hold it
    v          rates of joints that turn on steadily, {"hub": 12.0}; modes are complex then
    locked     True: the drives hold their motor angles, or their speeds; False: all joints are free; or the names of
               those that are held
    count      how many of the lowest modes; default all
    loads      frame -> force (3,) N, or force and moment (6,) N, N m, along the axes of the base
    followers  the same along the axes of the frame, with which they turn

    Gravity and loads enter with their stiffness, and so do springs along lines and the oil of cylinders whose valves
    are shut; commanded forces along lines hold their length as drives do. Joints without drive are free unless they are
    named. Of closed loops any joints may be named: those that the loops and the others hold already add nothing.
    """
    from pliant.analysis.left_out import left_out_of

    found = vibration_modes(arm, q, v, locked=locked, count=count, loads=loads, followers=followers)
    found = replace(found, warnings=(*found.warnings, *left_out_of(arm.robot)))
    tell(found.warnings)
    return found


def vibration_modes(
    arm: Dynamics,
    q: States | None = None,
    v: States | None = None,
    *,
    locked: bool | Sequence[str] = True,
    count: int | None = None,
    loads: Loads | None = None,
    followers: Loads | None = None,
) -> ModeSet:
    """Natural modes without raised warnings: what is beyond the limits of the model is in its ``warnings`` only."""
    state = resting(arm, q, v, loads=loads, followers=followers)
    rates, still = arm.v(v), np.zeros(arm.size)
    acting = [*wrenches(loads), *wrenches(followers, follows=True)]
    tau = np.zeros(len(arm.inputs))
    pushes: Mapping[str, float] = {}
    rows: Mapping[str, Floats] = {}
    lines = RestingLines(arm) if arm.robot.actuators else None
    if arm.loops.rows or (lines is not None and lines.holding):
        rest = settle(arm, state, loads=loads, followers=followers)
        tau, pushes = rest.tau, rest.pushes
    if lines is not None:
        rows = lines.rigid_rows(lines.at(state))
    t = tangent(arm, state, rates, still, tau, dry_friction=False, loads=acting, pushes=pushes)
    if len(t.M) and not arm.loops.rows and (loose := arm.without_inertia(state)):
        raise ValueError(f"robot '{arm.robot.name}' has no modes: {loose}")
    Z = free_motions(arm, t, locked, rows)
    M, D, K = (Z.T @ x @ Z for x in (t.M, t.D, t.K))
    motions = t.N @ Z
    own = slice(0, count)
    squares, ratios = np.zeros(0), np.zeros(0)
    vectors: Floats | NDArray[np.complex128]
    if rates.any() or (acting and not is_symmetric(K)):
        poles, vectors = complex_vibrations(M, D, K)
        falls = (poles.imag == 0.0) & (poles.real > 0.0)
        squares = np.where(falls, -1.0, 1.0) * np.abs(poles) ** 2
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(squares > 0, -poles.real / np.abs(poles), np.nan)
        # undamped poles are imaginary but for rounding
        ratios[np.abs(ratios) < UNDAMPED] = 0.0
    else:
        K = (K + K.T) / 2
        squares, vectors = vibrations(M, K, rigid_motions(arm, motions, M, K))
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.einsum("ik,ij,jk->k", vectors, D, vectors) / (2 * np.sqrt(np.maximum(squares, 0.0)))
        ratios = np.where(squares > 0, ratios, np.nan)
    shapes = motions @ vectors[:, own]
    shares = (shapes.conj() * (arm.mass_matrix(state) @ shapes)).real
    # efforts of a rotating robot are not those of rest
    if lines is not None:
        at = lines.at(state)
        acting += lines.wrenches(at, lines.rest(at, np.array([pushes[name] for name in lines.held_names])))
    told = tuple(state_limits(arm, state, rates, tau=None if rates.any() else tau, loads=acting))
    return ModeSet(squares[own], shapes, ratios[own], shares, arm.names, state, arm, told, rates)


def held_squares(arm: Dynamics, M: Floats, K: Floats) -> Floats:
    """Squares of the natural frequencies of a tree whose drives hold, from its inertia and stiffness (n, n)."""
    none = np.zeros_like(M)
    Z = free_motions(arm, Tangent(M, none, K, arm.B, np.eye(arm.size), none, none, none, arm.names), locked=True)
    M, K = (Z.T @ x @ Z for x in (M, K))
    return vibrations(M, (K + K.T) / 2, rigid_motions(arm, Z, M, K))[0]


def free_motions(
    arm: Dynamics, t: Tangent, locked: bool | Sequence[str], lines: Mapping[str, Floats] | None = None
) -> Floats:
    """Z (m, k): motions of the independent coordinates that keep the motor angles of the locked joints.

    lines  name -> dl/dq (n,) of actuators along lines that are locked as joints are
    """
    if locked is False:
        return np.eye(len(t.names))
    lines = lines or {}
    every = (*arm.inputs, *lines)
    joints = every if locked is True else ((locked,) if isinstance(locked, str) else tuple(locked))
    # x[pivots] = -rows[:, others] x[others], one row for each joint that the loops and the rows before leave free
    rows, pivots = np.zeros((0, len(t.names))), list[int]()
    for name in joints:
        row = (lines[name] if name in lines else _motor_row(arm, name)) @ t.N
        left = row - row[pivots] @ rows
        largest = int(np.argmax(np.abs(left))) if len(left) else 0
        if not len(left) or abs(left[largest]) <= HELD * np.abs(row).max():
            continue
        own = t.names.index(name) if name in t.names else largest
        pivot = own if abs(left[own]) > CLEAR * abs(left[largest]) else largest
        left /= left[pivot]
        rows = np.vstack([rows - np.outer(rows[:, pivot], left), left])
        pivots.append(pivot)
    rest = [k for k in range(len(t.names)) if k not in pivots]
    Z = np.zeros((len(t.names), len(rest)))
    Z[rest, np.arange(len(rest))] = 1.0
    Z[pivots] = -rows[:, rest]
    return Z


def _motor_row(arm: Dynamics, joint: str) -> Floats:
    """The motor angle of a joint per unit of each coordinate (n,)."""
    for member in arm.mechanism.driven_members:
        if member.joint.name == joint:
            return arm.mechanism.motor_row(member)
    if joint in arm.names and arm.names.index(joint) in arm.mechanism.joints:
        # of a free joint each coordinate is its own
        row: Floats = np.eye(arm.size)[arm.names.index(joint)]
        return row
    joints = [arm.names[k] for k in arm.mechanism.joints]
    hint = did_you_mean(joint, joints) or f"; its joints: {', '.join(joints)}"
    raise ValueError(f"robot '{arm.robot.name}' has no joint '{joint}'{hint}")
