"""(p) Equations in symbols: processor time from a robot to its matrices in SymPy."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from report import Goal, Options, Row, Section, alone

from pliant import Beam, Joint, Link, Modes, Properties, RigidPart, Robot, equations

ALLOWED = 3.0
"""Seconds of processor time for three flexible links with two modes each."""
WITHIN = Goal("<=", 1.0)


def flexible_arm(links: int, modes: int, bending: str) -> Robot:
    """Links in a plane, each of them flexible, with a payload at the end."""
    properties = Properties(mass_per_length=0.5, EIz=3.0)
    made = [
        Link(
            name=f"link{k}",
            joint=Joint(name=f"joint{k}"),
            beam=Beam(
                length=1.0 - 0.1 * k,
                bending=bending,
                properties=properties,
                modes=Modes(shape="clamped-free", bend_y=modes),
            ),
            payloads=(RigidPart(mass=0.2),) if k == links - 1 else (),
        )
        for k in range(links)
    ]
    return Robot(name="arm", gravity=(0.0, -9.81, 0.0), links=made)


def seconds(work: Callable[[], Any]) -> float:
    """Processor time of a call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def measure(options: Options) -> Section:
    section = Section("derivation", "Equations in symbols, from a robot to matrices in SymPy")
    # the import of SymPy is paid once
    _ = equations("lin-lewis-rfr").M

    def matrices(robot: Robot | str, **choice: Any) -> Callable[[], Any]:
        def work() -> Any:
            eq = equations(robot, **choice)
            return eq.M, eq.D, eq.G, eq.U

        return work

    cases: list[tuple[str, Robot | str, dict[str, Any], Goal | None]] = [
        ("rigid, flexible, rigid", "lin-lewis-rfr", {}, WITHIN),
        ("three links, two modes, small deflections", flexible_arm(3, 2, "linear"), {}, WITHIN),
        ("the same by lengths and stiffnesses", flexible_arm(3, 2, "linear"), {"integrals": "inside"}, WITHIN),
        ("three links, two modes, second order", flexible_arm(3, 2, "second-order"), {}, WITHIN),
        ("the same, linear in the elastic coordinates", flexible_arm(3, 2, "second-order"), {"order": 1}, WITHIN),
    ]
    for case, robot, choice, goal in cases:
        taken = min(seconds(matrices(robot, **choice)) for _ in range(3))
        section.add(Row(case, "processor time", taken, "s", "allowed", ALLOWED, faster=False, goal=goal))
    return section


if __name__ == "__main__":
    alone(measure)
