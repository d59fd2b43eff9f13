"""Generated Python: the engine's numbers without Pliant and NumPy, or with the numbers of NumPy and cmath."""

import cmath
import importlib.util
import json
import subprocess
import sys

import numpy as np
import pytest

from pliant.export import FUNCTIONS, generate_python, parameters

TOLERANCE = 1e-12
"""Of the largest entry: the same operations, but for the engine's fused multiply-adds and its sine."""

BUNDLED = ("canadarm", "lin-lewis-rfr", "seven-joint-arm", "six-dof", "two-link-flexible")
ZOO = (
    "branches-exponential",
    "branches-cayley",
    "branches-xyz",
    "satellite",
    "rod-in-space",
    "floating-beam",
    "prismatic",
    "fixed",
    "drives",
    "imported",
    "pinned",
    "elements",
    "rotary-exact",
    "second-order",
    "rods-in-a-plane",
    "rod-in-space",
    "forty",
    "chain-30",
)
COMPLEX_STEP = 1e-30


@pytest.fixture
def load(tmp_path):
    """load(arm, **options): generate a module and import it."""

    def make(arm, **options):
        path = generate_python(arm, tmp_path / "arm_module.py", **options)
        spec = importlib.util.spec_from_file_location("arm_module", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return make


def flat(value):
    """Numbers of whatever a function returns, in order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [x for each in value for x in flat(each)]
    return [value]


@pytest.mark.parametrize("name", BUNDLED)
def test_without_pliant_and_numpy(arm, expected, error, tmp_path, name):
    """A bare interpreter: no site packages, no environment, an empty folder."""
    path = generate_python(arm(name), tmp_path / "arm_module.py")
    calls = {function: [x.tolist() for x in expected(arm(name), function)[0]] for function in FUNCTIONS}
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); import arm_module\n"
        "calls = json.load(sys.stdin)\n"
        "out = {name: getattr(arm_module, name)(*inputs) for name, inputs in calls.items()}\n"
        "assert not {'pliant', 'numpy'} & set(sys.modules)\n"
        "json.dump(out, sys.stdout)"
    )
    command = [sys.executable, "-I", "-S", "-c", code, str(path.parent)]
    options = {"capture_output": True, "text": True, "timeout": 120, "check": False}
    run = subprocess.run(command, input=json.dumps(calls), **options)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    for function in FUNCTIONS:
        assert error(flat(found[function]), expected(arm(name), function)[1]) < TOLERANCE, function


@pytest.mark.parametrize("name", ZOO)
def test_loops_over_links_equal_the_engine(arm, expected, error, load, name):
    module = load(arm(name), unroll=False)
    for function in FUNCTIONS:
        inputs, out = expected(arm(name), function)
        assert error(flat(getattr(module, function)(*inputs)), out) < TOLERANCE, function


def test_batch_with_numpy(arm, error, load):
    robot = arm("seven-joint-arm")
    rng = np.random.default_rng(8)
    q, v, f = 0.1 * rng.normal(size=(3, 20, robot.size))
    for unroll in (True, False):
        module = load(robot, functions=("forward",), unroll=unroll)
        found = np.array(module.forward(q.T, v.T, f.T, lib=np)).T
        assert error(found, robot.forward(q, v, force=f)) < TOLERANCE


def test_derivatives_by_complex_step(arm, error, load, expected):
    """The functions are analytic in everything: complex numbers give exact derivatives."""
    robot = arm("lin-lewis-rfr")
    module = load(robot, functions=("inverse",))
    (q, v, a), _ = expected(robot, "inverse")
    exact = robot.inverse_derivatives(q, v, a)
    for j in range(robot.size):
        step = q.astype(complex)
        step[j] += 1j * COMPLEX_STEP
        column = np.imag(module.inverse(step, v, a, lib=cmath)) / COMPLEX_STEP
        assert error(column, exact.q[:, j]) < TOLERANCE


def test_parameters_and_names(arm, error, load):
    robot = arm("canadarm")
    module = load(robot)
    assert robot.names == module.COORDINATES
    assert robot.inputs == module.INPUTS
    assert module.FRAMES == ("tip",)
    assert np.array_equal(module.B, robot.B)
    assert parameters(robot, ("tip",)) == module.PARAMETERS
    assert module.ROBOT == "canadarm"
    q = np.full(robot.size, 0.1)
    doubled = [2 * x for x in module.PARAMETERS]
    assert error(module.mass_matrix(q, doubled), robot.mass_matrix(q)) > 0.1


def test_results_have_their_shapes(arm, load):
    robot = arm("branches-exponential")
    module = load(robot, frames=("b.tip", "trunk.mid"))
    q = [0.1] * robot.size
    position, rotation = module.pose(q)["trunk.mid"]
    assert np.shape(position) == (3,)
    assert np.shape(rotation) == (3, 3)
    assert np.shape(module.jacobian(q)["b.tip"]) == (6, robot.size)
    assert np.shape(module.mass_matrix(q)) == (robot.size, robot.size)
    assert len(module.energy(q, q)) == 3


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("my-arm.py", "not a Python identifier"),
        ("class.py", "not a Python identifier"),
        ("arm.txt", "must end in .py"),
    ],
)
def test_refusals(arm, tmp_path, path, words):
    with pytest.raises(ValueError, match=words):
        generate_python(arm("canadarm"), tmp_path / path)
