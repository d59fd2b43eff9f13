"""The matrices of the equations of motion of a chain of bodies: M, the Christoffel symbols of D, U, F, G and B."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pliant.formulations.lagrange.algebra.chain import BodyChain, kinetic_energy
from pliant.formulations.lagrange.algebra.link_inertia import Matrix
from pliant.formulations.lagrange.algebra.series import Algebra, Series, TooLargeError, inner, powers

Progress = Callable[[float, str], None]
"""Called with the part that is done (0 to 1) and what is being done."""


@dataclass(frozen=True, slots=True)
class DryFriction:
    """Smoothed dry friction of one joint on its motor angle: the row of that angle, the effort and the smoothing."""

    row: tuple[tuple[Series, int], ...]
    coulomb: Series
    smoothing: Series


@dataclass(frozen=True, slots=True)
class SymbolicClosure:
    """Loops that were cut open: ways c(q) between frames that must be zero, J = dc/dq, and J_dot by velocities.

    ``rates[r][i]`` maps k to the factor of v_k in row r and column i of J_dot.
    """

    names: tuple[str, ...]
    gaps: list[Series]
    J: Matrix
    rates: list[list[Mapping[int, Series]]]


@dataclass(frozen=True, slots=True)
class SymbolicSystem:
    """M a + D v + U q + F v + preload + G + friction = B tau, entry by entry.

    ``christoffel[i][j]`` maps k to the symbol that multiplies v_k in D_ij. The potential energy is that of gravity,
    ``potential``, and that of elastic parts, q U q/2 + preload q + ``rest_energy``; ``gravity`` are its components.
    """

    coordinates: tuple[int, ...]
    M: Matrix
    christoffel: list[list[dict[int, Series]]]
    U: Matrix
    F: Matrix
    G: list[Series]
    preload: list[Series]
    B: Matrix
    inputs: tuple[str, ...]
    friction: tuple[DryFriction, ...]
    potential: Series
    rest_energy: Series
    gravity: list[Series]
    closure: SymbolicClosure | None = None

    @property
    def terms(self) -> int:
        """Number of terms of M, D and G."""
        return sum(self.sizes.values())

    @property
    def sizes(self) -> dict[str, int]:
        """Number of terms of M, of D and of G."""
        symbols = (x for row in self.christoffel for entry in row for x in entry.values())
        return {
            "M": sum(len(x) for row in self.M for x in row),
            "D": sum(map(len, symbols)),
            "G": sum(map(len, self.G)),
        }

    def all_series(self) -> list[Series]:
        """Every entry."""
        out = [x for matrix in (self.M, self.U, self.F, self.B) for row in matrix for x in row]
        out += [*self.G, *self.preload]
        out += [x for row in self.christoffel for entry in row for x in entry.values()]
        if self.closure is not None:
            out += [*self.closure.gaps, *(x for row in self.closure.J for x in row)]
            out += [x for row in self.closure.rates for entry in row for x in entry.values()]
        for drive in self.friction:
            out += [drive.coulomb, drive.smoothing, *(weight for weight, _ in drive.row)]
        return out


def assemble(
    chain: BodyChain, progress: Progress | None = None, *, most_terms: int | None = None, with_rates: bool = True
) -> SymbolicSystem:
    """Derive the equations of motion of a chain of bodies; TooLargeError tells how many terms they would have.

    Without rates there are no Christoffel symbols, for those who differentiate M in another way.
    """
    report = progress or (lambda part, text: None)
    algebra = chain.names.algebra
    zero = algebra.number(0.0)
    coordinates = tuple(chain.names.coordinates)
    momenta = kinetic_energy(chain, lambda part, text: report(0.4 * part, text))
    M = on_leaders(chain, coordinates, ((a, b, x) for (a, b), x in momenta.M.items()))
    M = [[x.reduced() for x in row] for row in M]
    add_drives(chain, coordinates, M)
    if most_terms is not None and (estimate := estimated_terms(algebra, M)) > most_terms:
        raise TooLargeError(estimate)
    # the rest is small beside what has just been estimated
    algebra.most = float("inf")
    # the force of gravity along a coordinate is minus the momentum that a unit rate of it carries
    forces = dict.fromkeys(coordinates, zero)
    for column in momenta.columns:
        leader, weight = chain.along_leader(column.coordinate, inner(chain.gravity, column.f))
        forces[leader] = forces[leader] - weight
    U, F = (constant_matrix(chain, coordinates, which) for which in ("stiffness", "damping"))
    preload = [algebra.number(0.0) for _ in coordinates]
    for drive in chain.drives:
        for weight, q in drive.row:
            i = coordinates.index(q)
            preload[i] = preload[i] - weight * drive.stiffness * drive.rest
    driven = [drive for drive in chain.drives if drive.is_actuated]
    rows = [{q: weight for weight, q in drive.row} for drive in driven]
    return SymbolicSystem(
        coordinates=coordinates,
        M=M,
        christoffel=christoffel(algebra, M, coordinates, report) if with_rates else [],
        U=U,
        F=F,
        G=[forces[q].reduced() for q in coordinates],
        preload=preload,
        B=[[row.get(q, zero) for row in rows] for q in coordinates],
        inputs=tuple(drive.name for drive in driven),
        friction=tuple(DryFriction(d.row, d.coulomb, d.smoothing) for d in chain.drives if d.coulomb),
        potential=inner(chain.gravity, momenta.first).reduced() * -1.0,
        rest_energy=algebra.total((0.5, d.stiffness * d.rest * d.rest) for d in chain.drives),
        gravity=chain.gravity,
    )


# ---------------------------------------------------------------- joints, springs, Christoffel symbols


def add_drives(chain: BodyChain, coordinates: Sequence[int], M: Matrix) -> None:
    """Motor inertias on the motor angles."""
    for drive in chain.drives:
        if drive.inertia:
            _add_square(M, drive.row, drive.inertia, coordinates)


def constant_matrix(chain: BodyChain, coordinates: Sequence[int], which: str) -> Matrix:
    """Stiffness or damping: of the links, and of the joints on their motor angles."""
    blocks = getattr(chain, which)
    upper = (
        (q, p, block[i][k]) for own, block in blocks for i, q in enumerate(own) for k, p in enumerate(own) if k >= i
    )
    out = on_leaders(chain, coordinates, upper)
    for drive in chain.drives:
        _add_square(out, drive.row, getattr(drive, which), coordinates)
    return out


def on_leaders(chain: BodyChain, coordinates: Sequence[int], entries: Iterable[tuple[int, int, Series]]) -> Matrix:
    """A symmetric matrix from its entries on one side of the diagonal, by motions; those of followers at leaders."""
    zero, place = chain.names.algebra.number(0.0), {q: i for i, q in enumerate(coordinates)}
    out = [[zero for _ in coordinates] for _ in coordinates]
    for a, b, x in entries:
        p, share = chain.along_leader(a, x)
        q, share = chain.along_leader(b, share)
        i, k = place[p], place[q]
        out[i][k] = out[i][k] + share
        if a != b:
            out[k][i] = out[k][i] + share
    return out


def _add_square(matrix: Matrix, row: Sequence[tuple[Series, int]], factor: Series, coordinates: Sequence[int]) -> None:
    for a, i in row:
        for b, k in row:
            x, y = coordinates.index(i), coordinates.index(k)
            matrix[x][y] = matrix[x][y] + a * b * factor


def estimated_terms(algebra: Algebra, M: Matrix) -> int:
    """About how many terms D will have: those of M, each as often as it has coordinates in it."""
    by_variable = [len(slopes) for slopes in algebra.slopes]
    by_angle = [len(angle.slopes) for angle in algebra.angles]
    total = 0
    for x in (x for row in M for x in row):
        for t, p in x.terms.items():
            turning = sum(by_angle[a] for _, harmonic, _ in algebra.trig(t) for a, _ in harmonic)
            total += sum(turning + sum(by_variable[i] for i, _ in powers(m)) for m in p)
    return total


def christoffel(
    algebra: Algebra, M: Matrix, coordinates: Sequence[int], report: Progress
) -> list[list[dict[int, Series]]]:
    """Gamma_ijk = (dM_ij/dq_k + dM_ik/dq_j - dM_jk/dq_i)/2, as [i][j] -> {k: symbol}."""
    n = len(coordinates)
    slopes: dict[tuple[int, int, int], Series] = {}
    for i in range(n):
        report(0.4 + 0.5 * i / n, "Coriolis and centrifugal terms")
        for j in range(i, n):
            for k, q in enumerate(coordinates):
                if M[i][j]:
                    slopes[i, j, k] = slopes[j, i, k] = M[i][j].by(q)

    def slope(i: int, j: int, k: int) -> Series | None:
        found = slopes.get((i, j, k))
        return found if found else None

    out: list[list[dict[int, Series]]] = [[{} for _ in range(n)] for _ in range(n)]
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                parts = [
                    (weight, x)
                    for weight, x in ((0.5, slope(i, j, k)), (0.5, slope(i, k, j)), (-0.5, slope(j, k, i)))
                    if x is not None
                ]
                if parts and (symbol := algebra.total(parts).reduced()):
                    out[i][j][k] = out[i][k][j] = symbol
    return out
