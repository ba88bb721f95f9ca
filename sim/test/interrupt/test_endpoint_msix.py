# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of MSI-X of the Lanebox endpoint: table and pending bits in BAR0, and a vector for each
interrupt cause.

In most tests the board's client sets no eventfds. So the client programs the table itself, and a
message is a write to the client's memory.
"""

import contextlib
import os
import random

import pytest

from sim import artefacts
from sim.test.board.board_builds import build_gateware, register_map
from sim.test.board.board_client import (
    C2H_GENERATE,
    H2C_CHECK,
    HIGH_MEMORY,
    pattern,
    slices,
    wait_until,
)
from sim.test.card.stamped import (
    BAR0_OFFSETS,
    TICK_NS,
    doorbells,
    open_loopback,
    pairs,
    stamps,
    transfer,
    zero_of,
)
from sim.test.driver.driver_guest import boot
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.soak  # The tests of this file build gateware and a board of their own.

CAP_MSIX, ENABLE, MASK_ALL = 0x11, 1 << 15, 1 << 14
MASKED, IRQ_MSIX = 1, 2
# bus address, above 4 GiB, to which the card writes the messages of its MSI-X vectors
MESSAGES = 2 * HIGH_MEMORY
TOTAL, DESCRIPTOR = 1 << 18, 8192


class Vectors:
    """Programs the card's MSI-X table. The message of each vector goes to a dword of host memory of
    its own."""

    def __init__(self, card):
        self.card = card
        self.table = card.constants["pcie_msix_table"]
        self.pending_bits = card.constants["pcie_msix_pending"]
        self.number = card.constants["pcie_msix_vectors"]
        self.memory = card.memory(MESSAGES, 4096)

    def control(self, value):
        at = self.card.capabilities()[CAP_MSIX] + 2
        self.card.config_write(at, value, 2)

    def program(self, vector, data, masked=False):
        address = MESSAGES + 4 * vector
        for i, word in enumerate((address & 0xFFFF_FFFF, address >> 32, data, int(masked))):
            self.card.mmio_write(self.table + 16 * vector + 4 * i, word)

    def mask(self, vector, masked):
        self.card.mmio_write(self.table + 16 * vector + 12, int(masked))

    def message(self, vector):
        """Return the message that an MSI-X vector has written to its dword in host memory, and
        clear the dword. Returns 0 if no message has come."""
        at = slice(4 * vector, 4 * vector + 4)
        value = int.from_bytes(self.memory.data[at], "little")
        # Only a message that was read is cleared. Otherwise a message that comes now would be lost.
        if value:
            self.memory.data[at] = bytes(4)
        return value

    def pending(self):
        return self.card.mmio_read(self.pending_bits)

    def wait_pending(self, bits):
        wait_until(lambda: self.pending() == bits, f"pending bits {bits:#x}")


@contextlib.contextmanager
def msix(start, *options, **choices):
    """Yield (board, card, vectors). MSI-X is enabled, and so are both interrupt causes of the DMA
    channel."""
    with start(*options, **choices) as board:
        card = board.card(msi=False)
        vectors = Vectors(card)
        card.enable_interrupts("h2c", "c2h")
        vectors.control(ENABLE)
        yield board, card, vectors


def move(card, total=DESCRIPTOR, interrupts="last"):
    """Let c2h write `total` bytes of the card's pattern to host memory."""
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(HIGH_MEMORY, total, DESCRIPTOR), interrupts)
    card.start("c2h")


C2H = 1  # number of c2h's MSI-X vector, which is the number of c2h's interrupt cause


