"""No command replaces a file that Pliant did not write, unless it is told to; our own are replaced without a word."""

import re

import pytest

import pliant
from cad_parts import plain_bar
from pliant.cli.app import app
from pliant.files import guarded, is_foreign, write_file
from pliant.simulation.study import load_study

ROBOT = "single-flexible-link"
SWEEP = ("sweep", ROBOT, "--vary", "gravity[2]=-9, -3", "--jobs", "1", "-q")
SHORT = ("simulate", "single-link", "--until", "0.002", "-q")
SPACE = ("workspace", "five-bar", "--over", "x=-0.1:0.1:2", "--over", "y=0.5:0.6:2")
FORMS = ("tex", "md", "html", "txt", "py", "c", "f90", "m", "jl", "wl")
# command, and the file that it writes
MOVE = ("move", ROBOT, "--to", "shoulder=0.1", "--objective", "energy", "--duration", "0.5", "--intervals", "8",
        "--tolerance", "1")  # fmt: skip
WRITES = {
    "simulate": ((*SHORT, "-o", "x.h5"), "x.h5"),
    "simulate --report": ((*SHORT, "--report", "x.html"), "x.html"),
    "simulate --plot": ((*SHORT, "--plot", "x.svg"), "x.svg"),
    "simulate --film": ((*SHORT, "--film", "x.gif"), "x.gif"),
    "simulate --csv": ((*SHORT, "--csv", "x.csv"), "x.csv"),
    "simulate --resume -o": (("simulate", "run.h5", "--resume", "--until", "0.02", "-q", "-o", "x.h5"), "x.h5"),
    "sweep": ((*SWEEP, "-o", "x.h5"), "x.h5"),
    "sweep -o parquet": ((*SWEEP, "-o", "x.parquet"), "x.parquet"),
    "sweep --csv": ((*SWEEP, "--csv", "x.csv"), "x.csv"),
    "sweep --plot": ((*SWEEP, "--plot", "x.png"), "x.png"),
    "view": (("view", "run.h5", "--no-browser"), "run.html"),
    "view film": (("view", "run.h5", "-o", "x.gif"), "x.gif"),
    "view table": (("view", "run.h5", "-o", "x.csv"), "x.csv"),
    "view plots": (("view", "run.h5", "-o", "x.pdf"), "x.pdf"),
    "report": (("report", "run.h5"), "run.html"),
    "compare csv": (("compare", "run.h5", "log.csv", "--csv", "x.csv"), "x.csv"),
    "compare plot": (("compare", "run.h5", "log.csv", "--plot", "x.png"), "x.png"),
    "show": (("show", ROBOT, "--plot", "x.png"), "x.png"),
    "shapes": (("shapes", ROBOT, "--plot", "x.svg"), "x.svg"),
    "body by netgen": (("body", "bar.step", "--root", "x=0", "--tip", "x=max", "-q", "-o", "x.yaml"), "x.yaml"),
    "export-link": (("export-link", ROBOT, "arm", "-f", "sid", "-o", "x.sid"), "x.sid"),
    "modes": (("modes", ROBOT, "--plot", "x.pdf"), "x.pdf"),
    "frf plot": (("frf", ROBOT, "--input", "shoulder", "--output", "shoulder", "--plot", "x.png"), "x.png"),
    "frf csv": (("frf", ROBOT, "--input", "shoulder", "--output", "shoulder", "--csv", "x.csv"), "x.csv"),
    "buckling": (("buckling", ROBOT, "--force", "tip=-1,0,0", "--plot", "x.png"), "x.png"),
    "stiffness": (("stiffness", ROBOT, "--csv", "x.csv"), "x.csv"),
    "workspace plot": ((*SPACE, "--plot", "x.png"), "x.png"),
    "workspace csv": ((*SPACE, "--csv", "x.csv"), "x.csv"),
    "parameters": (("parameters", ROBOT, "--csv", "x.csv"), "x.csv"),
    "denoc": (("denoc", ROBOT, "--plot", "x.png"), "x.png"),
    "shape": (("shape", "path.yaml", "--plot", "x.png", "-q"), "x.png"),
    "move plot by casadi": ((*MOVE, "--plot", "x.png"), "x.png"),
    "move tables by casadi": ((*MOVE, "-o", "."), f"{ROBOT}-move-efforts.csv"),
    "elastic plot": (("elastic", "path.yaml", "--steps", "300", "--plot", "x.png", "-q"), "x.png"),
    "elastic csv": (("elastic", "path.yaml", "--steps", "300", "--csv", "x.csv", "-q"), "x.csv"),
    "elastic": (("elastic", "path.yaml", "--steps", "300", "-o", "x.h5", "-q"), "x.h5"),
    "inverse tables": (
        ("inverse", "path.yaml", "--tolerance", "1", "-o", ".", "-q"),
        "path-efforts.csv",
    ),
    "inverse studies": (
        ("inverse", "path.yaml", "--tolerance", "1", "-o", ".", "-q"),
        "path-robot.yaml",
    ),
    **{f"derive {end}": (("derive", ROBOT, "-o", f"x.{end}"), f"x.{end}") for end in FORMS},
    "derive odd": (("derive", ROBOT, "-f", "latex", "-o", "x"), "x"),
    "export c": (("export", ROBOT, "--to", "c", "-o", "x.c"), "x.c"),
    "export header": (("export", ROBOT, "--to", "c", "-o", "x.c"), "x.h"),
    "export python": (("export", ROBOT, "--to", "python", "-o", "x.py"), "x.py"),
    "export matlab": (("export", ROBOT, "--to", "matlab", "-o", "x.m"), "x.m"),
    "export fmu": (("export", ROBOT, "--to", "fmu", "-o", "x.fmu"), "x.fmu"),
    "export casadi": (("export", ROBOT, "--to", "casadi", "-o", "x.casadi"), "x.casadi"),
    "export listing": (("export", ROBOT, "--to", "listing", "-o", "x.m"), "x.m"),
    "reproduce": (("reproduce", "di-gregorio", "--out", "."), None),
    "verify": (("verify", "--only", "bending", "--no-peers", "--out", ".", "-q"), "verification.json"),
    "verify page": (("verify", "--only", "bending", "--no-peers", "--out", ".", "-q"), "verification.html"),
}
SLOW = {"reproduce", "verify", "verify page"}
WITHOUT = {"doctor", "zeros", "robots", "check", "schema", "equilibrium", "bench", "singularity", "methods"}
FOREIGN = b"time [s],precious\n0,1\n"
PATH = """
name: path
robot: two-link-flexible
until: 0.4
drive: {pid: {kp: 400, kd: 40, trajectory: {quintic: {to: {shoulder: 5 deg}, duration: 0.4}}}}
"""


