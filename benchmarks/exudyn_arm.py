"""The arms of the benchmarks in Exudyn: ANCF cable elements, everything else that makes it fast.

Hubs and loads are masses of the nodes themselves (the slope vector of a node has unit length, so a mass on it is a
rotary inertia): no rigid bodies, and only four constraints. The control law is a symbolic function, which Exudyn
evaluates without Python. The build without range checks is used, one thread, no files, no output.
"""

from __future__ import annotations

import sys
from math import pi
from typing import Any

import numpy as np
from peers import NoPeerError
from ringing_arm import RINGING, Bar, Floats, PlanarArm, Solve


def load() -> Any:
    """The package; raises NoPeerError."""
    sys.exudynFast = True  # type: ignore[attr-defined]
    try:
        import exudyn
    except ImportError:
        raise NoPeerError("Exudyn is not installed: pip install exudyn") from None
    return exudyn


def prepare(
    elements: int,
    steps: int,
    *,
    tolerance: float = 1e-5,
    linear: str = "EigenSparse",
    until: float | None = None,
    arm: PlanarArm = RINGING,
) -> Solve:
    """The assembled system, for a number of elements per link and of equal time steps."""
    exu = load()
    # container and functions are only referred to by the system, and must live as long as it does
    container, mbs, sensor, functions = _build(exu, elements, arm)
    settings = exu.SimulationSettings()
    time = settings.timeIntegration
    time.endTime, time.numberOfSteps, time.verboseMode = arm.until if until is None else until, steps, 0
    time.newton.useModifiedNewton = True
    time.newton.relativeTolerance = time.newton.absoluteTolerance = tolerance
    # a step that does not quite reach the tolerance is better than ever smaller ones
    time.adaptiveStep = False
    settings.linearSolver.solverType = getattr(exu.LinearSolverType, linear)
    settings.parallel.numberOfThreads = 1
    settings.solution.file.write = False
    settings.solution.sensors.writePeriod = arm.until / arm.samples

    def solve(kept: Any = (container, functions)) -> Floats:
        mbs.SolveDynamic(settings, solverType=exu.DynamicSolverType.TrapezoidalIndex2)
        return np.array(mbs.GetSensorStoredData(sensor)[:, 1:3])

    return solve


def tip(elements: int, steps: int, **options: Any) -> Floats:
    """Positions of the tip in the plane (samples, 2)."""
    return prepare(elements, steps, **options)()


def _build(exu: Any, elements: int, arm: PlanarArm) -> tuple[Any, Any, Any, list[Any]]:
    from exudyn import itemInterface as item

    container = exu.SystemContainer()
    mbs = container.AddSystem()
    links, x = [], 0.0
    for bar in arm.bars:
        links.append(_bar(mbs, item, bar, x, elements, arm))
        x += bar.length
    (root, end), (elbow, last) = links
    # the shoulder stays where it is, the elbow joins the two bars
    origin = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=mbs.AddNode(item.NodePointGround()), coordinate=0))
    for k in (0, 1):
        marker = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=root, coordinate=k))
        mbs.AddObject(item.ObjectConnectorCoordinate(markerNumbers=[origin, marker]))
    pair = [mbs.AddMarker(item.MarkerNodePosition(nodeNumber=node)) for node in (end, elbow)]
    mbs.AddObject(item.ObjectJointRevolute2D(markerNumbers=pair))
    base = mbs.AddMarker(item.MarkerBodyRigid(bodyNumber=mbs.AddObject(item.ObjectGround()), localPosition=[0, 0, 0]))
    ends = [mbs.AddMarker(item.MarkerNodeRigid(nodeNumber=node)) for node in (root, end, elbow)]
    functions = [_control(exu, mbs, item, k, pair, arm) for k, pair in enumerate(([base, ends[0]], ends[1:]))]
    position = exu.OutputVariableType.Position
    sensor = item.SensorNode(nodeNumber=last, outputVariableType=position, storeInternal=True, writeToFile=False)
    number = mbs.AddSensor(sensor)
    mbs.Assemble()
    return container, mbs, number, functions


def _bar(mbs: Any, item: Any, bar: Bar, x: float, elements: int, arm: PlanarArm) -> tuple[Any, Any]:
    """First and last node of a bar that lies along x."""
    length = bar.length / elements
    places = [x + k * length for k in range(elements + 1)]
    nodes = [mbs.AddNode(item.NodePoint2DSlope1(referenceCoordinates=[place, 0, 1, 0])) for place in places]
    for k in range(elements):
        cable = item.ObjectANCFCable2D(
            length=length,
            massPerLength=bar.mass_per_length,
            bendingStiffness=bar.bending_stiffness,
            axialStiffness=bar.axial_stiffness,
            bendingDamping=arm.damping * bar.bending_stiffness,
            nodeNumbers=nodes[k : k + 2],
            useReducedOrderIntegration=1,
        )
        number = mbs.AddObject(cable)
        if arm.gravity:
            marker = mbs.AddMarker(item.MarkerBodyMass(bodyNumber=number))
            mbs.AddLoad(item.LoadMassProportional(markerNumber=marker, loadVector=[0, -arm.gravity, 0]))
    none = np.zeros((4, 4))
    masses = ((nodes[0], 0.0, bar.hub_inertia), (nodes[-1], bar.tip_mass, bar.tip_inertia))
    for node, mass, inertia in masses:
        M = np.diag([mass, mass, inertia, inertia])
        extra = item.ObjectGenericODE2(nodeNumbers=[node], massMatrix=M, stiffnessMatrix=none, dampingMatrix=none)
        mbs.AddObject(extra)
        if arm.gravity and mass:
            marker = mbs.AddMarker(item.MarkerNodeCoordinate(nodeNumber=node, coordinate=1))
            mbs.AddLoad(item.LoadCoordinate(markerNumber=marker, load=-mass * arm.gravity))
    return nodes[0], nodes[-1]


def _control(exu: Any, mbs: Any, item: Any, k: int, markers: list[Any], arm: PlanarArm) -> Any:
    """A spring and damper that follow the desired motion."""
    from exudyn.advancedUtilities import CreateSymbolicUserFunction

    symbolic = exu.symbolic

    def law(mbs: Any, t: Any, number: Any, angle: Any, rate: Any, stiffness: Any, damping: Any, offset: Any) -> Any:
        u = symbolic.IfThenElse(t < arm.move, t / arm.move, symbolic.Real(1.0))
        wanted = arm.to[k] * (u - symbolic.sin(2 * pi * u) / (2 * pi))
        wanted_rate = arm.to[k] / arm.move * (1 - symbolic.cos(2 * pi * u))
        return arm.kp[k] * (angle - wanted) + arm.kd[k] * (rate - wanted_rate)

    kp, kd = arm.kp[k], arm.kd[k]
    spring = item.ObjectConnectorTorsionalSpringDamper(markerNumbers=markers, stiffness=kp, damping=kd)
    number = mbs.AddObject(spring)
    function = CreateSymbolicUserFunction(mbs, law, "springTorqueUserFunction", number)
    mbs.SetObjectParameter(number, "springTorqueUserFunction", function)
    return function
