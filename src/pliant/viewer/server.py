"""A window in the browser on this computer: the server, its clock, and its end."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from pliant.results.comparison import named
from pliant.viewer.guard import Guard, guarded_server
from pliant.viewer.shown import MovingRun, PosedRobot

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.results.result import Result

HOST = "127.0.0.1"
"""Nobody else can look."""
PORT = 8080
RATE = 25.0
"""Pictures per second."""


class Viewer:
    """An interactive scene; ``url`` is its address, ``close()`` ends it. Also a context manager.

    shown    a robot, or runs that are played over each other
    port     where it listens on this computer; the next free one if it is taken
    browser  whether the browser is opened
    """

    def __init__(self, shown: Sequence[PosedRobot | MovingRun], *, port: int = PORT, browser: bool = True) -> None:
        viser = _viser()
        from pliant.viewer.controls import JointControls, LookControls, ModeControls, PlayControls
        from pliant.viewer.stage import FIELD_OF_VIEW, Showcase

        self._guard = Guard()
        with redirect_stdout(StringIO()), guarded_server(self._guard):
            self.server: Any = viser.ViserServer(host=HOST, port=port, label="Pliant", verbose=False)
        if not self._guard.installed:
            # whoever asks could look
            with redirect_stdout(StringIO()):
                self.server.stop()
            raise RuntimeError("the server of this version of viser cannot be kept from other sites; use viser 1.1")
        gui, scene = self.server.gui, self.server.scene
        gui.configure_theme(show_logo=False, show_share_button=False, brand_color=(37, 99, 235))
        gui.main_panel.dock_right()
        gui.set_panel_label(" and ".join(dict.fromkeys(each.name for each in shown)))
        self.stage = Showcase(scene, shown)
        scene.set_up_direction(tuple(self.stage.up))
        self.look = LookControls(gui, self.stage)
        self.joints: JointControls | None = None
        self.modes: ModeControls | None = None
        self.play: PlayControls | None = None
        first = shown[0]
        if isinstance(first, PosedRobot):
            self.joints = JointControls(gui, self.stage, first, self._posed)
            self.modes = ModeControls(gui, self.stage, first, self.look)
        else:
            self.play = PlayControls(gui, self.stage, [each for each in shown if isinstance(each, MovingRun)])
        camera = self.server.initial_camera
        camera.position, camera.look_at, camera.fov = self.stage.eye(), self.stage.middle, FIELD_OF_VIEW
        camera.near, camera.far = 0.005 * self.stage.radius, 100 * self.stage.radius
        camera.up = tuple(self.stage.up)
        self._end = Event()
        self._clock = Thread(target=self._run, name="pliant viewer", daemon=True)
        self._clock.start()
        if browser:
            import webbrowser

            webbrowser.open(self.url)

    @property
    def url(self) -> str:
        """The address for a browser on this computer; its token lets that browser look, and no other."""
        return f"http://{HOST}:{self.server.get_port()}/?token={self._guard.token}"

    def _posed(self) -> None:
        """Joints have moved: modes are others, and so are the ends of the colours."""
        assert self.modes is not None
        self.stage.swing = None
        self.modes.renew()

    def _run(self) -> None:
        before = time.monotonic()
        while not self._end.wait(1 / RATE):
            now = time.monotonic()
            self.tick(now - before)
            before = now

    def tick(self, seconds: float) -> None:
        """Let time go on: play runs, swing modes."""
        with self.stage.lock:
            moving = [control.tick(seconds) for control in (self.modes, self.play) if control is not None]
            if any(moving):
                with self.server.atomic():
                    self.stage.refresh()

    def wait(self) -> None:
        """Until Ctrl-C, then close."""
        try:
            while not self._end.wait(1.0):
                pass
        except KeyboardInterrupt:
            pass
        finally:
            self.close()

    def close(self) -> None:
        """End the server; a window that is open says so."""
        if not self._end.is_set():
            self._end.set()
            self._clock.join()
            with redirect_stdout(StringIO()):
                self.server.stop()

    def __enter__(self) -> Viewer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        state = "closed" if self._end.is_set() else self.url
        return f"Viewer({', '.join(each.name for each in self.stage.shown)}: {state})"


def _viser() -> Any:
    try:
        import viser
    except ImportError:
        raise ModuleNotFoundError("the viewer needs the package viser: pip install viser") from None
    return viser


def view_robot(arm: Dynamics, *, port: int = PORT, browser: bool = True) -> Viewer:
    """A robot with sliders for its joints, and its modes."""
    _viser()
    return Viewer([PosedRobot(arm)], port=port, browser=browser)


def view_runs(
    runs: Sequence[Result], names: Sequence[str] | None = None, *, port: int = PORT, browser: bool = True
) -> Viewer:
    """Runs over each other, played together."""
    _viser()
    called = named(list(runs), list(names) if names else None) if len(runs) > 1 else {runs[0].info.name: runs[0]}
    return Viewer([MovingRun(run, name) for name, run in called.items()], port=port, browser=browser)
