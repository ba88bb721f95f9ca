# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What test_guest_driver_soak.py does at length, in one short guest."""

import pytest
from driver_guest import HELD, boot

from sim.guest import run

pytestmark = pytest.mark.guest


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def test_the_driver_stands_a_little_of_everything(start_board):
    """Opened and closed, unbound and removed under traffic, loaded again."""
    commands = [
        HELD,
        "stress cycle /dev/litepcie0 4",
        "held 'echo 0000:01:00.0 >$driver/unbind'; echo 0000:01:00.0 >$driver/bind",
        "held 'echo 1 >$card/remove'; echo 1 >/sys/bus/pci/rescan",
        "rmmod litepcie; insmod /lib/modules/litepcie.ko; stress cycle /dev/litepcie0 2",
    ]
    with start_board() as board:
        boot(board, commands, timeout=300)
        assert board.stats()["unmapped"] == 0
