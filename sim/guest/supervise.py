# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs QEMU and watches its console. A panic, a time-out or a lost board ends the run at once.

Promises: QEMU has ended when the functions of this module return or raise, and also when this
process is killed. Every error carries the last lines of the console.
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
# Matches the console's line that init.sh prints when it has handed over its results.
DONE = re.compile(rb"^GUEST-DONE rc=\d+\r?$", re.MULTILINE)
# After a kernel panic of the guest, its last lines may still arrive for this many seconds.
GRACE = 1.0
OFF = 10.0  # A guest that need not power off is ended this many seconds after the line GUEST-DONE.


class GuestError(RuntimeError):
    """The guest did not end as it should. `console` has everything that the guest printed."""

    def __init__(self, reason: str, console: bytes = b"", logs: tuple = ()):
        parts = [reason, f"  last lines of the console:\n{tail(console)}"]
        parts += [f"  last lines of {name}:\n{tail(text)}" for name, text in logs]
        super().__init__("\n".join(parts))
        self.reason = reason
        self.console = bytes(console)


class GuestPanic(GuestError):
    """The guest's kernel panicked."""


class GuestTimeout(GuestError):
    """The guest did not end within the time-out."""


def watch(
    argv: list,
    log,
    timeout: float,
    live: bool = False,
    alive: Callable[[], str | None] | None = None,
    must_power_off: bool = True,
) -> bytes:
    """Run QEMU to its end and return the console's text as bytes.

    `log` is an open file for QEMU's messages, `timeout` is in seconds. `alive()` is called about
    ten times a second and may return a reason to give up. Without `must_power_off` a guest is ended
    OFF seconds after it has handed over its results. Raises GuestError.
    """
    # QEMU gets a session of its own. So Ctrl-C reaches this process only, and killing QEMU's
    # process group also ends what a wrapper script has started.
    child = subprocess.Popen(
        tied(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        bufsize=0,
        start_new_session=True,
    )
    console = bytearray()
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            stuck = _follow(child.stdout, selector, console, timeout, live, alive, must_power_off)
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
    """Read the console until the guest has ended or must be ended.

    Returns False when QEMU closes the console, or GRACE seconds after a panic. Returns True if the
    guest has handed over its results, did not power off within OFF seconds, and need not.
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
    """Append what has arrived on the console to `console`.

    Returns False at the end of the stream.
    """
    if not selector.select(0.1):
        return True
    chunk = os.read(stream.fileno(), 65536)
    console += chunk
    if live:
        sys.stdout.write(chunk.decode(errors="replace").replace("\r\n", "\n"))
        sys.stdout.flush()
    return bool(chunk)


def interact(argv: list, log) -> None:
    """Give QEMU the terminal until it exits, and then restore the terminal's settings."""
    terminal = sys.stdin.isatty()
    settings = termios.tcgetattr(sys.stdin) if terminal else None
    # A typed Ctrl-C goes to the guest. If Ctrl-C comes as a signal instead, the signal must not end
    # this process before QEMU.
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    # QEMU stays in this session, because only processes of the terminal's session may read from it.
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
