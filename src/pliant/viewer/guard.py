"""Who may look at a scene: the browser that was given its address, and no page of another site.

A server on this computer can be reached by every page that the browser shows, and by everyone who works here. So each
request must name this computer as its host (a foreign name that leads here is refused), come from the scene's own page
if it says where it comes from, and bring the token of the address: in the address itself, or in the cookie that the
page got for it.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from threading import Lock
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
