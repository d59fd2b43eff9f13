"""Results: channels, storage, tables, warnings."""

import csv
import io
import os
import pickle
import re
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import h5py
import numpy as np
import pytest

import pliant
from pliant import Hold, Quintic
from pliant.analysis.modes import modes
from pliant.drives.given import GivenTorque
from pliant.drives.pid import PID
from pliant.drives.prescribed import PrescribedMotion
from pliant.dynamics import Dynamics
from pliant.results import storage
from pliant.results.result import Result
from pliant.results.samples import Samples
from pliant.results.spectrum import residual_spectrum
from pliant.results.storage import load_run_and_checkpoint, save_run
from pliant.simulation.outputs import StrainPoint
from pliant.simulation.run import SimulationWarning, simulate
from pliant.simulation.start import Start


@pytest.fixture(scope="module")
def run():
    drive = PID(trajectory=Quintic(to={"shoulder": 1.1}, duration=0.15), kp=[400, 120], kd=[40, 8], gravity="desired")
    strains = [StrainPoint(name="gauge", link="upper", x=0.02, y=0.004)]
    return simulate(
        "two-link-flexible",
        until=0.2,
        drive=drive,
        start=Start(links="equilibrium"),
        frames=["upper"],
        strains=strains,
        output_step=0.002,
        name="lift",
    )


def test_runs_are_saved_from_threads(run, tmp_path):
    """All at once: an image in memory is that of one run."""
    cut = [Samples(*(array[: 10 * k + 10] for array in run.samples.arrays().values())) for k in range(8)]
    parts = [Result(run.robot, samples, run.info) for samples in cut]
    gate = threading.Barrier(len(parts))

    def save(k):
        gate.wait()
        for turn in range(3):
            parts[k].save(tmp_path / f"{k}-{turn}.h5")

    with ThreadPoolExecutor(len(parts)) as pool:
        list(pool.map(save, range(len(parts))))
    for k, part in enumerate(parts):
        for turn in range(3):
            assert Result.load(tmp_path / f"{k}-{turn}.h5") == part


def test_every_listed_channel_can_be_had(run):
    for name in run.channels:
        values = run[name]
        assert len(values) == len(run)
        assert np.isfinite(values).all(), name
    assert run["tip.position"].shape == (101, 3)
    assert run["elbow.reaction"].shape == (101, 6)
    assert run["upper.tip.rotation"].shape == (101, 3, 3)


def test_units(run):
    units = {"shoulder": "rad", "shoulder.rate": "rad/s", "shoulder.torque": "N m", "upper.bend_y.1": "m", "power": "W"}
    assert {name: run.unit(name) for name in units} == units
    assert "joint position, rad" in run.channels["shoulder"]


def test_channels_agree_with_one_another(run):
    def slope(values):
        return np.gradient(values, run.time, axis=0)[2:-2]

    # difference quotients over 2 ms of motions up to some hundred rad/s
    assert slope(run["shoulder"]) == pytest.approx(run["shoulder.rate"][2:-2], abs=2e-2)
    assert slope(run["tip.position"]) == pytest.approx(run["tip.velocity"][2:-2], abs=3e-2)
    # power is the derivative of the work
    assert slope(run["work"]) == pytest.approx(run["power"][2:-2], abs=0.05 * np.abs(run["power"]).max())
    assert run["energy.total"] == pytest.approx(sum(run[f"energy.{e}"] for e in ("kinetic", "strain", "gravity")))
    # the joint carries the torque of its motor about its own axis, but for friction and rotor
    tip = run.arm.pose("tip", run.q[50]).position
    assert run["tip.position"][50] == pytest.approx(tip)


def test_deflection_of_a_link_and_of_a_frame_are_two_things(run):
    own, whole = run["upper.deflection"], run["upper.tip.deflection"]
    assert np.linalg.norm(own, axis=1) == pytest.approx(np.linalg.norm(whole, axis=1))
    assert not np.allclose(own, whole)
    # the tip of the arm carries what both links bend
    assert np.abs(run["tip.deflection"]).max() > np.abs(whole).max()


