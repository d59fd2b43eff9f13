"""Machine code from LLVM assembly, in this process, without any C compiler."""

from __future__ import annotations

import ctypes
import os
import platform
import warnings
from collections.abc import Callable
from functools import cache
from threading import Lock
from typing import Any

_FREE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_LOCK = Lock()
"""LLVM's global state is not thread-safe: one compilation at a time."""

LIGHT, LEAST = 1, 0
"""LLVM's two lowest efforts in code generation: the lowest takes an eighth of the time, its code runs twice as long."""
LONG_TEXT = 5000
"""Lines of a module from which that is noticed."""
LEVELS = {
    "generic": "",
    "x86-64-v2": "cx16 popcnt sahf sse3 sse4.1 sse4.2 ssse3",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    "x86-64-v4": "avx512bw avx512cd avx512dq avx512f avx512vl",
}
"""Processors that code may be asked to suit, and what each knows beyond the one before it."""


def renew_lock() -> None:
    """After a fork: the thread that compiled is not here to give the lock back."""
    global _LOCK
    _LOCK = Lock()


def has_llvm() -> bool:
    """Whether there is a compiler; a warning if not."""
    try:
        import llvmlite  # noqa: F401
    except ImportError:
        warnings.warn("llvmlite is not installed: dynamics run on NumPy, about 100 times slower", stacklevel=4)
        return False
    return True


@cache
def _llvm() -> Any:
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


@cache
def host() -> tuple[str, str, str]:
    """LLVM version, processor and its features: what machine code depends on besides the program.

    The environment variable PLIANT_PROCESSOR asks for the code of a simpler processor than this one: its vectors are
    shorter, and its results are the same bit by bit on all machines that are at least as able.
    """
    llvm = _llvm()
    version = ".".join(map(str, llvm.llvm_version_info))
    own = llvm.get_host_cpu_features()
    wanted = os.environ.get("PLIANT_PROCESSOR")
    if not wanted:
        return version, llvm.get_host_cpu_name(), own.flatten()
    able, features = [], []
    for name, more in LEVELS.items():
        features += more.split()
        if (name == "generic" or is_x86()) and all(own.get(feature) for feature in features):
            able.append(name)
            if name == wanted:
                return version, name, ",".join(f"+{feature}" for feature in features)
    raise ValueError(
        f"environment variable PLIANT_PROCESSOR is '{wanted}'; this machine can be {', '.join(able)}; "
        "unset it for all that this machine can do"
    )


@cache
def lanes() -> int:
    """Doubles in the widest vector register."""
    features = host()[2].split(",")
    if "+avx512f" in features:
        return 8
    return 4 if "+avx" in features else 2


def is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def machine_code(assembly: str, *, often: bool = True) -> bytes:
    """Compile a module to an object file in memory.

    often  whether it is run so often that a long one is worth more than the least effort

    The tracer has simplified the code already. Inlining, registers for variables, an order of the operands that suits
    fused operations and light code generation are all that it needs: more would double the time and gain nothing.
    """
    llvm = _llvm()
    with _LOCK:
        module = llvm.parse_assembly(assembly)
        module.verify()
        machine = _machine(LIGHT if often or assembly.count("\n") < LONG_TEXT else LEAST)
        passes = llvm.create_new_module_pass_manager()
        passes.add_always_inliner_pass()
        passes.add_sroa_pass()
        passes.add_simplify_cfg_pass()
        passes.add_reassociate_pass()
        passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
        code: bytes = machine.emit_object(module)
    return code


def _machine(effort: int = LIGHT) -> Any:
    llvm = _llvm()
    _, cpu, features = host()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(cpu=cpu, features=features, opt=effort, jit=True)


class LoadedCode:
    """An object file linked into this process; it lives as long as this object."""

    def __init__(self, code: bytes) -> None:
        llvm = _llvm()
        self._addresses: dict[str, int] = {}
        with _LOCK:
            empty = llvm.parse_assembly("")
            self._engine = llvm.create_mcjit_compiler(empty, _machine())
            self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def address(self, name: str) -> int:
        """Where a function of it begins."""
        if name not in self._addresses:
            found: int = self._engine.get_function_address(name)
            if not found:
                raise KeyError(f"the compiled module has no function '{name}'")
            self._addresses[name] = found
        return self._addresses[name]

    def called(self, name: str) -> Callable[[int], None]:
        """A function of one pointer; its calls give the interpreter's lock up while they last."""
        return _FREE(self.address(name))
