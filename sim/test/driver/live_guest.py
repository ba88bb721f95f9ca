# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""A guest that stays up while several tests run their commands in it, one test after another.

Each test gets its own files in /out and its own kernel log. The file "said" has what the commands
print. After each test the card must be bound, every lock of the driver must be free, and no rule of
the hard block may have been broken. A test that fails, panics or hangs ends the guest and the
board. The next test gets new ones.

A task in the guest that waits for a lock must get it within 30 to 60 s (PATIENCE). If it does not,
the kernel panics, and its trace shows which task waits where.
"""

from __future__ import annotations

import contextlib
import io
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator

from sim.guest import run
from sim.guest.supervise import GuestError
from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_process import WatchedBoard
from sim.test.driver.driver_guest import check_text, program
from sim.test.guest.guest_line import GuestLine, connect

# seconds that a task may wait in the guest before the guest's kernel reports it as hung
PATIENCE = 30
# Seconds that the commands of one test may take in the guest. On an idle machine ten are enough.
STEP_SECONDS = 200
GUEST_SECONDS = 1800  # seconds that all commands which are sent to one guest may take together
# Seconds that a guest which panics has to print its reason.
LAST_WORDS = 5
# Command for a guest. It fails if the card is gone or if a lock of the driver is held.
LOCKS = "locks /dev/litepcie0"

# Shell text that the guest runs: it runs each script that arrives on the serial line in a new
# shell, and sends back the content of /out.
AGENT = f"""
stty -F /dev/ttyS2 raw -echo; exec 3<>/dev/ttyS2
echo {PATIENCE} >/proc/sys/kernel/hung_task_timeout_secs
echo 1 >/proc/sys/kernel/hung_task_panic
cp /out/guest /facts; echo up >&3
while read -r size <&3 && [ "$size" -gt 0 ]; do
	head -c "$size" <&3 >/step.sh
	rm -rf /out /tmp; mkdir /out /tmp
	status=0; (cd /root && exec sh -e /step.sh) >/out/said 2>&1 || status=$?
	dmesg -c >/out/dmesg; tar -c -f /result.tar -C /out .
	echo "done $status $(stat -c %s /result.tar)" >&3; cat /result.tar >&3
