# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The same action many times, while data flows: the driver loses no memory, and the card still
works.

Each test has two counts of rounds: one for `make soak`, and a larger one for `make soak SOAK=full`.
"""

import functools
import json
import re

import pytest

from sim.guest import run
from sim.guest.machine import card_arguments
from sim.test.driver.driver_guest import FULL, HELD, boot
from sim.test.guest.guest_line import SHELL, GuestLine

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes

WARM_UP = 3  # rounds of a test after which the caches of the guest's kernel have their final size
# Growth that is not taken for a leak: 512 pages (2 MiB), and 1500 objects, since the kernel keeps
# slabs that are only half filled.
PAGES, OBJECTS = 512, 1500
SECONDS = 7200 if FULL else 120

# The shell function `counts` prints the kernel's free pages and the numbers of its objects.
COUNTS = """
counts() {
	sync; echo 3 >/proc/sys/vm/drop_caches; sleep 1
	awk '/^nr_(free_pages|slab_reclaimable|slab_unreclaimable) / {print}' /proc/vmstat
	awk '/^ +count:/ {pages += $2} END {print "pages_at_hand", pages}' /proc/zoneinfo
	awk '/^kmalloc|^eventpoll|^dma|^filp|^vm_area/ {print "slab", $1, $2}' /proc/slabinfo
}
"""

# OPENED, LOADED and REMOVED are the shell text of one round of a test. EJECTED has the commands of
# the only round in a guest.
OPENED = "stress cycle /dev/litepcie0 10 >/dev/null"
LOADED = """
	held 'echo 0000:01:00.0 >$driver/unbind'
	echo 0000:01:00.0 >$driver/bind
	rmmod litepcie; insmod /lib/modules/litepcie.ko
"""
REMOVED = """
	held 'ask remove' 'echo 1 >$card/remove'
	ask insert; echo 1 >/sys/bus/pci/rescan
"""
EJECTED = [
    HELD,
    "held 'ask eject' 'while [ -e $card ]; do sleep 0.05; done'",
    "rmmod litepcie; ! grep -q litepcie /proc/iomem",
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def rounds(some, all_of_them):
    """Return how many rounds a soak test has: `some`, or `all_of_them` with SOAK=full."""
    return all_of_them if FULL else some


def repeat(once, count, shell="", warm_up=WARM_UP):
    """Return the commands that run the shell text `once` `warm_up` times, then `count` times, and
    store the kernel's free pages and numbers of objects before and after the `count` runs."""
    return [
        shell + COUNTS + f"once() {{\n{once}\n}}",
        f"for i in $(seq {warm_up}); do once; done; counts >/out/before",
        f"for i in $(seq {count}); do once; [ $((i % {count // 10 or 1})) -ne 0 ] || "
        f"echo round $i of {count}; done; counts >/out/after",
        "stress cycle /dev/litepcie0 2",
    ]


def soak(board, once, count, shell="", **choices):
    """Run the shell text `once` `count` times in a guest. Fail if the kernel's memory has become
    less."""
    result = boot(board, repeat(once, count, shell), timeout=SECONDS, live=FULL, **choices)
    print(f"{count} rounds in {result.seconds:.0f} s")
    check_memory(result.files, count)


def check_memory(files, count):
    """Fail if the kernel has less free memory or more objects after `count` rounds than before,
    beyond the growth that is allowed."""
    before, after = (parse(files[name].decode()) for name in ("before", "after"))
    assert before.keys() == after.keys() and len(before) > 10
    grown = {name: after[name] - before[name] for name in before}
    # A processor's own list of freed pages may have as many pages as a whole ring. They are no
    # leak.
    lost = -grown["nr_free_pages"] - grown["pages_at_hand"]
    print(f"{lost} pages fewer are free")
    print("grown:", {name: number for name, number in grown.items() if number})
    assert lost < PAGES
    # If each round leaked one kernel object, there would be as many more objects as rounds.
    objects = {name: number for name, number in grown.items() if name.startswith("slab ")}
    assert not {k: v for k, v in objects.items() if v > OBJECTS + count / 2}


def parse(text):
    return {name: int(number) for name, number in re.findall(r"^(.*) (\d+)$", text, re.MULTILINE)}


def test_opening_and_closing(start_board):
    """Opening the driver's device, starting both directions of DMA, stopping them and closing the
    device again and again costs the guest's kernel no memory. In every other round only the closing
    stops DMA."""
    many = rounds(40, 10_000)
    with start_board() as board:
        soak(board, OPENED, many // 10)
        assert board.stats()["unmapped"] == 0


def test_loading_and_binding_under_traffic(start_board):
    """Unbinding the card while DMA runs and files are open, binding it again and reloading the
    module loses no memory."""
    with start_board() as board:
        soak(board, LOADED, rounds(8, 1000), HELD)
        assert board.stats()["unmapped"] == 0


def test_surprise_removals(start_board):
    """A card that vanishes while DMA runs, and comes back, costs the guest's kernel no memory."""
    many = rounds(6, 500)
    with start_board() as board:
        functions = {
            word: functools.partial(board.command, f"fault {word}") for word in ("remove", "insert")
        }
        with GuestLine(functions) as line:
            soak(board, REMOVED, many, SHELL + HELD, devices=line.devices)
            assert line.asked.count("remove") == many + WARM_UP
        assert board.stats()["unmapped"] == 0


def test_orderly_ejects(start_board):
    """The guest's slot ejects its card on request while DMA runs and files are open. The card
    interrupts by MSI.

    Each eject has its own guest, since QEMU 11.1.3 sometimes hangs when the card is put back.
    """
    for _ in range(rounds(1, 20)):
        with start_board() as board, GuestLine({}) as line:
            card = json.loads(card_arguments(board.socket)[-1])
            line.functions["eject"] = functools.partial(line.qmp, "device_del", id=card["id"])
            boot(board, [SHELL, *EJECTED], devices=line.devices)
            assert line.asked == ["eject"] and board.stats()["unmapped"] == 0