def test_unknown_channels_get_a_hint(run):
    with pytest.raises(KeyError, match="did you mean 'shoulder'"):
        run["shouldre"]
    with pytest.raises(KeyError, match="no frame 'uper'"):
        run["uper.position"]
    assert "nothing" not in run
    assert "upper.root.position" in run


def test_strain_of_a_cantilever():
    """A strip held level: at the root the strain is M y / EI, with many modes to one part in a hundred."""
    robot = pliant.load("single-flexible-link")
    link = robot.links[0]
    upright = link.joint.with_changes(placement={"rotation": {"x": np.pi / 2}})
    modes = link.beam.modes.with_changes(bend_y=8)
    link = link.with_changes(joint=upright, beam=link.beam.with_changes(modes=modes), payloads=[{"mass": 0.02}])
    arm = Dynamics(robot.with_changes(links=[link], gravity=(0, 0, -9.81)))
    run = simulate(
        arm,
        until=0.002,
        drive=PrescribedMotion(trajectory=Hold()),
        start=Start(links="equilibrium"),
        strains=[StrainPoint(name="root", link="arm", x=0.0, y=1.5e-3)],
    )
    beam = link.beam.with_materials({}).at(0.0)
    moment = 9.81 * (float(beam.mass_per_length) * 0.8**2 / 2 + 0.02 * 0.8)
    assert run["strain.root"] == pytest.approx(moment * 1.5e-3 / float(beam.EIz), rel=0.01)


# ---------------------------------------------------------------- files


def test_a_run_reads_back_the_same(run, tmp_path):
    run.save(tmp_path / "run.h5")
    again = Result.load(tmp_path / "run.h5")
    assert again == run
    assert again.info.name == "lift"
    assert np.array_equal(again["strain.gauge"], run["strain.gauge"])
    assert [p.name for p in tmp_path.iterdir()] == ["run.h5"]
    with h5py.File(tmp_path / "run.h5") as file:
        assert file.attrs["version"] == pliant.__version__.encode()
        assert b"two-link-flexible" in file["robot"][()]
        assert b"pid" in file["study"][()]
        assert file["names/inputs"].asstr()[:].tolist() == ["shoulder", "elbow"]


def test_other_files_are_refused(run, tmp_path):
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(pliant.ModelError, match="not an HDF5 file"):
        Result.load(tmp_path / "text.h5")
    with h5py.File(tmp_path / "other.h5", "w"):
        pass
    with pytest.raises(pliant.ModelError, match="does not hold a run"):
        Result.load(tmp_path / "other.h5")
    with pytest.raises(pliant.ModelError, match="no such file"):
        Result.load(tmp_path / "none.h5")
    run.save(tmp_path / "run.h5")
    forged(tmp_path / "run.h5", lambda file: file.attrs.update({"format": 99}))
    with pytest.raises(pliant.ModelError, match="this one is older"):
        Result.load(tmp_path / "run.h5")


