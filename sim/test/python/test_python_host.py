# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the Python package of software/python on the board: what a card is, registers, errors,
and the programs of the package."""

import json
import os
import re
import subprocess
import sys
import time

import numpy as np
import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.board.board_builds import ROOT
from sim.test.python.host_programs import PYTHON, run


@pytest.fixture
def board():
    built = artefacts.build("lanebox")
    with BoardProcess(built.board, Conditions().board_options()) as board:
        yield board


@pytest.fixture
def card(host, board):
    with host.Card(f"sim:{board.socket}") as card:
        yield card


# The class Card -----------------------------------------------------------------------------------


def test_a_card_says_what_it_is(card):
    """A Card has the target, endpoint, sizes and link that the board negotiated. Its device time
    increases."""
    assert (card.backend, card.info.target, card.info.endpoint) == ("sim", "sim", "lanebox")
    assert (card.conditions.mps, card.conditions.mrrs, card.conditions.link_lanes) == (256, 512, 8)
    first = card.time
    assert 0 < first < card.time


def test_a_large_bar2_does_not_lie_over_bar0(host):
    """With a BAR2 of 64 MiB, and with one of 4 GiB, a write to BAR2 does not reach the register of
    BAR0 at the same offset."""
    for size in (64 << 20, 4 << 30):
        options = [*Conditions().board_options(), "--bar2", str(size)]
        with BoardProcess(artefacts.build("lanebox").board, options) as board:
            with host.Card(f"sim:{board.socket}") as card:
                assert card.bar_size(2) == size
                offset = card.registers.offset("ctrl_scratch")
                card.registers["ctrl_scratch"] = 0x12345678
                card.write(offset, b"\xff\xff\xff\xff", bar=2)
                assert card.registers["ctrl_scratch"] == 0x12345678


def test_the_user_s_interrupts_are_waited_for(card):
    """The calls for interrupts of user logic reach the library, which refuses them for this card.

    This card's user logic has no registers and no interrupt. The test user.c of
    software/liblitepcie/test waits for interrupts of a card that has them.
    """
    from lanebox_host import NotOnCard

    for call in (card.enable_user, lambda: card.wait_user(0.1)):
        with pytest.raises(NotOnCard, match="lists no interrupt for it"):
            call()


def test_no_register_is_read_by_accident(card, monkeypatch):
    """dict(card.registers), and any other call that would copy the mapping, raises an error and
    reads no register."""
    called = []
    monkeypatch.setattr(card.registers._handle, "call", lambda name, *_: called.append(name))
    for copy in (dict, lambda registers: {**registers}):
        with pytest.raises(TypeError, match="not all registers"):
            copy(card.registers)
    assert called == []


def test_what_the_card_can_do_is_known(card):
    """Card.features names what a simulated card can do; its BARs cannot be mapped."""
    assert {"streams", "packets", "slot_monitor"} <= card.features
    assert "bar_map" not in card.features


def test_registers_are_used_by_name(card):
    """Registers are read, written and listed by name, like a mapping. An unknown name is a KeyError
    with the most similar name."""
    card.registers["ctrl_scratch"] = 0xCAFE0001
    assert card.registers["ctrl_scratch"] == 0xCAFE0001
    assert "ctrl_scratch" in card.registers and "ctrl_scratchy" not in card.registers
    names = list(card.registers)
    places = [card.registers.offset(name) for name in names]
    assert places == sorted(places) and len(card.registers) == len(names) > 20
    with pytest.raises(KeyError, match="the nearest is ctrl_scratch"):
        card.registers["ctrl_scratchy"]
    with pytest.raises(ValueError, match="64 bits without a sign"):
        card.registers["ctrl_scratch"] = -1


def test_the_names_of_a_build_are_learned_from_its_file(card, tmp_path):
    """registers.load() adds the register names in a build's csr.json. It refuses a file of another
    kind."""
    described = json.loads((ROOT / "build" / "sim" / "csr.json").read_text())
    before = set(card.registers)
    described["csr_registers"]["mine"] = described["csr_registers"]["ctrl_scratch"]
    (tmp_path / "csr.json").write_text(json.dumps(described))
    card.registers.load(tmp_path / "csr.json")
    assert set(card.registers) >= {*before, "mine"} and "mine" not in before
    card.registers["ctrl_scratch"] = 0x12345678
    assert card.registers["mine"] == 0x12345678
    with pytest.raises(OSError):
        card.registers.load(ROOT / "README.md")


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16, 32, 64])
def test_memory_is_read_as_it_was_written(card, size):
    """A host write and read of each width, 1 to 64 bytes, reach the card's large memory in BAR2."""
    data = bytes(range(size))
    card.write(64, data, bar=2)
    assert card.read(64, size, bar=2) == data
    assert card.bar_size(2) >= 1 << 19
    with pytest.raises(OSError, match="BAR4: the card has none there"):
        card.bar_size(4)


