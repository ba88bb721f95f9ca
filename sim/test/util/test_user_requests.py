# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of requests and answers by every way to a card (board, VFIO, driver): with logic that has
state, and as packets."""

import subprocess
from pathlib import Path

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import Occupant
from sim.guest import run
from sim.test.util.user_guest import BIND, IOMMU, boot
from software.test.software_build import TIMEOUT, build_software
from tools.testing.seeds import SHIFT

BLOCKS = Path(__file__).parents[1] / "blocks"
ACCUMULATOR = Occupant("accumulator", f"{BLOCKS}/accumulator.py:Accumulator")
PACKET_ENDS = Occupant("packet_ends", f"{BLOCKS}/packet_ends.py:PacketEnds")
REQUESTS = 64
PACKETS = 10000


def on_the_board(board, csr, name, *numbers, timeout=5 * TIMEOUT, live=False):
    """Run a test program on the board, without a guest; returns its output.

    With `live` the program's messages are shown at once, as those of a guest's console are.
    """
    program = build_software().out / "test" / name
    command = [program, f"sim:{board.socket}", csr, *map(str, numbers)]
    messages = None if live else subprocess.PIPE
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=messages, text=True, timeout=timeout
    )
    assert done.returncode == 0, done.stdout + (done.stderr or "") + board.tail()
    return done.stdout


def in_a_guest(board, csr, device, program, *commands, **choices):
    """Run a test program of the library in a guest as root; returns the program's output."""
    name, *numbers = program
    commands = [
        *commands,
        f"{name} {device} /root/csr.json {' '.join(map(str, numbers))} >/out/text",
    ]
    return boot(board, commands, (name,), csr=csr, **choices).files["text"].decode()


def through_vfio(board, csr, *program, **choices):
    """Run a test program in a guest through VFIO, without a kernel module of this project; returns
    its output."""
    return in_a_guest(
        board,
        csr,
        "vfio:01:00.0",
        program,
        BIND,
        append=("intel_iommu=on",),
        devices=IOMMU,
        **choices,
    )


def through_the_driver(board, csr, *program, **choices):
    """Run a test program of the library in a guest behind Lanebox's driver; returns the program's
    output."""
    return in_a_guest(board, csr, "/dev/litepcie0", program, vfio=False, **choices)


WAYS = [
    on_the_board,
    pytest.param(through_vfio, marks=pytest.mark.guest),
    pytest.param(through_the_driver, marks=pytest.mark.guest),
]


@pytest.mark.parametrize("way", WAYS)
def test_every_request_has_its_answer(monkeypatch, tmp_path, way):
    """Each request gets its right answer and one interrupt. Logic whose answers depend on all data
    so far proves that no beat is missing or repeated."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, ACCUMULATOR)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "requests", REQUESTS)
    assert text == f"requests: {REQUESTS} of {REQUESTS} answers right\n"


@pytest.mark.parametrize("way", WAYS)
def test_every_packet_comes_back_with_its_length(monkeypatch, tmp_path, way):
    """Packets of 64 bytes and of other lengths come back exactly, also with a flush time, with
    errors, and over several buffers."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, PACKET_ENDS)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "packets", PACKETS, SHIFT + 1)
    check_packets(text, PACKETS)


def check_packets(text, number):
    """Check the output of the program `packets`: all answers are right. `number` packets go one at
    a time. Three further runs have an eighth of `number` each, two of them with 16 packets at a
    time.
    """
    runs = [(number, 1, 1), (number // 8, 1, 1), (number // 8, 16, 1), (number // 8, 16, 4)]
    assert text == "".join(
        f"packets: {n} of {n} answers right, {deep} deep, batches of {batch}\n"
        for n, deep, batch in runs
    )


@pytest.mark.parametrize("way", [WAYS[0], WAYS[2]])
def test_a_card_without_records_has_whole_buffers(monkeypatch, tmp_path, way):
    """On a card with LitePCIe's endpoint, which writes no records, packets are refused with a
    sentence. Data of whole beats works.

    VFIO is left out: vfio-pci changes the card's power state, and this endpoint never acknowledges
    that.
    """
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build("litepcie")
    with BoardProcess(built.board) as board:
        assert way(board, built.gateware / "csr.json", "packets", 0) == "packets: none\n"
