# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Run QEMU and watch its console: a panic, a time-out or a lost board end the run at once.

Promises: QEMU is gone when these functions return or raise, and also when this process is killed;
every error carries the last lines of the console. Does not know what the guest is doing.
"""

from __future__ import annotations

import contextlib
import os
import re
import selectors
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Callable

from tools.progress import tail, tied

PANIC = re.compile(rb"Kernel panic - not syncing: ([^\r\n]*)")
DONE = re.compile(rb"^GUEST-DONE rc=\d+\r?$", re.MULTILINE)  # init.sh: all is handed over
GRACE = 1.0  # seconds in which the lines after a panic may still arrive
OFF = 10.0  # seconds that a guest has from there to its power-off, where it need not get there


class GuestError(RuntimeError):
    """The guest did not come to its end; `console` holds all that it printed."""

    def __init__(self, reason: str, console: bytes = b"", logs: tuple = ()):
        parts = [reason, f"  last lines of the console:\n{tail(console)}"]
        parts += [f"  last lines of {name}:\n{tail(text)}" for name, text in logs]
        super().__init__("\n".join(parts))
        self.reason = reason
        self.console = bytes(console)


class GuestPanic(GuestError):
    """The guest's kernel panicked."""


class GuestTimeout(GuestError):
    """The guest did not end in time."""


def watch(
    argv: list,
    log,
    timeout: float,
    live: bool = False,
    alive: Callable[[], str | None] | None = None,
    must_power_off: bool = True,
) -> bytes:
    """Run QEMU to its end and return the console; `alive()` may return a reason to give up.

    A guest that has handed over all it had, and need not power off, is ended OFF seconds later.
    """
    # In a session of its own: Ctrl-C is for us alone, and what a wrapper script leaves ends too.
    child = subprocess.Popen(
        tied(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, bufsize=0,
        start_new_session=True,
    )  # fmt: skip
    console = bytearray()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            stuck = _follow(
                child.stdout, selector, console, timeout, live, alive, must_power_off
            )
        if stuck:
            return bytes(console)
        panic = PANIC.search(console)
        if panic:
            what = panic.group(1).decode(errors="replace")
            raise GuestPanic(f"the guest's kernel panicked: {what}", console)
        child.wait(GRACE)
    except subprocess.TimeoutExpired:
        raise GuestError("QEMU closed the console, but did not exit", console) from None
    finally:
        if child.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        child.stdout.close()
    if child.returncode:
        raise GuestError(f"QEMU ended with status {child.returncode}", console)
    return bytes(console)


def _follow(
    stream, selector, console: bytearray, timeout: float, live: bool, alive, must_power_off: bool
) -> bool:
    """Read until QEMU closes the console, or until a moment after a panic: false.

    True: the guest is done and does not power off, which it need not.
    """
    deadline = time.monotonic() + timeout
    panicked = done = None
    while _read(stream, selector, console, live):
        now = time.monotonic()
        if panicked or PANIC.search(console):
            panicked = panicked or now
            if now - panicked > GRACE:
                return False
        elif not must_power_off and (done or DONE.search(console)):
            done = done or now
            if now - done > OFF:
                return True
        elif now > deadline:
            raise GuestTimeout(f"the guest did not end within {timeout:g} s", console)
        elif alive:
            reason = alive()
            if reason:
                raise GuestError(reason, console)
    return False


def _read(stream, selector, console: bytearray, live: bool) -> bool:
    """Take what has arrived; false at the end of the stream."""
    if not selector.select(0.1):
        return True
    chunk = os.read(stream.fileno(), 65536)
    console += chunk
    if live:
        sys.stdout.write(chunk.decode(errors="replace").replace("\r\n", "\n"))
        sys.stdout.flush()
    return bool(chunk)


def interact(argv: list, log) -> None:
    """Give QEMU the terminal until it exits, and take the terminal back as it was."""
    terminal = sys.stdin.isatty()
    settings = termios.tcgetattr(sys.stdin) if terminal else None
    # Ctrl-C is typed into the guest; should it come as a signal, it must not end us before QEMU.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Not in a session of its own: only the terminal's own processes may read from it.
    child = subprocess.Popen(tied(argv), stderr=log)
    try:
        child.wait()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()
        signal.signal(signal.SIGINT, previous)
        if terminal:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, settings)
    if child.returncode:
        raise GuestError(f"QEMU ended with status {child.returncode}")
