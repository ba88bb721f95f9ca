# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The bits that clear the card's counters: that of the endpoint clears all counters, that of the
MMIO bridge only the bridge's own.

The names of the counters come from the tables from which the gateware makes its registers. For each
counter either a round of this file makes it count before the clear, or a SpinalHDL test in
IN_SPINAL clears it.
"""

import pytest

from gateware import numbers
from gateware.endpoint import lanebox
from gateware.mmio import bridge
from sim.clients.vfio import BAR0
from sim.test.board.board_client import H2C_CHECK, HIGH_MEMORY, slices, wait_until

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
# Counters that count the host's accesses to registers, so also the accesses that read the counters.
READING = {f"{BRIDGE}_{name}" for name in ("reads", "writes", "completions")}

# {counter: the SpinalHDL test that clears it}, for counters that nothing makes count on the board.
# The board's hard block cuts no TLP short, never has 31 writes waiting for the link, and leaves
# gaps between RC's beats. No bus of the card fails, and the endpoint never holds RC off. The
# SpinalHDL test takes the list of counters from the component itself.
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

HOLE = 0x1C000  # offset in BAR0 at which the card has no register and no memory
TOTAL = 128 * 1024  # bytes of one h2c transfer of these tests
CLEAR_BIT = {ENDPOINT: 1 << 0, BRIDGE: 1 << 1}


def run_h2c(card):
    """Start an h2c transfer of TOTAL bytes. It does not matter whether the data is right."""
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", slices(HIGH_MEMORY, TOTAL, 8192), "none")
    card.start("h2c")


def host_requests(board, card):
    """Make host requests that the card must refuse: to an address without a register, to a
    read-only table, to a part of a register, and with a hole in the byte enables."""
    card.mmio_read(HOLE)
    card.mmio_write(HOLE, 0)
    card.mmio_write(numbers.CAPABILITY_BASE, 0)
    card.mmio_write(card.address("ctrl_scratch"), 0, 1)
    # The answer to this read comes after the writes above, so that the fault hits none of them.
    card.read("ctrl_scratch")
    board.command("fault wrong-be")
    card.client.write(BAR0, numbers.MEMORY_BASES[0], bytes(16))


def failed_reads(board, card):
    """Make reads by the card fail in every way that the host can cause. Some completions come after
    the read's timeout."""
    for n, fault in enumerate(
        ("ur", "ca", "poison", "byte-count", "unexpected", "duplicate", "drop-completion")
    ):
        board.command(f"fault {fault}:{1 + 4 * n}")
    card.give_up_reads(4096)
    run_h2c(card)


def slow_link(board, card):
    """Start an h2c transfer. On the slow link of this round the card's reads must wait for a free
    tag."""
    run_h2c(card)


# {round of the test: (options of the board, function that makes counters count, their names)}
ROUNDS = {
    "the host's requests": (
        (),
        host_requests,
        {
            "pcie_endpoint_host_unsupported",
            "pcie_endpoint_host_dropped",
            "pcie_endpoint_host_malformed",
            "mmio_writes_dropped",
            "mmio_writes_refused",
            *READING,
        },
    ),
    "reads that fail": (
        ("--read-latency", "uniform:1000:20000"),
        failed_reads,
        {
            f"pcie_endpoint_read_{name}"
            for name in (
                "unsupported",
                "aborted",
                "poisoned",
                "timeouts",
                "malformed",
                "unexpected",
                "late",
                "duplicates",
            )
        },
    ),
    "a slow link": (
        ("--link-width", "1"),
        slow_link,
        {
            "pcie_endpoint_device_claim_waits",
        },
    ),
}


def test_every_counter_has_a_round():
    """Every counter of the card is in exactly one round of ROUNDS, or in IN_SPINAL (SpinalHDL
    tests)."""
    here = [names for _, _, names in ROUNDS.values()]
    assert set().union(*here, IN_SPINAL) == NAMES
    assert sum(map(len, here)) + len(IN_SPINAL) == len(NAMES)


def clear(card, bank):
    """Set the clear bit in the control register of `bank`. The other fields of the register keep
    their values."""
    name = f"{bank}_control"
    card.write(name, card.read(name) | CLEAR_BIT[bank])


def counts(card):
    return {name: card.read(name) for name in sorted(NAMES)}


def uncounted(card, names):
    missing = {name for name in names if not card.read(name)}
    print(f"not yet counted: {sorted(missing)}")
    return missing


def still(card, names, seen):
    """Return the counters of `names` that a clear has left above zero, by the values `seen` that
    were read after it.

    The counters in READING have counted these reads: at most two accesses for each counter. So they
    are compared with that number instead of zero.
    """
    return {
        name for name in names if (seen[name] > 2 * len(NAMES) if name in READING else seen[name])
    }


@pytest.mark.parametrize("bank", [ENDPOINT, BRIDGE])
@pytest.mark.parametrize("name", ROUNDS)
def test_clear_sets_every_counter_to_zero(start_board, name, bank):
    """Each counter of the round counts, and is zero after a clear. The endpoint's clear bit clears
    all counters. The bridge's clear bit leaves the endpoint's counters as they are."""
    options, provoke, names = ROUNDS[name]
    # With MRRS 128 and RCB 128 the reads of all tags fit the completion space. The model never
    # frees the space of a lost read, so larger reads would break its rule completion-space.
    with start_board(*options, "--rcb", 128) as board:
        card = board.card(mps=128, mrrs=128)
        card.memory(HIGH_MEMORY, TOTAL)
        for _ in range(3 * len(NAMES)):
            # These are more reads than it takes to read all counters. So still() can tell a counter
            # that was cleared from one that was not.
            card.read("ctrl_scratch")
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
