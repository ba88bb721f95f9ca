# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Requests and answers on every back end: with a user's logic that has state, and as packets."""

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
PACKETS, FEW_PACKETS = 10000, 400  # without a machine, and in a guest


def on_the_board(board, csr, name, number):
    """Without a machine."""
    program = build_software().out / "test" / name
    command = [program, f"sim:{board.socket}", csr, str(number)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=5 * TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr + board.tail()
    return done.stdout


def in_a_guest(board, csr, device, program, *commands, **choices):
    """As the guest's root."""
    name, number = program
    commands = [*commands, f"{name} {device} /root/csr.json {number} >/out/text"]
    return boot(board, commands, (name,), csr=csr, **choices).files["text"].decode()


def through_vfio(board, csr, *program):
    """Without a module of ours."""
    return in_a_guest(board, csr, "vfio:01:00.0", program, BIND, append=("intel_iommu=on",),
        devices=IOMMU)


def through_the_driver(board, csr, *program):
    """Lanebox's own."""
    return in_a_guest(board, csr, "/dev/litepcie0", program, vfio=False)


WAYS = [
    on_the_board,
    pytest.param(through_vfio, marks=pytest.mark.guest),
    pytest.param(through_the_driver, marks=pytest.mark.guest),
]


@pytest.mark.parametrize("way", WAYS)
def test_every_request_has_its_answer(monkeypatch, tmp_path, way):
    """The same program, one request at a time: no beat too many or too few, one call for each."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, ACCUMULATOR)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "requests", REQUESTS)
    assert text == f"requests: {REQUESTS} of {REQUESTS} answers right\n"


@pytest.mark.parametrize("way", WAYS)
def test_every_packet_comes_back_with_its_length(monkeypatch, tmp_path, way):
    """64 bytes and other lengths, to the byte; flush time, errors, packets of several buffers."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, PACKET_ENDS)
    number = PACKETS if way is on_the_board else FEW_PACKETS
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json", "packets", number)
    runs = [(number, 1, 1), (number // 8, 1, 1), (number // 8, 16, 1), (number // 8, 16, 4)]
    assert text == "".join(f"packets: {n} of {n} answers right, {deep} deep, batches of {batch}\n"
        for n, deep, batch in runs)


@pytest.mark.parametrize("way", [WAYS[0], WAYS[2]])
def test_a_card_without_records_has_whole_buffers(monkeypatch, tmp_path, way):
    """LitePCIe's endpoint: packets are refused with a sentence, whole beats are a stream.

    vfio-pci is no way to it: it changes the card's power state, which this endpoint never answers.
    """
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build("litepcie")
    with BoardProcess(built.board) as board:
        assert way(board, built.gateware / "csr.json", "packets", 0) == "packets: none\n"