@pytest.fixture(scope="module")
def kept_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("kept") / "run.h5"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path.parent)
        from pliant.cli.simulation_job import Job

        job = Job.prepare("single-link", path, {"until": 0.01}, resume=False, force=False, python=False)
        job.go(lambda at: False, 60.0)
    return path


@pytest.fixture
def folder(tmp_path, kept_run):
    (tmp_path / "run.h5").write_bytes(kept_run.read_bytes())
    (tmp_path / "path.yaml").write_text(PATH)
    (tmp_path / "log.csv").write_text("t,shoulder\n" + "".join(f"{k / 1000},{k * k}\n" for k in range(8)))
    return tmp_path


def test_every_command_is_tried():
    tried = {command[0] for command, _ in WRITES.values()}
    assert {command.name for command in app.registered_commands} == tried | WITHOUT


def test_every_command_that_writes_can_be_told_to_replace():
    import typer

    for name, command in typer.main.get_command(app).commands.items():
        options = {option for parameter in command.params for option in parameter.opts}
        if name not in WITHOUT:
            assert ("--replace" if name == "buckling" else "--force") in options, name


@pytest.mark.parametrize("case", [name for name in WRITES if name not in SLOW])
def test_files_of_others_stay(run, folder, case):
    needed = {"casadi": "casadi", "parquet": "pyarrow", "netgen": "netgen"}
    pytest.importorskip(next((package for word, package in needed.items() if word in case), "h5py"))
    arguments, name = WRITES[case]
    if "netgen" in case:
        plain_bar(folder / "bar.step")
    option = "--replace" if case == "buckling" else "--force"
    file = folder / name
    file.write_bytes(FOREIGN)
    done = run(*arguments)
    assert done.returncode == 2, done.stderr
    words = "exists and is no sweep" if case == "sweep" else "there is another file of that name"
    assert re.search(rf"{re.escape(name)}:? {words}", done.stderr)
    assert f"{option} replaces it" in done.stderr
    assert file.read_bytes() == FOREIGN
    if case == "inverse tables":
        # its other files are tried by themselves
        return
    done = run(*arguments, option)
    assert done.returncode == 0, done.stderr
    assert file.read_bytes() != FOREIGN
    # our own are replaced without a word
    done = run(*arguments)
    assert done.returncode == 0, done.stderr
    assert not list(folder.glob(".pliant-*"))


