# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A headless Chromium that loads a file and evaluates JavaScript in it.

The browser is driven over Chromium's own debugging pipe. `requests` has the URLs of all requests
that the page has made since it was opened. Every wait has a time limit of SECONDS.
"""

from __future__ import annotations

import base64
import fcntl
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
from pathlib import Path

from tools.needs import BROWSERS
from tools.progress import tied

SECONDS = 60


class Browser:
    """Runs Chromium in a `with` block: `with Browser() as browser: browser.open(path, 1280, 900);
    browser.ask("1 + 1")`."""

    def __enter__(self) -> Browser:
        program = next(filter(None, map(shutil.which, BROWSERS)))
        self.folder = tempfile.mkdtemp(prefix="lanebox-browser-")
        ask, self.ask_end = _high(os.pipe())
        self.answer_end, answer = _high(os.pipe())

        # Chromium reads commands from file descriptor 3 and writes answers to file descriptor 4.
        def places() -> None:
            os.dup2(ask, 3)
            os.dup2(answer, 4)

        self.process = subprocess.Popen(
            tied(
                [
                    program,
                    "--headless",
                    "--no-sandbox",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    "--remote-debugging-pipe",
                    f"--user-data-dir={self.folder}",
                    "about:blank",
                ]
            ),
            preexec_fn=places,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(ask)
        os.close(answer)
        self.buffer, self.numbers, self.requests = b"", itertools.count(1), []
        self.session: str | None = None
        target = self._call("Target.getTargets")["targetInfos"][0]["targetId"]
        self.session = self._call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        self._call("Page.enable")
        self._call("Network.enable")
        return self

    def __exit__(self, *error) -> None:
        self.session = None
        # Chromium is closed by a command first, because its helper processes still write into the
        # folder.
        try:
            self._call("Browser.close")
            self.process.wait(SECONDS)
        finally:
            self.process.kill()
            self.process.wait()
        os.close(self.ask_end)
        os.close(self.answer_end)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _call(self, method: str, **parameters) -> dict:
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.ask_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._message()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def _message(self) -> dict:
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answer_end], [], [], SECONDS)
            assert ready, f"Chromium said nothing for {SECONDS} s"
            data = os.read(self.answer_end, 1 << 20)
            assert data, "Chromium ended"
            self.buffer += data
        line, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(line)
        if message.get("method") == "Network.requestWillBeSent":
            self.requests.append(message["params"]["request"]["url"])
        return message

    def open(self, path: Path, width: int, height: int, scheme: str = "light") -> None:
        """Load a file into a window of this size in pixels, with `scheme` (light or dark) as the
        preferred colour scheme."""
        self.requests.clear()
        self._call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        self._call(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}],
        )
        self._call("Page.navigate", url=path.resolve().as_uri())
        while self._message().get("method") != "Page.loadEventFired":
            pass

    def ask(self, expression: str):
        """Return the value of a JavaScript expression in the browser's page."""
        done = self._call("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def picture(self, path: Path) -> None:
        """Write a screenshot of the whole page to `path` as PNG, including what lies below the
        window."""
        done = self._call("Page.captureScreenshot", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(done["data"]))


def _high(pair: tuple[int, int]) -> tuple[int, int]:
    """Move both ends of a pipe to file descriptors from 10 on, because Chromium's debugging pipes
    must have the descriptors 3 and 4."""
    moved = tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pair)
    for end in pair:
        os.close(end)
    return moved
