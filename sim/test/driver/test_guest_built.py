# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The driver on kernels of our own configuration: one has peer-to-peer DMA, the others have debug
options that find mistakes.

The build of such a kernel takes minutes. So the tests that need one run only in `make soak` with
SOAK=full or SOAK=kernels.
"""

import re

import pytest
import test_guest_driver_held as held

from gateware import numbers
from sim.guest import built, driver, qemu, run
from sim.test.board.board_builds import build_executable, register_map
from sim.test.driver.driver_guest import (
    AWAY,
    CARD,
    HELD,
    PINNED,
    STOPPED,
    TWO_CPUS,
    boot,
    check_text,
    needs_kernels,
    program,
)
from sim.test.driver.test_guest_driver_capture import NODE, NONE_PINNED
from sim.test.driver.test_guest_driver_queues import QUEUES
from tools.testing.seeds import SHIFT


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


# Commands for a guest whose kernel has no peer-to-peer DMA. The driver must refuse p2pmem=1.
P2PMEM = [
    "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
    "[ ! -e /dev/litepcie0 ]; dmesg | grep -q 'p2pmem=1 needs a kernel with PCI_P2PDMA'",
    "rmmod litepcie; insmod /lib/modules/litepcie.ko; stress cycle /dev/litepcie0 1",
]
# Commands that store kmemleak's report. It scans twice, since it may report an object in its first
# scan only because the object is young.
LEAKS = (
    "sleep 6; for n in 1 2; do echo scan >/sys/kernel/debug/kmemleak; sleep 1; done",
    "cat /sys/kernel/debug/kmemleak >/out/leaks; cat /sys/kernel/debug/dma-api/error_count "
    ">/out/errors",
)
# The shell function `starving P` makes P of 100 kernel allocations fail, in processes that have 1
# in /proc/self/make-it-fail.
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
    """Return a guest with the kernel of the configuration `name`, and with the driver that is built
    for it."""
    kernel = built.ensure(name)
    return run.Guest(qemu.ensure(), kernel, driver.ensure(kernel))


def boot_debug(board, commands, programs=("stress",)):
    """Run commands in a guest whose kernel has all debug options; returns the result.

    The kernel uses four levels of page tables. With five, KASAN once reported the kernel's own
    start, where an interrupt had come within get_cpu_cap().
    """
    return boot(
        board,
        commands,
        guest=guest("debug"),
        programs=programs,
        memory=1024,
        timeout=900,
        append=("no5lvl",),
    )


def disk(tmp_path):
    """Make an empty disk of 4 MiB in a file. Returns QEMU's arguments for an NVMe disk that is
    stored there."""
    image = tmp_path / "disk"
    image.write_bytes(bytes(4 << 20))
    return (
        "-drive",
        f"file={image},if=none,id=disk,format=raw",
        "-device",
        "nvme,drive=disk,serial=1",
    )


def test_a_kernel_is_named_after_its_configuration():
    """Each kernel configuration gives a kernel with its own name. An unknown configuration is
    refused with a list of the known ones."""
    assert built.digest("p2p") != built.digest("debug")
    with pytest.raises(run.SetupError, match="kernel rt: there are p2p, debug, races"):
        built.ensure("rt")


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_a_disk_reads_and_writes_the_card_s_memory(start_board, tmp_path):
    """By peer-to-peer DMA an NVMe disk reads and writes 64 KiB of the card's memory, without a copy
    in host memory.

    With p2pmem=1 the driver offers only the card's memory in BAR2 to other devices. Afterwards it
    can be unloaded and loaded again.
    """
    offset, size = numbers.CARD_MEMORY_BASE, numbers.CARD_MEMORY_SIZE
    commands = [
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"cat {CARD}/p2pmem/available >/out/available",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
    ]
    # Between different root ports the kernel allows peer-to-peer DMA only on processors that it
    # knows, such as AMD's Zen (family 23).
    devices = (*disk(tmp_path), "-cpu", "max,family=23")
    with start_board() as board:
        result = boot(board, commands, guest=guest("p2p"), programs=["peer"], devices=devices)
    assert int(result.files["available"]) == size


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_sleep_stops_the_dma_and_the_card_goes_on(start_board):
    """A suspend to idle stops DMA, and the card works afterwards. The test needs a kernel of our
    own, since Debian's kernels cannot be suspended in a guest."""
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
    """On a kernel with KASAN, lockdep, and debugging of lists, objects and the DMA API, the
    driver's tests cause no report. kmemleak finds nothing.

    O_DIRECT on a ring is left out. One page is then mapped for two devices, which DMA API debugging
    reports ("overlapping mappings aren't supported").
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
def test_held_runs_and_packets_find_nothing_there(start_board):
    """The kernel with debug options reports nothing in held runs, in packets, in a reset, and while
    cat sends a megabyte through the card."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    commands = [
        "mount -t debugfs none /sys/kernel/debug",
        *held.held(600, 60, seed),
        # `packets ended` is left out: it needs userfaultfd, which the debug kernel lacks.
        *[line for line in held.packets(200, seed) if "ended" not in line],
        *held.poured(1 << 20),
        *held.RESET,
        *LEAKS,
    ]
    with start_board() as board:
        files = boot_debug(board, commands, ["held", "packets", "words"]).files
    assert files["packets"].decode().count("packets compared") == 2
    assert files["poured"] == b"1048576 bytes right\n"
    assert "reset: ok" in files["held"].decode() and "sync: ok" in files["held"].decode()
    assert files["leaks"] == b"" and files["errors"].strip() == b"0"


