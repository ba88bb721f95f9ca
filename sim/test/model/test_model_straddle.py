# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that RC with straddle follows PG213, "Straddle Option for 256-Bit Interface", in each beat.

These tests check single beats. test_model_ideal.py uses the same signals at full rate.
"""

import random
from collections import Counter

import pytest

from gateware import numbers
from sim.test.model.model_probe import MEMORY, RUN, decode_rc, request, run
from tools.testing.seeds import SHIFT

MPS_128_EXTENDED_TAGS = "config 78 2 2910"
BEAT_BYTES = numbers.BEAT_BYTES


def delineate(beats):
    """Split the beats of RC into completions, each a list of dwords. Fail if the fields sof and eof
    in a beat contradict PG213."""
    packets, current = [], None
    for beat in beats:
        sof = beat.enables & 3
        eofs = [beat.enables >> 2 & 0xF, beat.enables >> 6 & 0xF]
        assert beat.keep == 0xFF and not beat.last, "with straddle tkeep is all ones and tlast zero"
        starts = {0: [], 1: [0 if current is None else 4], 3: [0, 4]}[sof]
        ends = [eof >> 1 for eof in eofs if eof & 1]
        assert (eofs[1] & 1) <= (eofs[0] & 1), "a beat with one end reports it by eof_0"
        at = 0
        while at < 8:
            if current is None:
                if not starts:
                    break
                at = starts.pop(0)
                current = []
            if not ends:
                current += beat.data[at:]
                break
            end = ends.pop(0)
            current += beat.data[at : end + 1]
            packets.append(current)
            current = None
            if starts:
                assert end <= 3, "a second start in lane 4 needs an end in lane 3 or lower"
            at = end + 1
        assert not starts and not ends
    assert current is None
    return packets


def byte_enables(packets, beats):
    """Return the number of bytes that the byte enables in RC's tuser mark as payload, over all
    beats."""
    return sum(bin(beat.byte_en).count("1") for beat in beats)


def reads(sizes):
    """Return commands for reads of `sizes` dwords by the card, each read with a tag of its own."""
    return [
        command
        for tag, dwords in enumerate(sizes)
        for command in request(False, MEMORY + 4096 * (tag % 15), dwords, tag=tag)
    ]


def straddled(sizes):
    """Run reads of `sizes` dwords; returns (RC beats, completions as dwords, their decoded
    fields)."""
    # User logic holds RC until all completions wait, so that they share beats wherever PG213 allows
    # it.
    commands = [MPS_128_EXTENDED_TAGS, "hold", *reads(sizes), f"run {2 * RUN}", "take"]
    seen = run([*commands, f"run {4 * RUN}"], straddle=True)
    assert seen.broken <= {"rc-backpressure"}
    packets = delineate(seen.rc)
    return seen.rc, packets, [decode_rc(packet) for packet in packets]


@pytest.mark.parametrize("seed", range(6))
def test_random_completions_come_whole_and_in_place(seed):
    """For completions of random lengths, sof and eof alone suffice to separate them, and each
    completion has the right bytes."""
    chance = random.Random(SHIFT + seed)
    sizes = [chance.choice([1, 2, 5, 9, 13, 16, 17, 32, 70, 128]) for _ in range(40)]
    beats, packets, fields = straddled(sizes)
    assert Counter(f["tag"] for f in fields if f["done"]) == Counter(range(len(sizes)))
    data = {tag: b"" for tag in range(len(sizes))}
    for packet, field in zip(packets, fields):
        assert len(packet) == 3 + field["dwords"]
        data[field["tag"]] += field["data"]
    for tag, dwords in enumerate(sizes):
        assert data[tag] == bytes(i & 0xFF for i in range(4 * dwords))
    assert byte_enables(packets, beats) == 4 * sum(sizes)


def test_two_short_completions_share_a_beat():
    """Two completions of one dword share a beat: the first ends in lane 3, the second begins in
    lane 4."""
    beats, packets, _ = straddled([1, 1, 1, 1, 1])
    assert beats[0].enables == 1 | (1 | 3 << 1) << 2, (
        "the first beat appears before the second completion has come"
    )
    assert [beat.enables & 3 for beat in beats[1:]] == [3, 3]
    assert [beat.enables >> 2 & 0xF for beat in beats[1:]] == [1 | 3 << 1] * 2
    assert [beat.enables >> 6 & 0xF for beat in beats[1:]] == [1 | 7 << 1] * 2
    assert [beat.byte_en for beat in beats[1:]] == [0xF000F000] * 2
    assert len(packets) == 5


def test_a_completion_that_ends_in_lane_4_ends_its_beat():
    """With straddle, if a completion ends in lane 4, the next completion begins in the next
    beat."""
    beats, _, _ = straddled([2, 2])
    assert [beat.enables & 3 for beat in beats] == [1, 1]
    assert [beat.enables >> 2 & 0xF for beat in beats] == [1 | 4 << 1] * 2


def test_a_start_behind_the_end_of_a_longer_one():
    """A beat in which a long completion ends and the next one begins has sof_0 and eof_0 set, and
    not sof_1."""
    beats, _, _ = straddled([9, 9])
    assert [beat.enables for beat in beats] == [1, 1 | (1 | 3 << 1) << 2, (1 | 7 << 1) << 2]


def test_straddle_saves_beats():
    """A 64-byte completion takes 80 bytes of the RC interface with straddle, and 96 without."""
    sizes = [16] * 30
    together, _, _ = straddled(sizes)
    apart = run([MPS_128_EXTENDED_TAGS, *reads(sizes), f"run {4 * RUN}"]).rc
    assert len(together) == 30 * 80 // BEAT_BYTES
    assert len(apart) == 30 * 96 // BEAT_BYTES


def test_off_tkeep_and_tlast_delimit():
    """Without the straddle option each completion on RC begins in lane 0 with sof_0, and tlast and
    tkeep show its end. The fields eof stay 0."""
    beats = run([*reads([9, 1]), f"run {RUN}"]).rc
    assert [beat.enables for beat in beats] == [1, 0, 1]
    assert [(beat.keep, beat.last) for beat in beats] == [(0xFF, False), (0xF, True), (0xF, True)]


def test_the_board_takes_the_option(start_board):
    """A board with the option --straddle answers register reads as without: it changes RC only."""
    with start_board("--straddle") as board:
        assert board.card().read("ctrl_scratch") == 0x12345678
