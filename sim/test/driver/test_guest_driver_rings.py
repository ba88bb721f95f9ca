# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What the driver has in addition to LitePCIe's ABI: rings of any shape that consist of pages, an
index page, and mapped BARs.

The index page is memory that driver and program share. It has the counts of both, so that the
program makes no system call while data flows.
"""

import re

import pytest

from gateware import numbers
from sim.guest import run
from sim.test.board.board_builds import build_executable
from sim.test.driver.driver_guest import CARD, DEBUGFS, boot, importer, kernels

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes

# Rings do not wait for software. So the board is slowed down to this many cycles a second, and
# software keeps up.
PACE = ("--pace", "400000")
SHAPES = [
    f"rings {part} /dev/litepcie0 >>/out/rings" for part in ("refuse", "event", "index", "shapes")
]
READ = "rings read /dev/litepcie0 {} >/out/rings"
DISK = [
    "pinned splice /dev/litepcie0",
    "pinned uring /dev/litepcie0 /dev/nvme0n1 || { old=$?; uname -r | grep '^6.1[.]'; "
    "[ $old -eq 3 ]; }",
    "rings direct /dev/litepcie0 /dev/nvme0n1",
]
REGISTERS = [
    f"chmod 1777 /tmp; {DEBUGFS}",
    "rings bar /dev/litepcie0 /tmp/mapped & user=$!",
    "while [ ! -e /tmp/mapped ]; do sleep 0.05; done",
    "cp /sys/kernel/debug/x86/pat_memtype_list /out/pat",
    f"head -n 1 {CARD}/resource >/out/bar0",
    f"sleep 0.2; echo 1 >{CARD}/remove; wait $user",
]
CARD_MEMORY = [
    DEBUGFS,
    f"rings memory /dev/litepcie0 {numbers.CARD_MEMORY_BASE:#x} >/out/memory & user=$!",
    "while [ ! -s /out/memory ]; do kill -0 $user; sleep 0.05; done",
    "cp /sys/kernel/debug/x86/pat_memtype_list /out/pat",
    f"sed -n 3p {CARD}/resource >/out/bar2; kill $user",
]
EXPORT = [
    "insmod /root/litepcie_importer.ko",
    "rings export /dev/litepcie0 /dev/litepcie_importer >/out/sum",
    "cat /dev/litepcie_importer >>/out/sum",
    f"echo 1 >{CARD}/remove",
    "cat /dev/litepcie_importer >>/out/sum",
    "! rmmod litepcie 2>/dev/null; rmmod litepcie_importer; rmmod litepcie",
]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_rings_have_the_shape_that_was_asked_for(start_board, kernel):
    """Rings of six shapes have every word right. Index page, eventfd and poll() agree about the
    progress.

    The program `rings index` makes no system call while data flows. Impossible arguments are
    refused, each kind with its own error.
    """
    with start_board(*PACE) as board:
        check_compared(boot(board, SHAPES, kernel, ["rings"]).files, 7)


def check_compared(files, times):
    """Fail unless the program `rings` reported `times` times that it compared buffers, each time
    more than none."""
    text = files["rings"].decode()
    compared = [int(number) for number in re.findall(r"(\d+) buffers compared", text)]
    print(text)
    assert len(compared) == times and all(compared)


@pytest.mark.parametrize("kernel", kernels())
def test_read_gives_what_the_card_has_written(start_board, kernel):
    """read() returns every word of 400 buffers, and as many buffers as the card has counted.

    A buffer has other data in each turn of the ring, so that a buffer that is returned too early is
    noticed.
    """
    with start_board(*PACE) as board:
        files = boot(board, [READ.format(400)], kernel, ["rings"]).files
        check_compared(files, 1)


@pytest.mark.parametrize("kernel", kernels())
def test_a_ring_goes_to_a_disk_and_back_without_a_copy(start_board, tmp_path, kernel):
    """O_DIRECT moves data between both rings and an NVMe disk, and the disk then has the ring's
    bytes.

    io_uring's fixed buffers and vmsplice() of the ring into a pipe work, too. Both need pages that
    can be pinned.
    """
    disk = tmp_path / "disk"
    with start_board(*PACE) as board:
        boot(board, DISK, kernel, ["rings", "pinned"], devices=nvme(disk))
    check_disk(disk)


def nvme(disk):
    """Make an empty disk of 4 MiB in the file `disk`. Returns QEMU's arguments for an NVMe disk
    that is stored there."""
    disk.write_bytes(bytes(4 << 20))
    return (
        "-drive",
        f"file={disk},if=none,id=disk,format=raw",
        "-device",
        "nvme,drive=disk,serial=1",
    )


def check_disk(disk):
    """Fail unless the file behind the guest's disk has the words that were in the DMA ring."""
    words = memoryview(disk.read_bytes()[: 2 << 20]).cast("I")
    assert all(words[i] == i * 2654435761 % 2**32 for i in range(0, len(words), 97))


def test_registers_are_mapped_uncached_and_taken_away(start_board):
    """A program's mapping of registers is uncached and keeps to its bounds and rights. After the
    card was removed, an access to the mapping raises SIGBUS instead of giving all ones."""
    with start_board() as board:
        files = boot(board, REGISTERS, programs=["rings"]).files
    assert memory_types(files, "bar0") == {"uncached-minus"}


def memory_types(files, bar):
    """Return the set of memory types with which the kernel has mapped the BAR `bar`, from the files
    that the guest left."""
    start = int(files[bar].split()[0], 16)
    types = re.findall(r"PAT: \[mem 0x0*([0-9a-f]+)-\S+ (\S+)", files["pat"].decode())
    return {kind for address, kind in types if int(address, 16) == start}


def test_card_memory_is_mapped_write_combining(start_board):
    """The card's memory in BAR2 is mapped write-combining. 4 KiB that a program writes there read
    back."""
    board = start_board("--bar2", numbers.BAR2_SIZE, program=build_executable("lanebox"))
    with board:
        files = boot(board, CARD_MEMORY, programs=["rings"]).files
    check_card_memory(files)


def check_card_memory(files):
    assert files["memory"] == b"memory: 4096 bytes\n"
    assert memory_types(files, "bar2") == {"write-combining"}


@pytest.mark.parametrize("kernel", kernels())
def test_another_device_reads_the_ring_in_place(start_board, kernel):
    """Another driver reads the ring as a dma-buf without a copy, also after the file was closed and
    the card removed."""
    with start_board() as board:
        files = [(importer(kernel), "root/litepcie_importer.ko")]
        check_sums(boot(board, EXPORT, kernel, ["rings"], files).files)


def check_sums(files):
    """Fail unless the second driver in the guest, which imports the ring as a dma-buf, read the
    ring's words both before and after the card was removed."""
    first, *later = files["sum"].decode().splitlines()
    wanted = re.search(r"2097152 bytes, sum (\d+)", first).group(1)
    assert later == [f"{wanted} {wanted}"] * 2
