"""What a description leaves out is told by every command that computes with it."""

import pytest

STUDY = "name: rest\nrobot: arm.yaml\nuntil: 20 ms\n"
STEPPED = """
name: stepped
links:
  - name: boom
    joint: {name: lift, axis: y}
    payloads: [{mass: 0.5 kg}]
    beam:
      material: steel
      segments:
        - {length: 1 m, section: {rectangle: {width: 20 mm, height: 40 mm}}}
        - {length: 1 m, section: {rectangle: {width: 20 mm, height: 15.87 mm}}}
      modes: {shape: legendre, bend_y: 10, bend_z: 10}
"""
COMMANDS = {
    "check": ("check", "arm.yaml"),
    "modes": ("modes", "arm.yaml"),
    "equilibrium": ("equilibrium", "arm.yaml"),
    "simulate": ("simulate", "rest.yaml"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_bending_out_of_the_plane_of_the_load_is_told(run, tmp_path, example, command):
    """The arm of the README with the plane in which nothing bends it instead of that in which gravity does."""
    given = example.replace("bend_y: 2", "bend_z: 2")
    assert given != example
    (tmp_path / "arm.yaml").write_text(given)
    (tmp_path / "rest.yaml").write_text(STUDY)
    done = run(*COMMANDS[command])
    assert done.returncode == 0, done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    assert "bending in y of 'upper' and torsion of 'upper' are left out" in told
    # nothing at all, without what rounding leaves
    assert "bending moves the tip by 33.7 mm instead of 0 mm" in told or command == "simulate"
    assert "joint 'shoulder' excites a mode at" in told
    assert "add bend_y: 2" in told


@pytest.mark.parametrize("command", COMMANDS)
def test_shapes_that_a_stepped_beam_outruns_are_told(run, tmp_path, command):
    (tmp_path / "arm.yaml").write_text(STEPPED)
    (tmp_path / "rest.yaml").write_text(STUDY)
    done = run(*COMMANDS[command])
    assert done.returncode == 0, done.stderr
    told = " ".join((done.stdout + done.stderr).split())
    # frequencies tell it in their own way
    expected = "with finer links frequency" if command == "modes" else "the shapes of 'boom' are too stiff"
    assert expected in told
