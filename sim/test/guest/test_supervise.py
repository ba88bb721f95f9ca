# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/supervise.py and run.py: however a guest ends, the user is told why, and
nothing is left over."""

import io
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from sim.guest import SetupError, run, supervise
from sim.guest.supervise import GuestError, GuestPanic, GuestTimeout
from sim.test.guest.fake_guest import fake_guest, is_gone, pid_of

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def results(path, files):
    """Return shell text for a fake QEMU that hands over an archive of these files, as the guest's
    init does."""
    with tarfile.open(path, "w") as archive:
        for name, data in files.items():
            member = tarfile.TarInfo(f"./{name}")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return f"for w in $*; do case $w in *id=results*) cp {path} ${{w##*path=}} ;; esac; done"


def test_the_results_come_back_byte_for_byte(tmp_path):
    """The facts, the exit status and the files that a guest hands over come back byte for byte. In
    the console's text, line ends become those of the host."""
    data = bytes(range(256)) * 3
    facts = b"kernel=6.1\nid=0x10ee:0x9038\nmps=256\nmrrs=512\nrc=3\n"
    text = results(tmp_path / "results", {"guest": facts, "info.json": data})
    result = run.run_guest(None, guest=fake_guest(tmp_path, rf"printf 'GUEST-UP\r\n'; {text}"))
    assert (result.rc, result.mps, result.mrrs) == (3, 256, 512)
    assert result.files == {"info.json": data}
    assert result.console == "GUEST-UP\n"
    assert "MPS 256, MRRS 512" in result.summary()


def test_a_panic_is_seen_at_once(tmp_path):
    """A kernel panic ends the run long before the timeout. The error begins with the reason and has
    the console's last lines."""
    guest = fake_guest(
        tmp_path, "echo starting; echo '[1.0] Kernel panic - not syncing: No init'; sleep 60"
    )
    started = time.monotonic()
    with pytest.raises(GuestPanic, match=r"^the guest's kernel panicked: No init") as caught:
        run.run_guest(None, guest=guest, timeout=60)
    assert time.monotonic() - started < 10
    assert "starting" in str(caught.value)
    assert is_gone(pid_of(guest))


def test_a_panic_that_ends_qemu_is_a_panic(tmp_path):
    """A panic is reported as a panic although the kernel reboots (panic=-1) and QEMU then ends with
    status 0."""
    guest = fake_guest(tmp_path, "echo 'Kernel panic - not syncing: Oops'")
    with pytest.raises(GuestPanic, match="Oops"):
        run.run_guest(None, guest=guest)


def test_a_time_out_shows_the_last_lines_of_both_logs(tmp_path):
    """A timeout reports the last lines of the console and of the board's log, and ends QEMU and its
    children."""
    board = tmp_path / "board.log"
    board.write_text("board: listening\nboard: waiting for a completion\n")
    guest = fake_guest(tmp_path, 'echo last words; sleep 60 & echo $! > "$0.child"; wait')
    with pytest.raises(GuestTimeout, match=r"within 0\.5 s") as caught:
        run.run_guest(None, guest=guest, timeout=0.5, logs=[("the board's log", board)])
    assert "last words" in str(caught.value)
    assert "the board's log:\n    board: listening" in str(caught.value)
    assert "waiting for a completion" in str(caught.value)
    assert is_gone(pid_of(guest))
    assert is_gone(int(Path(f"{guest.qemu}.child").read_text()))


@pytest.mark.parametrize("icount", [None, 0])
def test_a_guest_that_does_not_power_off(tmp_path, monkeypatch, icount):
    """If a guest has handed over its results but does not power off, a guest with -icount is ended
    and its results count. Without -icount the run times out."""
    monkeypatch.setattr(supervise, "OFF", 0.5)
    text = results(tmp_path / "results", {"guest": b"kernel=6.1\nrc=0\n", "info": b"whole"})
    guest = fake_guest(tmp_path, rf"{text}; printf 'GUEST-DONE rc=0\r\n'; sleep 60")
    if icount is None:
        with pytest.raises(GuestTimeout):
            run.run_guest(None, guest=guest, timeout=3)
    else:
        result = run.run_guest(None, guest=guest, timeout=30, icount=icount)
        assert result.files == {"info": b"whole"} and result.seconds < 10
    assert is_gone(pid_of(guest))


