"""Joints that follow others, in symbols: q = ratio q_leader + offset is an abbreviation, and only the leader moves.

Energies are written in the motions of all joints. The derivative of a follower by its leader is the ratio, so that
everything that is differentiated follows; momenta and forces along the follower count for the leader, times the ratio.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pliant.formulations.lagrange.bodies import LinkNames
from pliant.formulations.lagrange.chain import BodyChain, FollowingJoint, SymbolicDrive
from pliant.formulations.lagrange.names import Abbreviation
from pliant.formulations.lagrange.sections import variables_of
from pliant.formulations.lagrange.series import Series

if TYPE_CHECKING:
    from pliant.mechanism import JointTie


def tie_followers(chain: BodyChain, ties: Sequence[JointTie], links: Mapping[str, LinkNames]) -> None:
    """Take the coordinates of followers away; ``links`` names the link behind each joint."""
    names = chain.names
    variables = {coordinate.robot_name: q for q, coordinate in names.coordinates.items()}
    places = list(names.coordinates.values())
    for tie in ties:
        joint, led = tie.name, places[tie.leader].robot_name
        own, follower, leader = links[joint], variables[joint], variables[led]
        coordinate, leading = names.coordinates.pop(follower), names.coordinates[leader]
        per = "" if coordinate.unit == leading.unit else f"{coordinate.unit}/{leading.unit}"
        words = f"joint '{joint}' to joint '{led}'"
        ratio = own.constant("ratio", r"\nu", "", tie.ratio, per, f"ratio of {words}", "geometry")
        if abs(tie.ratio) == 1.0 and not per:
            ratio = names.algebra.number(tie.ratio)
        text = f"position of joint '{joint}' where joint '{led}' is at zero"
        latex = rf"{coordinate.latex.partition('_')[0]}_{{f}}"
        offset = own.constant("offset", latex, "", tie.offset, coordinate.unit, text, "geometry")
        moved = ratio * names.algebra.monomial(leader) + offset
        parts = tuple((factor, variables_of(m)[::-1]) for m, factor in moved.terms[0].items())
        meaning = f"{coordinate.meaning}, which follows joint '{led}'"
        names.abbreviations[follower] = Abbreviation(coordinate.name, coordinate.latex, meaning, parts)
        names.algebra.slopes[follower] = {leader: ratio}
        for angle in names.algebra.angles:
            if follower in angle.slopes:
                slope = Series(names.algebra, {0: angle.slopes.pop(follower)}) * ratio
                angle.slopes[leader] = slope.terms[0]
        chain.followers[follower] = FollowingJoint(leader, ratio)
        chain.drives = [_followed(drive, follower, leader, ratio, offset) for drive in chain.drives]


def _followed(drive: SymbolicDrive, follower: int, leader: int, ratio: Series, offset: Series) -> SymbolicDrive:
    """A drive on the coordinate of a follower as one on that of its leader; the offset moves the rest of its spring."""
    if all(q != follower for _, q in drive.row):
        return drive
    row = tuple((weight * ratio, leader) if q == follower else (weight, q) for weight, q in drive.row)
    return replace(drive, row=row, rest=drive.rest - offset)
