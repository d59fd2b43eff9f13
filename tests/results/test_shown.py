"""Films, plots and tables as they are asked for."""

import csv

import numpy as np
import pytest
from PIL import Image
from scipy.spatial.transform import Rotation

from pliant import Dynamics, Robot, Study, equilibrium, load_study, modes, sweep
from pliant.simulation.run import run_study


@pytest.fixture(scope="module")
def run():
    return run_study(load_study("two-link-circle", changes={"until": 0.3, "outputs": {"step": 0.01}}))


def test_a_film_has_the_size_that_is_asked_for(run, tmp_path):
    film = tmp_path / "film.gif"
    run.animate(film, seconds=0.2, view="xz", size=(320, 200), exaggeration=5.0)
    with Image.open(film) as picture:
        assert picture.size == (320, 200)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"view": "zx"}, "view is 'zx'; it must be xy, xz, yz, corner, or azimuth and elevation"),
        ({"view": (1.0, 2.0, 3.0)}, "azimuth and elevation in degrees"),
        ({"size": (10, 10)}, "size is .*; width and height must be 160 to 8000 pixels"),
        ({"exaggeration": -1.0}, "exaggeration is -1; it must be a number, not below zero"),
        ({"exaggeration": float("nan")}, "exaggeration is nan"),
    ],
)
def test_films_of_nonsense_are_refused(run, tmp_path, options, words):
    with pytest.raises(ValueError, match=words):
        run.animate(tmp_path / "film.gif", seconds=0.1, **options)
    assert not (tmp_path / "film.gif").exists()


def test_a_page_takes_none_of_it(run, tmp_path):
    with pytest.raises(ValueError, match="on a page the reader plays, turns and exaggerates the film"):
        run.animate(tmp_path / "film.html", view="xy")


def test_bending_is_exaggerated_beside_the_rigid_robot(run):
    """The tip is moved by as many times its deflection, to first order, and the joints stay."""
    from pliant.pictures.animation import exaggerated

    q = exaggerated(run.arm, run.q, 3.0)
    rigid = exaggerated(run.arm, run.q, 0.0)
    tips = [run.arm.pose("tip", x).position for x in (rigid, run.q, q)]
    np.testing.assert_allclose(tips[2] - tips[0], 3 * (tips[1] - tips[0]), atol=1e-5)
    joints = [run.arm.names.index(name) for name in run.robot.joint_coordinates]
    np.testing.assert_array_equal(q[:, joints], run.q[:, joints])


def test_plots_take_channels_and_a_size(run, tmp_path):
    figure = run.plot(tmp_path / "some.png", channels=["tip.z", "tip.position"], size=(6.0, 4.0))
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["tip.z, m", "tip.position, m"]
    assert [len(axes.lines) for axes in figure.axes] == [1, 3]
    assert figure.get_size_inches().tolist() == [6.0, 4.0]
    with pytest.raises(KeyError, match=r"no channel 'tip\.q'"):
        run.plot(channels=["tip.q"])
    with pytest.raises(ValueError, match="width and height must be 2 to 60 inches"):
        run.plot(size=(1.0, 100.0))
    assert run.draw(view=(-30.0, 40.0), size=(5.0, 4.0), exaggeration=10.0).get_size_inches().tolist() == [5.0, 4.0]


def test_a_notebook_plays_the_film(run):
    shown = run.film(400)._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;')
    assert "height: 400px" in shown
    assert '"films"' not in shown


def test_equilibria_and_modes_are_tables():
    arm = Dynamics("two-link-flexible", compile="never")
    rest, found = equilibrium(arm), modes(arm)
    assert "<td>shoulder</td>" in rest._repr_html_()
    assert [row[0] for row in rest.rows()] == list(arm.names)
    efforts = {name: effort for name, _, _, effort, _ in rest.rows() if effort is not None}
    assert efforts == pytest.approx(dict(zip(arm.inputs, rest.tau, strict=True)))
    pytest.importorskip("pandas")
    assert rest.to_dataframe().loc["elbow", "effort unit"] == "N m"
    table = found.to_dataframe()
    np.testing.assert_array_equal(table["frequency [Hz]"], found.hertz)
    assert table.index.name == "mode"


def test_the_program_writes_modes_and_equilibria(tmp_path):
    from typer.testing import CliRunner

    from pliant.cli.app import app

    for command in ("modes", "equilibrium"):
        file = tmp_path / f"{command}.csv"
        for _ in range(2):
            done = CliRunner().invoke(app, [command, "two-link-flexible", "--csv", str(file)])
            assert done.exit_code == 0, done.output
        with file.open(newline="") as stream:
            head, first, *_ = csv.reader(stream)
        assert len(head) == len(first)
    assert first[0] == "shoulder"
    spin = tmp_path / "spin.csv"
    done = CliRunner().invoke(app, ["modes", "single-flexible-link", "--spin", "shoulder=60rpm", "--csv", str(spin)])
    assert done.exit_code == 0, done.output
    last = spin.read_text().splitlines()[-1].split(",")
    assert float(last[0]) == pytest.approx(2 * np.pi)


def test_a_floating_base_has_roll_pitch_and_yaw():
    """Rz(yaw) Ry(pitch) Rx(roll) is the rotation of its frame; turns go on beyond half a turn."""
    body = {"mass": 1.0, "inertia": [0.1, 0.2, 0.15], "length": 0.5}
    robot = Robot(name="probe", gravity=(0, 0, 0), links=[{"name": "hull", "joint": {"type": "free"}, "rigid": body}])
    base = robot.links[0].joint.name
    start = {"velocity": {f"{base}.rx": 1.0, f"{base}.rz": 4.0}}
    found = run_study(Study(name="tumble", robot=robot, until=1.5, start=start))
    angles = np.column_stack([found[f"{base}.{word}"] for word in ("yaw", "pitch", "roll")])
    np.testing.assert_allclose(Rotation.from_euler("ZYX", angles).as_matrix(), found["hull.root.rotation"], atol=1e-7)
    assert np.abs(np.diff(angles, axis=0)).max() < 1.0
    assert found.unit(f"{base}.roll") == "rad"


def test_a_sweep_along_a_path_draws_curves():
    """Places that move together are one way: a curve over the first, in the order of the cases."""
    vary = {"pose.shoulder": [0.2, 0.8, 0.5], "pose.elbow": [-1.0, -0.5, -0.2]}
    found = sweep("two-link-flexible", vary, sample="zip", do="modes")
    drawn = [axes for axes in found.plot().axes if axes.lines]
    assert drawn
    assert all(list(axes.lines[0].get_xdata()) == [0.2, 0.8, 0.5] for axes in drawn)
