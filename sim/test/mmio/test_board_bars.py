# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The two BARs of the bench card: host accesses of every size, accesses by another PCIe device (the
peer), and the card's own reads by cfg_mgmt."""

import random

import pytest

from sim.board.process import BoardFailed
from sim.clients.vfio import BAR0
from sim.test.board.bench_card import (
    BAR2,
    BAR2_ADDRESS,
    DEVICE_CONTROL,
    IDENTITY,
    MANAGE_CYCLES,
    MEMORY0,
    build_bench,
)
from sim.test.board.board_client import BAR0_ADDRESS, wait_until
from sim.test.board.board_process import run_board
from tools.testing.seeds import SHIFT

BAR2_BYTES = 0x10000
PAGE = 4096


def tlps_of(address, count, most):
    """Return the TLPs that one host access must make, as [(address, dwords, (first_be, last_be)),
    ...].

    A TLP has at most `most` bytes and lies within one page of 4 KiB.
    """
    found, end = [], address + count
    while address < end:
        stop = min(end, address - address % 4 + most, (address // PAGE + 1) * PAGE)
        dwords = (stop - address + address % 4 + 3) // 4
        first = 0xF << address % 4 & 0xF
        last = 0xF >> (-stop % 4)
        enables = (first & last, 0) if dwords == 1 else (first, last)
        found.append((address - address % 4, dwords, enables))
        address = stop
    return found


def test_bar2_is_sized_as_64_bit_prefetchable(bench):
    """After all ones were written to BAR2, it reads back as its size, 64 bit and prefetchable. vfio
    region 2 has the same size."""
    with bench("--bar2", "64K") as (_, card):
        assert card.config_read(0x18) & 0xF == 0xC
        card.config_write(0x18, 0xFFFF_FFFF)
        card.config_write(0x1C, 0xFFFF_FFFF)
        size = card.config_read(0x1C) << 32 | card.config_read(0x18) & ~0xF
        assert (1 << 64) - size == BAR2_BYTES
        assert card.client.region_info(2) == (3, BAR2_BYTES)


def test_without_the_option_there_is_no_bar2(bench):
    """Without the option --bar2 the registers of BAR2 read as zero, vfio region 2 has size 0, and
    an access to that region is refused."""
    with bench() as (_, card):
        assert card.config_read(0x18) == card.config_read(0x1C) == 0
        assert card.client.region_info(2)[1] == 0
        with pytest.raises(OSError):
            card.client.read(2, 0, 4)


@pytest.mark.parametrize("size", ["3K", "12K", "1", "-4K", "32G", "4Q", "x"])
def test_a_bar2_that_cannot_be_is_refused(size):
    """The option --bar2 with a size that is below 4 KiB, above 16 GiB or no power of two ends the
    board with status 2."""
    status, _, error = run_board(build_bench(), "--socket", "/nonexistent/b", "--bar2", size)
    assert status == 2 and "power of two from 4K to 16G" in error


def test_the_two_bars_are_two_memories(bench):
    """The same offset of BAR0 and of BAR2 holds different data. The TLP of an access has an address
    in its BAR."""
    with bench("--bar2", "64K", log=True) as (board, card):
        card.write(MEMORY0 // 2, 0x1111_1111)
        card.write(MEMORY0 // 2, 0x2222_2222, bar=BAR2)
        assert card.read(MEMORY0 // 2) == 0x1111_1111
        assert card.read(MEMORY0 // 2, bar=BAR2) == 0x2222_2222
        assert card.read(IDENTITY) == 0x0BEC4A4D
    addresses = [t.address for t in board.tlps().on("CQ", "MWr")]
    assert addresses == [BAR0_ADDRESS + MEMORY0 // 2, BAR2_ADDRESS + MEMORY0 // 2]


@pytest.mark.parametrize("seed", range(3))
def test_any_access_reads_back_what_was_written(bench, seed):
    """Host accesses of 1 to 4096 bytes at any offset of either BAR move the right data. They make
    exactly the TLPs that MPS and MRRS ask for."""
    print(f"seed {seed + SHIFT}")
    rng = random.Random(seed + SHIFT)
    mps, mrrs = rng.choice([128, 256, 512]), rng.choice([128, 256, 512, 1024, 4096])
    image = {BAR0: bytearray(BAR2_BYTES), BAR2: bytearray(BAR2_BYTES)}
    base = {BAR0: MEMORY0, BAR2: 0}
    address = {BAR0: BAR0_ADDRESS + MEMORY0, BAR2: BAR2_ADDRESS}
    expected = []
    with bench("--bar2", "64K", "--stall", rng.choice([0, 40]), mps=mps, mrrs=mrrs, log=True) as (
        board,
        card,
    ):
        # The card's memories have random contents at power on, so the test first fills them with
        # zeros.
        for bar in image:
            for at in range(0, BAR2_BYTES, PAGE):
                card.client.write(bar, base[bar] + at, bytes(PAGE), posted=True)
                expected += [(1, *t) for t in tlps_of(address[bar] + at, PAGE, mps)]
        for _ in range(150):
            bar = rng.choice([BAR0, BAR2])
            count = rng.choice(
                [1, 2, 3, 4, 8, 16, 32, 64, rng.randint(1, 200), rng.randint(1, PAGE)]
            )
            at = rng.randrange(BAR2_BYTES - count + 1)
            write = rng.random() < 0.5
            expected += [
                (int(write), *t) for t in tlps_of(address[bar] + at, count, mps if write else mrrs)
            ]
            if write:
                image[bar][at : at + count] = data = rng.randbytes(count)
                card.client.write(bar, base[bar] + at, data, posted=True)
            else:
                assert card.client.read(bar, base[bar] + at, count) == image[bar][at : at + count]
        for bar, data in image.items():
            for at in range(0, BAR2_BYTES, PAGE):
                assert card.client.read(bar, base[bar] + at, PAGE) == data[at : at + PAGE]
    seen = [(int(t.kind == "MWr"), t.address, t.dwords, t.enables) for t in board.tlps().on("CQ")]
    assert seen[: len(expected)] == expected


def test_a_store_of_64_bytes_is_one_tlp(bench):
    """A host store or load of 16, 32 or 64 bytes is one TLP, as from a write-combining buffer."""
    with bench("--bar2", "64K", log=True) as (board, card):
        for size in (16, 32, 64):
            card.client.write(BAR2, 0x40, bytes(range(size)))
            assert card.client.read(BAR2, 0x40, size) == bytes(range(size))
    seen = [(t.kind, t.dwords, t.enables) for t in board.tlps().on("CQ")]
    assert seen == [(k, n // 4, (15, 15)) for n in (16, 32, 64) for k in ("MWr", "MRd")]


@pytest.mark.parametrize("size,tags", [(4, 1), (64, 8), (256, 32), (512, 256)])
def test_the_peer_reads_and_writes_either_bar(bench, size, tags):
    """The peer, a simulated second PCIe device, reads from either BAR what it wrote there. It finds
    no fault in any completion."""
    with bench("--bar2", "64K", "--mps", "512", mps=512) as (board, card):
        for bar, offset in ((BAR0, MEMORY0), (BAR2, 0x3000)):
            count = PAGE // size
            board.command(f"peer write bar{bar} {offset} {size} {count} 1")
            wait_until(lambda: not board.stats()["peer"]["busy"], "the writes")
            board.command(f"peer read bar{bar} {offset} {size} {4 * count} {tags}")
            wait_until(lambda: not board.stats()["peer"]["busy"], "the reads")
            counts = board.stats()["peer"]
            assert (counts["completed"], counts["bytes"]) == (4 * count, 4 * PAGE)
            assert (counts["errors"], counts["mismatches"], counts["timeouts"]) == (0, 0, 0)
            pattern = (offset // 4 + 1) * 0x9E3779B1 & 0xFFFF_FFFF
            assert card.read(offset, bar=bar) == pattern


def test_the_peer_stays_inside_its_bar(bench):
    """The board refuses a job of the peer whose offset is beyond the BAR, or whose BAR does not
    exist. The error says which values are allowed."""
    with bench("--bar2", "4K") as (board, _):
        for job, rule in (
            ("read bar2 4096 4 1 1", "in the BAR"),
            ("read bar3 0 4 1 1", "bar0|bar2"),
        ):
            with pytest.raises(BoardFailed) as refusal:
                board.command(f"peer {job}")
            assert rule in str(refusal.value)


def test_the_card_reads_its_own_configuration_space(bench):
    """When the card reads its configuration space by cfg_mgmt, it gets the value that the host
    reads there, after 2 to 8 cycles."""
    with bench("--bar2", "64K") as (_, card):
        for dword in (0x00, 0x04, 0x10, 0x18, 0x40, 0x78, 0x80, 0x100, 0x1C0, 0xFFC):
            assert card.manage(dword // 4) == card.config_read(dword)
        assert 2 <= card.read(MANAGE_CYCLES) <= 8


def test_extended_tags_as_the_card_sees_them(bench):
    """When the card reads Device Control by cfg_mgmt, it sees Extended Tag Enable as the host last
    wrote it."""
    with bench() as (_, card):
        for enabled in (0, 1, 0):
            control = card.config_read(DEVICE_CONTROL, 2) & ~0x100 | enabled << 8
            card.config_write(DEVICE_CONTROL, control, 2)
            assert card.manage(DEVICE_CONTROL // 4) >> 8 & 1 == enabled
