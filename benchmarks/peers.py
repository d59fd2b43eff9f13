"""Pinocchio as the peer: the same robot in its own classes, called from Python and in compiled loops.

The compiled loops need g++, Pinocchio's headers, which the package ``pin`` brings, and Eigen's, from the
package ``cmeel-eigen``, the system or the folder named by EIGEN_INCLUDE. Pinocchio's templates take minutes
to compile; the result is kept in the output folder. Whatever is missing is left out and said so.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
import sysconfig
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from timing import Looped

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pliant import Robot

SOURCE = Path(__file__).with_name("pinocchio_loops.cpp")
FLAGS = ("-std=c++17", "-O3", "-march=native", "-DNDEBUG", "-fPIC", "-shared")
# as Pinocchio's own build files say
DEFINITIONS = (
    "-DBOOST_MPL_LIMIT_LIST_SIZE=30",
    "-DBOOST_MPL_LIMIT_VECTOR_SIZE=30",
    "-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS",
    "-DBOOST_FUSION_INVOKE_MAX_ARITY=12",
)
LOOPS = ("aba_local", "aba_world", "rnea", "crba", "rnea_derivatives", "aba_derivatives")


class NoPeerError(RuntimeError):
    """What the comparison lacks."""


def links_as_given(robot: Robot) -> list[tuple[Any, ...]]:
    """(parent, axis, rotation, position, mass, centre of mass, inertia about it) of every rigid link."""
    index = {"base": -1} | {name: i for i, name in enumerate(robot.link_names)}
    out = []
    for link in robot.links:
        parent, frame = robot.parent_of(link.name)
        joint, body = link.joint, link.rigid
        plain = joint.type == "revolute" and joint.child_placement.is_identity and frame == "root"
        if body is None or not plain:
            raise ValueError(f"link '{link.name}' is not rigid on a revolute joint at the root of its parent")
        axis = int(np.flatnonzero(joint.axis_vector() == 1)[0])
        place = (joint.placement.matrix(), joint.placement.vector())
        out.append((index[parent], axis, *place, body.mass, body.com_vector(), body.inertia_matrix()))
    return out


def python_model(robot: Robot) -> tuple[Any, Any, Any]:
    """(pinocchio, model, data)."""
    try:
        import pinocchio as pin
    except ImportError:
        raise NoPeerError("Pinocchio is not installed: pip install pin") from None
    model = pin.Model()
    model.gravity.linear = np.array(robot.gravity)
    joints = (pin.JointModelRX, pin.JointModelRY, pin.JointModelRZ)
    for i, (parent, axis, R, p, mass, com, inertia) in enumerate(links_as_given(robot)):
        joint = model.addJoint(parent + 1, joints[axis](), pin.SE3(R, p), f"joint{i}")
        model.appendBodyToJoint(joint, pin.Inertia(mass, com, inertia), pin.SE3.Identity())
    return pin, model, model.createData()


class CompiledPeer:
    """Pinocchio's algorithms for one robot, in loops compiled from its headers."""

    def __init__(self, library: ctypes.CDLL, robot: Robot) -> None:
        links = links_as_given(robot)
        parents = np.array([link[0] for link in links], dtype=np.int64)
        axes = np.array([link[1] for link in links], dtype=np.int64)
        placements = np.array([[*R.ravel(), *p] for _, _, R, p, *_ in links])
        bodies = np.array([[mass, *com, *inertia.ravel()] for *_, mass, com, inertia in links])
        gravity = np.array(robot.gravity)
        arrays = (parents, axes, placements, bodies, gravity)
        self.size = len(links)
        self._library = library
        self._handle = library.peer_make(self.size, *(a.ctypes.data for a in arrays))

    def set(self, *inputs: NDArray[np.float64]) -> None:
        """q, v and the accelerations or efforts."""
        arrays = [np.ascontiguousarray(x, dtype=float) for x in inputs]
        self._library.peer_set(self._handle, *(a.ctypes.data for a in arrays))

    def loop(self, name: str) -> Looped:
        """One of LOOPS."""
        function, handle = getattr(self._library, f"peer_{name}"), self._handle
        return lambda count: function(handle, count)

    def results(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Accelerations and efforts of the last calls."""
        accelerations, efforts = np.zeros(self.size), np.zeros(self.size)
        self._library.peer_results(self._handle, accelerations.ctypes.data, efforts.ctypes.data)
        return accelerations, efforts


@cache
def compiled_library(folder: Path) -> ctypes.CDLL:
    """The loops as a shared library in a folder, made there if it is not yet."""
    compiler = shutil.which("g++")
    if compiler is None:
        raise NoPeerError("there is no g++ to compile Pinocchio's loops with")
    includes = [_pinocchio_headers(), _eigen_headers()]
    version = metadata.version("pin")
    text = SOURCE.read_text() + " ".join(FLAGS) + version + processor()
    place = folder / f"pinocchio-{hashlib.sha256(text.encode()).hexdigest()[:16]}.so"
    if not place.exists():
        print(f"compiling Pinocchio {version} into {place} (once, some minutes)", flush=True)
        folder.mkdir(parents=True, exist_ok=True)
        made = place.with_suffix(f".{os.getpid()}")
        command = [
            compiler,
            *FLAGS,
            *DEFINITIONS,
            *(f"-isystem{i}" for i in includes),
            str(SOURCE),
            "-o",
            str(made),
        ]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            raise NoPeerError(f"Pinocchio's loops do not compile: {run.stderr.strip().splitlines()[:1]}")
        made.replace(place)
    library = ctypes.CDLL(str(place))
    library.peer_make.restype = ctypes.c_void_p
    library.peer_make.argtypes = [ctypes.c_int64] + [ctypes.c_void_p] * 5
    library.peer_set.argtypes = [ctypes.c_void_p] * 4
    library.peer_results.argtypes = [ctypes.c_void_p] * 3
    for name in LOOPS:
        getattr(library, f"peer_{name}").argtypes = [ctypes.c_void_p, ctypes.c_int64]
    return library


def processor() -> str:
    """The library is compiled for this processor only."""
    info = Path("/proc/cpuinfo")
    names = [x for x in info.read_text().splitlines() if x.startswith("flags")] if info.exists() else []
    return names[0] if names else ""


def _pinocchio_headers() -> Path:
    for root in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        place = Path(root) / "cmeel.prefix" / "include"
        if (place / "pinocchio").is_dir():
            return place
    raise NoPeerError("Pinocchio's headers are not there: pip install pin")


def _eigen_headers() -> Path:
    places = [
        os.environ.get("EIGEN_INCLUDE", ""),
        str(_pinocchio_headers() / "eigen3"),
        "/usr/include/eigen3",
        "/usr/local/include/eigen3",
    ]
    for place in places:
        if place and (Path(place) / "Eigen").is_dir():
            return Path(place)
    raise NoPeerError("Eigen's headers are not there: pip install cmeel-eigen, or set EIGEN_INCLUDE")