# Errors of the Python package ---------------------------------------------------------------------


def test_each_failure_is_its_own_exception_with_a_sentence(host, card, board, tmp_path):
    """Each kind of failure in lanebox_host has its own exception class, an OSError whose text is a
    sentence."""
    with pytest.raises(host.LaneboxError, match="start the board with --socket"):
        host.Card(f"sim:{tmp_path}/none")
    with pytest.raises(host.NotOnCard):
        card.read(0, bar=4)
    with pytest.raises(host.LaneboxError, match="."):
        card.ring = (1000, 64)
    silent = "in time. c2h: the user slot has held source.valid low for .* 1 buffer waits$"
    with card.receive(limit=1) as stream, pytest.raises(host.WaitTimeout, match=silent):
        stream.take(timeout=0.2)  # nothing sends c2h data to this stream
    with pytest.raises(ValueError, match="inside its `with` block"):
        stream.take()
    board.process.kill()
    with pytest.raises(host.CardGone):
        card.time  # noqa: B018


def test_no_time_at_all_is_a_timeout_too(card, host):
    """take(timeout=0) looks for a buffer once. The 0 does not stand for the stream's own timeout of
    5 s."""
    with card.receive(limit=1, timeout=5) as stream:
        began = time.monotonic()
        with pytest.raises(host.WaitTimeout):
            stream.take(timeout=0)
        assert time.monotonic() - began < 4


def test_a_closed_card_is_a_value_error_and_closes_again(host, board):
    """A Card may be closed twice. Any use of a closed Card is a ValueError, and does not call the
    library."""
    card = host.Card(f"sim:{board.socket}")
    card.close()
    card.close()
    with pytest.raises(ValueError, match="closed"):
        card.registers["ctrl_scratch"]


def test_a_hang_in_the_user_slot_is_named(card, host, board):
    """If the user slot's loopback stops because the program takes no buffer, the error says so. The
    beats it names are those that the board counted."""
    card.ring = (4096, 16)
    with card.loopback(inside=False, interrupt_every=1) as stream:
        held = "the user slot has held sink.ready low for"
        with pytest.raises(host.WaitTimeout, match=f"no buffer in time. h2c: {held}"):
            while True:
                stream.submit(len(stream.free(timeout=0.5)))
        assert held in stream.diagnose() and "the card has no buffer" in stream.diagnose()
        with pytest.raises(host.WaitTimeout, match=held):
            stream.drain(timeout=0.05)
        slot, counted = card.slot, board.stats()["slot"]
    assert slot.h2c.valid and not slot.h2c.ready and 0 < slot.h2c.since < slot.time
    assert slot.h2c.beats == counted["sink"]["beats"] > slot.c2h.beats > 0


# Programs that use the Python package -------------------------------------------------------------


