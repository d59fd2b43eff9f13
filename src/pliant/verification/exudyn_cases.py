"""Cases of the verification by Exudyn: cantilevers of ANCF cable elements in a plane."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

ELEMENTS, STEPS = 32, 10
"""Elements of a beam, and steps in which a load grows."""
STIFF = 1e7
"""Axial stiffness of a rod that hardly stretches, in units of EI/L^2."""
CLAMPED = (0, 1, 3)
"""Coordinates of the root that are held: place, and slope across."""
NEWTON = 1e-9


def results() -> dict[str, float]:
    """Case -> number; raises ImportError where Exudyn is not installed."""
    # the build without range checks, if there is one
    sys.exudynFast = True  # type: ignore[attr-defined]
    import exudyn

    exudyn.config.printToConsole = False
    found: dict[str, float] = {}
    for k, value in enumerate(_frequencies(exudyn, 0.0, 0.0)[:4]):
        found[f"published.beam.clamped-free.{k + 1}"] = value
    for mass, inertia in ((1.0, 0.0), (1.0, 0.1), (0.0, 0.1)):
        for k, value in enumerate(_frequencies(exudyn, mass, inertia)[:4]):
            found[f"published.tip-mass.{mass:g}.{inertia:g}.{k + 1}"] = value
    for load in (1.0, 10.0):
        for axis, value in zip("xy", _elastica(exudyn, load), strict=True):
            found[f"bending.elastica.{load:g}.{axis}"] = value
    return found


def _beam(exudyn: Any, mass: float, inertia: float) -> tuple[Any, Any, list[Any]]:
    """A beam with EI = rhoA = L = 1 along x and a part at its tip: container, system, nodes."""
    from exudyn import itemInterface as item

    container = exudyn.SystemContainer()
    system = container.AddSystem()
    places = np.linspace(0.0, 1.0, ELEMENTS + 1)
    nodes = [system.AddNode(item.NodePoint2DSlope1(referenceCoordinates=[x, 0, 1, 0])) for x in places]
    rod = {"length": 1.0 / ELEMENTS, "massPerLength": 1.0, "bendingStiffness": 1.0, "axialStiffness": STIFF}
    for k in range(ELEMENTS):
        system.AddObject(item.ObjectANCFCable2D(nodeNumbers=nodes[k : k + 2], useReducedOrderIntegration=1, **rod))
    if mass or inertia:
        # the slope of a node has unit length: a mass on it is a rotary inertia
        M, none = np.diag([mass, mass, inertia, inertia]), np.zeros((4, 4))
        part = item.ObjectGenericODE2(nodeNumbers=nodes[-1:], massMatrix=M, stiffnessMatrix=none, dampingMatrix=none)
        system.AddObject(part)
    return container, system, nodes


def _frequencies(exudyn: Any, mass: float, inertia: float) -> list[float]:
    container, system, _ = _beam(exudyn, mass, inertia)
    system.Assemble()
    squares = system.ComputeODE2Eigenvalues(useSparseSolver=False, constrainedCoordinates=list(CLAMPED))[0]
    del container
    return [float(x) for x in np.sort(np.sqrt(np.abs(squares)))]


def _elastica(exudyn: Any, load: float) -> tuple[float, float]:
    from exudyn import itemInterface as item

    container, system, nodes = _beam(exudyn, 0.0, 0.0)
    ground = system.AddMarker(
        item.MarkerNodeCoordinate(nodeNumber=system.AddNode(item.NodePointGround()), coordinate=0)
    )
    for k in CLAMPED:
        marker = system.AddMarker(item.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=k))
        system.AddObject(item.ObjectConnectorCoordinate(markerNumbers=[ground, marker]))
    tip = system.AddMarker(item.MarkerNodePosition(nodeNumber=nodes[-1]))
    system.AddLoad(item.LoadForceVector(markerNumber=tip, loadVector=[0, load, 0]))
    system.Assemble()
    settings = exudyn.SimulationSettings()
    static = settings.staticSolver
    static.numberOfLoadSteps, static.verboseMode = STEPS, 0
    static.newton.relativeTolerance = static.newton.absoluteTolerance = NEWTON
    settings.solution.file.write = False
    system.SolveStatic(settings)
    x, y, _ = system.GetNodeOutput(nodes[-1], exudyn.OutputVariableType.Position)
    del container
    return float(x), float(y)
