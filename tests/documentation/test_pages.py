"""Every block of every page runs and prints what it says; the site builds; links lead somewhere."""

import importlib.util
import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LAST = ("changes.html", "releasing.html")
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.MULTILINE | re.DOTALL)


def module(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    found = importlib.util.module_from_spec(spec)
    sys.modules[name] = found
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def pages():
    return module("pages")


@pytest.fixture(scope="module")
def site():
    return module("build_site")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_prints_what_it_says(pages, tmp_path, page):
    text = page.read_text("utf-8")
    if "from netgen" in text:
        pytest.importorskip("netgen")
    # no block is overlooked
    assert len(pages.kinds(text)) == len(re.findall(r"^```(?!text\n)[^\n]+\n", text, re.MULTILINE)) + _drawings(text)
    # nor hidden in the old style
    assert ">>>" not in text
    assert pages.executed(text, tmp_path) == text
    if page.parent.name == "tutorials":
        # its pictures are those that it makes
        assert {file.name for file in tmp_path.glob("*.png")} == set(_pictures(text))


def _drawings(text):
    """Blocks of text that are no output of the block above."""
    return len(re.findall(r"^(?!```$)[^\n]*\n```text\n", text, re.MULTILINE))


def _pictures(text):
    return re.findall(r"!\[[^\]]*\]\(([^)/]+\.png)\)", text)


@pytest.mark.parametrize(
    ("page", "why"),
    [
        ("```python\n1 / 0\n```\n", "does not run"),
        ("```console\n$ pliant show nobody\n```\n", "there is no robot"),
        ("```console\n$ pliant show --nonsense\n```\n", "is refused"),
        ("```console\nls\n```\n", "begin with"),
        ("```yaml\nlinks: [{name: a, beam: {lenght: 1}}]\n```\n", "did you mean 'length'"),
        ("```yaml\nfruit: apple\n```\n", "no robot, study"),
        ("```\nmake demo\n```\n", "neither run nor marked"),
        ("<!-- not run: -->\n```sh\nmake demo\n```\n", "neither run nor marked"),
    ],
)
def test_a_block_that_fails_or_is_not_tried_is_told(pages, tmp_path, page, why):
    with pytest.raises(pages.PageError, match=why):
        pages.executed(page, tmp_path)


def test_markers(pages, tmp_path):
    text = "<!-- not run: why -->\n```sh\nrm x\n```\n\n<!-- silent -->\n```python\nprint(1)\n```\n"
    assert pages.executed(text, tmp_path) == text
    wrong = "```python\nprint(1)\n```\n```text\n2\n```\n"
    assert pages.executed(wrong, tmp_path) == wrong.replace("2", "1")


def test_the_file_of_the_readme_is_the_example():
    text = (ROOT / "README.md").read_text("utf-8")
    assert re.findall(r"^```yaml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)[0] == (
        ROOT / "examples" / "01_two_link.yaml"
    ).read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(site, page):
    for target in re.findall(r"\]\(([^)\s]+)\)", CODE.sub("", page.read_text("utf-8"))):
        if target.startswith("http"):
            continue
        file, _, anchor = target.partition("#")
        there = (page.parent / file).resolve() if file else page
        assert there.exists(), target
        if anchor:
            assert anchor in site.anchors(there.read_text("utf-8")), target


def test_every_picture_is_on_a_page():
    """No picture is left over."""
    named = {(page.parent / name).resolve() for page in PAGES for name in _all_pictures(page.read_text("utf-8"))}
    left = {file for file in (ROOT / "docs").rglob("*") if file.suffix in (".png", ".gif", ".svg")} - named
    assert not left


def _all_pictures(text):
    return re.findall(r"!\[[^\]]*\]\(([^)]+\.(?:png|gif|svg))\)", text)


def test_the_site_builds_without_a_warning(site, tmp_path):
    pytest.importorskip("mkdocs")
    from mkdocs.commands.build import build
    from mkdocs.config import load_config

    site.stage(tmp_path / "pages")
    config = load_config(
        str(ROOT / "mkdocs.yml"), docs_dir=str(tmp_path / "pages"), site_dir=str(tmp_path / "site"), strict=True
    )
    build(config)
    start = (tmp_path / "site" / "index.html").read_text("utf-8")
    assert "Pliant" in start
    assert (tmp_path / "site" / "search" / "search_index.json").exists()
    # nothing is fetched from elsewhere
    assert 'src="http' not in start
    ranked = json.loads((tmp_path / "site" / "search" / "search_index.json").read_text("utf-8"))["docs"]
    pages = {entry["location"].partition("#")[0]: entry.get("boost", 1) for entry in ranked}
    # a page that only repeats captions is found by no word, and one that has every word comes last
    assert "gallery.html" not in pages
    assert pages["changes.html"] < min(rank for page, rank in pages.items() if page not in LAST)
    gallery = (tmp_path / "site" / "gallery.html").read_text("utf-8")
    for picture in (ROOT / "docs" / "pictures").glob("*.*"):
        assert picture.name in gallery