@pytest.mark.parametrize(
    "words, status, sentence",
    [
        (["-i", "0"], 2, "0: it must be seconds above 0"),
        (["-n", "-1"], 2, "-1: it must be a number"),
        (["-d", "vfio:x"], 1, "lanebox-live: vfio:x: the PCI address must be like"),
    ],
)
def test_what_cannot_be_done_is_a_sentence(host, board, words, status, sentence):
    """Usage errors of lanebox-live end with status 2, and other errors with status 1. Each error is
    a sentence without a traceback."""
    done = run(board, "-m", "lanebox_host.live", *words)
    assert done.returncode == status and sentence in done.stderr
    assert "Traceback" not in done.stderr


def test_the_program_in_the_readme_runs(host, board, tmp_path):
    """The Python program in the README runs unchanged, except for the card's name."""
    (text,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    file = tmp_path / "readme.py"
    file.write_text(text.replace("/dev/litepcie0", f"sim:{board.socket}"))
    done = run(board, file)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0] == "[0 0 0 0 1 0 0 0]"


def test_the_live_view_shows_the_streams(host, board):
    """lanebox-live prints a line for each of CQ, CC, RQ and RC per interval. Into a pipe it prints
    no colours."""
    done = run(board, "-m", "lanebox_host.live", "-d", "DEVICE", "-n", "2", "-i", "0.05")
    assert done.returncode == 0, done.stderr
    assert all(done.stdout.count(f"\n{name} ") == 2 for name in ("cq", "cc", "rq", "rc"))
    assert "\x1b" not in done.stdout
    done = run(board, "-m", "lanebox_host.live", "-d", "sim:/none")
    assert done.returncode == 1 and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("end, errors", [(" | head -1", ""), (" >/dev/full", "No space left")])
def test_the_live_view_ends_with_whoever_reads_it(host, board, end, errors):
    """lanebox-live ends silently when its output pipe is closed. If the disk is full, it ends with
    an error."""
    program = f"'{sys.executable}' -m lanebox_host.live -d sim:{board.socket} -i 0.05 -n 40"
    environment = {**os.environ, "PYTHONPATH": str(PYTHON)}
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", program + end],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 1
    assert errors in done.stderr and len(done.stderr.splitlines()) == bool(errors)


@pytest.mark.parametrize("tick_ps", [4000, 8000])
def test_the_live_view_reckons_by_device_time(host, tick_ps):
    """lanebox-live computes rates by the card's clock: at half the clock frequency they are half as
    high."""
    from lanebox_host import live
    from lanebox_host.counters import Counters, Stream

    half = Stream(125, 50, 10, 4000, 0, 0)
    none = Stream(0, 0, 0, 0, 0, 0)
    text = live.line("rq", Counters(250, none, none, half, none, tick_ps), 100)
    wanted = {4000: ["4.00", "10.0", "50%", "20%"], 8000: ["2.00", "5.0", "50%", "20%"]}
    assert text.split()[3:7] == wanted[tick_ps]


@pytest.mark.soak
def test_pip_builds_and_installs_it(tmp_path, board):
    """pip builds and installs the package with the library inside it, and the installed package
    reaches the board."""
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", place], check=True)
    done = subprocess.run(
        [place / "bin" / "pip", "install", "-q", "--no-deps", PYTHON],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    environment = {k: v for k, v in os.environ.items() if k not in ("LIBLITEPCIE", "PYTHONPATH")}
    # This PYTHONPATH holds NumPy, but not the repository's package in software/python.
    environment["PYTHONPATH"] = os.path.dirname(np.__path__[0])
    code = (
        f"import lanebox_host as l; c = l.Card('sim:{board.socket}'); print(c.info.target, "
        "l.__file__)"
    )
    done = subprocess.run(
        [place / "bin" / "python", "-c", code],
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("sim ") and str(place) in done.stdout
    command = [place / "bin" / "lanebox-live", "-d", f"sim:{board.socket}", "-n", "1", "-i", "0.1"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 0 and "\nrq card asks" in done.stdout, done.stderr
