"""What equations leave out or keep fixed, in words for the heads of pages and files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pliant.formulations.lagrange.equations import Equations


def scope(eq: Equations) -> tuple[str, ...]:
    """Line by line; nothing where the equations have all terms of the robot."""
    return (
        *_closure_scope(eq),
        *_linear_scope(eq),
        *_order_scope(eq),
        *eq.neglected,
        *_loaded_scope(eq),
    )


def _closure_scope(eq: Equations) -> tuple[str, ...]:
    found = eq.system.closure
    if found is None:
        return ()
    return (
        f"The robot has loops, which are cut open at {', '.join(found.names)}: the right-hand side is B tau + J^T "
        "lambda,",
        "with multipliers lambda so that c(q) = 0, J v = 0 and J a + J_dot v = 0 with J = dc/dq.",
    )


def _order_scope(eq: Equations) -> tuple[str, ...]:
    if eq.order is None:
        return ()
    sizes = ", ".join(f"{name} {n:,} of {eq.all_terms[name]:,}" for name, n in eq.system.sizes.items())
    what = {0: "without the elastic coordinates", 1: "linear in the elastic coordinates"}.get(
        eq.order, f"up to order {eq.order} in the elastic coordinates"
    )
    return (
        f"Every entry of M, D and G is {what}, as asked for; terms: {sizes}.",
        "Entries are expanded after all derivatives are taken; dM/dt - 2 D is skew up to terms of this order.",
    )


def _loaded_scope(eq: Equations) -> tuple[str, ...]:
    if not (eq.loaded and eq.definitions):
        return ()
    names = ", ".join(eq.loaded)
    return (
        f"The shapes of {names} belong to the ratio of the load on the tip to the mass of the link. They stay as",
        "they are where lengths or masses change; a robot with other ones has other shapes of its own.",
    )


def _linear_scope(eq: Equations) -> tuple[str, ...]:
    if not eq.shortened:
        return ()
    names, bend = ", ".join(eq.shortened), "bend" if len(eq.shortened) > 1 else "bends"
    return (
        f"Equations of small deflections, as asked for; in the robot itself {names} {bend} farther.",
        "Beyond these equations the axis of such a link moves back as it bends: its frames and its mass",
        "by q^T Gamma q / 2 along it, Gamma = -int w' w'^T dx from the root on with the slopes w' of its shapes.",
        "So M and D have terms of second and higher order in q, and G has terms Gamma q: gravity, rotation and",
        "forces along the axis stiffen or soften the link. Unless bending is asked to be linear, all are here.",
    )
