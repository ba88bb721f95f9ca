# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`clear` sets every counter to zero: the endpoint's bit clears all, the bridge's bit its own.

The names come from the tables from which the gateware makes its registers. Each counter must be
made to count by a round here, or be cleared by a SpinalHDL test in IN_SPINAL.
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
# The host's own accesses to read the counters make these count.
READING = {f"{BRIDGE}_{name}" for name in ("reads", "writes", "completions")}

# Counters that nothing makes count on the board. Its hard block cuts no TLP short, never has 31
# writes waiting for the link, and keeps RC's beats apart. No bus of the card fails. RC is never
# held off, so its back pressure counts nowhere. The named suite clears each counter by a list that
# the component itself has.
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

HOLE = 0x1C000  # offset in BAR0 at which nothing answers
TOTAL = 128 * 1024
CLEAR_BIT = {ENDPOINT: 1 << 0, BRIDGE: 1 << 1}


def run_h2c(card):
    """Start an h2c run over TOTAL bytes; what becomes of the data does not matter."""
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192), "none")
    card.start("h2c")


def host_requests(board, card):
    """Requests that the card refuses: no target, read only, half a register, a hole in enables."""
    card.mmio_read(HOLE)
    card.mmio_write(HOLE, 0)
    card.mmio_write(layouts.CAPABILITY_BASE, 0)
    card.mmio_write(card.address("ctrl_scratch"), 0, 1)
    card.read("ctrl_scratch")  # all writes are done now, so the fault cannot hit one of them
    board.command("fault wrong-be")
    card.client.write(BAR0, layouts.MEMORY_BASES[0], bytes(16))


def failed_reads(board, card):
    """Reads with every fault that the host can make; some answers come after their timeout."""
    for n, fault in enumerate(
        ("ur", "ca", "poison", "byte-count", "unexpected", "duplicate", "drop-completion")
    ):
        board.command(f"fault {fault}:{1 + 4 * n}")
    card.give_up_reads(4096)
    run_h2c(card)


def slow_link(board, card):
    """An h2c run on a slow link, where reads wait for a tag."""
    run_h2c(card)


# By what makes them count: (the board's options, the function, the counters' names).
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
    """Every counter of NAMES is in exactly one round, or in IN_SPINAL."""
    here = [names for _, _, names in ROUNDS.values()]
    assert set().union(*here, IN_SPINAL) == NAMES
    assert sum(map(len, here)) + len(IN_SPINAL) == len(NAMES)


def clear(card, bank):
    """Set the clear bit; the other fields of the register keep their values."""
    name = f"{bank}_control"
    card.write(name, card.read(name) | CLEAR_BIT[bank])


def counts(card):
    return {name: card.read(name) for name in sorted(NAMES)}


def uncounted(card, names):
    missing = {name for name in names if not card.read(name)}
    print(f"not yet counted: {sorted(missing)}")
    return missing


def still(card, names, seen):
    """The counters that were not cleared. Those in READING count this look at the registers, too:
    at most two accesses for each counter."""
    return {name for name in names
            if (seen[name] > 2 * len(NAMES) if name in READING else seen[name])}  # fmt: skip


@pytest.mark.parametrize("bank", [ENDPOINT, BRIDGE])
@pytest.mark.parametrize("name", ROUNDS)
def test_clear_sets_every_counter_to_zero(start_board, name, bank):
    """Each counter of the round has counted, and is zero after a clear of its bank. The endpoint's
    clear reaches all counters; the bridge's clear leaves the endpoint's alone."""
    options, provoke, names = ROUNDS[name]
    # At these sizes the reads of all tags fit the completion space. The model keeps the space of a
    # lost read for ever, so its rule would break otherwise.
    with start_board(*options, "--rcb", 128) as board:
        card = board.card(mps=128, mrrs=128)
        card.memory(HIGH_MEMORY, TOTAL)
        for _ in range(3 * len(NAMES)):
            card.read("ctrl_scratch")  # more reads than it takes to look at all counters
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
