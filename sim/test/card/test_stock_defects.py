# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Defects of stock LitePCIe 2024.12. Each test asserts what a correct endpoint does.

For the stock endpoint each test of a defect is an expected failure (xfail): the defect must show in
the known way, and any other wrong behaviour fails the test. Every other endpoint in ENDPOINTS must
pass all tests.
"""

import random

import pytest

from sim.test.board.board_builds import build_executable, register_map
from sim.test.board.board_client import (
    C2H_GENERATE,
    CAP_EXPRESS,
    H2C_CHECK,
    HIGH_MEMORY,
    pattern,
    slices,
    wait_until,
)
from sim.test.board.board_process import TOLERATED, WatchedBoard
from tools.testing.seeds import SHIFT

ENDPOINTS = ["litepcie", "lanebox"]

TOTAL = 64 * 1024  # bytes of each DMA transfer
DESCRIPTOR = 8192  # bytes of each DMA descriptor of a transfer
DEVICE_CONTROL_2 = 0x28
TIMEOUT_50_TO_100_US = 1
# cycles of 4 ns: 1 ms, ten times the longest completion timeout in these tests
RECOVERY_CYCLES = 250_000


class Defect(AssertionError):
    """Is raised when a test has seen the known defect of the stock LitePCIe endpoint."""


def stock_defect(reason):
    """A decorator that runs a test for every endpoint. With the stock endpoint the test is expected
    to raise Defect, for `reason`."""
    known = pytest.mark.xfail(raises=Defect, strict=True, reason=reason)
    params = [pytest.param(e, marks=[known] if e == "litepcie" else []) for e in ENDPOINTS]
    return pytest.mark.parametrize("endpoint", params, indirect=True)


def judge(seen, right, known):
    """Return if `seen` equals `right`. Raise Defect if `seen` is the known wrong value, or if the
    function `known` accepts it. Fail otherwise."""
    if seen == right:
        return
    assert known(seen) if callable(known) else seen == known, f"neither right nor known: {seen}"
    raise Defect(f"{seen} instead of {right}")


@pytest.fixture
def endpoint(request, tmp_path):
    """Return a function that starts boards whose gateware has the endpoint under test. Broken rules
    do not end these boards."""
    program, csr = build_executable(request.param), register_map(request.param)

    def start(*options):
        options = ["--rules", "warn", *map(str, options)]
        return WatchedBoard(program, csr, options, tmp_path / "tlp.log", violations=None)

    return start


def run_c2h(card, descriptors, interrupts="none"):
    card.write("pattern_control", C2H_GENERATE)
    card.program("c2h", descriptors, interrupts)
    card.start("c2h")


def run_h2c(card, descriptors, interrupts="none"):
    card.write("pattern_control", H2C_CHECK)
    card.program("h2c", descriptors, interrupts)
    card.start("h2c")


# Defects in interrupts -------------------------------------------------------------------------


@stock_defect("the MSI leaves by its own pins while data waits in the RQ adapter")
@pytest.mark.parametrize("mps", [128, 256, 512])
@pytest.mark.parametrize("stall", [0, 20, 60])
def test_a_c2h_interrupt_never_overtakes_its_data(endpoint, mps, stall):
    """When the MSI of a c2h descriptor passes the hard block's pins, all bytes of the descriptor
    have passed them before."""
    with endpoint("--stall", stall) as board:
        card = board.card(mps=mps)
        memory = card.memory(HIGH_MEMORY, TOTAL)
        card.enable_interrupts("c2h")
        run_c2h(card, slices(HIGH_MEMORY, TOTAL, DESCRIPTOR), "all")
        card.wait_data(memory, pattern(TOTAL))
        wait_until(lambda: board.stats()["msi"] == TOTAL // DESCRIPTOR, "the interrupts")
    written, announced, overtaken = 0, 0, []
    for tlp in board.tlps().on("RQ"):
        if tlp.kind == "MSI":
            announced += DESCRIPTOR
            overtaken.append(max(0, announced - written))
        else:
            written += 4 * tlp.dwords
    print(f"bytes overtaken at mps {mps}, stall {stall}: {overtaken}")
    # The stock endpoint's adapter at RQ holds at most 8 TLPs, and at least the one that is sent.
    judge(max(overtaken), 0, lambda worst: worst <= 8 * mps and min(overtaken) >= mps)


@stock_defect("the h2c interrupt is raised when the last read request is issued")
@pytest.mark.parametrize("latency", [600, 5000])
def test_an_h2c_interrupt_means_that_the_data_is_there(endpoint, latency):
    """When the MSI of an h2c descriptor passes the hard block's pins, all completions of the
    descriptor's reads have arrived."""
    with endpoint("--read-latency", latency) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, TOTAL).data[:] = pattern(TOTAL)
        card.enable_interrupts("h2c")
        run_h2c(card, slices(HIGH_MEMORY, TOTAL, DESCRIPTOR), "all")
        assert card.h2c_check(TOTAL // 32) == 0
        wait_until(lambda: board.stats()["msi"] == TOTAL // DESCRIPTOR, "the interrupts")
    arrived, announced, missing = 0, 0, []
    for tlp in board.tlps().tlps:
        if tlp.kind == "MSI":
            announced += DESCRIPTOR
            missing.append(max(0, announced - arrived))
        elif tlp.interface == "RC":
            arrived += 4 * tlp.dwords
    print(f"bytes missing when the interrupt fired: {missing}")
    judge(max(missing), 0, lambda worst: DESCRIPTOR // 2 < worst <= DESCRIPTOR)


# Defects in reads that fail --------------------------------------------------------------------


def reads_after_a_failure(endpoint, fault):
    """Run h2c with the fault `fault` in the card's third read, and wait until the card is at rest.

    Returns (reads that the card has issued, reads that the whole transfer needs, wrong beats that
    the gateware's checker found).
    """
    with endpoint("--fault", f"{fault}:3") as board:
        card = board.card()
        control = card.capabilities()[CAP_EXPRESS] + DEVICE_CONTROL_2
        card.config_write(control, TIMEOUT_50_TO_100_US, 2)
        card.memory(HIGH_MEMORY, TOTAL).data[:] = pattern(TOTAL)
        run_h2c(card, slices(HIGH_MEMORY, TOTAL, DESCRIPTOR))
        wait_until(lambda: board.stats()["faults"] == 1, "the fault")
        board.let_pass(RECOVERY_CYCLES)
        return board.stats()["rq"]["tlps"], TOTAL // 512, card.read("pattern_h2c_errors")


@stock_defect("a UR completion frees no tag, and nothing behind it is handed on")
def test_a_refused_read_does_not_stop_the_others(endpoint):
    """After one read of the card has ended in Unsupported Request, the card still issues all other
    reads."""
    issued, whole, _ = reads_after_a_failure(endpoint, "ur")
    # The stock endpoint issues three reads, the third of which fails, and then only as many as it
    # has tags: 16.
    judge(issued, whole, 3 + 16)


@pytest.mark.parametrize("endpoint", ENDPOINTS, indirect=True)
def test_a_lost_completion_does_not_stop_the_others(endpoint):
    """After a completion is lost, the card still issues all other reads, at the latest after the
    completion timeout."""
    issued, whole, _ = reads_after_a_failure(endpoint, "drop-completion")
    assert issued == whole


@stock_defect("RC's error codes are ignored: after a time-out the data behind moves up unnoticed")
def test_a_lost_completion_moves_no_data(endpoint):
    """If a read of the card ends by the completion timeout (error code 9 on RC), the data of later
    reads is still in its own place.

    The DMA engine does not ask whether a read has failed. So the 16 beats of the failed read are
    wrong, and no others.
    """
    _, _, wrong = reads_after_a_failure(endpoint, "drop-completion")
    # With the stock endpoint nearly all beats of h2c are wrong, but not the 32 beats of the first
    # two reads.
    judge(wrong, 16, lambda beats: beats >= TOTAL // 32 - 48)


@stock_defect("error code 6 on RC is ignored: a completion of no read is taken for an answer")
@pytest.mark.parametrize("fault,stops", [("unexpected", True), ("duplicate", False)])
def test_a_completion_that_nobody_asked_for_is_dropped(endpoint, fault, stops):
    """A completion that answers no read (error code 6 on RC) changes nothing: the card issues all
    reads, and all beats are right."""
    issued, whole, wrong = reads_after_a_failure(endpoint, fault)
    # With `unexpected` the stock endpoint stops after one read and as many more as it has tags: 16.
    # With `duplicate` it issues all reads, but most of the data is in the wrong place.
    stopped, shifted = (1 + 16, 0), wrong > TOTAL // 32 // 2
    known = (issued, wrong) == stopped if stops else issued == whole and shifted
    judge((issued, wrong), (whole, 0), lambda _: known)


# Defects in MMIO -------------------------------------------------------------------------------


@stock_defect("byte enables of a write are ignored: the whole dword is stored")
@pytest.mark.parametrize("offset,count", [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (2, 2)])
def test_a_short_write_leaves_its_neighbours_alone(endpoint, offset, count):
    """A host write of one or two bytes to a memory changes these bytes and no other byte of their
    dword."""
    value, before = 0xDDCC >> 8 * (2 - count), 0x44332211
    mask = ((1 << 8 * count) - 1) << 8 * offset
    with endpoint() as board:
        card = board.card()
        card.mmio_write(0x10000, before)
        card.mmio_write(0x10000 + offset, value, count)
        seen = card.mmio_read(0x10000)
    judge(hex(seen), hex(before & ~mask | value << 8 * offset), hex(value << 8 * offset))


@stock_defect("an 8-byte write stores its first dword only")
def test_an_8_byte_write_stores_both_dwords(endpoint):
    """A host write of 8 bytes to a memory of the card stores both of its dwords."""
    with endpoint() as board:
        card = board.card()
        card.mmio_write(0x10000, 0x1111_2222_3333_4444, 8)
        seen = [card.mmio_read(0x10000), card.mmio_read(0x10004)]
    judge(seen, [0x3333_4444, 0x1111_2222], [0x3333_4444, 0])


def completion_of_a_read(endpoint, offset, count):
    """Let the host read from two dwords that both hold 0x44332211. Returns (the completion on CC,
    the value that the host gets)."""
    with endpoint() as board:
        card = board.card()
        for at in (0x10000, 0x10004):
            card.mmio_write(at, 0x4433_2211)
        seen = card.mmio_read(0x10000 + offset, count)
        assert board.stats()["mmio_errors"] == (1 if seen == (1 << 8 * count) - 1 else 0)
    return board.tlps().on("CC")[-1], seen


@stock_defect("an 8-byte read is answered with one dword and byte count 4")
def test_an_8_byte_read_is_answered_with_two_dwords(endpoint):
    """A host read of 8 bytes is answered by one completion of two dwords with byte count 8, and the
    host gets all 8 bytes."""
    completion, seen = completion_of_a_read(endpoint, 0, 8)
    judge(
        (completion.dwords, completion.byte_count, hex(seen)),
        (2, 8, "0x4433221144332211"),
        (1, 4, "0xffffffffffffffff"),
    )


@stock_defect("a short read is answered with byte count 4 and the dword's address")
@pytest.mark.parametrize("offset,count", [(0, 1), (1, 1), (2, 1), (3, 1), (0, 2), (2, 2)])
def test_a_short_read_is_answered_with_its_byte_count(endpoint, offset, count):
    """The completion of a host read of one or two bytes has that byte count, and the lower address
    of the first byte (base specification 2.2.9)."""
    completion, seen = completion_of_a_read(endpoint, offset, count)
    data = int.from_bytes(bytes.fromhex("11223344")[offset : offset + count], "little")
    judge(
        (completion.byte_count, completion.address & 0x7F, hex(seen)),
        (count, offset, hex(data)),
        (4, 0, "0x" + "ff" * count),
    )


@stock_defect("a read where nothing is mapped is answered with data and status 0")
@pytest.mark.parametrize("offset", [0x11000, 0x1C000, 0x1EFFC])
def test_an_unmapped_read_is_unsupported(endpoint, offset):
    """If the host reads an address in the BAR where the card has nothing, the read ends in
    Unsupported Request."""
    with endpoint() as board:
        seen = board.card().mmio_read(offset)
    [completion] = board.tlps().on("CC")
    judge((completion.kind, completion.status), ("Cpl", 1), ("CplD", 0))
    assert seen == 0xFFFF_FFFF


# Defects in DMA descriptors --------------------------------------------------------------------


def moved(endpoint, address_offset, length, direction):
    """Move `length` random bytes from host memory through the card's loopback back to host memory.

    In `direction` the buffer begins `address_offset` bytes behind the start of a page, in the other
    direction at the start. Returns (whether all bytes are right, whether no TLP crosses a 4 KiB
    boundary).
    """
    print(f"seed {SHIFT}")
    data = random.Random(TOTAL * SHIFT + length).randbytes(length)
    at = {"h2c": 0, "c2h": 0, direction: address_offset}
    with endpoint() as board:
        card = board.card()
        source, sink = card.memory(HIGH_MEMORY, TOTAL), card.memory(2 * HIGH_MEMORY, TOTAL)
        source.data[at["h2c"] : at["h2c"] + length] = data
        card.write("pcie_dma0_loopback_enable", 1)
        card.program("h2c", [(source.address + at["h2c"], length)])
        card.program("c2h", [(sink.address + at["c2h"], length)])
        card.start("c2h", "h2c")
        board.let_pass(RECOVERY_CYCLES)
        right = sink.data[at["c2h"] : at["c2h"] + length] == data
    requests = [t for t in board.tlps().on("RQ") if t.kind in ("MRd", "MWr")]
    return right, all(t.address % 4096 + 4 * t.dwords <= 4096 for t in requests)


@stock_defect("requests are cut at MPS and MRRS from the start address, not at 4 KiB")
@pytest.mark.parametrize("direction,offset", [("h2c", 64), ("h2c", 256), ("c2h", 64), ("c2h", 128)])
def test_a_descriptor_that_crosses_4_kib_is_split(endpoint, direction, offset):
    """Wherever in a page a descriptor's buffer begins, no request of the card crosses a 4 KiB
    boundary."""
    judge(moved(endpoint, offset, DESCRIPTOR, direction), (True, True), (True, False))


@stock_defect("completions that do not begin on a 32-byte word are packed wrongly")
@pytest.mark.parametrize("length", [256, 512])
def test_h2c_from_an_unaligned_address(endpoint, length):
    """An h2c descriptor whose buffer begins at a dword that is not aligned to 32 bytes moves the
    right data."""
    judge(moved(endpoint, 4, length, "h2c"), (True, True), (False, True))


@stock_defect("a length is cut to whole 32-byte words")
@pytest.mark.parametrize("length", [4, 36, 72])
def test_a_length_of_any_dwords(endpoint, length):
    """A c2h descriptor whose length is any number of dwords moves all of them."""
    judge(moved(endpoint, 0, length, "c2h"), (True, True), (False, True))


@stock_defect("a length is cut to whole 32-byte words")
@pytest.mark.parametrize("length", [4100, 8200])
def test_a_length_of_more_than_a_page(endpoint, length):
    """A c2h descriptor of more than a page, whose last request is short, moves all of its bytes."""
    judge(moved(endpoint, 0, length, "c2h"), (True, True), (False, True))


# Defects of the receive side, CQ and RC --------------------------------------------------------


@stock_defect("each completion costs two idle cycles, in which RC is held off")
@pytest.mark.parametrize("size", [64, 128, 256])
def test_completions_are_never_held_off(endpoint, size):
    """The card never holds RC off, because it reserves space for a read's data before it issues the
    read."""
    with endpoint("--completion-size", size) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, TOTAL).data[:] = pattern(TOTAL)
        run_h2c(card, slices(HIGH_MEMORY, TOTAL, DESCRIPTOR))
        assert card.h2c_check(TOTAL // 32) == 0
        stalls = board.stats()["rc"]["stalls"]
    judge(stalls, 0, 2 * TOTAL // size)


@stock_defect("reads are issued without regard to how many completions the hard block can hold")
def test_fewer_than_64_completions_wait(endpoint):
    """Without straddle, fewer than 64 completions may wait in the hard block (rule rc-completions).
    The card issues its reads accordingly."""
    with endpoint("--completion-size", 64) as board:
        card = board.card()
        card.memory(HIGH_MEMORY, 4 * TOTAL).data[:] = pattern(4 * TOTAL)
        run_h2c(card, slices(HIGH_MEMORY, 4 * TOTAL, DESCRIPTOR))
        assert card.h2c_check(4 * TOTAL // 32) == 0
        broken = set(board.stats()["violations"]) - TOLERATED
    judge(broken, set(), {"rc-completions"})
