"""Commands about the frame that works: stiffness, singularities, workspace."""


def test_stiffness(run, tmp_path):
    found = run("stiffness", "five-bar", "--at", "left_motor=115deg", "--csv", "c.csv")
    assert found.returncode == 0
    assert "softest against a force along" in found.stdout
    assert found.stdout.count("rigid") == 6
    rows = (tmp_path / "c.csv").read_text().splitlines()
    assert rows[0] == "base axes,fx,fy,fz,mx,my,mz"
    assert len(rows) == 7


def test_stiffness_of_nothing_is_refused(run):
    found = run("stiffness", "five-bar", "--frame", "nowhere")
    assert found.returncode == 2
    assert "no frame 'nowhere'" in found.stderr


def test_singularities(run):
    found = run("singularity", "five-bar", "--along", "left_motor")
    assert found.returncode == 0
    assert "regular: every direction is kept" in found.stdout
    assert "171.625 deg" in found.stdout
    assert "characteristic length 0.6121 m" in found.stdout
    assert run("singularity", "five-bar", "--axes", "u").returncode == 2


def test_a_workspace(run, tmp_path):
    grid = ("--over", "x=-0.5:0.5:11", "--over", "y=10cm:0.5:9")
    found = run("workspace", "five-bar", *grid, "--plot", "w.png", "--csv", "w.csv")
    assert found.returncode == 0, found.stderr
    assert "tip reaches" in found.stdout
    assert (tmp_path / "w.png").stat().st_size > 10_000
    rows = (tmp_path / "w.csv").read_text().splitlines()
    assert rows[0].startswith("branch,x,y,dexterity")
    assert "such as x=-0.3:0.3" in run("workspace", "five-bar", "--over", "x=1").stderr


def test_parameters(run, tmp_path):
    found = run("parameters", "two-link-flexible", "--csv", "p.csv")
    assert found.returncode == 0
    assert "40 linear parameters, of which forces show 20 combinations" in found.stdout
    assert "upper.hub.Izz + shoulder.rotor" in found.stdout
    assert len((tmp_path / "p.csv").read_text().splitlines()) == 21
