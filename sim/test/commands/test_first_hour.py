# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Runs the commands of examples/README.md unchanged, from `make new` to a measured rate, for logic
in Migen and in SpinalHDL.

The home folder of these runs is always the same, so that earlier builds are found again.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sim.test.board.board_builds import ROOT
from sim.test.guest.guest_terminal import shell

PAGE = ROOT / "examples" / "README.md"
HOMES = ROOT / "build" / "test-first-hour"
SECONDS = 900
BOARD = "make board EXAMPLE=~/crc"
BEGIN = {"migen": "make new NAME=crc", "spinal": "make new NAME=crc LANG=spinal"}
IN_A_GUEST = "make sim EXAMPLE=~/crc"
# The page has lines for a guest's prompt. The tests type them in both of these guests. client.py
# needs Python, which only the Debian guest has.
SHELL, DEBIAN = "make shell EXAMPLE=~/crc", "make shell EXAMPLE=~/crc GUEST=debian"
GUESTS = {IN_A_GUEST, SHELL, DEBIAN}
# {command in the text of examples/README.md, outside its blocks: the test that runs it}
IN_THE_TEXT = {"make board EXAMPLE=~/crc WAVES=1": "test_waves_and_tlps_of_a_board_that_stays"}
each_language = pytest.mark.parametrize(
    "language", ["migen", pytest.param("spinal", marks=pytest.mark.spinal)]
)


def commands():
    """Return the commands in the sh blocks of examples/README.md, without their comments."""
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]


def environment(home):
    """Return the environment variables of a user whose home folder is `home`. The compiler's cache
    stays that of the user who runs the tests."""
    cache = os.environ.get("CCACHE_DIR", str(Path.home() / ".cache" / "ccache"))
    return {**os.environ, "HOME": str(home), "CCACHE_DIR": cache}


def typed(command, home):
    """Run a command of examples/README.md in the repository's root, and fail unless its status is
    0. Returns what the command printed on stdout."""
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=environment(home),
        timeout=SECONDS,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout[-3000:]}{done.stderr[-3000:]}"
    return done.stdout


def board(home, more=""):
    """Start the `make board` command of examples/README.md; returns the process once the board
    listens."""
    started = subprocess.Popen(
        ["bash", "-c", f"exec {BOARD} {more}"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        env=environment(home),
        start_new_session=True,
    )
    for line in started.stdout:
        if line.startswith("Ctrl-C"):
            return started
    raise AssertionError(f"make board ended with {started.wait()}")


def ended(started):
    """End `make board` by SIGINT, as Ctrl-C in a terminal does."""
    os.killpg(started.pid, signal.SIGINT)
    started.wait(20)
    started.stdout.close()


def home_of(language):
    """Make an empty folder named after `language`, as a user's home; returns its path."""
    home = HOMES / language
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    return home


@each_language
def test_the_page_leads_from_nothing_to_a_figure(language, results_kept, one_board):
    """Every command of examples/README.md, except those for a guest, works when the commands are
    run in the order of the file."""
    home, said, running = home_of(language), {}, None
    others = set(BEGIN.values()) - {BEGIN[language]}
    try:
        for command in commands():
            if command == BOARD:
                running = board(home)
            elif command not in others | GUESTS:
                said[command] = typed(command, home)
        lines = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)[1]
        (home / "own.py").write_text(lines)
        own = typed(".venv/bin/python -m sim.util --running ~/own.py", home)
    finally:
        if running:
            ended(running)
    assert "3 tests and 2 clients passed" in said["make test EXAMPLE=~/crc"]
    figures = said["make sim VM=0 EXAMPLE=~/crc"]
    assert re.search(r"^c2h/mps256 +\d\.\d+ +GB/s +\d\.\d+ +0\.9|^c2h/mps256.* 1\.0", figures, re.M)
    assert figures.count("100 packets right, an interrupt for each") == 2
    on_the_board = [text for command, text in said.items() if "--running" in command]
    assert "Lanebox sim" in on_the_board[0]
    assert all(text.startswith("100 packets right") for text in on_the_board[1:3])
    assert int(on_the_board[3].split()[-1], 0) == 0, (
        "each program must find the card as after power-on"
    )
    assert own == "0\n"
    assert len(said) + 1 - len(on_the_board) <= 8, (
        "at most 8 commands before those on a running board"
    )


@pytest.mark.soak
@pytest.mark.guest
@each_language
def test_the_page_s_guest_runs_the_client(language, results_kept):
    """The command `make sim EXAMPLE=` of examples/README.md boots a guest in which the example's
    client passes behind the default driver."""
    home = home_of(language)
    typed(BEGIN[language], home)
    said = typed(IN_A_GUEST, home)
    assert "100 packets right, an interrupt for each" in said
    assert re.search(r"^c2h/mps256 ", said, re.MULTILINE)


def in_the_guest():
    """Return the commands that examples/README.md has for a guest's prompt, without the
    explanations behind them."""
    lines = re.findall(r"^# (.*)$", PAGE.read_text(), re.MULTILINE)
    # The first line of examples/README.md that begins with `# ` is its title, and is left out.
    return [line.partition("  ")[0] for line in lines[1:]]


@pytest.mark.guest
@pytest.mark.parametrize("command", [SHELL, pytest.param(DEBIAN, marks=pytest.mark.soak)])
def test_a_guest_of_one_s_own(command, results_kept):
    """The lines of examples/README.md for a guest's prompt work in the guest of `make shell
    EXAMPLE=`. A file that the guest writes to the example's folder is then in that folder of the
    host."""
    lines = in_the_guest()
    assert lines[-1] == "exit" and any("client.py" in line for line in lines)
    if command == SHELL:
        lines = [line for line in lines if "python3" not in line]
    lines = ["set -e", *lines[:-1], "echo crc >~/crc/seen", "exit"]
    home = home_of("shell")
    typed(BEGIN["migen"], home)
    said = shell(["bash", "-c", command], "\n".join([*lines, ""]), ROOT, environment(home), SECONDS)
    right = said.count("100 packets right, an interrupt for each")
    assert right == (1 if command == SHELL else 2), said[-3000:]
    assert re.search(r"user_key\W", said)
    assert (home / "crc" / "seen").read_text() == "crc\n"


def test_waves_and_tlps_of_a_board_that_stays(one_board):
    """`make board` with WAVES=1 and TLP_LOG=FILE writes the wave file build/waves.fst and the TLP
    log FILE, as examples/README.md says."""
    home, log = home_of("waves"), ROOT / "build" / "test-first-hour" / "trace.pcapng"
    typed(BEGIN["migen"], home)
    running = board(home, f"WAVES=1 TLP_LOG={log}")
    try:
        typed(".venv/bin/python -m sim.util --running ~/crc/client.py", home)
    finally:
        ended(running)
    assert log.stat().st_size > 10_000
    assert (ROOT / "build" / "waves.fst").stat().st_size > 10_000


def test_the_page_names_no_other_command():
    """Each command in the text of examples/README.md is also in one of its code blocks, or
    IN_THE_TEXT names a test for it. Each file that the text names exists."""
    page = PAGE.read_text()
    text = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    spoken = set(re.findall(r"`(make [^`]+)`", text)) - {"make new"}
    assert spoken == IN_THE_TEXT.keys()
    assert all(hasattr(sys.modules[__name__], test) for test in IN_THE_TEXT.values())
    assert {*BEGIN.values(), BOARD, *GUESTS} <= set(commands())
    for path in re.findall(r"`((?:gateware|sim)/[\w/.]+)`", text):
        assert (ROOT / path).is_file(), path