def test_qemu_s_own_complaint_is_shown(tmp_path):
    """If QEMU refuses an option or a socket, the error has QEMU's status and message."""
    guest = fake_guest(tmp_path, "echo 'Failed to connect: Connection refused' >&2; exit 1")
    with pytest.raises(GuestError, match=r"status 1(.|\n)*Connection refused"):
        run.run_guest(None, guest=guest)


def test_an_end_without_results_is_an_error(tmp_path):
    """A guest that powers off without handing over results is an error."""
    with pytest.raises(GuestError, match="without handing over"):
        run.run_guest(None, guest=fake_guest(tmp_path, "echo GUEST-DONE rc=0"))


def test_half_an_archive_is_an_error(tmp_path):
    """If the archive of the guest's results is cut short, as by a QEMU that was killed, the run of
    the guest fails."""
    whole = tmp_path / "results"
    text = results(whole, {"guest": b"rc=0\n"})
    whole.write_bytes(whole.read_bytes()[:300])
    with pytest.raises(GuestError, match="without handing over"):
        run.run_guest(None, guest=fake_guest(tmp_path, text))


def test_a_lost_board_ends_the_run(tmp_path):
    """If the board ends, the guest's run ends at once with the board's reason."""
    guest = fake_guest(tmp_path, "sleep 60")
    started = time.monotonic()
    with pytest.raises(GuestError, match="the board ended with status 1"):
        run.run_guest(None, guest=guest, alive=lambda: "the board ended with status 1")
    assert time.monotonic() - started < 10
    assert is_gone(pid_of(guest))


def test_the_last_failure_is_kept_and_a_success_leaves_nothing(tmp_path):
    """The console and QEMU's messages of the last failed run are kept. A successful run leaves
    nothing."""
    with pytest.raises(GuestError):
        run.run_guest(None, guest=fake_guest(tmp_path, "echo hello; exit 1"))
    assert (tmp_path / "guest" / "failed" / "console.log").read_text() == "hello\n"
    run.run_guest(None, guest=fake_guest(tmp_path, results(tmp_path / "r", {"guest": b"rc=0\n"})))
    assert [path.name for path in (tmp_path / "guest").iterdir()] == ["failed"]


def test_a_missing_file_is_refused_before_the_start(tmp_path):
    """A file to be put into the guest that does not exist is refused by name, before QEMU
    starts."""
    guest = fake_guest(tmp_path, "exit 0")
    with pytest.raises(SetupError, match="litepcie_util: there is no such file"):
        run.run_guest(None, "", [(tmp_path / "litepcie_util", "bin/litepcie_util")], guest=guest)


def launcher(tmp_path):
    """Start a guest in a process of its own, with a fake QEMU that would run for 60 s. Returns (the
    process, the fake guest)."""
    guest = fake_guest(tmp_path, "echo up; exec sleep 60")
    text = (
        "import sys; from pathlib import Path; from sim.guest import run\n"
        f"run.PLACE = Path({str(tmp_path / 'guest')!r})\n"
        "from sim.guest.kernel import Kernel\n"
        f"guest = {guest!r}\n".replace("PosixPath", "Path").replace("Guest(", "run.Guest(", 1)
        + "run.prepare = lambda *_: guest\nsys.exit(run.main(['--no-driver']))\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    return process, guest


@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)],
)
def test_however_the_launcher_ends_qemu_ends(tmp_path, number, status):
    """QEMU ends when its launcher does, also by Ctrl-C, SIGTERM or SIGKILL."""
    process, guest = launcher(tmp_path)
    pid = pid_of(guest)
    assert process.stdout.readline() == b"up\n"
    process.send_signal(number)
    process.communicate(timeout=10)
    assert process.returncode == status
    assert is_gone(pid)


def test_ctrl_c_leaves_no_work_directory(tmp_path):
    """If the program that started a guest gets Ctrl-C, it removes its work directory and says that
    the run was interrupted."""
    process, _ = launcher(tmp_path)
    process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=10)
    assert b"interrupted" in errors and b"Traceback" not in errors
    assert list((tmp_path / "guest").iterdir()) == []