def test_a_masked_vector_stays_pending_until_it_is_not(start_msix):
    """A masked vector stays pending, whether it is masked as after reset, by its entry, or by the
    function mask. Once nothing masks it, its message comes once."""
    with msix(start_msix) as (_, card, vectors):
        assert vectors.number == 32 and vectors.pending() == 0
        assert card.mmio_read(vectors.table + 12) & MASKED
        vectors.program(C2H, 0x1234, masked=True)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        move(card)
        vectors.wait_pending(1 << C2H)
        assert vectors.message(C2H) == 0
        vectors.control(ENABLE | MASK_ALL)
        vectors.mask(C2H, False)
        assert vectors.pending() == 1 << C2H and vectors.message(C2H) == 0
        vectors.control(ENABLE)
        vectors.wait_pending(0)
        wait_until(lambda: vectors.message(C2H) == 0x1234, "the message")
        card.wait_data(memory, pattern(DESCRIPTOR))
        for _ in range(20):
            assert vectors.pending() == 0 and vectors.message(C2H) == 0


def test_each_cause_has_its_vector(start_msix):
    """h2c and c2h each raise their own vector with its own data. The user slot's vector is not
    raised."""
    with msix(start_msix) as (board, card, vectors):
        for vector in range(3):
            vectors.program(vector, 0x100 + vector)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        memory.data[:] = pattern(TOTAL)
        card.write("pattern_control", H2C_CHECK)
        card.program("h2c", [(HIGH_MEMORY, DESCRIPTOR)])
        card.start("h2c")
        wait_until(lambda: vectors.message(0) == 0x100, "h2c's message")
        assert vectors.message(1) == vectors.message(2) == 0
        card.write("pattern_control", C2H_GENERATE)
        card.program("c2h", [(HIGH_MEMORY + DESCRIPTOR, DESCRIPTOR)])
        card.start("c2h")
        wait_until(lambda: vectors.message(1) == 0x101, "c2h's message")
        assert vectors.message(0) == vectors.message(2) == 0
        assert board.stats()["msi"] == 0


@pytest.mark.parametrize("slow", [("--stall", 40), ("--link-width", 1)], ids=["stalls", "link"])
def test_a_message_never_overtakes_its_data(start_msix, slow):
    """On RQ every message comes after all data that its descriptor has moved.

    Only one descriptor runs at a time, so that a message belongs to a known amount of data. RQ is
    slower than the pattern generator, so that writes still wait when the cause is raised.
    """
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    sizes = [1 << rng.randrange(7, 15) for _ in range(16)]
    with msix(start_msix, *slow, log=True) as (board, card, vectors):
        vectors.program(C2H, 1)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        for size in sizes:
            card.stop()
            card.write("pattern_control", C2H_GENERATE)
            card.program("c2h", [(HIGH_MEMORY, size)])
            card.start("c2h")
            wait_until(lambda: vectors.message(C2H) == 1, "the message")
            card.wait_data(memory, pattern(size))
    written, announced = 0, []
    for tlp in board.tlps().on("RQ", "MWr"):
        if tlp.address >= MESSAGES:
            announced.append(written)
        else:
            written += 4 * tlp.dwords
    assert announced == [sum(sizes[: n + 1]) for n in range(len(sizes))]


HELD_OFF = pytest.mark.parametrize(
    "options", [("--stall", 90), ("--write-stall", "10:1500")], ids=["stalls", "credits"]
)


def send_for_ever(card):
    """Start c2h with the pattern in an endless loop of 1 KiB descriptors, each with an
    interrupt."""
    card.memory(HIGH_MEMORY, TOTAL)
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", slices(HIGH_MEMORY, 4096, 1024), "all")
    card.write("pcie_dma0_writer_table_loop_prog_n", 1)
    card.start("c2h")


