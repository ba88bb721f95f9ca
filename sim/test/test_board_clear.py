# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`clear` sets every counter to zero: the endpoint's all of them, the bridge's those of the bridge.

The names are those that the gateware makes registers of. Each must be made to count by a round
here, or stand among those that a test of the SpinalHDL sources makes count.
"""

import pytest
from board_client import H2C_CHECK, HIGH_MEMORY, slices, wait_until
from vfio_client import BAR0

from lanebox import layouts
from lanebox.mmio import bridge
from lanebox.pcie import lanebox

ENDPOINT, BRIDGE = "pcie_endpoint", "mmio"
NAMES = {
    f"{bank}_{name}"
    for bank, table in (
        (f"{ENDPOINT}_host", lanebox.COMPLETER_COUNTERS),
        (f"{ENDPOINT}_device", lanebox.REQUESTER_COUNTERS),
        (f"{ENDPOINT}_read", lanebox.RETURN_COUNTERS),
        (BRIDGE, {**bridge.COUNTERS, **bridge.LATER_COUNTERS}),
    )
    for name in table
}
# The host's own accesses: reading any register counts.
READING = {f"{BRIDGE}_{name}" for name in ("reads", "writes", "completions")}

# The board's hard block cuts no TLP short, never has 31 writes that wait for the link, keeps RC's
# beats apart enough; no bus of the card fails.
# Whatever counts in these suites is cleared there, by a list that the component itself has. The
# back pressure of RC counts nowhere, since RC is never held off.
IN_SPINAL = {
    "pcie_endpoint_host_discontinued": "CompleterTest",
    "pcie_endpoint_device_number_waits": "RequesterTest",
    "pcie_endpoint_read_cut": "ReturnErrorTest",
    "pcie_endpoint_read_back_pressure": "ReturnErrorTest",
    "mmio_unsupported": "MmioErrorTest",
    "mmio_aborted": "MmioErrorTest",
    "mmio_timeouts": "MmioErrorTest",
    "mmio_writes_failed": "MmioErrorTest",
}

HOLE = 0x1C000  # of BAR0: nothing is there
TOTAL = 128 * 1024
CLEAR_BIT = {ENDPOINT: 1 << 0, BRIDGE: 1 << 1}


def run_h2c(card):
    """Everything once over the link; what becomes of the data does not matter."""
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192), "none")
    card.start("h2c")


def host_requests(board, card):
    """What the card refuses: nothing there, read only, half a register, a hole in the enables."""
    card.mmio_read(HOLE)
    card.mmio_write(HOLE, 0)
    card.mmio_write(layouts.CAPABILITY_BASE, 0)
    card.mmio_write(card.address("ctrl_scratch"), 0, 1)
    card.read("ctrl_scratch")  # the writes are done: the fault is not for one of them
    board.command("fault wrong-be")
    card.client.write(BAR0, layouts.MEMORY_BASES[0], bytes(16))


def failed_reads(board, card):
    """Reads with every fault that the host can make; some are answered after their timeout."""
    for n, fault in enumerate(
        ("ur", "ca", "poison", "byte-count", "unexpected", "duplicate", "drop-completion")
    ):
        board.command(f"fault {fault}:{1 + 4 * n}")
    card.give_up_reads(4096)
    run_h2c(card)


def slow_link(board, card):
    """Reads wait for a tag."""
    run_h2c(card)


# By what makes them count: the board's options, how, and the names.
ROUNDS = {
    "the host's requests": ((), host_requests, {
        "pcie_endpoint_host_unsupported", "pcie_endpoint_host_dropped",
        "pcie_endpoint_host_malformed", "mmio_writes_dropped", "mmio_writes_refused", *READING,
    }),
    "reads that fail": (("--read-latency", "uniform:1000:20000"), failed_reads, {
        f"pcie_endpoint_read_{name}"
        for name in ("unsupported", "aborted", "poisoned", "timeouts", "malformed", "unexpected",
                     "late", "duplicates")
    }),
    "a slow link": (("--link-width", "1"), slow_link, {
        "pcie_endpoint_device_claim_waits",
    }),
}  # fmt: skip


def test_every_counter_has_a_round():
    """A new counter must be made to count, here or in its component's own suite."""
    here = [names for _, _, names in ROUNDS.values()]
    assert set().union(*here, IN_SPINAL) == NAMES
    assert sum(map(len, here)) + len(IN_SPINAL) == len(NAMES)


def clear(card, bank):
    """Only that: the other fields of the register keep what they have."""
    name = f"{bank}_control"
    card.write(name, card.read(name) | CLEAR_BIT[bank])


def counts(card):
    return {name: card.read(name) for name in sorted(NAMES)}


def uncounted(card, names):
    missing = {name for name in names if not card.read(name)}
    print(f"not yet counted: {sorted(missing)}")
    return missing


def still(card, names, seen):
    """The number of accesses is small: that of those that were made to read the registers."""
    return {name for name in names
            if (seen[name] > 2 * len(NAMES) if name in READING else seen[name])}  # fmt: skip


@pytest.mark.parametrize("bank", [ENDPOINT, BRIDGE])
@pytest.mark.parametrize("name", ROUNDS)
def test_clear_sets_every_counter_to_zero(start_board, name, bank):
    """Each counter of the round has counted; after the endpoint's clear, or the bridge's own for
    the bridge, it is zero. The bridge's clear leaves the endpoint's counters alone."""
    options, provoke, names = ROUNDS[name]
    # All tags together fit the completion space: its rule counts a lost read for ever.
    with start_board(*options, "--rcb", 128) as board:
        card = board.card(mps=128, mrrs=128)
        card.memory(HIGH_MEMORY, TOTAL)
        for _ in range(3 * len(NAMES)):
            card.read("ctrl_scratch")  # more than are made to look at the counters
        provoke(board, card)

        wait_until(lambda: not uncounted(card, names), f"counts of {name}", seconds=20)
        card.stop()
        wait_until(lambda: card.read("pcie_dma0_reader_enable") & 2, "the end of all reads")
        before = counts(card)
        clear(card, bank)
        after = counts(card)
    print(f"before {before}, after {after}")
    zero = {each for each in NAMES if each.startswith(bank) or bank == ENDPOINT}
    assert still(card, zero, after) == set()
    assert {each for each in NAMES - zero if after[each] < before[each]} == set()