done
mv /facts /out/guest
"""
# Shell text in front of each script: `ask remove` calls the function "remove" of the test, as with
# guest_line.SHELL.
ASK = """
ask() { echo "ask $*" >&3; read -r answer <&3; [ "$answer" = ok ]; }
"""


Functions = Callable[[WatchedBoard], dict[str, Callable[[], object]]]


class LiveGuest:
    """A guest and its board for the commands of several tests, as a context manager: `with
    LiveGuest(programs=["stress"]) as guest: files = guest.run(["..."])`.

    options  the board's options
    capture  true: a card with the capture block; a number: with so many queues
    files    pairs (path or bytes, path in the guest), as run_guest() takes them
    board    a function that makes the board, in place of the usual one
    kernel   a kernel series
    choices  run_guest()'s arguments append, devices, memory

    The guest is booted when run() is called for the first time, and again after a failure.
    """

    def __init__(
        self,
        options=(),
        programs=(),
        files=(),
        board=None,
        kernel=None,
        capture=False,
        **choices,
    ):
        self.capture = capture
        self.options = [str(option) for option in options]
        self.make_board, self.kernel = board or self._usual_board, kernel
        self.files = [(program(name), f"bin/{name}") for name in ("locks", *programs)]
        self.files += files
        self.choices = choices
        self.line = GuestLine({})
        # the simulated board whose card the guest has; None if no guest runs
        self.board: WatchedBoard | None = None
        self.boots = 0

    def __enter__(self) -> LiveGuest:
        return self

    def __exit__(self, *_) -> None:
        if self.board:
            self.power_off()

    def run(
        self,
        commands: Iterable[str],
        functions: Functions = lambda board: {},
        then: str = LOCKS,
        restarts: bool = False,
    ) -> dict[str, bytes]:
        """Run commands in the guest. Returns {name: content} of the files that they left in /out.

        functions  called with the board; returns {name: function} for the guest's command `ask`
        then       the check after the commands; empty if the card is gone by then
        restarts   true if the commands end in another boot of the guest, which hands over no files
        """
        if not self.board:
            self._boot()
        self.line.functions, self.line.asked = functions(self.board), []
        script = "\n".join([ASK, *commands, then]).encode() + b"\n"
        with self._or_its_end():
            self.channel.sendall(b"%d\n" % len(script) + script)
            files = self._follow(restarts)
            stats = self.board.stats()
            assert stats["unmapped"] == 0
            assert stats["violations"] == {}
        return files

    def power_off(self) -> None:
        """Power the guest off and end the board. Fail if the kernel log has a complaint, or if the
        card has accessed unmapped memory."""
        with self._or_its_end():
            self.channel.sendall(b"0\n")
            self.thread.join(STEP_SECONDS)
            assert self.ended, "the guest does not end"
            check_text(self.ended.files["dmesg"].decode())
            assert self.board.stats()["unmapped"] == 0
        self._close(None)

    # Boot and end of the guest -----------------------------------------------------------------

    def _usual_board(self) -> WatchedBoard:
        board = build_executable(capture=self.capture)
        registers = register_map(capture=self.capture)
        return WatchedBoard(board, registers, self.options, None)

    def _boot(self) -> None:
        self.line.open()
        self.reason = self.ended = self.error = self.channel = None
        # run.prepare() has no time limit, since it may have to build a kernel or a driver.
        self.guest = run.prepare(self.kernel)
        self.board = self.make_board()
        self.board.__enter__()
        self.thread = threading.Thread(target=self._run_guest, daemon=True)
        self.thread.start()
        with self._or_its_end():
            self.channel = connect(self.line.directory / "line")
            self.lines = self.channel.makefile("rb")
            self._follow(restarts=True)
        self.boots += 1

    def _run_guest(self) -> None:
        devices = (*self.line.devices, *self.choices.get("devices", ()))
        try:
            self.ended = run.run_guest(
                self.board.socket,
                AGENT,
                self.files,
                guest=self.guest,
                timeout=GUEST_SECONDS,
                alive=lambda: self.reason,
                **{**self.choices, "devices": devices},
            )
        except Exception as error:  # _or_its_end() raises this error in the test's thread
            self.error = error

    @contextlib.contextmanager
    def _or_its_end(self) -> Iterator[None]:
        """A context manager that ends guest and board if its body fails. The error then gets the
        guest's last output."""
        try:
            yield
        except BaseException as error:
            if isinstance(error, GuestLost):
                # The thread of a guest that panics ends with the panic's reason. It gets time to do
                # so.
                self.thread.join(LAST_WORDS)
            self.reason = f"{type(error).__name__}: {error}"
            self.thread.join(STEP_SECONDS)
            self._close(error)
            if not isinstance(error, Exception):
                raise
            console = self.ended.console.encode() if self.ended else b""
            raise (self.error or GuestError(self.reason, console)) from error

    def _close(self, error: BaseException | None) -> None:
        board, self.board = self.board, None
        if self.channel:
            self.channel.close()
        self.line.close()
        board.__exit__(type(error) if error else None, error, None)

    # The line between test and guest -----------------------------------------------------------

    def _follow(self, restarts: bool) -> dict[str, bytes]:
        """Answer what the guest asks until its script has ended; returns the files of /out. If the
        script ends in another boot of the guest, return no files."""
        deadline = time.monotonic() + STEP_SECONDS
        while True:
            self.channel.settimeout(max(deadline - time.monotonic(), 0.1))
            line = self.lines.readline()
            if not line:
                raise GuestLost("the guest has left its line")
            word, *rest = line.decode().split()
            if word == "ask":
                self.channel.sendall(self.line.answer(" ".join(rest)).encode() + b"\n")
            elif word == "up" and restarts:
                return {}
            elif word == "done" and not restarts:
                return self._result(*map(int, rest))
            else:
                raise GuestLost(f"the guest says `{line.decode().strip()}`, which is not due")

    def _result(self, status: int, size: int) -> dict[str, bytes]:
        with tarfile.open(fileobj=io.BytesIO(self.lines.read(size))) as archive:
            members = [member for member in archive if member.isfile()]
            files = {m.name[len("./") :]: archive.extractfile(m).read() for m in members}
        log = files["dmesg"].decode()
        check_text(log)
        assert status == 0, f"the commands ended with status {status}\n{_texts(files)}"
        return files


def _texts(files: dict[str, bytes]) -> str:
    """Return the end of each file of /out, for the message about commands that failed."""
    return "\n".join(f"{n}: {c[-3000:].decode(errors='replace')}" for n, c in files.items() if c)


class GuestLost(RuntimeError):
    """Raised if the guest closes its serial line, or sends a word that is not expected at this
    point."""
