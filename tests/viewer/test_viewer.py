"""The viewer: what it shows as numbers, its nodes in the scene, its panel, its server, and as a browser shows it."""

import socket
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import numpy as np
import pytest
from PIL import ImageChops

import pliant
from browser import PROGRAM, Browser
from pliant.pictures.solids import Posed
from pliant.viewer.scene import BANDS, SHADES, band_colour, bands
from pliant.viewer.shown import MovingRun, PosedRobot, largest

PORT = 18741
ROUNDING = 1e-9
"""m: of positions of about one metre."""
SINGLE = 1e-6
"""m: what the scene keeps is of single precision."""
PATIENCE = 200.0


@pytest.fixture(scope="module")
def arm():
    return pliant.Dynamics("two-link-flexible")


@pytest.fixture(scope="module")
def run(arm):
    move = pliant.Quintic(to={"shoulder": 1.15, "elbow": -1.4}, duration=0.3)
    drive = pliant.PID(trajectory=move, kp=[400, 120], kd=[40, 8], gravity="desired")
    return pliant.simulate(arm, until=0.3, drive=drive)


@pytest.fixture(scope="module")
def viewer(arm):
    pytest.importorskip("viser")
    with arm.view(port=PORT, browser=False) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def player(run, arm):
    pytest.importorskip("viser")
    other = pliant.Result(run.robot, run.samples, run.info, arm)
    with run.view(other, port=PORT + 20, browser=False) as player:
        yield player


# ---------------------------------------------------------------- numbers


def test_a_robot_is_posed_by_hand(arm):
    robot = PosedRobot(arm)
    assert [handle.name for handle in robot.handles()] == ["shoulder", "elbow"]
    assert robot.move({"shoulder": 0.3, "elbow": -0.2}) == ""
    places = robot.drawn.skeleton.beams["forearm"].own
    assert robot.posed.moved()[0][places][-1] == pytest.approx(arm.pose("forearm.tip", robot.q).position, abs=ROUNDING)
    assert largest(robot.drawn, [robot.posed])["deflection"] < ROUNDING
    robot.sags = True
    assert robot.move({"shoulder": 0.3}) == ""
    assert robot.q == pytest.approx(pliant.equilibrium(arm, {"shoulder": 0.3, "elbow": -0.2}).q, abs=ROUNDING)
    most = largest(robot.drawn, [robot.posed])
    assert most["deflection"] > 1e-3
    assert most["stress"] > 1e6
    robot.reset()
    assert robot.value("shoulder") == pytest.approx(arm.reference_pose()[0])


def test_what_cannot_close_is_told_and_stays():
    robot = PosedRobot(pliant.Dynamics("five-bar", compile="never"))
    assert [handle.name for handle in robot.handles()] == ["left_motor", "right_motor"]
    before = robot.q.copy()
    assert "the loops cannot close: 'tool' stays open" in robot.move({"left_motor": np.pi})
    assert np.array_equal(robot.q, before)
    assert robot.move({"left_motor": 1.0}) == ""
    assert robot.value("left_motor") == pytest.approx(1.0)
    assert np.abs(robot.arm.closure(robot.q)).max() < ROUNDING


def test_a_mode_swings_as_the_analysis_says(arm):
    robot = PosedRobot(arm)
    names, problem = robot.modes()
    found = pliant.modes(arm, robot.q)
    assert problem == ""
    assert [float(name.split()[1]) for name in names] == pytest.approx(found.hertz, rel=1e-3)
    swing = robot.swing(1)
    tip = robot.drawn.skeleton.beams["forearm"].own.stop - 1
    J = arm.jacobian("forearm.tip", robot.q) @ found.shapes[:, 1].real
    along = swing.shifts[tip] / np.linalg.norm(swing.shifts[tip])
    assert abs(along @ J[:3] / np.linalg.norm(J[:3])) == pytest.approx(1.0, abs=1e-6)
    assert swing.turns[tip] * np.linalg.norm(J[:3]) == pytest.approx(
        J[3:] * np.sign(along @ J[:3]) * np.linalg.norm(swing.shifts[tip]), abs=1e-6
    )


def test_a_run_is_where_its_samples_are(run):
    moving = MovingRun(run)
    k = len(run) // 2
    exact, shown = moving.drawn.skeleton.at(run.q[k]), moving.at(float(run.time[k]))
    for a, b in zip(exact[1:], shown[1:], strict=True):
        assert a == pytest.approx(b, abs=ROUNDING)
    assert isinstance(moving.at(99.0), Posed)
    assert moving.at(99.0).shifts == pytest.approx(moving.drawn.skeleton.at(run.q[-1]).shifts, abs=ROUNDING)


