# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""tools/progress.py: a step says what it does, fails with its last words, and leaves no child."""

import io
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tools import progress
from tools.progress import Step, StepError, run, tail

ROOT = Path(__file__).resolve().parents[1]


def is_running(pid):
    """Whether there is such a process; a zombie, which nobody has waited for, has ended."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_the_output_is_returned_and_the_last_line_says_how_much(capsys):
    """Standard output stays free for results."""
    assert run(["printf", "one\ntwo\n"], "count", note=lambda line: f"saw {line}") == "one\ntwo\n"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("  count: saw two  (")


def test_a_failed_step_shows_the_command_and_its_last_words(capsys):
    """Both streams of it, and its status."""
    with pytest.raises(StepError, match=r"build: exit status 3(.|\n)*sh -c(.|\n)*no such file"):
        run(["sh", "-c", "echo begin; echo 'no such file' >&2; exit 3"], "build")
    assert "build: failed" in capsys.readouterr().err


def test_only_the_last_lines_are_shown():
    """A thousand lines of a compiler bury the message."""
    text = tail("".join(f"line {i}\n" for i in range(1000)))
    assert text.splitlines()[-1] == "    line 999"
    assert len(text.splitlines()) == progress.TAIL_LINES


@pytest.mark.parametrize("seconds, shown", [(2.9, ""), (3.1, "  build  (3.1 s)\n")])
def test_what_is_over_at_once_says_nothing(monkeypatch, seconds, shown):
    """A cached build is not worth a line; the same build from nothing is."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Step("build", stream=stream, patience=3) as step:
        clock[0] = seconds
        step.show()
    assert stream.getvalue() == shown


def test_a_log_gets_lines_now_and_then(monkeypatch):
    """Every ten seconds, so that CI sees life and not ten lines a second."""
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Step("fetch", total=40e6, stream=stream) as step:
        for second in range(25):
            clock[0] = second
            step.show(done=second * 1e6)
    assert stream.getvalue().splitlines() == [
        "  fetch: 10.0 of 40.0 MB  (10.0 s)",
        "  fetch: 20.0 of 40.0 MB  (20.0 s)",
        "  fetch: 40.0 MB  (24.0 s)",
    ]


def test_a_terminal_has_one_line_that_fits():
    """It is rewritten in place; a longer one would wrap and stay."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        step = Step("x" * 500, stream=stream)
        step.shown -= 1
        step.show()
        text = os.read(ours, 4096).decode()
    os.close(ours)
    assert text.startswith("\r\x1b[K  xxx") and "\n" not in text
    assert len(text) < 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_step_leaves_no_child(tmp_path, number):
    """Ctrl-C ends what the step started, and so does the launcher's death where they are tied."""
    pid = tmp_path / "pid"
    step = f"run(['sh', '-c', 'echo $$ >{pid}; exec sleep 60'], 's', tie=True)"
    text = f"from tools.progress import run; {step}"
    process = subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 10
    while not (pid.exists() and pid.read_text()) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=10)
    assert (b"s: interrupted" in errors) == (number == signal.SIGINT)
    deadline = time.monotonic() + 5
    while is_running(int(pid.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.02)