@HELD_OFF
def test_no_message_is_shown_to_rq_after_its_mask_was_read_back(start_msix, options):
    """Once the host has read back the mask of a vector, no message of that vector begins on RQ,
    however long RQ was held off before."""
    print(f"seed {SHIFT}")
    rng, rounds = random.Random(SHIFT), 60
    with msix(start_msix, *options, "--seed", SHIFT + 1, log=True) as (board, card, vectors):
        vectors.program(C2H, 1)
        control = vectors.table + 16 * C2H + 12
        send_for_ever(card)
        for _ in range(rounds):
            vectors.mask(C2H, True)
            assert card.mmio_read(control) == MASKED
            for _ in range(rng.randrange(3)):
                card.read("ctrl_scratch")
            vectors.mask(C2H, False)
            for _ in range(rng.randrange(3)):
                card.read("ctrl_scratch")
        card.stop()
        vectors.wait_pending(0)
    log = board.tlps()
    own = [t for t in log.on("CQ") if t.address & BAR0_OFFSETS == control]
    # The first write to the vector's mask in the MSI-X table is left out, because Vectors.program()
    # makes it.
    writes = [t.ns for t in own if t.kind == "MWr"][1:]
    answers = log.on("CC")
    masked, unmasked = writes[0::2], writes[1::2]
    read_back = [
        next(cpl.ns for cpl in answers if cpl.ns > t.ns and cpl.tag == t.tag)
        for t in own
        if t.kind == "MRd"
    ]
    assert len(masked) == len(unmasked) == len(read_back) == rounds
    messages = [t for t in log.on("RQ", "MWr") if t.address >= MESSAGES]
    shown = [t.ns - (t.span or TICK_NS) for t in messages]
    late = [ns for a, b in zip(read_back, unmasked) for ns in shown if a < ns < b]
    assert not late, f"of {len(messages)} messages: {late}"
    assert len(messages) > rounds // 4


@HELD_OFF
def test_no_message_is_shown_to_rq_after_the_function_was_masked(start_msix, options):
    """While the function is masked or MSI-X is disabled, no message begins on RQ. Such a message
    would break the rule `msi-disabled`."""
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    with msix(start_msix, *options, "--seed", SHIFT + 1) as (board, card, vectors):
        fd = os.eventfd(0, os.EFD_NONBLOCK)
        card.client.set_eventfd(fd, index=IRQ_MSIX, start=C2H)
        send_for_ever(card)
        for _ in range(60):
            vectors.control(rng.choice([0, ENABLE | MASK_ALL]))
            for _ in range(rng.randrange(1, 3)):
                card.read("ctrl_scratch")
            vectors.control(ENABLE)
            for _ in range(rng.randrange(3)):
                card.read("ctrl_scratch")
        card.stop()
        vectors.wait_pending(0)
        assert os.eventfd_read(fd) > 0 and board.stats()["msi"] > 15
        os.close(fd)


@pytest.mark.parametrize("stall", [0, 40])
def test_messages_are_stamped_when_rq_takes_them(start_msix, stall):
    """The interrupt stamp takes the cycle in which RQ takes the message's beat, and that of no
    other write."""
    print(f"seed {SHIFT}")
    rng = random.Random(SHIFT)
    found = []
    with msix(start_msix, "--stall", stall, log=True) as (board, card, vectors):
        vectors.program(C2H, 1)
        open_loopback(card)
        for _ in range(40):  # more rounds than RQ has sequence numbers for writes
            transfer(card, 64 << rng.randrange(7))
            wait_until(lambda: vectors.message(C2H) == 1, "the message")
            found.append(stamps(card))
        counters = card.counters()
        card.stop()
    log = board.tlps()
    zero = zero_of(counters, log)
    messages = [t.ns for t in log.on("RQ", "MWr") if t.address >= MESSAGES]
    wanted = pairs(doorbells(log, card), messages)
    assert [p.interrupt - zero for p in found] == [p.interrupt for p in wanted]


def test_messages_in_a_stream_are_stamped(start_msix):
    """In a stream of writes and messages, the interrupt stamp is that of the first message after
    the doorbell."""
    with msix(start_msix, "--stall", 40, log=True) as (board, card, vectors):
        vectors.program(C2H, 1)
        card.memory(HIGH_MEMORY, TOTAL)
        # The doorbell of this transfer is the write to the enable register of the c2h channel.
        move(card, TOTAL, "all")
        vectors.wait_pending(0)
        wait_until(lambda: card.read("stamps_waiting") == 0, "a message behind the doorbell")
        found = stamps(card)
        done = TOTAL // DESCRIPTOR
        wait_until(lambda: card.read("pcie_dma0_writer_table_loop_status") == done, "the end")
        vectors.wait_pending(0)
        card.read("ctrl_scratch")
        counters = card.counters()
    log = board.tlps()
    zero = zero_of(counters, log)
    messages = [t.ns for t in log.on("RQ", "MWr") if t.address >= MESSAGES]
    start = card.address("pcie_dma0_writer_enable")
    (bell,) = [t.ns for t in log.on("CQ", "MWr") if t.address & BAR0_OFFSETS == start][1:]
    assert found.since(zero).interrupt == pairs([bell], messages)[0].interrupt
    assert messages.index(found.since(zero).interrupt) == 0 and len(messages) > 4


