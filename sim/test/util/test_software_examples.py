# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of software/examples in C and Python: on the board alone, behind the driver, and through
VFIO."""

import hashlib
import json
import re
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pytest
from test_user_requests import ACCUMULATOR

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.guest import run
from sim.test.board.board_builds import ROOT
from sim.test.util.example_programs import (
    BUILD,
    EXAMPLES,
    INTERRUPTS,
    LANGUAGES,
    LINES,
    MIB,
    README,
    REQUESTS,
    SCRATCH,
    built,
    call,
    command,
    environment,
    in_a_guest,
    installed,
    on_the_board,
)

BOTH = ("capture", "interrupt", "registers", "request", "spectrum")
ALONE = ("plot", "stream")  # examples that exist in Python only
CASES = [
    *((language, name) for language in LANGUAGES for name in BOTH),
    *(("python", name) for name in ALONE),
]
PATTERN = np.arange(MIB << 18, dtype=np.uint32)
each_language = pytest.mark.parametrize("language", LANGUAGES)
each_way = pytest.mark.parametrize(
    "way", ["sim", *(pytest.param(way, marks=pytest.mark.guest) for way in ("vfio", "driver"))]
)


@pytest.fixture(scope="module")
def folder():
    """Yield a folder below build/ on a real disk, since a temporary file system may not support
    O_DIRECT."""
    installed()
    with tempfile.TemporaryDirectory(dir=BUILD) as place:
        yield Path(place)


@pytest.fixture(scope="module")
def board():
    with BoardProcess(built().board) as board:
        yield board


@pytest.fixture(scope="module")
def without_a_machine(board, folder):
    return {
        ("sim", language, name): ran
        for language in LANGUAGES
        for name, ran in on_the_board(board, language, folder).items()
    }


@pytest.fixture(scope="module")
def with_a_machine(tmp_path_factory, folder):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "PLACE", tmp_path_factory.mktemp("guest"))
        return in_a_guest(folder)


@pytest.fixture
def ran(request, way, language):
    """Return a function that returns the result of an example's run by one way to the card (sim,
    driver or vfio). The function fails unless the example ended with status 0."""
    every = request.getfixturevalue("without_a_machine" if way == "sim" else "with_a_machine")

    def of(name):
        found = every[way, language, name]
        assert (found.status, found.err) == (0, ""), found
        print(found.out)
        return found

    return of


# On every way to a card: sim, driver, vfio
# ---------------------------------------------------------


@each_way
@each_language
def test_a_capture_is_what_the_card_sent(way, language, ran, folder):
    """`capture` writes every byte that the card sent. The card sent at most 1 % more, for records
    and status lines."""
    found = ran("capture")
    assert re.fullmatch(rf"{MIB} MiB in \S+\n", found.out)
    if way == "sim":
        assert np.array_equal(np.fromfile(folder / language, np.uint32), PATTERN)
    else:
        assert found.sum == hashlib.sha256(PATTERN).hexdigest()
    assert PATTERN.nbytes <= found.passed["c2h"] <= 1.01 * PATTERN.nbytes


@each_way
@each_language
def test_every_request_is_answered(way, language, ran):
    """The example `request`: every request has its answer, the card read 64 bytes for each, and the
    percentiles are in order."""
    found = ran("request")
    times = re.fullmatch(
        rf"{REQUESTS} answers, all right: p50 ([\d.]+) us, p99 ([\d.]+) us, max ([\d.]+) us\n",
        found.out,
    )
    p50, p99, most = map(float, times.groups())
    assert 1 < p50 <= p99 <= most < 10e6
    assert found.passed["h2c"] == 64 * REQUESTS


def spectra():
    """Return what the example `spectrum` prints for a sine that moves up by one column in each
    line, without any other signal."""
    bins = [16 + 32 * line for line in range(LINES)]
    lines = [f"{'@':>{bin // 32 + 1}}".ljust(64) + f"|{bin:5}  -6.0 dB\n" for bin in bins]
    return "".join([f"{'0 Hz':64}|  bin   level\n", *lines])


@each_way
@each_language
def test_a_spectrum_has_the_sine_that_went_out(way, language, ran):
    """Each line that the example `spectrum` prints shows the sine that was sent, and nothing else
    above -90 dB."""
    found = ran("spectrum")
    assert found.out == spectra()
    assert found.passed["h2c"] == 8192 * LINES


@each_way
@each_language
def test_registers_are_written_and_read_by_name(way, language, ran):
    """`registers` writes and reads by name a register that every card has, and one of the user's
    logic."""
    assert ran("registers").out == (
        f"ctrl_scratch = {SCRATCH[language]:#x}\n"
        "user_hold = 0x1\nuser_hold = 0x0\nuser_hold = 0x0\n"
    )


@each_way
@each_language
def test_registers_are_listed(way, language, ran):
    """The example `registers` without a name lists all registers of the build with their
    offsets."""
    described = json.loads((built().gateware / "csr.json").read_text())["csr_registers"]
    wanted = {name: register["addr"] for name, register in described.items()}
    lines = [line.split("  ") for line in ran("list").out.splitlines()]
    assert {name: int(place, 16) for place, name in lines} == wanted
    assert len(lines) == len(wanted) > 80


@each_way
@each_language
def test_each_interrupt_of_the_user_s_logic_ends_one_wait(way, language, ran):
    """In a run of the example `interrupt` each interrupt of the user's logic ends one wait of the
    program, and was one message of the card."""
    found = ran("interrupt")
    assert found.out == "".join(f"interrupt {n + 1}\n" for n in range(INTERRUPTS))
    assert found.passed["interrupts"] == INTERRUPTS


# Examples on the board alone ----------------------------------------------------------------------


@each_language
def test_the_disk_gets_the_card_s_own_buffers(board, folder, language):
    """The example `capture` writes the ring's buffers to a file with O_DIRECT, 256 KiB at a time,
    without a copy."""
    trace = folder / f"{language}.trace"
    words = [
        "strace",
        "-f",
        "-o",
        trace,
        "-e",
        "trace=openat,write",
        *command(language, "capture"),
        "-d",
        f"sim:{board.socket}",
        "-n",
        "1",
        folder / "traced",
    ]
    subprocess.run(words, env=environment(), check=True, capture_output=True, timeout=60)
    ((flags, number),) = re.findall(
        r'openat\(.*/traced", (\S+), 0666\) += (\d+)', trace.read_text()
    )
    assert "O_DIRECT" in flags.split("|")
    writes = re.findall(rf"write\({number}, .*, (\d+)\) += (\d+)", trace.read_text())
    assert writes == [(f"{256 << 10}",) * 2] * 4


def test_other_logic_is_not_taken_for_a_loopback(folder):
    """On a card whose logic is no loopback, `request` reports a wrong answer, and `spectrum` shows
    other lines."""
    with BoardProcess(artefacts.build(DEFAULT, ACCUMULATOR).board) as board:
        for language in LANGUAGES:
            done = call(language, "request", "-d", f"sim:{board.socket}")
            assert done.returncode == 1 and not done.stdout
            assert re.search(r"request: answer [01] is another one\n$", done.stderr)
            done = call(language, "spectrum", "-d", f"sim:{board.socket}", "-n", str(LINES))
            lines = zip(done.stdout.splitlines(), spectra().splitlines())
            assert done.returncode == 0
            assert [mine == other for mine, other in lines] == [True] + LINES * [False]


@each_language
def test_an_interrupt_that_does_not_come_is_a_sentence(board, language):
    """The example `interrupt` ends with status 1 and a sentence if no interrupt comes in the given
    time."""
    done = call(language, "interrupt", "-d", f"sim:{board.socket}", "-t", "1")
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"\S*interrupt: no interrupt within 1 s\n", done.stderr)


@each_language
@pytest.mark.parametrize(
    "words, status, sentence",
    [
        (
            ["registers", "ctrl_scratchy"],
            1,
            "registers: no register is called ctrl_scratchy; the near",
        ),
        (["registers", "pcie_phy_link_status=1"], 1, "registers: .*only be read"),
        (["registers", "ctrl_scratch=much"], 2, "usage: registers"),
        (["capture", "/none/file"], 1, "capture: .*No such file or directory"),
        (["capture", "-n", "0", "FILE"], 2, "usage: capture"),
        (["capture", "-n", "many", "FILE"], 2, "usage: capture"),
        (["capture"], 2, "usage: capture"),
        (["capture", "one", "two"], 2, "usage: capture"),
        (["request", "-x"], 2, "usage: request"),
        (["interrupt", "-w", "2"], 2, "usage: interrupt"),
        (["interrupt", "-w", "2:0x100000h"], 2, "usage: interrupt"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(board, language, words, status, sentence):
    """Usage errors of an example end with status 2, and other errors with status 1. Each error is a
    sentence without a result or traceback."""
    done = call(language, words[0], "-d", f"sim:{board.socket}", *words[1:])
    assert (done.returncode, done.stdout) == (status, ""), done.stderr
    assert re.search(sentence, done.stderr) and "Traceback" not in done.stderr, done.stderr


@pytest.mark.parametrize("language, name", CASES)
def test_a_card_that_is_not_there_is_a_sentence(language, name):
    """If the card is missing, an example prints its own name and the library's sentence."""
    words = ["/tmp/file"] if name in ("capture", "plot") else []
    done = call(language, name, "-d", "sim:/none", *words)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(rf"\S*{name}: /none: No such file or directory; start .*\n", done.stderr)


