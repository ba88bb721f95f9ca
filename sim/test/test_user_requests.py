# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""software/user/test/requests.c on every back end: a user's logic with state and interrupts."""

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
REQUESTS = 64


def on_the_board(board, csr):
    """Without a machine."""
    program = build_software().out / "test" / "requests"
    command = [program, f"sim:{board.socket}", csr, str(REQUESTS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr + board.tail()
    return done.stdout


def in_a_guest(board, csr, device, *commands, **choices):
    """As the guest's root."""
    commands = [*commands, f"requests {device} /root/csr.json {REQUESTS} >/out/text"]
    return boot(board, commands, ("requests",), csr=csr, **choices).files["text"].decode()


def through_vfio(board, csr):
    """Without a module of ours."""
    return in_a_guest(board, csr, "vfio:01:00.0", BIND, append=("intel_iommu=on",), devices=IOMMU)


def through_the_driver(board, csr):
    """Lanebox's own."""
    return in_a_guest(board, csr, "/dev/litepcie0", vfio=False)


@pytest.mark.parametrize("way", [
    on_the_board,
    pytest.param(through_vfio, marks=pytest.mark.guest),
    pytest.param(through_the_driver, marks=pytest.mark.guest),
])
def test_every_request_has_its_answer(monkeypatch, tmp_path, way):
    """The same program, one request at a time: no beat too many or too few, one call for each."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    built = artefacts.build(DEFAULT, ACCUMULATOR)
    with BoardProcess(built.board) as board:
        text = way(board, built.gateware / "csr.json")
    assert text == f"requests: {REQUESTS} of {REQUESTS} answers right\n"
