"""The table of functions that can be exported: inputs, output and its shape, in words. Every language reads it.

A function may be followed by ``_by_`` and one of its inputs, or p for the parameters: ``forward_by_q`` is its exact
derivative. What is iterated (assembly, projection) is one Newton step here, which each language repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

Needs = Literal["", "loops", "traced inverse"]

PARAMETERS = "p"
"""The name of the parameters in derivatives: ``forward_by_p``."""

MEANINGS = {
    "q": "coordinates",
    "v": "their rates",
    "a": "accelerations",
    "f": "generalised forces; of drive efforts tau: f = B tau",
    "h": "generalised forces that hold the robot at a = 0",
    "M": "mass matrix, row by row",
    "energies": "kinetic, strain, gravity (J)",
    "poses": "for each frame its position (3, m), then its rotation matrix (9, row by row), base frame",
    "J": "for each frame 6 rows (linear, then angular velocity, base axes) with one column per coordinate",
    "solution": "efforts of the drives, then accelerations of all coordinates",
    "wrenches": "for each joint force (3, N), then moment (3, N m) on its link, in the link's axes",
    "gaps": "how far each row of the closures is open (m, or 2 tan(angle/2))",
    "rates": "rates of the gaps",
    "accelerations": "accelerations of the gaps, J_c a + J_c' v",
    "J_c": "rates of the gaps per unit rate of each coordinate, row by row",
    "multipliers": "forces (N) and moments (N m) of the closures on their first frames, row by row",
    "closed": "coordinates with closed loops",
    "state": "q, then v",
}
"""What inputs and outputs are."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A function in words.

    shape   of the output: numbers, and names of sizes (n coordinates, inputs, rows, joints, frames, p parameters)
    needs   what a robot must have: "loops", or an inverse that is determined by the motion of the drives
    newton  it is a step that is repeated: q and what else changes, then gaps without units
    seed    the input by which it is a derivative
    """

    name: str
    inputs: tuple[str, ...]
    output: str
    shape: tuple[str | int, ...]
    meaning: str
    needs: Needs = ""
    newton: bool = False
    seed: str = ""

    @property
    def per_frame(self) -> bool:
        """Whether it is asked for frames."""
        return "frames" in self.shape

    @property
    def base(self) -> str:
        """The function whose derivative it is, or itself."""
        return self.name.partition("_by_")[0]

    @property
    def says(self) -> str:
        """What the output is."""
        if not self.seed:
            return MEANINGS[self.output]
        by = "parameter" if self.seed == PARAMETERS else f"entry of {self.seed}"
        return f"derivatives, one column per {by}, row by row"

    def sized(self, sizes: Mapping[str, int]) -> tuple[int, ...]:
        """Its shape in numbers."""
        return tuple(sizes[x] if isinstance(x, str) else x for x in self.shape)


_TABLE = (
    Signature("forward", ("q", "v", "f"), "a", ("n",), "Forward dynamics: accelerations, which obey closed loops."),
    Signature("inverse", ("q", "v", "a"), "f", ("n",), "Inverse dynamics of the open tree: f = M(q) a + h(q, v)."),
    Signature("bias", ("q", "v"), "h", ("n",), "Everything in the equations of motion but M a."),
    Signature("mass_matrix", ("q",), "M", ("n", "n"), "Mass matrix M(q) of the open tree."),
    Signature("energy", ("q", "v"), "energies", (3,), "Kinetic energy, strain energy, potential of gravity."),
    Signature("pose", ("q",), "poses", ("frames", 12), "Where the frames of the deformed robot are."),
    Signature(
        "jacobian", ("q",), "J", ("frames", 6, "n"), "Velocities of the frames per unit rate of each coordinate."
    ),
    Signature(
        "efforts",
        ("q", "v", "a"),
        "solution",
        ("inputs + n",),
        "Efforts of the drives for given accelerations of theirs, and how all else moves. a is read at the drives; its "
        "other entries are generalised forces that act there.",
        "traced inverse",
    ),
    Signature(
        "reactions",
        ("q", "v", "a", "f"),
        "wrenches",
        ("joints", 6),
        "What joints transmit to their links in a motion a under forces f, such as forward gives it; moments about the "
        "point of the joint axis that is nearest to the link's origin.",
    ),
    Signature("closure", ("q",), "gaps", ("rows",), "How far the loops are open.", "loops"),
    Signature("closure_rate", ("q", "v"), "rates", ("rows",), "How fast the loops open.", "loops"),
    Signature(
        "closure_acceleration", ("q", "v", "a"), "accelerations", ("rows",), "Accelerations of the gaps.", "loops"
    ),
    Signature("closure_jacobian", ("q",), "J_c", ("rows", "n"), "The Jacobian of the loops.", "loops"),
    Signature(
        "multipliers",
        ("q", "v", "a", "f"),
        "multipliers",
        ("rows",),
        "Forces of the closures in a motion a under forces f, such as forward gives it; of redundant rows the least.",
        "loops",
    ),
    Signature(
        "assemble",
        ("q",),
        "closed",
        ("n",),
        "Close the loops by their dependent coordinates; the independent ones stay as they are given.",
        "loops",
        newton=True,
    ),
    Signature(
        "project",
        ("q", "v"),
        "state",
        ("2 n",),
        "A state near the given one that is on the loops, as simulations correct theirs: passive joints take what they "
        "can.",
        "loops",
        newton=True,
    ),
)
SIGNATURES = {each.name: each for each in _TABLE}
FUNCTIONS = tuple(SIGNATURES)[:7]
"""What is exported where nothing else is asked for."""
DYNAMICS = ("forward", "inverse", "bias", "mass_matrix")
"""What every method has."""
DERIVATIVES = (
    *("forward_by_q", "forward_by_v", "forward_by_f", "forward_by_p"),
    *("inverse_by_q", "inverse_by_v", "inverse_by_p"),
)
"""Those that ``all`` stands for; every other function but jacobian and what is iterated has derivatives, too."""
ALL = "all"


def derivative(base: Signature, seed: str) -> Signature:
    """The derivative of a function by an input, or by p."""
    columns = PARAMETERS if seed == PARAMETERS else "n"
    where = "the parameters" if seed == PARAMETERS else seed
    return replace(
        base,
        name=f"{base.name}_by_{seed}",
        output=f"d{base.output}_d{seed}",
        shape=(*base.shape, columns),
        meaning=f"Exact derivative of {base.name} by {where}.",
        seed=seed,
    )


def signature(name: str, more: Sequence[str] = ()) -> Signature:
    """A function by its name, refused if there is none; ``more`` are names that only one language knows."""
    from difflib import get_close_matches

    if name in SIGNATURES:
        return SIGNATURES[name]
    base, _, seed = str(name).partition("_by_")
    if seed and base in SIGNATURES and base != "jacobian" and not SIGNATURES[base].newton:
        known = (*SIGNATURES[base].inputs, PARAMETERS)
        if seed not in known:
            raise ValueError(f"'{name}': {base} has derivatives by {', '.join(known)}, not by {seed}")
        return derivative(SIGNATURES[base], seed)
    every = (*SIGNATURES, *DERIVATIVES, *more)
    close = get_close_matches(str(name), every, n=1)
    hint = f" did you mean '{close[0]}'?" if close else ""
    raise ValueError(f"there is no function '{name}' to export;{hint} choose from {', '.join(every)}")


def known(functions: Sequence[str], more: Sequence[str] = ()) -> tuple[Signature, ...]:
    """Functions by their names, without repetition."""
    wanted = tuple(dict.fromkeys((functions,) if isinstance(functions, str) else functions))
    if not wanted:
        raise ValueError(f"functions is empty; choose from {', '.join((*SIGNATURES, *DERIVATIVES))}")
    return tuple(signature(name, more) for name in wanted)
