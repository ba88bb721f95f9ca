# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Steps that may take longer than a few seconds, and say so while they run.

Promises: every step ends with one line (what, how much, seconds), but for one that was over before
its `patience` was; on a terminal that line lives while the step runs, elsewhere it is repeated
every ten seconds; a failed step shows the command and the last lines of its output; an interrupted
step leaves no child behind. Writes to stderr, so that stdout is free for results.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable

TERMINAL_PERIOD = 0.2
LOG_PERIOD = 10.0
TAIL_LINES = 20


class StepError(RuntimeError):
    """A step failed; the text says which, with the last lines of its output."""


def tail(text: str | bytes, lines: int = TAIL_LINES) -> str:
    """The last lines of a log, indented, for an error message."""
    if not isinstance(text, str):
        text = bytes(text).decode(errors="replace")
    kept = [line.rstrip() for line in text.splitlines() if line.strip()][-lines:]
    return "\n".join("    " + line for line in kept) or "    (nothing was printed)"


class Step:
    """One step: `with Step("fetch QEMU", total=37e6) as step: ... step.show(done=1e6)`.

    `patience`: seconds before anything is written; a cached build has nothing to say.
    """

    def __init__(self, what: str, total: float = 0, stream=None, patience: float = 0):
        self.what = what
        self.total = total
        self.stream = stream or sys.stderr
        self.patience = patience
        self.started = self.shown = time.monotonic()
        self.result = ""  # what the last line says
        self.live = self.stream.isatty()

    def __enter__(self) -> Step:
        return self

    def __exit__(self, kind, error, trace) -> None:
        if kind:
            self.result = "interrupted" if issubclass(kind, KeyboardInterrupt) else "failed"
        if time.monotonic() - self.started >= self.patience:
            self._write(self.result or _amount(self.total), last=True)

    def show(self, done: float = 0, note: str = "") -> None:
        """Say how far the step is; cheap enough to be called in every round of a loop."""
        now = time.monotonic()
        if now - self.started < self.patience:
            return
        if now - self.shown >= (TERMINAL_PERIOD if self.live else LOG_PERIOD):
            self.shown = now
            self._write(note or _amount(done, self.total), last=not self.live)

    def _write(self, note: str, last: bool) -> None:
        seconds = time.monotonic() - self.started
        line = f"  {self.what}" + (f": {note}" if note else "") + f"  ({seconds:.1f} s)"
        if self.live and not last:
            # A line longer than the terminal would wrap, and the next one could not replace it.
            line = line[: (os.get_terminal_size(self.stream.fileno()).columns or 80) - 1]
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

    `tie` is for what may be killed with this process (see `tied`), `patience` for what is mostly
    over at once (see `Step`). `measure()` returns the bytes
    done so far; `note(line)` turns a line of output into the text to show, or None to keep the
    one before.
    """
    argv = [str(word) for word in argv]
    with Step(what, total, patience=patience) as step:
        child = subprocess.Popen(
            tied(argv) if tie else argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, env=env, cwd=cwd,
        )  # fmt: skip
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
                f"{what}: exit status {child.returncode} from\n    {' '.join(argv)}\n"
                f"  which printed last:\n{tail(''.join(output))}"
            )
    return "".join(output)


def tied(argv: list) -> list[str]:
    """The same command, which the kernel kills when this process ends, whatever ends this one."""
    guard = ["setpriv", "--pdeathsig", "KILL"] if shutil.which("setpriv") else []
    return [*guard, *(str(word) for word in argv)]


def stop(child: subprocess.Popen, patience: float = 5) -> None:
    """End a child that is still running: a request first, then by force."""
    if child.poll() is not None:
        return
    try:
        child.terminate()
        child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    except PermissionError:
        # Under sudo the child is root's; Ctrl-C has reached it through the terminal.
        child.wait()
