# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The differential proof's reader of straddled completions, on beats of the model.

The same reads must give it the same packets with and without straddle. It must refuse starts and
ends where PG213 has none.
"""

import random

import pytest
from model_probe import MEMORY, RUN, request, run
from seeds import SHIFT

from sim.differential.observation import Observation

EXTENDED_TAGS = "config 78 2 2910"


def recorded(tmp_path, beats):
    """Write beats as pin_recorder.sv does, and read them back as packets."""
    lines = []
    for cycle, beat in enumerate(beats):
        user = beat.enables << 32 | beat.byte_en
        data = sum(dword << 32 * i for i, dword in enumerate(beat.data))
        lines.append(f"RC {cycle} {int(beat.last)} {beat.keep:02x} {user:x} {data:x}")
    (tmp_path / "pins.txt").write_text("\n".join(lines) + "\n")
    return Observation(tmp_path, {})


def reads(sizes):
    return [
        command
        for tag, dwords in enumerate(sizes)
        for command in request(False, MEMORY + 0x400 * tag, dwords, tag=tag)
    ]


@pytest.mark.parametrize("seed", range(4))
def test_straddled_completions_read_like_others(tmp_path, seed):
    """Straddled or not, completions have the same descriptors, payload and byte enables."""
    print(f"seed {seed + SHIFT}")
    rng = random.Random(seed + SHIFT)
    sizes = [rng.randint(1, 40) for _ in range(24)]
    # RC is held for a while, so that completions then come without a gap.
    wait = ["hold", f"run {2 * RUN}", "take", f"run {2 * RUN}"]
    commands = [EXTENDED_TAGS, *reads(sizes), *wait]
    plain, shared = (run(commands, straddle).rc for straddle in (False, True))
    assert len(shared) < len(plain), "some beats are shared"

    def packets(beats):
        seen = recorded(tmp_path, beats)
        assert not seen.unfinished
        compared = ("tag", "dwords", "byte_count", "low_address", "completed", "start")
        return sorted(
            (*(p.fields[name] for name in compared), p.payload, p.keep, p.byte_enables)
            for p in seen.packets
        )

    assert packets(plain) == packets(shared)


@pytest.mark.parametrize(
    "enables",
    [
        0b01 | 1 << 2 | 7 << 3 | 1 << 6 | 7 << 7,  # two ends, one begins
        0b11 | 1 << 2 | 5 << 3,  # a second one begins inside the first
        0b00 | 1 << 2 | 3 << 3,  # one ends that never began
    ],
)
def test_what_cannot_be_is_refused(tmp_path, enables):
    """The reader refuses a start or an end where PG213 allows none."""
    (beat, *_) = run([*reads([1]), f"run {RUN}"], straddle=True).rc
    wrong = type(beat)(False, beat.keep, beat.byte_en, enables, beat.data)
    with pytest.raises(ValueError, match="straddle"):
        recorded(tmp_path, [wrong])


@pytest.mark.parametrize("keep", [0xFF, 0x7F])
def test_tkeep_is_recorded_as_it_is(tmp_path, keep):
    """A wrong tkeep in a shared beat is recorded, and does not change the packet: starts and ends
    alone delimit it."""
    (beat, *_) = run([*reads([5]), f"run {RUN}"], straddle=True).rc
    seen = recorded(tmp_path, [type(beat)(False, keep, beat.byte_en, beat.enables, beat.data)])
    [packet] = seen.on("RC")
    assert (packet.dwords, packet.keep, seen.straddle_keeps) == (5, (0xFF,), [keep])
