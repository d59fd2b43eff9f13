"""The shape of the package: imports go one way, public names are documented, starting loads little."""

import ast
import importlib
import inspect
import re
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import pliant

SOURCE = Path(pliant.__file__).parent

# a module may import from its own row and from the rows above it
LAYERS = [
    {"spatial"},
    {"errors"},
    {"files"},
    {"solid_mechanics"},
    {"algorithm"},
    {"screws"},
    {"engine"},
    {"laws"},
    {"joints"},
    {"model"},
    {"bodies"},
    {"mechanism"},
    {"states"},
    {"tree"},
    {"formulations"},
    {"tree_dynamics"},
    {"platform_answers"},
    {"dynamics"},
    {"analysis"},
    {"control"},
    {"trajectories"},
    {"loads"},
    {"drives"},
    {"pictures"},
    {"results"},
    {"viewer"},
    {"simulation"},
    {"sweeps"},
    {"identification"},
    {"export"},
    {"moves"},
    {"reproduce"},
    {"verification"},
    {"cli"},
]
# packages that a plain `import pliant` or `pliant --help` must not load
HEAVY = {"numpy", "scipy", "pydantic", "ruamel", "matplotlib", "llvmlite", "h5py", "sympy", "casadi", "viser"}

# lines of a module that is still one idea
LONGEST = 600

MODULES = sorted(SOURCE.rglob("*.py"))


def module_name(file):
    parts = file.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


KNOWN = {module_name(file) for file in MODULES}


@cache
def text(file):
    return file.read_text(encoding="utf-8")


@cache
def syntax(file):
    return ast.parse(text(file))


def statements(tree, *, at_load):
    """All statements but those that are for types only; ``at_load`` leaves out functions."""
    for node in ast.iter_child_nodes(tree):
        typing_only = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        later = at_load and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if isinstance(node, ast.stmt | ast.excepthandler | ast.match_case) and not typing_only and not later:
            yield node
            yield from statements(node, at_load=at_load)


@cache
def imports(file, *, at_load=False):
    """Names of the pliant modules that a file imports; ``at_load`` leaves out imports inside functions."""
    found = set()
    for node in statements(syntax(file), at_load=at_load):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}: write imports in full"
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found & KNOWN


def layer(name):
    parts = name.split(".")
    part = parts[1] if len(parts) > 1 else "__init__"
    return next((i for i, row in enumerate(LAYERS) if part in row), None)


def test_imports_go_one_way():
    wrong = []
    for file in MODULES:
        name = module_name(file)
        if name.removeprefix("pliant").lstrip(".") in ("", "__main__"):
            continue
        own = layer(name)
        assert own is not None, f"{name} has no place in LAYERS"
        # only the command line, at the end, may use the package through its front door
        wrong += [f"{name} imports {other} of a later layer" for other in imports(file) if (layer(other) or 0) > own]
        if own < layer("pliant.cli") and "pliant" in imports(file):
            wrong.append(f"{name} imports the front door")
    assert not wrong


@pytest.mark.parametrize("file", sorted((SOURCE / "engine").rglob("*.py")), ids=module_name)
def test_the_engine_knows_no_robots(file):
    """It runs algorithms on scalars; its files are opened as all others are."""
    rooms = {other.split(".")[1] for other in imports(file) if "." in other}
    assert rooms <= {"engine", "spatial", "algorithm", "files"}


def test_no_module_imports_itself_in_a_circle():
    graph = {module_name(file): imports(file, at_load=True) - {module_name(file)} for file in MODULES}
    # importing a module also loads the packages around it, which is no dependence on their content
    for name, needs in graph.items():
        graph[name] = {other for other in needs if not name.startswith(other + ".")}
    TopologicalSorter(graph).prepare()


def test_every_module_says_what_it_is():
    assert not [module_name(file) for file in MODULES if not ast.get_docstring(syntax(file))]


@pytest.mark.parametrize("name", sorted(pliant.__all__))
def test_public_names_resolve_and_are_documented(name):
    value = getattr(pliant, name)
    assert name in dir(pliant)
    if inspect.isclass(value) or inspect.isfunction(value):
        own = inspect.cleandoc(value.__doc__ or "")
        assert len(own) > 10, f"pliant.{name} has no docstring"
        assert value.__module__.startswith("pliant.")
        for key, member in vars(value).items() if inspect.isclass(value) else ():
            if inspect.isfunction(member) and not key.startswith("_") and member.__module__.startswith("pliant"):
                assert inspect.getdoc(getattr(value, key)), f"pliant.{name}.{key} has no docstring"


def test_the_stub_is_the_one_list_of_public_names():
    """Every import of the stub is one line of one name, which the front door can read."""
    tree = ast.parse((SOURCE / "__init__.pyi").read_text(encoding="utf-8"))
    imported = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    declared = {alias.name: node.module for node in imported for alias in node.names if alias.asname == alias.name}
    assert len(declared) == len(imported)
    assert {*declared, "__version__"} == set(pliant.__all__)
    for name, home in declared.items():
        assert getattr(importlib.import_module(home), name) is getattr(pliant, name)


def test_public_class_names_stand_once():
    homes = {}
    for file in MODULES:
        for node in syntax(file).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(module_name(file))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


# bases with defaults that their kinds replace; none of them is ever made itself
DEFAULTS = {"Element", "PerJoint", "SignalForm", "TreeDynamics", "Function"}


def test_a_class_is_abstract_or_final():
    """No class that can be made replaces a public method of another one that can be made."""
    replaced = set()
    for name in sorted(KNOWN - {"pliant.__main__"}):
        for own in vars(importlib.import_module(name)).values():
            if not inspect.isclass(own) or own.__module__ != name or inspect.isabstract(own):
                continue
            for base in own.__mro__[1:]:
                known = base.__module__.startswith("pliant.") and base.__name__ not in DEFAULTS
                if known and not inspect.isabstract(base) and not getattr(base, "_is_protocol", False):
                    methods = {
                        key for key, value in vars(base).items() if _is_method(value) and not key.startswith("_")
                    }
                    replaced |= {f"{base.__name__}.{key} by {own.__name__}" for key in methods & {*vars(own)}}
    assert replaced == set()


def _is_method(value):
    return inspect.isfunction(value) or isinstance(value, property | classmethod | staticmethod)


def test_a_module_is_one_idea():
    lengths = {module_name(file): len(text(file).splitlines()) for file in MODULES}
    assert not {name: lines for name, lines in lengths.items() if lines > LONGEST}


def test_only_bodies_know_shapes():
    """Shapes of sections are named where bodies are made, and where a method lowers their constants."""
    for file in MODULES:
        part = file.relative_to(SOURCE)
        if part.parts[0] not in ("model", "bodies") and not part.name.endswith("lowering.py"):
            assert not re.search(r"Phi_[dr]", text(file)), f"{part} names shapes of a body"


def test_hints_name_packages_that_can_be_had():
    """This package is no other package's extra: what is missing is named itself."""
    assert not [module_name(file) for file in MODULES if re.search(r"pip install '?(pliant|\.)\[", text(file))]


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'wobble'"):
        _ = pliant.wobble


@pytest.mark.parametrize("start", ["import pliant", "import pliant.cli.app"])
def test_starting_loads_nothing_heavy(start):
    code = f"import sys; {start}; print(' '.join({{name.partition('.')[0] for name in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=240)
    assert not HEAVY & set(run.stdout.split())
