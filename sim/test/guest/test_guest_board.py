# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of a guest with the simulated board: Lanebox's driver binds to the card, and the kernel
sets MPS and MRRS to the values that the test asked for.
"""

import contextlib

import pytest

from sim.guest import SetupError, mirror, run
from sim.guest.supervise import GuestError

pytestmark = pytest.mark.guest


def runs():
    """Yield (kernel series, MPS, MRRS), with the sizes in bytes. Series None is the Debian
    release's own. One run has 128 bytes for both sizes, as on a Thunderbolt host. Series 6.12 is
    run only if Debian 12's security archive is among the mirror's sources.
    """
    yield None, 256, 512
    yield None, 128, 128
    with contextlib.suppress(SetupError):
        if "bookworm-security" in [suite for _, suite in mirror.sources()]:
            yield "6.12", 256, 512


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize(("kernel", "mps", "mrrs"), runs())
def test_the_driver_binds_and_the_sizes_are_negotiated(start_board, gateware, kernel, mps, mrrs):
    """Guest and board agree on MPS and MRRS, and the driver that binds to the card has one MSI."""
    guest = run.prepare(kernel, gateware / "include")
    commands = ["test -c /dev/litepcie0", "cp /proc/interrupts /out/", "sleep 1"]
    seen = set()
    with start_board("--rules", "warn") as board:
        # The sizes are asked for while the guest runs, because the board resets them when its
        # client leaves.
        def ask():
            stats = board.stats()
            seen.add((stats["mps"], stats["mrrs"]))

        choices = {"guest": guest, "mps": mps, "mrrs": mrrs, "alive": ask}
        result = run.run_guest(board.socket, commands, **choices)
    assert result.rc == 0, result.console
    assert (result.mps, result.mrrs) == (mps, mrrs)
    assert (mps, mrrs) in seen
    assert b"PCI-MSI" in result.files["interrupts"] and b"litepcie" in result.files["interrupts"]
    assert b"Version Lanebox" in result.files["dmesg"]


def test_a_card_that_can_less_is_given_less(start_board, gateware):
    """The kernel sets no larger MPS than the board's Device Capabilities allow, even if the test
    asks for more."""
    guest = run.prepare(headers=gateware / "include")
    with start_board("--mps", "128", "--rules", "warn") as board:
        assert run.run_guest(board.socket, guest=guest, mps=512).mps == 128


def test_qemu_is_told_that_the_board_has_a_client(start_board, gateware):
    """If the board has another client, QEMU ends before the guest starts, with the reason in the
    error."""
    guest = run.prepare(headers=gateware / "include")
    with start_board() as board:
        board.connect()
        with pytest.raises(GuestError, match="version reply: Device or resource busy"):
            run.run_guest(board.socket, guest=guest)
    assert "was refused: the board has a client, process" in board.output


def test_a_board_that_dies_ends_the_guest(start_board, gateware):
    """If the board dies, the guest's run ends at once with the board's end as the reason."""
    guest = run.prepare(headers=gateware / "include")
    with start_board("--rules", "warn", status=-9) as board:
        rounds = iter(range(10))

        def alive():
            if next(rounds, None) is None:
                board.process.kill()
            return board.process.poll() and f"the board ended with {board.process.poll()}"

        with pytest.raises(GuestError, match="the board ended with -9"):
            run.run_guest(board.socket, "sleep 60", guest=guest, alive=alive, timeout=60)
