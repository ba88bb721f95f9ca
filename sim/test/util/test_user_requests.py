# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests and answers by every way to a card: with logic that has state, and as packets."""

import subprocess
from pathlib import Path

import pytest
from software_build import TIMEOUT, build_software
from user_guest import BIND, IOMMU, boot

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import Occupant
from sim.guest import run

ACCUMULATOR = Occupant("accumulator", f"{Path(__file__).parent}/accumulator.py:Accumulator")
PACKET_ENDS = Occupant("packet_ends", f"{Path(__file__).parent}/packet_ends.py:PacketEnds")
REQUESTS = 64
PACKETS = 10000


def on_the_board(board, csr, name, number, timeout=5 * TIMEOUT):
    """Run a test program on the board, without a guest; returns its output."""
    program = build_software().out / "test" / name
    command = [program, f"sim:{board.socket}", csr, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, done.stdout + done.stderr + board.tail()
    return done.stdout


def in_a_guest(board, csr, device, program, *commands, **choices):
    """Run a test program in a guest as root; returns its output."""
    name, number = program
    commands = [*commands, f"{name} {device} /root/csr.json {number} >/out/text"]
    return boot(board, commands, (name,), csr=csr, **choices).files["text"].decode()


def through_vfio(board, csr, *program, **choices):
    """Run it through VFIO, without a module of ours."""
    return in_a_guest(board, csr, "vfio:01:00.0", program, BIND, append=("intel_iommu=on",),
        devices=IOMMU, **choices)


def through_the_driver(board, csr, *program, **choices):
    """Run it behind Lanebox's driver."""
    return in_a_guest(board, csr, "/dev/litepcie0", program, vfio=False, **choices)


WAYS = [
    on_the_board,
    pytest.param(through_vfio, marks=pytest.mark.guest),
    pytest.param(through_the_driver, marks=pytest.mark.guest),
]


@pytest.mark.parametrize("way", WAYS)
def test_every_request_has_its_answer(monkeypatch, tmp_path, way):
    """Each request gets its answer with no beat too many or too few, and one interrupt."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, ACCUMULATOR)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "requests", REQUESTS)
    assert text == f"requests: {REQUESTS} of {REQUESTS} answers right\n"


@pytest.mark.parametrize("way", WAYS)
def test_every_packet_comes_back_with_its_length(monkeypatch, tmp_path, way):
    """Packets of 64 bytes and other lengths come back exactly, also with flush time, errors and
    several buffers."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, PACKET_ENDS)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "packets", PACKETS)
    check_packets(text, PACKETS)


def check_packets(text, number):
    """Fail unless all answers were right: one at a time, and fewer at once and in batches."""
    runs = [(number, 1, 1), (number // 8, 1, 1), (number // 8, 16, 1), (number // 8, 16, 4)]
    assert text == "".join(f"packets: {n} of {n} answers right, {deep} deep, batches of {batch}\n"
        for n, deep, batch in runs)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[2]])
def test_a_card_without_records_has_whole_buffers(monkeypatch, tmp_path, way):
    """LitePCIe's endpoint has no records: packets are refused with a sentence, whole beats work.

    vfio-pci is left out: it changes the card's power state, which this endpoint never acknowledges.
    """
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build("litepcie")
    with BoardProcess(built.board) as board:
        assert way(board, built.gateware / "csr.json", "packets", 0) == "packets: none\n"
