"""Chromium without a window, steered through a pipe with its DevTools protocol; nothing else is needed."""

import base64
import fcntl
import io
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from PIL import Image

PROGRAM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--remote-debugging-pipe"),
    # pictures of solids are drawn by the processor
    "--enable-unsafe-swiftshader",
)
# seconds for one answer, on a machine under load
PATIENCE = 200
# file descriptors that the program reads and writes
READS, WRITES = 3, 4
# what is said of a page that goes
LEFT = "Inspected target navigated or closed"


class Browser:
    """One page at a time; ``errors`` holds what its console would show in red or yellow."""

    def __init__(self, folder: Path) -> None:
        assert PROGRAM is not None
        its_input, self._to = os.pipe()
        self._from, its_output = os.pipe()
        # out of the way of the two numbers they get in the child
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (its_input, its_output)]
        self._process = subprocess.Popen(
            [PROGRAM, *OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            preexec_fn=lambda: (os.dup2(ends[0], READS), os.dup2(ends[1], WRITES)),
            close_fds=False,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (its_input, its_output, *ends):
            os.close(end)
        self._buffer, self._count, self._session = b"", 0, ""
        self.errors: list[str] = []
        page = self._ask("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._ask(f"{domain}.enable")

    def close(self) -> None:
        """End the program."""
        self._session = ""
        self._ask("Browser.close")
        self._process.wait(PATIENCE)
        os.close(self._to)
        os.close(self._from)

    def open(
        self, path: Path, *, width: int = 1200, height: int = 900, dark: bool = False, touch: bool = False
    ) -> None:
        """Show a file in a window of a size, on a light or a dark desktop."""
        self.media(dark=dark)
        self.visit(path.as_uri(), width=width, height=height, touch=touch)

    def visit(self, address: str, *, width: int, height: int, touch: bool = False) -> None:
        """Show what is at an address."""
        self._ask("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=touch)
        self._ask("Page.navigate", url=address)
        while self.run("document.readyState") != "complete" or self.run("location.href").rstrip("/") != address:
            time.sleep(0.02)

    def reload(self) -> None:
        """Show the page anew."""
        self._ask("Page.reload")

    def media(self, *, dark: bool = False, still: bool = False, kind: str = "") -> None:
        """What the desktop asks for: dark colours, no motion, ``kind`` "print" as on paper."""
        wishes = {"color-scheme": "dark" if dark else "light", "reduced-motion": "reduce" if still else "no-preference"}
        features = [{"name": f"prefers-{name}", "value": value} for name, value in wishes.items()]
        self._ask("Emulation.setEmulatedMedia", media=kind, features=features)

    def run(self, code: str) -> Any:
        """The value of a JavaScript expression; promises are waited for."""
        answer = None
        while answer is None:
            # a page that another one replaces does not answer: that one is asked
            answer = self._ask("Runtime.evaluate", LEFT, expression=code, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def picture(self, selector: str = "html") -> Image.Image:
        """An element as it is seen, the whole page without one."""
        self.run("scrollTo(0, 0)")
        x, y, width, height = self.run(
            f"""(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [r.x + scrollX, r.y + scrollY, r.width, r.height]; }})()"""
        )
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        shot = self._ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def window(self) -> Image.Image:
        """What is in the window, without laying the page out anew."""
        shot = self._ask("Page.captureScreenshot")
        return Image.open(io.BytesIO(base64.b64decode(shot["data"]))).convert("RGB")

    def drag(self, selector: str, start: float, end: float) -> None:
        """Press the mouse on an element and move it; the places are parts of its width."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView()")
        left, top, width, height = self.run(
            f"""(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            return [r.x, r.y, r.width, r.height]; }})()"""
        )
        for kind, part in (("mousePressed", start), ("mouseMoved", (start + end) / 2), ("mouseReleased", end)):
            place = {"x": left + part * width, "y": top + height / 2}
            self._ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)

    def paper(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self._ask("Page.printToPDF", printBackground=True)["data"])

    def _ask(self, method: str, fault: str = "", /, **arguments: Any) -> Any:
        """The answer; None where it is an expected fault."""
        self._count += 1
        message = {"id": self._count, "method": method, "params": arguments}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._count:
                if fault and fault in answer.get("error", {}).get("message", ""):
                    return None
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            self._note(answer.get("method", ""), answer.get("params", {}))

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            assert select.select([self._from], [], [], PATIENCE)[0], "the browser does not answer"
            more = os.read(self._from, 1 << 20)
            assert more, "the browser has ended"
            self._buffer += more
        text, _, self._buffer = self._buffer.partition(b"\0")
        return json.loads(text)

    def _note(self, method: str, about: dict[str, Any]) -> None:
        """Keep what went wrong in the page."""
        if method == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and about["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(part.get("value", part)) for part in about["args"]))
        elif method == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.errors.append(about["entry"]["text"])
        # that a picture of the page waits for the drawing is no fault of the page
        self.errors = [text for text in self.errors if "GPU stall due to ReadPixels" not in text]
