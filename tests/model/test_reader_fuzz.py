"""Whatever the bytes, the reader gives a robot or a ModelError."""

import copy
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pliant.model import Joint, ModelError, Robot
from pliant.model.element import Element
from pliant.model.readers.library import Document, parse_document, read_text
from pliant.model.sections.section_shapes import SECTIONS

GOOD = (Path(__file__).parent / "full.yaml").read_bytes()
LINES = GOOD.splitlines(keepends=True)

fuzz = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def outcome(read):
    """The robot, or the ModelError; any other exception goes through."""
    try:
        return read()
    except ModelError as error:
        return error


def survives(content):
    """Read it; a robot must come back equal, anything else must be a ModelError that says something."""
    result = outcome(lambda: read_text(content, "fuzz.yaml"))
    if isinstance(result, Robot):
        assert read_text(result.to_yaml()) == result
    else:
        assert str(result)
        assert all(problem.file for problem in result.problems)


@settings(fuzz, max_examples=50)
@given(st.binary(max_size=200))
def test_random_bytes(content):
    survives(content)


YAML_SIGNS = ":-?[]{},&*!|>'\"%@`#~<=\\ \n\t0.1eabnul_"


@settings(fuzz, max_examples=50)
@given(st.text(alphabet=YAML_SIGNS, max_size=120))
def test_random_signs_of_yaml(text):
    survives(text)


PIECES = [b":", b"- ", b"\n", b"    ", b"{", b"}", b"[", b"]", b"'", b'"', b"&a ", b"*a ", b"<<: ", b"!!str ", b"!x "]
PIECES += [b"null", b"true", b".nan", b"-.inf", b"-1", b"0", b"1e999", b"[]", b"{}", b"x^2", b"auto", b"base", b"tip"]
PIECES += [b"---\n", b"\t", b"\x00", b"\xff", b"\xe2\x80\xa8", b"\xf0\x9f\xa4\x96", b"9" * 5000, b"# ", b"%YAML 1.1\n"]

places = st.integers(0, len(GOOD))
edits = st.one_of(
    st.tuples(st.just("insert"), places, st.sampled_from(PIECES)),
    st.tuples(st.just("replace"), places, st.sampled_from(PIECES)),
    st.tuples(st.just("delete"), places, st.integers(1, 60)),
    st.tuples(st.just("byte"), places, st.integers(0, 255)),
    st.tuples(st.just("swap"), st.integers(0, len(LINES) - 1), st.integers(0, len(LINES) - 1)),
)


def edited(content, edit):
    kind, place, what = edit
    if kind == "insert":
        return content[:place] + what + content[place:]
    if kind == "replace":
        return content[:place] + what + content[place + len(what) :]
    if kind == "delete":
        return content[:place] + content[place + what :]
    if kind == "byte":
        return content[:place] + bytes([what]) + content[place + 1 :]
    lines = content.splitlines(keepends=True)
    if max(place, what) < len(lines):
        lines[place], lines[what] = lines[what], lines[place]
    return b"".join(lines)


@settings(fuzz, max_examples=50)
@given(st.lists(edits, min_size=1, max_size=4))
def test_mutations_of_a_good_file(changes):
    content = GOOD
    for change in changes:
        content = edited(content, change)
    survives(content)


def subclasses(kind):
    for sub in kind.__subclasses__():
        yield sub
        yield from subclasses(sub)


# all keys of the description, so that random structures reach deep into it
KEYS = sorted({key for kind in subclasses(Element) for key in kind.model_fields} | set(SECTIONS) | {"shoulder", "dh"})
WORDS = [
    *KEYS,
    "x",
    "-z",
    "free",
    "prismatic",
    "user",
    "clamped-mass",
    "base",
    "a.tip",
    "3 mm",
    "1 kg",
    "pi rad",
    "none",
]
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(),
    st.floats(),
    st.sampled_from(WORDS),
    st.text(max_size=5),
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    ),
    max_leaves=25,
)


@settings(fuzz, max_examples=50)
@given(st.dictionaries(st.sampled_from(sorted(Robot.model_fields)), values, max_size=9))
def test_random_structures(data):
    assert str(outcome(lambda: Document("fuzz.yaml", data).build(Robot)))


joints = st.dictionaries(st.sampled_from(sorted(Joint.model_fields)), values, max_size=4)
bodies = {"joint": joints, "rigid": values, "beam": values, "modal": values, "hub": values, "frames": values}
links_of_fuzz = st.lists(st.fixed_dictionaries({"name": st.sampled_from("abc")}, optional=bodies), max_size=4)


@settings(fuzz, max_examples=40)
@given(links_of_fuzz, values)
def test_random_links(links, pose):
    data = {"name": "fuzz", "links": links, "pose": pose}
    assert str(outcome(lambda: Document("fuzz.yaml", data).build(Robot)))


def places_in(value, path=()):
    """The paths of all values."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        yield (*path, key)
        yield from places_in(entry, (*path, key))


TREE = parse_document(GOOD, "full.yaml").data
PATHS = list(places_in(TREE))
EXTREMES = [1e308, -1e308, 5e-324, 1e-200, 1e29, 0, -0.0, 10**400, True, None, "", [], {}, [1e29] * 3, [[1e29] * 3] * 3]
EXTREMES += [".", "upper.", "1e300 km", "exp(exp(1000*x))", "1/(x - L/2)", {"x": 1e29}, [None], "auto", "steel", "x^2"]


@settings(fuzz, max_examples=40)
@given(st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from(EXTREMES) | scalars), min_size=1, max_size=3))
def test_extreme_values_in_a_good_file(changes):
    """Warnings are errors here: nothing may overflow on the way to a robot."""
    data = copy.deepcopy(TREE)
    for path, value in changes:
        inner = data
        for step in path[:-1]:
            inner = inner[step] if isinstance(inner, list | dict) and step in dict_or_range(inner) else None
        if inner is not None and path[-1] in dict_or_range(inner):
            inner[path[-1]] = value
    result = outcome(lambda: Document("fuzz.yaml", data).build(Robot))
    assert str(result)
    if isinstance(result, Robot):
        assert result.mass >= 0
        assert read_text(result.to_yaml()) == result


def dict_or_range(value):
    return range(len(value)) if isinstance(value, list) else value if isinstance(value, dict) else ()


@pytest.mark.parametrize("line", range(0, len(LINES), 3))
def test_a_line_may_be_lost(line):
    survives(b"".join(LINES[:line] + LINES[line + 1 :]))
