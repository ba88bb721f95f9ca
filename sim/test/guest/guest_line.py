# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A serial line from the guest's shell to the test, by which a script in the guest calls functions
of the test.

With SHELL at the start of the script, `ask remove` runs the test's function "remove". The command
`ask` fails in the guest if the function failed.
"""

from __future__ import annotations

import json
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

# `ask` has the guest's third serial line to itself. The line is raw, because it must carry bytes
# unchanged.
SHELL = """
stty -F /dev/ttyS2 raw -echo; exec 3<>/dev/ttyS2
ask() { echo "$*" >&3; read -r answer <&3; [ "$answer" = ok ]; }
"""
CONNECT_SECONDS = 30


class GuestLine:
    """Runs functions of the test when the guest's shell asks for them.

    Used as a context manager: `with GuestLine({"remove": function}) as line: boot(...,
    devices=line.devices)`.
    """

    def __init__(self, functions: dict[str, Callable[[], object]]):
        self.functions = functions
        self.asked: list[str] = []

    def open(self) -> None:
        """Make the host's folder for the sockets of one guest."""
        self.directory = Path(tempfile.mkdtemp(prefix="lanebox-"))

    def close(self) -> None:
        shutil.rmtree(self.directory, ignore_errors=True)

    def __enter__(self) -> GuestLine:
        self.open()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()
        return self

    @property
    def devices(self) -> tuple[str, ...]:
        """Return QEMU's arguments for a serial line of the guest and for QEMU's control socket
        (QMP)."""
        line, control = self.directory / "line", self.directory / "qmp"
        return (
            "-chardev",
            f"socket,id=line,path={line},server=on,wait=off",
            "-device",
            "isa-serial,chardev=line,index=2,irq=5",
            "-qmp",
            f"unix:{control},server=on,wait=off",
        )

    def qmp(self, command: str, **arguments) -> dict:
        """Send one command to QEMU over QMP; returns its answer."""
        with connect(self.directory / "qmp") as channel:
            lines = channel.makefile("rw")
            for request in ("qmp_capabilities", command):
                words = {"execute": request}
                if request == command:
                    words["arguments"] = arguments
                lines.write(json.dumps(words) + "\n")
                lines.flush()
                answer = {}
                # QMP also sends a greeting and events; the loop skips these lines.
                while "return" not in answer and "error" not in answer:
                    answer = json.loads(lines.readline())
        if "error" in answer:
            raise RuntimeError(f"QEMU refused {command}: {answer['error']['desc']}")
        return answer["return"]

    def _serve(self) -> None:
        channel = connect(self.directory / "line")
        with channel, channel.makefile("rw", newline="\n") as lines:
            for request in lines:
                lines.write(self.answer(request.strip()) + "\n")
                lines.flush()

    def answer(self, word: str) -> str:
        """Run the test's function that the guest asked for; returns `ok`, or the function's error
        as one line."""
        try:
            self.functions[word]()
        except Exception as error:  # the error becomes the answer, so that the guest's `ask` fails
            answer = f"{type(error).__name__}: {error}".replace("\n", " ")
            print(f"line: {word}: {answer}")
            return answer
        self.asked.append(word)
        return "ok"

    def __exit__(self, *_) -> None:
        self.thread.join(1)  # the thread that serves the line ends when QEMU closes the line
        self.close()


def connect(path: Path) -> socket.socket:
    """Connect to a socket that QEMU is about to make; wait for it at most CONNECT_SECONDS."""
    deadline = time.monotonic() + CONNECT_SECONDS
    while True:
        channel = socket.socket(socket.AF_UNIX)
        try:
            channel.connect(str(path))
            return channel
        except OSError:
            channel.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
