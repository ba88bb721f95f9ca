# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of where the root complex splits completions (base specification 2.3.1.1), for random
reads."""

import random

import pytest

from gateware import numbers
from sim.test.board.board_client import H2C_CHECK, HIGH_MEMORY, pattern, slices
from sim.test.link.root_probe import run
from tools.testing.seeds import each_seed

DEVICE_CONTROL, LINK_CONTROL = numbers.CONFIG_EXPRESS + 8, numbers.CONFIG_EXPRESS + 16
RELAXED = 0x10
READS = 40
SETTINGS = [(mps, rcb) for mps in (128, 256, 512) for rcb in (64, 128)]


def configure(mps, rcb):
    control = RELAXED | (mps.bit_length() - 8) << 5
    return [
        f"config {DEVICE_CONTROL:x} 1 {control:x}",
        f"config {LINK_CONTROL:x} 1 {8 if rcb == 128 else 0}",
    ]


def any_read(rng):
    """Return (address, dwords, first byte enables, last byte enables) of a random legal read within
    a 4 KiB page."""
    address = rng.randrange(0x1000, 0x2000, 4)
    dwords = rng.randint(1, min(0x2000 - address, 4096) // 4)
    if dwords == 1:
        first = rng.choice([0x0, 0x1, 0x6, 0xC, 0xF])
        return address, dwords, first, 0
    return address, dwords, rng.choice([0x8, 0xC, 0xE, 0xF]), rng.choice([0x1, 0x3, 0x7, 0xF])


def ask(seed, mps, rcb, *settings):
    """Let the card make random reads on the root complex alone. Returns [(read, its completions)],
    where a read is the tuple of any_read()."""
    rng = random.Random(seed)
    wanted = [any_read(rng) for _ in range(READS)]
    commands = [*configure(mps, rcb), f"seed {seed}", *settings]
    for tag, (address, dwords, first, last) in enumerate(wanted):
        commands.append(f"mrd {address:x} {dwords} {tag} {first:x} {last:x}")
    seen = run(*commands, "run 60000")
    return [(read, seen.of(tag)) for tag, read in enumerate(wanted)]


def check(read, parts, mps, rcb):
    """Check every field of the host's completions `parts` of the card's read `read` against the
    base specification."""
    address, dwords, first, last = read
    skip = next((i for i in range(4) if first >> i & 1), 0)
    top = last if dwords > 1 else first
    unused = next((i for i in range(4) if top >> (3 - i) & 1), 4)
    left = 1 if first == 0 else 4 * dwords - skip - unused
    at = address
    for part in parts:
        assert part.byte_count == left and part.low == (at + (skip if at == address else 0)) & 0xFFF
        assert 0 < 4 * part.dwords <= mps
        assert part.data == bytes(i & 0xFF for i in range(at, at + 4 * part.dwords))
        left -= 4 * part.dwords - (skip if at == address else 0)
        at += 4 * part.dwords
        assert part.done == (part is parts[-1])
        assert part.done or at % rcb == 0, "a completion ends where it may not"
    assert at == address + 4 * dwords


@pytest.mark.parametrize("mps,rcb", SETTINGS)
@pytest.mark.parametrize("split", ["size", "rcb", "mps", "random"])
@each_seed(2)
def test_every_completion_is_legal(mps, rcb, split, seed):
    """For any read by the card and any --split, the host's completions are legal and cover the read
    in order."""
    for read, parts in ask(seed, mps, rcb, f"split {split}"):
        check(read, parts, mps, rcb)


@pytest.mark.parametrize("mps,rcb", SETTINGS)
@each_seed(1)
def test_split_at_rcb_ends_at_every_boundary(mps, rcb, seed):
    """With --split rcb none of the host's completions crosses a read completion boundary."""
    for _, parts in ask(seed, mps, rcb, "split rcb", "size 512"):
        assert all(p.low // rcb == ((p.low & ~3) + 4 * p.dwords - 1) // rcb for p in parts)


@pytest.mark.parametrize("mps,rcb", SETTINGS)
@each_seed(1)
def test_split_at_mps_makes_the_fewest(mps, rcb, seed):
    """With --split mps the host's completions end at multiples of MPS only, whatever
    --completion-size is."""
    for (address, dwords, _, _), parts in ask(seed, mps, rcb, "split mps", "size 64"):
        assert len(parts) == (address + 4 * dwords - 1) // mps - address // mps + 1


def test_random_splits_reach_every_legal_point():
    """With --split random and RCB 64 the first completion of a 512-byte read ends at each of the 8
    boundaries in some of 200 reads."""
    asked = [f"mrd 1000 128 {tag % 256}" for tag in range(200)]
    seen = run(*configure(512, 64), "split random", "seed 4", *asked, "run 90000")
    firsts = {c.dwords * 4 for c in seen.completions if c.byte_count == 512}
    assert firsts == set(range(64, 513, 64))


def test_random_splits_repeat_with_their_seed():
    """With --split random the host splits completions alike with the same seed, and differently
    with another seed."""
    parts = [ask(seed, 256, 64, "split random") for seed in (1, 1, 2)]
    assert parts[0] == parts[1] != parts[2]


@pytest.mark.parametrize("split", ["rcb", "mps", "random"])
def test_the_gateware_gets_its_data(start_board, split):
    """With the board's option --split the host's completions have the sizes that the option asks
    for, and the gateware gets the right data."""
    total = 64 * 1024
    with start_board("--split", split, "--rules", "off", log=True) as board:
        card = board.card(mps=512)
        card.memory(HIGH_MEMORY, total).data[:] = pattern(total)
        card.write("pattern_control", H2C_CHECK)
        card.program("h2c", slices(HIGH_MEMORY, total, 8192))
        card.start("h2c")
        assert card.h2c_check(total // 32) == 0
    sizes = {4 * t.dwords for t in board.tlps().on("RC")}
    assert sizes == {"rcb": {64}, "mps": {512}}.get(split, set(range(64, 513, 64)))
