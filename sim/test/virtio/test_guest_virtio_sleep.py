# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The machine is suspended to memory (S3) with Debian's virtio drivers on the card, and wakes up.

The kernel freezes the drivers, QEMU resets all devices, the alarm of the clock wakes the machine,
and the kernel restores the drivers: the whole way, and not only the drivers' handlers.
"""

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.guest import run
from sim.test.virtio.virtio_card import VirtioCard
from sim.test.virtio.virtio_guest import SHELL, check_quiet, files

pytestmark = [pytest.mark.guest, pytest.mark.soak]
SECONDS = 600
SLEEP = """
echo enabled >/sys/class/rtc/rtc0/device/power/wakeup
sleeps() {
	echo 0 >/sys/class/rtc/rtc0/wakealarm; echo +2 >/sys/class/rtc/rtc0/wakealarm
	echo mem >/sys/power/state
}
"""


def asleep(card, *commands):
    """Run commands in a guest with this card. Return the kernel log, which says that the machine
    was suspended."""
    with card as board:
        lines = [SHELL, SLEEP, *commands]
        result = run.run_guest(board.socket, lines, files(None), timeout=SECONDS, powers_off=False)
        stats = board.stats()
    assert result.rc == 0, result.console[-3000:]
    check_quiet(result.files)
    assert b"PM: suspend exit" in result.files["dmesg"]
    assert stats["unmapped"] == 0
    return stats


def test_both_devices_work_after_the_machine_has_slept_twice():
    """After each of two suspends of the guest to memory (S3), the card's network interface is the
    one from before, every ping is answered, and the virtio console echoes."""
    asleep(
        VirtioCard(),
        "load; ready; pinged 3; echoed before; before=$(cat /sys/class/net/eth0/ifindex)",
        "for n in 1 2; do",
        "sleeps; [ $(cat /sys/class/net/eth0/ifindex) = $before ]; echoed $n; pinged 10",
        "done",
    )


def test_the_card_s_own_console_works_after_the_machine_has_slept():
    """After a suspend of the guest to memory (S3), in which the card is reset, the gateware's
    virtio console echoes. No rule of the hard block was broken."""
    built = artefacts.build(DEFAULT, virtio=True)
    stats = asleep(
        BoardProcess(built.board),
        "load; for n in $(seq 100); do [ -c /dev/hvc0 ] && break; sleep 0.1; done",
        "echoed before; sleeps; echoed after",
    )
    assert not any(stats["violations"].values())