def races(log):
    """Return (KCSAN's reports in the kernel log that name the driver, the kernel log without any
    report of KCSAN)."""
    parts = re.split(r"^.*={40,}\n", log, flags=re.MULTILINE)
    reports = [part for part in parts if "BUG: KCSAN" in part]
    rest = "".join(part for part in parts if part not in reports)
    return [part for part in reports if "litepcie" in part], rest


def boot_races(board, commands, programs):
    """Run commands in a guest with KCSAN and two processors; returns the result. A data race of
    the driver, any other complaint of the kernel, and a command that fails are errors.

    KCSAN watches one access in eight here, where its default is one in thousands. At this rate it
    found a race that had been planted in the driver in each run. Reports that name no function of
    the driver do not count.
    """
    result = run.run_guest(
        board.socket,
        ["[ $(grep -c ^processor /proc/cpuinfo) -eq 2 ]", *commands],
        [(program(name), f"bin/{name}") for name in programs],
        guest=guest("races"),
        memory=1024,
        timeout=1800,
        devices=TWO_CPUS,
        append=("kcsan.skip_watch=8", "kcsan.udelay_task=400"),
    )
    log = result.files["dmesg"].decode()
    ours, rest = races(log)
    assert not ours, "\n".join(ours)[:8000]
    assert "kcsan: enabled" in log
    check_text(rest)
    assert result.rc == 0, result.console[-3000:]
    return result


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_two_processors_race_nowhere(start_board):
    """KCSAN reports no data race of the driver while streams, held runs and packets run on two
    processors."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    commands = [
        "stress race /dev/litepcie0 120; stress share /dev/litepcie0 200",
        "stress cycle /dev/litepcie0 12",
        *held.held(600, 60, seed),
        # `packets ended` is left out: it needs userfaultfd, which this kernel lacks.
        *[line for line in held.packets(200, seed) if "ended" not in line],
        *held.poured(1 << 20),
        "rings shapes /dev/litepcie0; rings event /dev/litepcie0",
    ]
    programs = ("stress", "rings", "held", "packets", "words")
    with start_board() as board:
        result = boot_races(board, commands, programs)
    assert result.files["packets"].decode().count("packets compared") == 2
    assert result.files["poured"] == b"1048576 bytes right\n"


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_captures_race_nowhere(boards_of):
    """KCSAN reports no data race of the driver while threads of one program use all queues of a
    capture at the same time, and while two programs make random calls of the node."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    commands = [
        PINNED,
        f"queues race {NODE} 3 {seed} >/out/queues; queues woken {NODE} >>/out/queues",
        f"capture storm {NODE} 2000 {seed} >/out/one & one=$!",
        f"capture storm {NODE} 2000 {seed + 1} >/out/two; wait $one",
        f"capture own {NODE}; capture reading {NODE}; {NONE_PINNED}",
    ]
    options = {"capture": QUEUES}
    starter = boards_of(build_executable(**options), register_map(**options))
    with starter() as board:
        result = boot_races(board, commands, ("queues", "capture"))
    assert result.files["queues"] == b"race: ok\nwoken: ok\n"


def test_a_race_in_the_driver_is_told_from_the_kernel_s():
    """races() returns a report of KCSAN that names the driver, and leaves out one of the kernel
    alone."""
    line = "[    1.0] " + "=" * 66 + "\n"
    text = "".join(
        f"{line}[    1.0] BUG: KCSAN: data-race in {where}\n{line}[    2.0] {text}\n"
        for where, text in (
            ("mutex_lock / mutex_unlock", "one"),
            ("count [litepcie] / finish [litepcie]", "two"),
        )
    )
    ours, rest = races(text)
    assert len(ours) == 1 and "finish [litepcie]" in ours[0]
    assert rest == "[    2.0] one\n[    2.0] two\n"


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_where_memory_is_refused_nothing_is_lost(start_board):
    """If 5 % of the kernel's allocations fail, driver calls that fail half-way lose no memory. The
    card works afterwards.

    The probe of the card is left out, because the kernel's own code warns when it undoes a probe.
    DMA API debugging runs out of memory itself in this test, and stops.
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
    """On Debian's kernels the driver refuses the parameter p2pmem=1 with a sentence. Without the
    parameter the card works."""
    with start_board() as board:
        boot(board, P2PMEM)
