"""C code that CasADi generates for one robot, compiled by gcc and called in compiled loops.

Of rigid robots the algorithms are written here in CasADi's scalars: articulated bodies and Newton-Euler with spatial
vectors, structural zeros kept, common subexpressions removed. Of robots with elastic links it is Pliant's own tape,
which CasADi then generates code from. What is compiled is kept by its text in the output folder.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from peers import NoPeerError, links_as_given, processor
from timing import Looped

from pliant import Robot

FLAGS = ("-O3", "-march=native", "-ffast-math", "-fPIC", "-shared")
REPEAT = """
void repeat(const double** arg, double** res, long long* iw, double* w, long long count) {{
  for (long long k = 0; k < count; ++k) {name}(arg, res, iw, w, 0);
}}
"""


def casadi() -> Any:
    """The package; raises NoPeerError."""
    try:
        import casadi as package
    except ImportError:
        raise NoPeerError("CasADi is not installed: pip install casadi") from None
    return package


class GeneratedFunction:
    """A CasADi function as C code with its own arguments and results."""

    def __init__(self, function: Any, inputs: Sequence[NDArray[np.float64]], folder: Path) -> None:
        self._library = _compiled(function, folder)
        self._inputs = [np.ascontiguousarray(x) for x in inputs]
        self.out = np.zeros(function.nnz_out(0))
        self._memory = np.zeros(function.sz_w() + 1), np.zeros(function.sz_iw() + 1, dtype=np.int64)
        self._arg = (ctypes.c_void_p * max(function.sz_arg(), 1))(*(x.ctypes.data for x in self._inputs))
        self._res = (ctypes.c_void_p * max(function.sz_res(), 1))(self.out.ctypes.data)

    @property
    def loop(self) -> Looped:
        """Calls in compiled code."""
        w, iw = (x.ctypes.data for x in self._memory)

        def work(count: int) -> None:
            self._library.repeat(self._arg, self._res, iw, w, count)

        return work


def _compiled(function: Any, folder: Path) -> ctypes.CDLL:
    compiler = shutil.which("gcc")
    if compiler is None:
        raise NoPeerError("there is no gcc to compile CasADi's code with")
    name = function.name()
    generator = casadi().CodeGenerator(f"{name}.c")
    generator.add(function)
    text = generator.dump() + REPEAT.format(name=name)
    key = hashlib.sha256((text + " ".join(FLAGS) + processor()).encode()).hexdigest()[:16]
    place = folder / f"casadi-{key}.so"
    if not place.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as beside:
            source, made = Path(beside) / "code.c", Path(beside) / "code.so"
            source.write_text(text)
            subprocess.run([compiler, *FLAGS, str(source), "-o", str(made), "-lm"], check=True)
            os.replace(made, place)
    library = ctypes.CDLL(str(place))
    library.repeat.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_int64]
    return library


def forward_function(robot: Robot) -> Any:
    """qdd(q, v, tau) of a rigid robot by articulated bodies."""
    ca, steps, (q, v, tau) = _outward(robot)
    inertia, bias = [s["I"] for s in steps], [_force_cross(ca, s["v"]) @ s["I"] @ s["v"] for s in steps]
    for i, s in reversed([*enumerate(steps)]):
        k = s["axis"]
        s["U"], s["d"] = inertia[i][:, k], inertia[i][k, k]
        s["u"] = tau[i] - bias[i][k]
        if s["parent"] >= 0:
            rest = inertia[i] - s["U"] @ s["U"].T / s["d"]
            handed = bias[i] + rest @ s["c"] + s["U"] * (s["u"] / s["d"])
            inertia[s["parent"]] += s["X"].T @ rest @ s["X"]
            bias[s["parent"]] += s["X"].T @ handed
    out: list[Any] = []
    for i, s in enumerate(steps):
        up = _base(ca, robot) if s["parent"] < 0 else steps[s["parent"]]["a"]
        carried = s["X"] @ up + s["c"]
        out.append((s["u"] - s["U"].T @ carried) / s["d"])
        s["a"] = carried + _unit(ca, s["axis"]) * out[i]
    return ca.Function("forward", [q, v, tau], [ca.vertcat(*out)], {"cse": True})


def inverse_function(robot: Robot) -> Any:
    """tau(q, v, a) of a rigid robot by Newton-Euler."""
    ca, steps, (q, v, a) = _outward(robot)
    for i, s in enumerate(steps):
        up = _base(ca, robot) if s["parent"] < 0 else steps[s["parent"]]["a"]
        s["a"] = s["X"] @ up + s["c"] + _unit(ca, s["axis"]) * a[i]
        s["f"] = s["I"] @ s["a"] + _force_cross(ca, s["v"]) @ s["I"] @ s["v"]
    out: list[Any] = [None] * len(steps)
    for i, s in reversed([*enumerate(steps)]):
        out[i] = s["f"][s["axis"]]
        if s["parent"] >= 0:
            steps[s["parent"]]["f"] += s["X"].T @ s["f"]
    return ca.Function("inverse", [q, v, a], [ca.vertcat(*out)], {"cse": True})


def _outward(robot: Robot) -> tuple[Any, list[dict[str, Any]], list[Any]]:
    """Transforms, twists (angular first) and velocity products of all links, in own axes."""
    ca = casadi()
    links = links_as_given(robot)
    symbols = [ca.SX.sym(name, len(links)) for name in ("q", "v", "x")]
    q, v, _ = symbols
    steps: list[dict[str, Any]] = []
    for i, (parent, axis, R0, p, mass, com, about_com) in enumerate(links):
        E = (ca.SX(ca.DM(R0)) @ _turn(ca, axis, q[i])).T
        h = _skew(ca, ca.DM(mass * com))
        C = ca.DM(about_com + mass * (com @ com * np.eye(3) - np.outer(com, com)))
        step = {
            "parent": parent,
            "axis": axis,
            "X": ca.sparsify(ca.blockcat([[E, ca.SX(3, 3)], [-E @ _skew(ca, ca.DM(p)), E]])),
            "I": ca.SX(ca.blockcat([[C, h], [h.T, mass * ca.DM.eye(3)]])),
        }
        joint = _unit(ca, axis) * v[i]
        step["v"] = joint if parent < 0 else step["X"] @ steps[parent]["v"] + joint
        step["c"] = -_force_cross(ca, step["v"]).T @ joint
        steps.append(step)
    return ca, steps, symbols


def _base(ca: Any, robot: Robot) -> Any:
    return ca.SX(ca.sparsify(ca.DM([0.0, 0.0, 0.0, *(-g for g in robot.gravity)])))


def _unit(ca: Any, axis: int) -> Any:
    return ca.SX(ca.sparsify(ca.DM(np.eye(6)[axis])))


def _turn(ca: Any, axis: int, angle: Any) -> Any:
    i, j = (axis + 1) % 3, (axis + 2) % 3
    R = ca.SX.eye(3)
    c, s = ca.cos(angle), ca.sin(angle)
    R[i, i], R[i, j], R[j, i], R[j, j] = c, -s, s, c
    return R


def _skew(ca: Any, x: Any) -> Any:
    S = type(x)(3, 3)
    S[0, 1], S[0, 2], S[1, 0], S[1, 2], S[2, 0], S[2, 1] = -x[2], x[1], x[2], -x[0], -x[1], x[0]
    return S


def _force_cross(ca: Any, v: Any) -> Any:
    """v x* of a twist, angular first."""
    w, u = _skew(ca, v[:3]), _skew(ca, v[3:])
    return ca.blockcat([[w, u], [ca.SX(3, 3), w]])
