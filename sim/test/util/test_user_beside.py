# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of liblitepcie behind Lanebox's driver: waits without a time limit, and several programs on
one card."""

import re

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import run
from sim.test.util.user_guest import boot, interrupted

pytestmark = pytest.mark.guest

# Shell text for a guest: start a program that runs c2h, and wait until its interrupts are counted.
BUSY = (
    "streams /dev/litepcie0 1000000 >/dev/null 2>&1 & user=$!; "
    f"until {interrupted('litepcie')}; do kill -0 $user; sleep 0.1; done"
)
USER = "echo 'member:x:1000:1000::/:/bin/sh' >/etc/passwd; chmod 666 /dev/litepcie0"


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def test_a_wait_ends_and_a_look_works_beside_a_stream(start_board):
    """A wait without a time limit ends by a stop, a signal or data, and other programs can use the
    card meanwhile.

    While one program runs a stream, root and an ordinary user read the card and its counters. Only
    another stream is refused, with the name of the program that has one.
    """
    look = (
        "litepcie_util info >/dev/null && litepcie_util peek ctrl_scratch && looks /dev/litepcie0"
    )
    commands = [
        "dma_wait /dev/litepcie0 >/out/dma_wait",
        USER,
        BUSY,
        f"( {look} ) >/out/root",
        f"su member -c '{look}' >/out/member",
        "litepcie_util dma_test --direction c2h --size 1M 2>/out/why && false || [ $? = 1 ]",
        "kill -9 $user; wait $user || true",
    ]
    util = artefacts.utility(artefacts.build(DEFAULT).headers, static=True)
    with start_board("--pace", "400000", "--rules", "warn") as board:
        result = boot(
            board,
            commands,
            ("dma_wait", "streams", "looks"),
            vfio=False,
            files=[(util, "bin/litepcie_util")],
        )
    assert result.files["dma_wait"].decode().count("dma_wait: ") == 7
    assert result.files["root"] == result.files["member"]
    assert result.files["root"].endswith(b"looks: ok\n")
    assert re.search(
        r"c2h is in use; the device is open in streams \(process \d+\)",
        result.files["why"].decode(),
    )


def test_a_reset_by_somebody_else_ends_a_stream(start_board):
    """A reset by another program ends a stream with an error and a sentence, in each direction. The
    stream can then be started again."""
    with start_board("--rules", "warn") as board:
        boot(board, ["resets /dev/litepcie0"], ("resets",), vfio=False)
