# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""What a member of the card's group may do with the card, and that a member cannot harm others.

Some guests have the driver as it is. One has a driver that is built with faults
(software/kernel/test/faults).
"""

import re
import subprocess

import pytest

from gateware import numbers
from gateware.observe.capability import BLOCK_TYPES
from gateware.test.observe.capability_table import table_of
from sim import artefacts
from sim.guest import driver, run
from sim.guest import kernel as guest_kernel
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.driver.driver_guest import CARD, FAULTS, boot, faulty_guest, program

MEMBER = "chown 0:1000 /dev/litepcie0; chmod 660 /dev/litepcie0"
PAGE = 4096

# Registers that a member of the device node's group may write, besides memories. The driver refuses
# its writes to all others.
REGISTERS = ("ctrl_scratch", "pcie_counters_control", "pattern_control")
# Types of block in the capability table that a member of the group may access as a whole.
WHOLE = {"memory", "user", "user_window"}
# Types that the test writes, one after the other, into the capability table's block of a memory.
# The block lacks the parameters that a type with registers needs, so that the driver allows no
# register of it.
PLANTED = [*BLOCK_TYPES, "unknown"]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def ranges(text, what):
    """Return [(start, end), ...] of the places in a BAR that the program `member` printed in `text`
    as allowed for the kind of access `what`."""
    words = [line.split() for line in text.splitlines()]
    return [(int(start, 16), int(end, 16)) for name, start, end in words if name == what]


def merged(places):
    """Return the (start, end) pairs of `places`, which are offsets in BAR0, sorted and with
    adjacent pairs joined."""
    found = []
    for start, end in sorted(places):
        if found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    return found


def memories(size=numbers.MEMORY_SIZE, bases=numbers.MEMORY_BASES):
    return [(base, base + size) for base in bases]


def registers(msix=False):
    """Return [(start, end), ...] of the registers, by offset in BAR0, that a member of the group
    may write one by one."""
    csr = register_map(msix=msix)["csr_registers"]
    return [(csr[name]["addr"], csr[name]["addr"] + 4) for name in REGISTERS]


def memory_block():
    """Return the index of the first memory's block in the capability table of the default
    gateware."""
    place = (BLOCK_TYPES["memory"].number, 0, numbers.MEMORY_BASES[0])
    blocks = [(entry.kind, entry.bar, entry.offset) for entry in table_of(build_gateware())[1]]
    return blocks.index(place)


CARD_MEMORY = (
    numbers.CARD_MEMORY_BASE,
    numbers.CARD_MEMORY_BASE + numbers.CARD_MEMORY_SIZE,
)


def start_with_memory(start_board, **choices):
    return start_board("--pace", "400000", "--bar2", numbers.BAR2_SIZE, **choices)


@pytest.mark.guest
def test_a_member_of_the_group_keeps_to_what_is_its_own(start_board):
    """Of all registers and pages of the card, a member of its group can write only to REGISTERS and
    memories.

    If a member opens the device while another file has a running stream, it sees and changes
    nothing of the stream. Memory of rings is limited and charged, whatever keeps it. 32-bit
    programs get the same answers.
    """
    # The part `leftovers` of the program must run before any open file has set up a ring.
    parts = ("registers", "pages", "leftovers", "beside", "charge", "compat")
    commands = [MEMBER, "ulimit -n 1000"]
    commands += [f"member {part} /dev/litepcie0 >/out/{part}" for part in parts]
    commands += ["member charge /dev/litepcie0; cat /proc/interrupts >/out/interrupts"]
    with start_with_memory(start_board, program=build_executable("lanebox")) as board:
        files = boot(board, commands, programs=["member"], timeout=240).files
        assert board.stats()["unmapped"] == 0
    assert ranges(files["registers"].decode(), "ioctl") == merged(registers() + memories())
    pages = files["pages"].decode()
    assert ranges(pages, "bar0") == memories()
    assert ranges(pages, "bar2") == [CARD_MEMORY]
    for part in parts[2:]:
        assert files[part].decode() == f"{part}: ok\n"
    assert re.search(r" litepcie0$", files["interrupts"].decode(), re.MULTILINE)


@pytest.mark.guest
def test_a_member_of_the_group_has_the_tools(start_board, gateware):
    """Our tools and LitePCIe's work for a member of the card's group, also with a small limit on
    locked memory."""
    tools = [
        (artefacts.utility(gateware / "include", static=True), "bin/litepcie_util"),
        (artefacts.stock_utility(gateware / "include"), "bin/stock"),
    ]
    commands = [MEMBER, "ulimit -l 64"]
    commands += [
        f"member as litepcie_util {command} >/out/{command.split()[0]}"
        for command in (
            "info",
            "scratch_test",
            "peek ctrl_scratch",
            "dma_bench --size 4M",
            "dma_test --direction loopback --size 2M",
            "mmio_bench --all --count 16",
        )
    ]
    commands += [
        "member as stock scratch_test >/out/stock_scratch",
        "member as stock -z -t 2 dma_test >/out/stock_dma || true",
    ]
    # The pace is slow, since LitePCIe's tool never waits for software, and a guest may not be
    # scheduled for a second.
    with start_board("--pace", "50000") as board:
        files = boot(board, commands, programs=["member"], files=tools, timeout=240).files
    # litepcie_util maps the card's memory in BAR2 and accesses it by loads and stores.
    for way in (rb"read_mapped/8", rb"write_mapped/8"):
        assert re.search(rb"^  " + way + rb" +[\d.]+ +[\d.]+ ", files["mmio_bench"], re.M), way
    assert b"0 wrong c2h buffers, 0 wrong h2c beats" in files["dma_test"]
    assert b"Read: 0xdeadbeef" in files["stock_scratch"]
    # In the last row of the table of LitePCIe's dma_test, buffers were received without errors.
    row = [line.split() for line in files["stock_dma"].decode().splitlines() if "." in line][-1]
    assert int(row[2]) > 32 and int(row[4]) == 0, row


@pytest.mark.guest
def test_types_of_block_that_are_not_in_the_list_are_refused(start_board):
    """A member can access a block of the capability table, by ioctl and by mapping, only if the
    block's type is in WHOLE and its version is 1.

    The driver that is built with faults shows two more things. If a direction of DMA does not stop,
    the driver switches bus mastering off. A card in recovery cannot be opened before the whole bus
    has recovered.
    """
    commands = [MEMBER, f"p={FAULTS}"]
    first, _ = memories()
    block = memory_block()

    def planted(kind, version, name):
        return [
            f"echo {block} {kind} {version} >$p/plant",
            f"member part /dev/litepcie0 {first[0]} {first[1]} >/out/{name}",
        ]

    for name in PLANTED:
        kind = BLOCK_TYPES[name].number if name in BLOCK_TYPES else 999
        commands += planted(kind, 1, name)
    for version in (0, 2):
        commands += planted(BLOCK_TYPES["memory"].number, version, f"version{version}")
    commands += [
        *planted(BLOCK_TYPES["memory"].number, 1, "restored"),
        f"member stuck /dev/litepcie0 $p/stuck {CARD}/config >/out/stuck",
        "dmesg | grep -q 'c2h does not stop .*bus mastering is off'",
        "echo reset >$p/fatal; ! member compat /dev/litepcie0 2>/out/reset",
        "echo resume >$p/fatal; member compat /dev/litepcie0 >/out/resumed",
    ]
    with start_with_memory(start_board, program=build_executable("lanebox")) as board:
        files = boot(
            board,
            commands,
            programs=["member"],
            guest=faulty_guest(),
            timeout=240,
        ).files
        assert board.stats()["unmapped"] == 0
    for name in (*PLANTED, "version0", "version2", "restored"):
        text = files[name].decode()
        wanted = [first] if name in WHOLE or name == "restored" else []
        assert ranges(text, "ioctl") == ranges(text, "bar0") == wanted, (name, text)
    assert files["stuck"] == b"stuck: ok\n" and files["resumed"] == b"compat: ok\n"
    assert b"Input/output error" in files["reset"]


@pytest.mark.guest
@pytest.mark.soak
def test_the_table_of_msix_is_nobodys(start_msix):
    """A member cannot access the card's MSI-X table, since a changed address there would let the
    card write anywhere. In /proc/interrupts the interrupts of h2c and c2h have their own names."""
    commands = [MEMBER]
    commands += [f"member {part} /dev/litepcie0 >/out/{part}" for part in ("registers", "pages")]
    commands += ["member charge /dev/litepcie0", "cat /proc/interrupts >/out/interrupts"]
    with start_msix("--bar2", numbers.BAR2_SIZE) as board:
        files = boot(board, commands, programs=["member"]).files
    found = ranges(files["registers"].decode(), "ioctl")
    assert found == merged(registers(msix=True) + memories())
    assert ranges(files["pages"].decode(), "bar0") == memories()
    names = re.findall(r"(\S+)$", files["interrupts"].decode(), re.MULTILINE)
    assert {"litepcie0-h2c", "litepcie0-c2h"} <= set(names)


def test_no_place_of_an_interrupt_breaks_the_timer():
    """An interrupt or a stop at any point of the driver's timer callback causes no warning and
    loses no event. The program `timer` tests this code in user space."""
    done = subprocess.run([program("timer")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "timer: ok\n"


def test_counts_go_on_behind_their_wrap():
    """The driver's counts stay right when the card's counters wrap around, in LitePCIe's loop and
    in held runs. The program `progress` tests this code in user space.

    Each buffer is announced after its data, together with its end. Interrupts are raised where they
    were asked for, and no buffer is given to the card twice.
    """
    done = subprocess.run([program("progress")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "progress: ok\n"


def test_each_call_reaches_its_function_with_the_card_entered():
    """Each ioctl() number reaches its function, and one that accesses registers only while the card
    cannot go. The program `ioctl` tests this code in user space.

    No argument is copied meanwhile, since a page fault may take long. A number with another size is
    refused, and a 32-bit program's numbers reach the same functions.
    """
    done = subprocess.run([program("ioctl")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ioctl: ok\n"


def test_a_channel_has_its_own_blocks():
    """The driver finds the blocks of a DMA channel by the channel's index, in any order of the
    capability table. The program `capability` tests this code in user space."""
    done = subprocess.run([program("capability")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "capability: ok\n"


# {function of the driver: how many indices that a user gives it must clamp with
# array_index_nospec()}
INDEXED = {
    "litepcie_setup_ring": 1,
    "litepcie_setup_memory": 1,
    "litepcie_setup_packets": 1,
    "litepcie_setup_info": 1,
    "litepcie_setup_event": 1,
    "litepcie_held_advance": 1,
    "litepcie_bar_info": 1,
    "bar_fault": 1,
    "ioctl_advance": 1,
    "ioctl_counts": 1,
    # the number of the call, which is the index of the table of calls
    "litepcie_ioctl": 1,
}


@pytest.mark.guest
def test_indices_of_users_are_clamped():
    """The driver clamps each index that a user gives with array_index_nospec(), so that speculation
    cannot go out of bounds. In x86 code each clamp is a `sbb` of a register with itself."""
    module = driver.ensure(guest_kernel.ensure())
    done = subprocess.run(["objdump", "-d", module], capture_output=True, text=True, check=True)
    functions = dict(re.findall(r"^[0-9a-f]+ <(\w+)>:\n(.*?)(?=^$|\Z)", done.stdout, re.M | re.S))
    for name, count in INDEXED.items():
        assert len(re.findall(r"\bsbb\s+%(\w+),%\1\b", functions[name])) >= count, name
