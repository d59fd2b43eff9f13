"""Generated code of every language: compiled where a compiler is there, else read line by line and evaluated."""

import re
import shutil
import subprocess
from functools import cache

import numpy as np
import pytest
from sympy.parsing.mathematica import parse_mathematica

from pliant import Beam, Joint, Link, Modes, Properties, RigidPart, Robot
from pliant.formulations.lagrange.code.printed import LANGUAGES
from pliant.formulations.lagrange.equations import ENDINGS, equations

TOLERANCE = 1e-12
FUNCTIONS = ("mass_matrix", "coriolis", "gravity", "forces", "stiffness", "damping", "input_matrix")


def turret():
    """Bends in two planes with a payload that its tip turns, and friction: functions c_k and tanh."""
    properties = Properties(mass_per_length=1.0, EIy=40.0, EIz=60.0)
    beam = Beam(
        length=0.8, properties=properties, modes=Modes(shape="clamped-free", bend_y=1, bend_z=1), bending="linear"
    )
    payload = RigidPart(mass=0.5, com=(0.1, 0.02, 0.0), inertia=0.01)
    friction = {"viscous": 0.2, "coulomb": 0.5}
    links = [
        Link(name="turret", joint=Joint(name="azimuth", axis="z", friction=friction)),
        Link(name="barrel", joint=Joint(name="elevation", axis="y"), beam=beam, payloads=(payload,)),
    ]
    return Robot(name="turret", gravity=(0, 0, -9.81), links=links)


@cache
def case(name):
    """Equations, their functions by name, and a state with a rotation beyond the series of c_k."""
    eq = equations(name if name != "turret" else turret())
    module = {}
    exec(LANGUAGES["python"].text(eq), module)
    rng = np.random.default_rng(7)
    n = len(eq.coordinates)
    q = rng.normal(size=n) * np.where([c.elastic for c in eq.coordinates], 0.3, 1.0)
    return eq, module, q.tolist(), rng.normal(size=n).tolist()


def expected(name, function, changed):
    """A matrix by the Python module, with one parameter changed."""
    _, module, q, v = case(name)
    needs = {"mass_matrix": (q,), "gravity": (q,), "coriolis": (q, v), "forces": (q, v)}.get(function, ())
    return np.array(module[function](*needs, {**module["PARAMETERS"], **changed}), dtype=float)


def parameters_of(name):
    eq = case(name)[0]
    first = eq.parameters[0].name
    return {first: eq.values[first] * 1.25}


# ---------------------------------------------------------------- languages that are read line by line


def body_of(text, opening, closing):
    """The lines between the head of a function and its end."""
    lines = text[text.index(opening) :].splitlines()[1:]
    return lines[: next(i for i, line in enumerate(lines) if re.fullmatch(closing, line.strip()))]


def run_matlab(text, function, q, v, p):
    names = {"q": q, "v": v, "p": p, "zeros": lambda a, b: np.zeros((a, b))}
    names |= {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "tanh": np.tanh}
    for k in range(8):
        if f"function c = stumpff{k}(s)" in text:
            lines = [line.strip().rstrip(";") for line in body_of(text, f"function c = stumpff{k}(s)", "end")]
            code = "\n".join([f"def stumpff{k}(s):", *(f"    {line}" for line in lines), "    return c"])
            exec(code, names)
    for line in body_of(text, f"function out = {function}(", "end"):
        if line.startswith("%"):
            continue
        assert line.endswith(";")
        target, _, value = line.rstrip(";").partition(" = ")
        value = re.sub(r"\bp\.(\w+)", r"p['\1']", value)
        value = re.sub(r"\b([qv])\((\d+)\)", lambda m: f"{m[1]}[{int(m[2]) - 1}]", value)
        place = re.fullmatch(r"out\((\d+), (\d+)\)", target)
        if place:
            names["out"][int(place[1]) - 1, int(place[2]) - 1] = eval(value, names)
        else:
            names[target] = eval(value, names)
    return names["out"]


