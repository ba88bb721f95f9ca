# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/progress.py: a step shows progress, fails with its last lines, leaves no child."""

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

ROOT = Path(__file__).resolve().parents[2]


def is_running(pid):
    """Return whether a process runs. A zombie, which has ended, does not count."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_the_output_is_returned_and_the_last_line_says_how_much(capsys):
    """run() returns the output of a step. The step's line goes to standard error, with the last
    note.
    """
    assert run(["printf", "one\ntwo\n"], "count", note=lambda line: f"saw {line}") == "one\ntwo\n"
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("  count: saw two  (")


def test_a_failed_step_shows_its_last_words_and_then_the_command(capsys):
    """The error of a failed step has its status, the last lines of stdout and stderr, and at its
    end the command.
    """
    command = "echo begin; echo 'no such file' >&2; exit 3"
    with pytest.raises(StepError) as caught:
        run(["sh", "-c", command], "build")
    assert str(caught.value) == (
        "build: exit status 3, and these last words:\n    begin\n    no such file\n"
        f"  The command was sh -c {command}"
    )
    assert "build: failed" in capsys.readouterr().err


def test_only_the_last_lines_are_shown():
    """The error of a failed step shows only the last TAIL_LINES lines of its output."""
    text = tail("".join(f"line {i}\n" for i in range(1000)))
    assert text.splitlines()[-1] == "    line 999"
    assert len(text.splitlines()) == progress.TAIL_LINES


@pytest.mark.parametrize("seconds, shown", [(2.9, ""), (3.1, "  build  (3.1 s)\n")])
def test_what_is_over_at_once_says_nothing(monkeypatch, seconds, shown):
    """A step that takes less than `patience` seconds prints nothing.

    No user needs to wait for such a step.
    """
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    stream = io.StringIO()
    with Step("build", stream=stream, patience=3) as step:
        clock[0] = seconds
        step.show()
    assert stream.getvalue() == shown


def test_a_log_gets_lines_now_and_then(monkeypatch):
    """If stderr is not a terminal, a step prints a line of progress every ten seconds."""
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
    """On a terminal a step rewrites one line in place, and cuts it to the terminal's width."""
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w") as stream:
        step = Step("x" * 500, stream=stream)
        step.shown -= 1
        step.show()
        text = os.read(ours, 4096).decode()
    os.close(ours)
    assert text.startswith("\r\x1b[K  xxx") and "\n" not in text
    # The line is cut in the middle, so that the elapsed time at its end stays visible.
    assert len(text) < 100 and text.endswith("...  (0.0 s)")


def test_a_line_says_how_far_the_whole_work_is(monkeypatch):
    """After phase() each line begins with the part of the whole work. Before it no line does."""
    monkeypatch.setattr(progress, "_phase", "")
    stream = io.StringIO()
    with Step("one", stream=stream):
        pass
    progress.phase(2, 4)
    with Step("two", stream=stream):
        pass
    assert stream.getvalue() == "  one  (0.0 s)\n  2 of 4: two  (0.0 s)\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_step_leaves_no_child(tmp_path, number):
    """Ctrl-C ends the step's child. With tie=True a SIGKILL of the parent ends it, too."""
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
