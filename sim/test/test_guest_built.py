# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""On kernels of our own configuration: peer-to-peer DMA, and everything that finds mistakes.

Building one takes minutes: only with `make soak SOAK=full` (or SOAK=kernels, these tests alone in
full length).
"""

import pytest
from driver_guest import AWAY, CARD, HELD, STOPPED, boot, needs_kernels

from lanebox import layouts
from sim.guest import built, driver, qemu, run


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


P2PMEM = [
    "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
    "[ ! -e /dev/litepcie0 ]; dmesg | grep -q 'p2pmem=1 needs a kernel with PCI_P2PDMA'",
    "rmmod litepcie; insmod /lib/modules/litepcie.ko; stress cycle /dev/litepcie0 1",
]
# kmemleak looks twice: what is only young is no leak.
LEAKS = (
    "sleep 6; for n in 1 2; do echo scan >/sys/kernel/debug/kmemleak; sleep 1; done",
    "cat /sys/kernel/debug/kmemleak >/out/leaks; cat /sys/kernel/debug/dma-api/error_count "
    ">/out/errors",
)
# P of 100 allocations fail, for those who said so in /proc/self/make-it-fail.
STARVING = """
starving() (
	for kind in failslab fail_page_alloc; do
		cd /sys/kernel/debug/$kind
		echo Y >task-filter; echo N >ignore-gfp-wait; echo 0 >verbose; echo -1 >times
		[ ! -e min-order ] || echo 0 >min-order
		echo $1 >probability
	done
)
"""


def guest(name):
    """What a run on this kernel needs."""
    kernel = built.ensure(name)
    return run.Guest(qemu.ensure(), kernel, driver.ensure(kernel))


def boot_debug(board, commands, programs=("stress",)):
    """On the kernel that finds mistakes.

    With four levels of page tables: with five KASAN once reported the kernel's own start, where an
    interrupt had come within get_cpu_cap().
    """
    return boot(board, commands, guest=guest("debug"), programs=programs, memory=1024, timeout=900,
        append=("no5lvl",))


def disk(tmp_path):
    """QEMU's arguments for an NVMe disk of 4 MiB."""
    image = tmp_path / "disk"
    image.write_bytes(bytes(4 << 20))
    return ("-drive", f"file={image},if=none,id=disk,format=raw",
            "-device", "nvme,drive=disk,serial=1")  # fmt: skip


def test_a_kernel_is_named_after_its_configuration():
    """Two configurations are two kernels, and an unknown one ends in a sentence."""
    assert built.digest("p2p") != built.digest("debug")
    with pytest.raises(run.SetupError, match="kernel rt: there are p2p, debug"):
        built.ensure("rt")


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_a_disk_reads_and_writes_the_card_s_memory(start_board, tmp_path):
    """64 KiB from the disk into the card and back, with no copy in the host's memory.

    Only what is memory is offered, and what is not keeps away from it; the driver goes and comes.
    """
    offset, size = layouts.CARD_MEMORY_BASE, layouts.CARD_MEMORY_SIZE
    commands = [
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"cat {CARD}/p2pmem/available >/out/available",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
    ]
    # The kernel lets devices below different ports speak on processors that it knows: AMD's Zen.
    devices = (*disk(tmp_path), "-cpu", "max,family=23")
    with start_board() as board:
        result = boot(board, commands, guest=guest("p2p"), programs=["peer"], devices=devices)
    assert int(result.files["available"]) == size


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_sleep_stops_the_dma_and_the_card_goes_on(start_board):
    """Every device suspended to idle and resumed; Debian's kernels cannot try that in a guest."""
    commands = [
        STOPPED,
        "echo devices >/sys/power/pm_test",
        "stopped 'echo freeze >/sys/power/state'",
        "stress cycle /dev/litepcie0 4",
    ]
    with start_board() as board:
        boot(board, commands, guest=guest("p2p"))
        assert board.stats()["unmapped"] == 0


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_the_debug_kernel_finds_nothing(start_board):
    """KASAN, lockdep, list, object and DMA API debugging are silent, and kmemleak finds nothing.

    Not with O_DIRECT on a ring: one page mapped for two devices is more than DMA API debugging
    follows, and it says so ("overlapping mappings aren't supported").
    """
    commands = [
        HELD + "mount -t debugfs none /sys/kernel/debug",
        "stress cycle /dev/litepcie0 12; stress race /dev/litepcie0 10",
        "held 'echo 0000:01:00.0 >$driver/unbind'; echo 0000:01:00.0 >$driver/bind",
        "rings shapes /dev/litepcie0; rings event /dev/litepcie0; rings refuse /dev/litepcie0",
        "stress share /dev/litepcie0 60",
        f"( {AWAY} fuzz /dev/litepcie1 3000 1 8 9 >/dev/null )",
        "echo 0000:01:00.0 >$driver/unbind; echo 0000:01:00.0 >$driver/bind",
        "held 'echo 1 >$card/remove'; echo 1 >/sys/bus/pci/rescan",
        "stress cycle /dev/litepcie0 2; rmmod litepcie; insmod /lib/modules/litepcie.ko",
        *LEAKS,
    ]
    with start_board() as board:
        files = boot_debug(board, commands, ["stress", "rings", "fuzz"]).files
    assert files["leaks"] == b"" and files["errors"].strip() == b"0"


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_where_memory_is_refused_nothing_is_lost(start_board):
    """Calls that fail half-way, wherever that is, leave nothing, and then all is well.

    Not probing: the kernel's own parts warn when they undo what they were refused. DMA API
    debugging is one of those without memory, and gives up.
    """
    commands = [
        STARVING + "mount -t debugfs none /sys/kernel/debug",
        "starving 5; stress starve /dev/litepcie0 400 >/out/starved",
        "stress cycle /dev/litepcie0 4; rmmod litepcie",
        *LEAKS,
    ]
    with start_board() as board:
        files = boot_debug(board, commands).files
        assert board.stats()["unmapped"] == 0
    print(files["starved"].decode())
    assert files["leaks"] == b""


@pytest.mark.guest
@pytest.mark.soak
def test_debian_s_kernels_cannot_offer_it(start_board):
    """The parameter ends in its own sentence, and the card works without it."""
    with start_board() as board:
        boot(board, P2PMEM)
