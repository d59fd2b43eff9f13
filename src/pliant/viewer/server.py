"""A window in the browser on this computer: the server, who may look, its clock, and its end.

A server on this computer can be reached by every page that the browser shows, and by everyone who works here. So each
request must name this computer as its host (a foreign name that leads here is refused), come from the scene's own page
if it says where it comes from, and bring the token of the address: in the address itself, or in the cookie that the
page got for it.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from io import StringIO
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

from pliant.results.comparison import named
from pliant.viewer.shown import MovingRun, PosedRobot

if TYPE_CHECKING:
    from pliant.dynamics import Dynamics
    from pliant.results.result import Result

HOSTS = ("127.0.0.1", "localhost")
_patching = Lock()


class Guard:
    """The check of all requests to a server; ``token`` is what its address must have."""

    def __init__(self) -> None:
        self.token = secrets.token_urlsafe(24)
        self.installed = False

    def around(self, process_request: Callable[[Any, Any], Any] | None) -> Callable[[Any, Any], Any]:
        """The answers of a server (websockets' ``process_request``), behind the check."""
        self.installed = True

        def checked(connection: Any, request: Any) -> Any:
            cookie = f"pliant-{connection.local_address[1]}"
            why = self.refusal(request.path, request.headers.raw_items(), cookie)
            if why:
                return connection.respond(HTTPStatus.FORBIDDEN, f"{why}\n")
            answer = process_request(connection, request) if process_request is not None else None
            if answer is not None:
                answer.headers["Set-Cookie"] = f"{cookie}={self.token}; HttpOnly; SameSite=Strict; Path=/"
                answer.headers["Referrer-Policy"] = "no-referrer"
                answer.headers["X-Frame-Options"] = "DENY"
            return answer

        return checked

    def refusal(self, path: str, headers: Any, cookie: str) -> str:
        """Why a request is refused, in words; empty if it is not.

        headers  pairs of names and values
        cookie   name of the cookie that may bring the token
        """
        values: dict[str, list[str]] = {}
        for name, value in headers:
            values.setdefault(name.lower(), []).append(value)
        hosts = values.get("host", [])
        if len(hosts) != 1 or _host(f"//{hosts[0]}") not in HOSTS:
            return "this scene is served to this computer only, as 127.0.0.1 or localhost"
        for origin in values.get("origin", []):
            if _place(origin) != _place(f"http://{hosts[0]}"):
                return "pages of other sites may not look at this scene"
        given = [*parse_qs(_query(path)).get("token", []), *_cookies(values.get("cookie", []), cookie)]
        if not any(secrets.compare_digest(one.encode(), self.token.encode()) for one in given):
            return "open the scene by the whole address that Pliant printed, with its token"
        return ""


@contextmanager
def guarded_server(guard: Guard) -> Iterator[None]:
    """Servers of the package websockets that are started within have a guard.

    viser starts one in a thread and waits until it listens; it has no place for a check of its own.
    """
    from websockets.asyncio import server

    serve = server.serve

    def checked(*arguments: Any, **options: Any) -> Any:
        options["process_request"] = guard.around(options.get("process_request"))
        return serve(*arguments, **options)

    with _patching:
        server.serve = checked  # type: ignore[assignment,misc]
        try:
            yield
        finally:
            server.serve = serve  # type: ignore[misc]


def _place(url: str) -> tuple[str, str] | None:
    """Scheme and host with its port."""
    try:
        parts = urlsplit(url)
        return (parts.scheme, parts.netloc.lower()) if parts.netloc else None
    except ValueError:
        return None


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


def _query(path: str) -> str:
    return path.partition("?")[2].partition("#")[0]


def _cookies(lines: list[str], name: str) -> Iterator[str]:
    for line in lines:
        try:
            found = SimpleCookie(line)
        except CookieError:
            continue
        if name in found:
            yield found[name].value


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
        from pliant.viewer.scene import FIELD_OF_VIEW, Showcase

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