def run_julia(text, function, q, v, p):
    names = {"q": q, "v": v, "p": p, "zeros": lambda a, b: np.zeros((a, b))}
    names |= {"sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "tanh": np.tanh}
    names["reshape"] = lambda x, a, b: np.reshape(x, (a, b), order="F")
    for k in range(8):
        if f"function stumpff{k}(s)" in text:
            head = text[text.index(f"function stumpff{k}(s)") :].splitlines()[:6]
            condition, far, near = head[1].strip(), head[2].strip(), head[4].strip()
            exec(f"def stumpff{k}(s):\n    {condition}:\n        {far}\n    {near}", names)
    for line in body_of(text, f"function {function}(", "end"):
        line = re.sub(r"\bp\.(\w+)", r"p['\1']", line.strip())
        line = re.sub(r"\b([qv])\[(\d+)\]", lambda m: f"{m[1]}[{int(m[2]) - 1}]", line)
        if line.startswith("return "):
            return np.array(eval(line.removeprefix("return "), names), dtype=float)
        target, _, value = line.partition(" = ")
        names[target] = eval(value, names)
    raise AssertionError


def run_mathematica(text, function, q, v, p):
    """Every right-hand side is read by the parser of SymPy."""
    from pliant.formulations.lagrange.code.in_mathematica import CALLED
    from pliant.spatial.scalars import stumpff

    names = {}
    found = parse_mathematica
    lines = body_of(text, f"{CALLED[function]}[", r"\];")
    *lines, last = lines
    for line in lines:
        target, _, value = line.strip().rstrip(";").partition(" = ")
        assert "_" not in target
        if place := re.fullmatch(r"([qv])\[\[(\d+)\]\]", value):
            names[target] = (q if place[1] == "q" else v)[int(place[2]) - 1]
        elif key := re.fullmatch(r'p\["(\w+)"\]', value):
            names[target] = p[key[1]]
        elif call := re.fullmatch(r"stumpff\[(\d+), (\w+)\]", value):
            names[target] = stumpff(int(call[1]), names[call[2]])
        else:
            expression = found(value)
            names[target] = float(expression.subs({s: names[str(s)] for s in expression.free_symbols}))
    rows = [[found(x) for x in row.split(", ")] for row in re.findall(r"\{([^{}]*)\}", last)]
    return np.array([[float(x.subs({s: names[str(s)] for s in x.free_symbols})) for x in row] for row in rows])


def run_fortran(text, function, q, v, p):
    """Free form: lines that end in an ampersand go on; all variables are declared."""
    lines = re.sub(r" &\n\s*", " ", text)
    names = {"q": q, "v": v, "p": list(p.values()), "sin": np.sin, "cos": np.cos, "sqrt": np.sqrt, "tanh": np.tanh}
    for k in range(8):
        if f"pure function stumpff{k}(s)" in lines:
            head = lines[lines.index(f"pure function stumpff{k}(s)") :].splitlines()
            limit, far, near = (plain(head[i].strip()) for i in (3, 4, 6))
            limit = limit.removeprefix("if (").removesuffix(") then")
            exec(f"def stumpff{k}(s):\n    if {limit}:\n        {far}\n    else:\n        {near}\n    return c", names)
    declared = {"out"}
    for line in body_of(lines, f"subroutine {function}(", f"end subroutine {function}"):
        line = line.strip()
        if "::" in line:
            name = line.partition(":: ")[2]
            declared.add(name.partition("(")[0])
            if name.startswith("out("):
                names["out"] = np.zeros([int(x) for x in name.removeprefix("out(").rstrip(")").split(",")])
            continue
        target, _, value = line.partition(" = ")
        value = re.sub(r"\b([qvp])\((\d+)\)", lambda m: f"{m[1]}[{int(m[2]) - 1}]", plain(value))
        assert target.partition("(")[0] in declared
        place = re.fullmatch(r"out\(([\d, ]+)\)", target)
        if place:
            names["out"][tuple(int(x) - 1 for x in place[1].split(","))] = eval(value, names)
        else:
            names[target] = eval(value, names)
    assert all(len(line) <= 132 for line in text.splitlines() if not line.startswith("!"))
    assert len({name.lower() for name in declared}) == len(declared)
    return names["out"]


def plain(text):
    return re.sub(r"(\d)d([+-]?\d)", r"\1e\2", text)


RUN = {"matlab": run_matlab, "julia": run_julia, "mathematica": run_mathematica, "fortran": run_fortran}


@pytest.mark.parametrize("robot", ["lin-lewis-rfr", "turret"])
@pytest.mark.parametrize("language", RUN)
def test_code_computes_the_same_numbers(language, robot):
    eq, _, q, v = case(robot)
    text, changed = eq.to(language), parameters_of(robot)
    names = LANGUAGES[language].names(eq)
    given = {names[c.name]: changed.get(c.name, c.value) for c in eq.parameters}
    # the parser of SymPy takes its time
    for function in FUNCTIONS if (language, robot) != ("mathematica", "turret") else ("gravity", "forces"):
        wanted = expected(robot, function, changed)
        found = RUN[language](text, function, q, v, given).reshape(wanted.shape)
        assert np.abs(found - wanted).max() <= TOLERANCE * max(np.abs(wanted).max(), 1.0), function


def test_fortran_compiles_and_agrees(tmp_path):
    compiler = shutil.which("gfortran")
    if compiler is None:
        pytest.skip("no Fortran compiler")
    eq, _, q, _ = case("turret")
    n = len(q)
    (tmp_path / "arm.f90").write_text(eq.to("fortran"))
    values = ", ".join(f"{x!r}d0" if "e" not in repr(x) else repr(x).replace("e", "d") for x in q)
    main = f"program main\nuse turret\nreal(kind(1.0d0)) :: M({n}, {n})\ncall mass_matrix([{values}], parameters, M)\n"
    (tmp_path / "main.f90").write_text(f"{main}print '(*(es25.16))', M\nend program\n")
    flags = ["-std=f2018", "-Wall", "-Werror", "-Wno-unused-dummy-argument", "-ffree-line-length-132"]
    subprocess.run([compiler, *flags, "arm.f90", "main.f90", "-o", "main"], cwd=tmp_path, check=True)
    done = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True)
    found = np.array(done.stdout.split(), dtype=float).reshape(n, n)
    assert np.abs(found - expected("turret", "mass_matrix", {})).max() < TOLERANCE


def test_every_language_has_an_ending():
    assert {language.ending: name for name, language in LANGUAGES.items()}.items() <= ENDINGS.items()
    assert all(name == language.name for name, language in LANGUAGES.items())


def test_names_of_fortran_differ_in_more_than_their_size():
    from pliant.formulations.lagrange.code.traced_equations import distinct

    assert distinct(["D_1", "d_1", "q"], str) == {"D_1": "D_1", "d_1": "d_1x2", "q": "q"}