@pytest.mark.parametrize("language, name", CASES)
def test_each_says_how_it_is_used(language, name):
    """--help of an example has the device first and fits 80 columns. An example in both languages
    has the same options in both."""
    done = call(language, name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(rf"usage: {name}\S* (\[-h\] )?\[-d DEVICE\]", done.stdout)
    assert max(map(len, done.stdout.splitlines())) <= 80

    def letters(text):
        return set(re.findall(r"^  (-[a-gi-z])[ ,]", text, re.MULTILINE))

    if name in BOTH:
        assert letters(done.stdout) == letters(call(LANGUAGES[language == "c"], name, "-h").stdout)


def test_data_goes_through_the_user_slot_and_comes_back(board):
    """The example `stream` sends data through the user slot and gets it back unchanged."""
    done = call("python", "stream", "-d", f"sim:{board.socket}", "-n", "1")
    assert done.stdout == "1 MiB went through the user slot and came back the same\n", done.stderr


def test_samples_are_drawn(board, folder):
    """The example `plot` draws 16-bit samples that the card sends by c2h, and writes the picture as
    a PNG."""
    done = call("python", "plot", "-d", f"sim:{board.socket}", folder / "picture.png")
    assert re.fullmatch(r"196608 samples in \S+\n", done.stdout), done.stderr
    assert (folder / "picture.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


# The examples' README and their sources -----------------------------------------------------------


def test_the_table_names_each_example():
    """The table in software/examples/README.md names every example and nothing else. An example in
    both languages has a .c and a .py file."""
    rows = re.findall(r"^\| `([\w.]+)` \|", README.read_text(), re.MULTILINE)
    assert sorted(rows) == sorted([*BOTH, *(f"{name}.py" for name in ALONE)])
    files = {path.name for path in EXAMPLES.iterdir() if path.is_file()}
    pairs = {f"{name}.{end}" for name in BOTH for end in ("c", "py")}
    assert files == {
        *pairs,
        *(f"{name}.py" for name in ALONE),
        "example.h",
        "example.py",
        "README.md",
        "ruff.toml",
    }


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.*")), ids=lambda path: path.name)
def test_sources_have_eighty_columns(path):
    """No line of the sources in software/examples is longer than 80 columns, so that they fit into
    a terminal beside an editor."""
    if path.suffix != ".md":
        assert max(len(line.expandtabs(8)) for line in path.read_text().splitlines()) <= 80


def commands_of_the_page():
    """Return the commands in software/examples/README.md that start a simulated card."""
    text = README.read_text().replace("\\\n", "")
    return re.findall(r"^\.venv/bin/python -m sim\.util (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize(
    "words, last",
    zip(
        commands_of_the_page(),
        [r"100 answers, all right: .*", r".*\|  304  -6\.0 dB", "interrupt 3"],
        strict=True,
    ),
)
def test_what_the_page_starts_runs(folder, words, last):
    """The commands in software/examples/README.md run unchanged. Each starts a board and ends
    it."""
    shell = f"{ROOT}/.venv/bin/python -m sim.util {words}".replace(
        "./request", *command("c", "request")
    )
    done = subprocess.run(
        ["sh", "-c", shell], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(last, done.stdout.splitlines()[-1]), done.stdout