@pytest.mark.parametrize("case", ["verify", "verify page"])
def test_long_work_is_not_begun_for_nothing(run, folder, case):
    arguments, name = WRITES[case]
    (folder / name).write_bytes(FOREIGN)
    done = run(*arguments)
    assert done.returncode == 2
    assert f"{name}: there is another file of that name" in done.stderr
    assert (folder / name).read_bytes() == FOREIGN


def test_runs_and_sweeps_do_not_replace_each_other(run, folder):
    before = (folder / "run.h5").read_bytes()
    assert run(*SWEEP, "-o", "run.h5").returncode == 2
    assert (folder / "run.h5").read_bytes() == before
    assert run(*SWEEP, "-o", "sweep.h5").returncode == 0
    assert run(*SHORT, "-o", "sweep.h5").returncode == 2


def test_a_table_with_other_columns_is_another_table(run, folder):
    """The titles of a table are those that it shall have again."""
    for text in ("time [s],q\n1,2\n", "time [s]\n", '"time [s]",x\n'):
        (folder / "x.csv").write_text(text)
        assert run("view", "run.h5", "-o", "x.csv").returncode == 2
        assert (folder / "x.csv").read_text() == text
    (folder / "x.csv").write_text("gravity[2],thesis\n")
    assert run(*SWEEP, "--csv", "x.csv").returncode == 2
    assert (folder / "x.csv").read_text() == "gravity[2],thesis\n"


def test_programs_do_as_they_say(tmp_path):
    """The rule is one of the command line: a program that names a file means it."""
    path = tmp_path / "x.yaml"
    path.write_bytes(FOREIGN)
    with guarded(), pytest.raises(pliant.ModelError, match=r"x\.yaml: there is another file"):
        write_file(path, "new")
    assert path.read_bytes() == FOREIGN
    write_file(path, "new")
    assert path.read_text() == "new"


def test_empty_files_are_nobodys(tmp_path):
    (tmp_path / "x.csv").touch()
    assert not is_foreign(tmp_path / "x.csv")
    assert not is_foreign(tmp_path / "x.csv", b"time")
    assert not is_foreign(tmp_path / "missing.csv")


def test_text_that_mentions_us_is_not_ours(tmp_path):
    for text in ("import pliant\n", "# Pliant\n", "We used Pliant 0.1.0.\n"):
        (tmp_path / "x.py").write_text(text)
        assert is_foreign(tmp_path / "x.py")


def test_the_study_of_the_test_is_one(folder):
    assert load_study(folder / "path.yaml").until == pytest.approx(0.4)
