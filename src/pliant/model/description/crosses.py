"""Universal joints: a link on one becomes two, a massless cross on the first axis and the link itself on the second.

The joint `wrist` of the link `hand` becomes `wrist_1` of the link `hand_cross` and `wrist_2` of `hand`. What acts along
a universal joint acts along each of its axes.
"""

from __future__ import annotations

from pliant.joints.universal import Universal
from pliant.model.description.joints import Joint
from pliant.model.description.links import Link


def split_cross(link: Link) -> list[Link]:
    """The cross and the link itself; a link on any other joint as it is."""
    joint = link.joint
    if joint.type != Universal.name:
        return [link]
    first, second = joint.cross_axes
    cross = f"{link.name}_cross"
    acting = {
        "motor": joint.motor,
        "friction": joint.friction,
        "spring": joint.spring,
        "limits": joint.limits,
        "actuated": joint.actuated,
    }
    inner = {"name": joint.coordinates[0], "axis": first, "parent": joint.parent, "placement": joint.placement}
    outer = {
        "name": joint.coordinates[1],
        "axis": second,
        "parent": f"{cross}.root",
        "child_placement": joint.child_placement,
    }
    given = [{k: x for k, x in {**own, **acting}.items() if x is not None} for own in (inner, outer)]
    cross_joint, own_joint = (Joint.model_validate(each) for each in given)
    return [Link(name=cross, joint=cross_joint), link.model_copy(update={"joint": own_joint})]