def test_the_table_keeps_whole_dwords(start_msix):
    """Entries of the MSI-X table read back as they were written. A write to part of a dword changes
    nothing."""
    seed = SHIFT
    print(f"seed {seed}")
    rng = random.Random(seed)
    with msix(start_msix) as (_, card, vectors):
        words = {}
        for vector in range(vectors.number):
            for i in range(3):
                words[16 * vector + 4 * i] = rng.getrandbits(32) & (~3 if i == 0 else ~0)
        for at, word in words.items():
            card.mmio_write(vectors.table + at, word)
        for at in rng.sample(sorted(words), 8):
            card.mmio_write(vectors.table + at + rng.randrange(4), 0x5A, count=1)
        for at, word in words.items():
            assert card.mmio_read(vectors.table + at) == word


def test_msi_stays_when_the_host_wants_that(start_msix):
    """Gateware with MSI-X sends its MSI while MSI-X is disabled. A cause that was reported by MSI-X
    raises no MSI later."""
    with start_msix() as board:
        card = board.card()
        vectors = Vectors(card)
        vectors.program(C2H, 7)
        card.enable_interrupts("c2h")
        card.memory(HIGH_MEMORY, TOTAL)
        move(card)
        assert card.wait_interrupt() == 1
        assert vectors.message(C2H) == 0 and vectors.pending() == 0
        card.set_msi(False)
        vectors.control(ENABLE)
        move(card)
        wait_until(lambda: vectors.message(C2H) == 7, "the message")
        vectors.control(0)
        card.set_msi(True)
        assert card.interrupts(0.2) == 0


def interrupts(start, *options):
    """Boot a guest that loads the driver and loops 2 MiB of data through the card. Returns ({name
    in /proc/interrupts: count}, kernel log)."""
    gateware = build_gateware(msix=True)
    util = (artefacts.utility(gateware / "include", static=True), "bin/litepcie_util")
    commands = [
        "litepcie_util dma_test --direction loopback --size 2M >/out/dma",
        "grep -i msi /proc/interrupts >/out/interrupts",
        "rmmod litepcie",
    ]
    with start("--pace", "100000", *options) as board:
        files = boot(board, commands, None, [], [util], timeout=180).files
    assert b"0 wrong c2h buffers, 0 wrong h2c beats" in files["dma"]
    lines = [line.split() for line in files["interrupts"].decode().splitlines()]
    return {words[-1]: int(words[1]) for words in lines}, files["dmesg"].decode()


@pytest.mark.guest
def test_the_driver_has_a_vector_for_each_source(start_msix):
    """A guest's driver uses MSI-X: /proc/interrupts has a vector for h2c and one for c2h, named
    after the card. Both count, and all data is right."""
    counts, log = interrupts(start_msix)
    assert counts["litepcie0-h2c"] > 0 and counts["litepcie0-c2h"] > 0, counts
    assert ", MSI-X: 1 DMA channel" in log


@pytest.mark.guest
def test_the_driver_does_with_msi_where_vectors_are_too_few(start_msix):
    """If the card has one MSI-X vector for its two directions, the driver uses MSI, and all data is
    right."""
    constants = register_map(msix=True)["constants"]
    table, pending = (constants[f"pcie_msix_{name}"] for name in ("table", "pending"))
    counts, log = interrupts(start_msix, "--msix", f"1:0:{table:#x}:{pending:#x}")
    assert counts["litepcie0"] > 0, counts
    assert not [name for name in counts if name.startswith("litepcie0-")], counts
    assert "MSI-X offers fewer than the 2 vectors" in log and ", MSI: 1 DMA channel" in log