def test_bands_of_colour():
    values = np.array([-1.0, -0.5, 0.0, 0.5, 1.0])
    assert bands("stress", values, 1.0).tolist() == [0, 3, 6, 9, BANDS - 1]
    assert bands("deflection", np.abs(values), 1.0).tolist() == [BANDS - 1, 6, 0, 6, BANDS - 1]
    assert bands("stress", np.zeros(1), 0.0).tolist() == [6]
    for field, stops in SHADES.items():
        assert (band_colour(field, 0), band_colour(field, BANDS - 1)) == (stops[0], stops[-1])


# ---------------------------------------------------------------- server, scene and panel


def test_it_listens_on_this_computer_only(viewer):
    port = viewer.server.get_port()
    with urllib.request.urlopen(viewer.url, timeout=PATIENCE) as answer:
        assert answer.status == 200
    table = [line.split()[1:4] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    listening = [where for where, _, state in table if state == "0A" and where.endswith(f":{port:04X}")]
    assert listening == [f"0100007F:{port:04X}"]


def test_the_scene_holds_the_robot(viewer):
    names = viewer.stage.nodes[0].names
    assert len(names) == len(set(names)) > 4
    assert all(viewer.server.scene.get_handle_by_name(name) is not None for name in [*names, "/floor", "/base"])


def test_a_slider_moves_the_beams(viewer, arm):
    (upper, mesh), (forearm, last) = viewer.stage.nodes[0].beams
    before = mesh.vertices.copy()
    viewer.joints.sliders["shoulder"].value = 20.0
    viewer.joints.move()
    assert np.abs(mesh.vertices - before).max() > 0.1
    q = arm.q(shoulder=np.radians(20.0), elbow=arm.by_name(arm.reference_pose())["elbow"])
    at_tip = last.vertices[forearm.places == forearm.places.max()]
    assert at_tip.mean(axis=0) == pytest.approx(arm.pose("forearm.tip", q).position, abs=SINGLE)
    assert upper.link == "upper"
    viewer.joints.reset()
    assert np.abs(mesh.vertices - before).max() < SINGLE


def test_bending_is_exaggerated_and_coloured(viewer):
    look, nodes = viewer.look, viewer.stage.nodes[0]
    viewer.joints.sag.value = True
    viewer.joints.move()
    _, mesh = nodes.beams[1]
    once = mesh.vertices.copy()
    look.bending.value = 0.0
    look.apply()
    straight = mesh.vertices.copy()
    look.bending.value = 3.0
    look.apply()
    # the axis moves three times as far; sections turn
    assert (mesh.vertices - straight).mean(axis=0) == pytest.approx(3 * (once - straight).mean(axis=0), rel=1e-2)
    look.bending.value, look.colour.value = 1.0, "stress"
    look.apply()
    assert not mesh.visible
    triangles = sum(len(band.faces) for band in nodes.bands if band.visible)
    assert triangles == sum(len(solid.faces) for solid, _ in nodes.beams)
    assert "MPa" in look.legend.content
    look.colour.value = "parts"
    look.apply()
    assert mesh.visible
    assert not any(band.visible for band in nodes.bands)
    viewer.joints.reset()


def test_modes_move_with_the_clock(viewer):
    modes = viewer.modes
    assert modes.choice.options[0] == "none"
    modes.choice.value = modes.choice.options[1]
    modes.choose()
    assert "Hz" in modes.message.content
    _, mesh = viewer.stage.nodes[0].beams[1]
    before = mesh.vertices.copy()
    viewer.tick(0.3)
    assert np.abs(mesh.vertices - before).max() > 1e-3
    modes.choice.value = "none"
    modes.choose()
    assert viewer.stage.swing is None


def test_runs_are_played_over_each_other(player, run):
    play, nodes = player.play, player.stage.nodes
    assert nodes[0].own != nodes[1].own
    _, mesh = nodes[1].beams[1]
    play.seek(0.0)
    before = mesh.vertices.copy()
    play.seek(0.2)
    assert np.abs(mesh.vertices - before).max() > 1e-2
    played = play.plot.data[1]
    assert np.count_nonzero(played == play.high) == pytest.approx(len(played) * 2 / 3, abs=2)
    play.choice.value = play.choice.options[1]
    play.renew()
    play.speed.value = "0.5"
    play.toggle()
    player.tick(0.0)
    start = play.time
    player.tick(0.1)
    play.toggle()
    assert play.time >= start + 0.05 - ROUNDING or play.time < start
    assert len(play.plot.data) == 2 + 2 * len(next(p for p in play.panels[play.choice.value]).curves)
    assert [each.name for each in play.runs] == [run.info.name, f"{run.info.name} (2)"]


def test_it_closes(arm):
    pytest.importorskip("viser")
    viewer = arm.view(port=PORT + 40, browser=False)
    port = viewer.server.get_port()
    assert "127.0.0.1" in repr(viewer)
    viewer.close()
    viewer.close()
    assert "closed" in repr(viewer)
    assert not viewer._clock.is_alive()
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_without_viser_it_says_what_to_install(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(ModuleNotFoundError, match="the viewer needs the package viser: pip install viser"):
        arm.view(browser=False)


# ---------------------------------------------------------------- who may look


def opened(viewer, *, origin=None, host=None, token=True, cookie=""):
    """Whether the websocket of a scene opens, and how its first answer begins."""
    import viser

    port = viewer.server.get_port()
    path = "/?" + viewer.url.partition("?")[2] if token else "/"
    lines = [
        f"GET {path} HTTP/1.1",
        f"Host: {host or f'127.0.0.1:{port}'}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Protocol: viser-v{viser.__version__}",
        *([f"Origin: {origin}"] if origin else []),
        *([f"Cookie: {cookie}"] if cookie else []),
    ]
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as peer:
        peer.sendall("\r\n".join([*lines, "", ""]).encode())
        return peer.recv(12).decode()


def test_pages_of_other_sites_cannot_look(viewer):
    port = viewer.server.get_port()
    own = f"http://127.0.0.1:{port}"
    assert opened(viewer, origin=own) == "HTTP/1.1 101"
    assert opened(viewer) == "HTTP/1.1 101"
    for origin in (
        "http://evil.example",
        "null",
        "http://127.0.0.1",
        f"http://127.0.0.1:{port + 1}",
        f"https://127.0.0.1:{port}",
        f"{own}.evil.example",
        f"http://localhost:{port}",
        "http://[",
    ):
        assert opened(viewer, origin=origin) == "HTTP/1.1 403", origin
    # a name that leads here (DNS rebinding)
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1.evil.example", "[", "0.0.0.0"):
        assert opened(viewer, host=host, origin=f"http://{host}") == "HTTP/1.1 403", host
    # through a tunnel
    assert opened(viewer, host="localhost:9000", origin="http://localhost:9000") == "HTTP/1.1 101"


def test_the_address_has_the_key(viewer):
    port = viewer.server.get_port()
    own = f"http://127.0.0.1:{port}"
    assert opened(viewer, origin=own, token=False) == "HTTP/1.1 403"
    assert opened(viewer, origin=own, token=False, cookie=f"pliant-{port}=guess") == "HTTP/1.1 403"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(own, timeout=PATIENCE)
    with urllib.request.urlopen(viewer.url, timeout=PATIENCE) as answer:
        cookie = answer.headers["Set-Cookie"]
    assert cookie.endswith("; HttpOnly; SameSite=Strict; Path=/")
    assert opened(viewer, origin=own, token=False, cookie=f"a=b; {cookie.partition(';')[0]}") == "HTTP/1.1 101"


def test_a_server_without_a_guard_is_refused(arm, monkeypatch):
    pytest.importorskip("viser")
    monkeypatch.setattr("pliant.viewer.server.Guard.around", lambda self, process: process)
    with pytest.raises(RuntimeError, match="cannot be kept from other sites"):
        arm.view(port=PORT + 60, browser=False)


# ---------------------------------------------------------------- in a browser


def test_a_browser_shows_it(viewer, tmp_path):
    """The page needs no other computer, has no errors, and moves with the joints."""
    if PROGRAM is None:
        pytest.skip("needs Chromium")
    browser = Browser(tmp_path)
    try:
        viewer.look.sections.value = 6.0
        viewer.look.apply()
        browser.visit(viewer.url, width=1000, height=700)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and "shoulder" not in browser.run("document.body.innerText"):
            time.sleep(0.1)
        while time.monotonic() < end and not _painted(first := _scene(browser)):
            time.sleep(0.3)
        assert _painted(first)
        viewer.joints.sliders["shoulder"].value = -20.0
        viewer.joints.move()
        while time.monotonic() < end and _change(first, _scene(browser)) < 5e-3:
            time.sleep(0.3)
        assert _change(first, _scene(browser)) > 5e-3
        loaded = browser.run("performance.getEntriesByType('resource').map((entry) => entry.name)")
        assert all(name.startswith((viewer.url.partition("?")[0], "data:", "blob:")) for name in loaded)
        assert [text for text in browser.errors if "THREE.Clock" not in text] == []
    finally:
        viewer.joints.reset()
        browser.close()


def _scene(browser):
    """The middle of the scene, without the panel and what lies in the corners."""
    return browser.window().crop((40, 170, 640, 600))


def _painted(picture):
    """Whether the strong blue of the beams is seen."""
    r, _, b = np.moveaxis(np.asarray(picture).astype(int), 2, 0)
    return np.count_nonzero((b - r > 60) & (b > 120)) > 200


def _change(first, second):
    difference = np.asarray(ImageChops.difference(first, second)).max(axis=2)
    return np.count_nonzero(difference > 20) / difference.size