def test_a_damaged_file_is_called_so(run, tmp_path):
    """Every changed byte is found: in numbers, texts, the lengths of both, and in the seal itself."""
    run.save(tmp_path / "run.h5")
    whole = (tmp_path / "run.h5").read_bytes()
    damaged = tmp_path / "damaged.h5"
    random = np.random.default_rng(0)
    places = [*range(0, 140, 9), *random.integers(len(whole), size=60), whole.index(b"links:"), len(whole) - 1]
    for place in places:
        damaged.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << random.integers(8))]) + whole[place + 1 :])
        with pytest.raises(pliant.ModelError, match=r"damaged\.h5: "):
            Result.load(damaged)
    for other in (b"", whole[:100], whole[: len(whole) // 2], whole[:-1], whole + b"\0", whole[512:]):
        damaged.write_bytes(other)
        with pytest.raises(pliant.ModelError, match=r"damaged\.h5: "):
            Result.load(damaged)


def forged(path, change):
    """A run file changed by someone who knows how its seal is made."""
    image = io.BytesIO(path.read_bytes()[storage.SEAL_SIZE :])
    with h5py.File(image, "r+") as file:
        change(file)
    path.write_bytes(storage.sealed(image.getvalue(), "run"))


def replaced(name, values, **options):
    def change(file):
        del file[name]
        file.create_dataset(name, data=values, **options)

    return change


def huge(file):
    """Terabytes that nobody wrote."""
    del file["q"]
    file.create_dataset("q", shape=(10**9, 5000), dtype="f8", chunks=(1000, 1000))


def elsewhere(file):
    del file["q"]
    file["q"] = h5py.ExternalLink("/etc/hostname", "q")


def outside(file):
    del file["q"]
    file.create_dataset("q", shape=(100, 2), dtype="f8", external=[("/etc/passwd", 0, 1600)])


def without_info(file):
    del file["info"]


FORGED = {
    "fewer times": replaced("time", np.zeros(3)),
    "no times": replaced("time", np.zeros(0)),
    "fewer columns": replaced("v", np.zeros((100, 1))),
    "one axis": replaced("q", np.zeros(100)),
    "no number": replaced("q", np.full((100, 2), np.nan)),
    "texts": replaced("q", np.full((100, 2), b"no")),
    "huge": huge,
    "elsewhere": elsewhere,
    "outside": outside,
    "nothing": without_info,
    "a list": replaced("info", np.bytes_(b"[]")),
    "no json": replaced("info", np.bytes_(b"{")),
    "wrong json": replaced("info", np.bytes_(b'{"events": [1], "name": 3}')),
    "no robot": replaced("robot", np.bytes_(b"links: 3")),
    "kind": lambda file: file.attrs.update({"kind": 3}),
    "format": lambda file: file.attrs.update({"format": b"x"}),
}


@pytest.mark.parametrize("what", FORGED)
def test_a_forged_file_is_refused_in_words(run, tmp_path, what):
    run.save(tmp_path / "run.h5")
    forged(tmp_path / "run.h5", FORGED[what])
    with pytest.raises(pliant.ModelError, match=r"run\.h5"):
        Result.load(tmp_path / "run.h5")


def put(file, name, value):
    if name in file:
        del file[name]
    file[name] = value


@pytest.mark.parametrize("name", ["q", "robot", "info", "names", "names/inputs", "checkpoint", "checkpoint/integrator"])
def test_links_out_of_a_run_are_not_followed(run, tmp_path, name):
    """A pipe has no end: whoever opens it waits for ever."""
    os.mkfifo(tmp_path / "pipe")
    for link in (h5py.ExternalLink(str(tmp_path / "pipe"), "/q"), h5py.SoftLink("/v"), h5py.SoftLink("/nowhere")):
        save_run(run.record(), tmp_path / "run.h5", {"integrator/t": 1.0})
        forged(tmp_path / "run.h5", lambda file, link=link: put(file, name, link))
        with pytest.raises(pliant.ModelError, match=f"'{name}.*' does not lie in this file"):
            Result.load(tmp_path / "run.h5")


def nested(file):
    inner = file.require_group("checkpoint")
    for _ in range(500):
        inner = inner.create_group("g")


def in_circles(file):
    group = file.require_group("checkpoint")
    for k in range(20):
        group[f"again{k}"] = group


def many(file):
    group = file.require_group("checkpoint")
    for k in range(storage.MOST_NAMES + 5):
        group.create_group(f"g{k}")


@pytest.mark.parametrize("change", [nested, in_circles, many])
def test_groups_without_end_are_not_followed(run, tmp_path, change):
    run.save(tmp_path / "run.h5")
    forged(tmp_path / "run.h5", change)
    with pytest.raises(pliant.ModelError, match="'checkpoint' has more than 10000 parts, or parts more than 8 deep"):
        Result.load(tmp_path / "run.h5")


def modules_entered(call):
    """Modules of the package in which a function is called."""
    source, entered = str(Path(pliant.__file__).parent), set()

    def look(frame, event, argument):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(source):
            entered.add(Path(file).relative_to(source).as_posix())

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(before)
    return entered


def test_what_is_saved_is_data(tmp_path):
    """Extremes and channels are found before; nothing is compiled or simulated while a file is written."""
    run = pliant.run_study(pliant.load_study("two-link", changes={"until": 0.05}))
    record = run.record()
    assert isinstance(record.info["extremes"], dict)
    entered = modules_entered(lambda: save_run(record, tmp_path / "run.h5"))
    assert entered <= {"files.py", "results/storage.py", "results/samples.py"}
    # a second time everything is known
    entered = modules_entered(lambda: run.save(tmp_path / "run.h5"))
    assert "results/storage.py" in entered
    assert not [name for name in entered if name.startswith(("engine/", "simulation/", "formulations/"))]


def test_what_is_needed_to_go_on_comes_back(run, tmp_path):
    memory = {"integrator/t": 1.5, "a/b/c": np.arange(3.0), "text": np.bytes_(b"x")}
    save_run(run.record(), tmp_path / "run.h5", memory)
    again = load_run_and_checkpoint(tmp_path / "run.h5")[1]
    assert again.keys() == memory.keys()
    assert all(np.array_equal(again[key], value) for key, value in memory.items())


def test_a_run_of_another_robot_is_told(run, tmp_path):
    """The robot in the file has other coordinates than the motion."""
    run.save(tmp_path / "run.h5")
    other = run.robot.set("upper.beam.modes.bend_y", 3)
    forged(tmp_path / "run.h5", replaced("robot", np.bytes_(other.to_yaml().encode())))
    with pytest.raises(ValueError, match=r"the run has \d+ coordinates; its robot 'two-link-flexible' has"):
        _ = Result.load(tmp_path / "run.h5")["tip.position"]


def test_a_table_of_numbers(run, tmp_path):
    run.to_csv(tmp_path / "run.csv", ["shoulder", "tip.position"])
    with open(tmp_path / "run.csv", newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows[0] == ["time [s]", "shoulder [rad]", "tip.position.x [m]", "tip.position.y [m]", "tip.position.z [m]"]
    values = np.array(rows[1:], dtype=float)
    assert np.array_equal(values[:, 1], run["shoulder"])
    assert np.array_equal(values[:, 2:], run["tip.position"])


# ---------------------------------------------------------------- vibration and warnings


def test_the_spectrum_finds_the_natural_frequency():
    """A strip plucked with its joint held rings at its first natural frequency."""
    arm = Dynamics("single-flexible-link")
    q = np.zeros(arm.size)
    q[arm.names.index("arm.bend_y.1")] = 0.01
    run = simulate(
        arm, until=8.0, drive=PrescribedMotion(trajectory=Hold()), start=(q, np.zeros(arm.size)), tolerance=1e-6
    )
    spectrum = residual_spectrum(run)
    # that of the state in which it ends: a bent strip is stiffer
    first = modes(arm, run.q[-1]).hertz[0]
    assert spectrum.locked[0] == pytest.approx(first)
    # 4 s tell frequencies apart by a quarter of a hertz
    assert spectrum.frequency[np.argmax(spectrum.amplitude)] == pytest.approx(first, abs=0.1)


def test_joints_that_nothing_holds_raise_the_frequencies():
    """The Canadarm without torques rings as an arm whose joints are free."""
    arm = Dynamics("canadarm")
    q = np.zeros(arm.size)
    q[arm.names.index("upper.bend_y.1")] = 0.01
    still = GivenTorque(joints={"shoulder": 0.0})
    run = simulate(arm, until=8.0, drive=still, start=(q, np.zeros(arm.size)), tolerance=1e-6)
    spectrum = residual_spectrum(run)
    loudest = spectrum.frequency[np.argmax(spectrum.amplitude)]
    assert np.abs(spectrum.free - loudest).min() < 0.05
    assert np.abs(spectrum.locked - loudest).min() > 0.2


def test_large_slopes_are_warned_of():
    push = GivenTorque(joints={"shoulder": 9.0})
    with pytest.warns(SimulationWarning) as told:
        run = simulate("single-flexible-link", until=0.15, drive=push, limits="ignore")
    assert len(told) == len(run.warnings)
    bent = [text for text in run.warnings if "bends until its tip turns by" in text]
    assert len(bent) == 1
    assert re.search(r"link 'arm' .* beyond 0.4 rad .*pieces:", bent[0])


# ---------------------------------------------------------------- for other programs


def test_a_run_can_be_handed_on(run):
    again = pickle.loads(pickle.dumps(run))
    assert again == run
    assert again.info.study == run.info.study
    assert np.array_equal(again["tip.position"], run["tip.position"])


def test_every_channel_is_in_the_file(run, tmp_path):
    """Values, units and the time axis, as any program that reads HDF5 finds them."""
    run.save(tmp_path / "run.h5")
    with h5py.File(tmp_path / "run.h5") as file:
        assert set(file["channels"]) == set(run.channels)
        for name in run.channels:
            data = file[f"channels/{name}"]
            assert np.array_equal(data[()], run[name])
            assert data.attrs["unit"].decode() == (run.unit(name) or "1")
            assert data.attrs["meaning"].decode() in run.channels[name]
            assert data.dims[0].label == "time"
            assert np.array_equal(data.dims[0][0][()], run.time)
        assert file["time"].is_scale
        assert file["time"].attrs["unit"] == b"s"
    small = tmp_path / "small.h5"
    run.save(small, channels=False)
    assert small.stat().st_size < (tmp_path / "run.h5").stat().st_size / 2
    assert Result.load(small) == run


def test_a_run_that_diverged_keeps_what_can_be_computed(run, tmp_path):
    far = type(run.samples)(**{**run.samples.arrays(), "q": np.full_like(run.q, 1e200)})
    with np.errstate(all="ignore"):
        Result(run.robot, far, run.info, run.arm).save(tmp_path / "far.h5")
    with h5py.File(tmp_path / "far.h5") as file:
        assert "shoulder" in file["channels"]
        assert len(file["channels"]) < len(run.channels)


def test_a_table_for_pandas(run):
    pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    table = run.to_dataframe(["shoulder", "tip.position"])
    assert list(table.columns) == ["shoulder", "tip.position.x", "tip.position.y", "tip.position.z"]
    assert table.index.name == "time"
    assert np.array_equal(table.index, run.time)
    assert np.array_equal(table["tip.position.y"], run["tip.position"][:, 1])
    assert table.attrs["units"]["tip.position.y"] == "m"
    assert "shoulder.torque" in run.to_dataframe().columns


def test_arrays_for_xarray(run):
    pytest.importorskip("xarray", reason="xarray is not installed: pip install xarray")
    found = run.to_xarray()
    assert set(found.data_vars) == set(run.channels)
    assert found["tip.rotation"].dims == ("time", "axis", "column")
    assert np.array_equal(found["tip.position"].sel(axis="z"), run["tip.position"][:, 2])
    assert found["elbow.reaction"].sel(wrench="mz").shape == (len(run),)
    assert found["shoulder.torque"].attrs["units"] == "N m"


@pytest.mark.parametrize(("package", "call"), [("pandas", "to_dataframe"), ("xarray", "to_xarray")])
def test_missing_packages_are_told(run, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=f"pip install {package}$"):
        getattr(run, call)()


def test_a_run_in_a_notebook(run, tmp_path):
    page = run._repr_html_()
    assert "<td>shoulder.torque</td><td>N m</td>" in page
    assert "101 samples" in page
    assert run.draw(tmp_path / "motion.svg")._repr_png_().startswith(b"\x89PNG")


@pytest.mark.filterwarnings("ignore:link .* along its axis", "ignore:link .* tip turns")  # only the reactions count
def test_reactions_are_those_of_their_joints():
    """Also where sections of a beam stand between two joints in the tree."""
    run = simulate("cibicik-4dof", until=2e-3, output_step=1e-3, limits="ignore")
    for joint in run.arm.inputs:
        a = run.arm.forward(run.q[-1], run.v[-1], np.zeros(len(run.arm.inputs)))
        assert run[f"{joint}.reaction"][-1] == pytest.approx(
            run.arm.reactions(run.q[-1], run.v[-1], a)[joint], rel=1e-6, abs=1e-6
        )


def test_a_run_is_read_back_with_its_method(tmp_path):
    """What follows from the motion, such as accelerations, comes from the equations that made it."""
    study = pliant.Study(robot="two-link-flexible", until=0.02, dynamics="dual_screw", limits="ignore")
    run = pliant.run_study(study)
    run.save(tmp_path / "run.h5")
    again = Result.load(tmp_path / "run.h5")
    assert again.arm.method.name == "dual_screw"
    name = "elbow.acceleration"
    assert again[name] == pytest.approx(run[name], rel=1e-12)
