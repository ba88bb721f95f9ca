# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs steps that may take longer than a few seconds, and shows their progress.

Promises: every step ends with one line (what, how much, seconds), except a step that took less than
its `patience`. On a terminal the line is updated while the step runs; a long line is cut to fit,
but its seconds are always shown. Elsewhere the line is repeated every ten seconds. After `phase`
the line begins with the part of the whole work. The error of a failed step has the last lines of
its output, and then the command. An interrupted step leaves no child behind. The lines go to
stderr, so that stdout is free for results.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

TERMINAL_PERIOD = 0.2
LOG_PERIOD = 10.0
TAIL_LINES = 20
# Matches messages by which pip and apt say that they reach no server.
UNREACHABLE = re.compile(
    "NewConnectionError|ConnectTimeoutError|name resolution|Network is unreachable|ProxyError|"
    "Could not resolve|Could not connect|Temporary failure resolving|Unable to connect to"
)


_phase = ""


def phase(number: int, total: int) -> None:
    """Let the lines of later steps begin with `NUMBER of TOTAL: `, which says how far the whole
    work is.
    """
    global _phase
    _phase = f"{number} of {total}: "


class StepError(RuntimeError):
    """A step failed. The text has the step, the last lines of its output, and its command.

    `output` is everything that the failed command has printed.
    """

    def __init__(self, text: str, output: str = ""):
        super().__init__(text)
        self.output = output


def tail(text: str | bytes, lines: int = TAIL_LINES) -> str:
    """Return the last lines of a log, indented by four spaces, for an error message."""
    if not isinstance(text, str):
        text = bytes(text).decode(errors="replace")
    kept = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("    " + line for line in kept) or "    (nothing was printed)"


class Step:
    """A step of the work that shows its progress.

    Use: `with Step("fetch QEMU", total=37e6) as step: ... step.show(done=1e6)`. `total` is in
    bytes; 0 means unknown. `patience` is the time in seconds before anything is written, so that a
    cached build writes nothing.
    """

    def __init__(self, what: str, total: float = 0, stream=None, patience: float = 0):
        self.what = what
        self.total = total
        self.stream = stream or sys.stderr
        self.patience = patience
        self.started = self.shown = time.monotonic()
        self.result = ""  # the text that the last line of the step shows
        self.live = self.stream.isatty()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind:
            self.result = "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
        if time.monotonic() - self.started >= self.patience:
            self._write(self.result or _amount(self.total), last=True)

    def show(self, done: float = 0, note: str = "") -> None:
        """Show how far the step is: `done` bytes, or the text `note`.

        Writes at most once in 0.2 s (on a terminal) or 10 s, so a loop may call this in every
        round.
        """
        now = time.monotonic()
        if now - self.started < self.patience:
            return
        if now - self.shown >= (TERMINAL_PERIOD if self.live else LOG_PERIOD):
            self.shown = now
            self._write(note or _amount(done, self.total), last=not self.live)

    def _write(self, note: str, last: bool) -> None:
        line = f"  {_phase}{self.what}" + (f": {note}" if note else "")
        seconds = f"  ({time.monotonic() - self.started:.1f} s)"
        if self.live:
            # A line longer than the terminal would wrap, and the next line could not replace it.
            room = (os.get_terminal_size(self.stream.fileno()).columns or 80) - 1 - len(seconds)
            line = line if len(line) <= room else line[: room - 3] + "..."
        line += seconds
        self.stream.write(("\r\x1b[K" if self.live else "") + line + ("\n" if last else ""))
        self.stream.flush()


def _amount(done: float, total: float = 0) -> str:
    if total:
        return f"{done / 1e6:.1f} of {total / 1e6:.1f} MB"
    return f"{done / 1e6:.1f} MB" if done else ""


def run(
    argv: list,
    what: str,
    *,
    tie: bool = False,
    total: float = 0,
    patience: float = 0,
    measure: Callable[[], float] | None = None,
    note: Callable[[str], str | None] | None = None,
    env: dict | None = None,
    cwd=None,
) -> str:
    """Run a command as a step and return its output (stdout and stderr together).

    `tie`: the command is killed if this process ends (see `tied`). For `total` and `patience` see
    `Step`. `measure()` returns the bytes done so far. `note(line)` turns a line of output into the
    text to show, or returns None to keep the text before. Raises StepError if the command fails.
    """
    argv = [str(word) for word in argv]
    with Step(what, total, patience=patience) as step:
        child = subprocess.Popen(
            tied(argv) if tie else argv,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
        )
        output: list[str] = []

        def collect() -> None:
            for raw in child.stdout:
                output.append(raw.decode(errors="replace"))
                step.result = (note and note(output[-1].rstrip())) or step.result

        try:
            reader = threading.Thread(target=collect, daemon=True)
            reader.start()
            while child.poll() is None:
                step.show(measure() if measure else 0, step.result)
                time.sleep(0.05)
            reader.join(5)
        finally:
            stop(child)
        if child.returncode:
            raise StepError(
                f"{what}: exit status {child.returncode}, and these last words:\n"
                f"{tail(''.join(output))}\n  The command was {' '.join(argv)}",
                "".join(output),
            )
    return "".join(output)


def tied(argv: list) -> list[str]:
    """Return the command with a guard in front of it.

    With the guard the kernel kills the command when this process ends, even by SIGKILL. If the
    program setpriv is missing, the command has no guard.
    """
    guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [*guard, *(str(word) for word in argv)]


def stop(child: subprocess.Popen, patience: float = 5) -> None:
    """End a child process that still runs: by SIGTERM, and after `patience` seconds by SIGKILL."""
    if child.poll() is not None:
        return
    try:
        child.terminate()
        child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    except PermissionError:
        # Under sudo the child belongs to root and cannot be signalled. Ctrl-C has reached the child
        # through the terminal, so it ends by itself.
        child.wait()
