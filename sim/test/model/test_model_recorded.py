# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of the differential proof's reader of recorded RC beats, when two completions share a beat
(straddle).

For the same reads the reader must give the same packets with and without straddle. It must refuse
starts and ends of packets that PG213 does not allow.
"""

import random
import re

import pytest

from sim.differential import pin_recorder
from sim.differential.observation import Observation
from sim.test.model.model_probe import MEMORY, RUN, request, run
from tools.testing.seeds import SHIFT

EXTENDED_TAGS = "config 78 2 2910"


def recorded(tmp_path, beats):
    """Write beats of RC to a file as the pin recorder does, and return what the reader makes of the
    file."""
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
    """For the same reads, the reader gives the same descriptors, payloads and byte enables with
    straddle and without."""
    print(f"seed {seed + SHIFT}")
    rng = random.Random(seed + SHIFT)
    sizes = [rng.randint(1, 40) for _ in range(24)]
    # Completions pile up in the hard block while RC's ready is low, so that they come without a gap
    # afterwards.
    wait = ["hold", f"run {2 * RUN}", "take", f"run {2 * RUN}"]
    commands = [EXTENDED_TAGS, *reads(sizes), *wait]
    plain, shared = (run(commands, straddle).rc for straddle in (False, True))
    assert len(shared) < len(plain), "with straddle some beats must be shared"

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
        # one beat ends two completions, but begins only one
        0b01 | 1 << 2 | 7 << 3 | 1 << 6 | 7 << 7,
        0b11 | 1 << 2 | 5 << 3,  # a second completion begins in the beat before the first has ended
        0b00 | 1 << 2 | 3 << 3,  # the beat ends a completion that has not begun
    ],
)
def test_what_cannot_be_is_refused(tmp_path, enables):
    """The reader of recorded RC beats refuses a start or an end of a completion where PG213 allows
    none."""
    (beat, *_) = run([*reads([1]), f"run {RUN}"], straddle=True).rc
    wrong = type(beat)(False, beat.keep, beat.byte_en, enables, beat.data)
    with pytest.raises(ValueError, match="straddle"):
        recorded(tmp_path, [wrong])


@pytest.mark.parametrize("keep", [0xFF, 0x7F])
def test_tkeep_is_recorded_as_it_is(tmp_path, keep):
    """A wrong tkeep in a beat with straddle is recorded. The packet stays the same, because with
    straddle only starts and ends delimit it."""
    (beat, *_) = run([*reads([5]), f"run {RUN}"], straddle=True).rc
    seen = recorded(tmp_path, [type(beat)(False, keep, beat.byte_en, beat.enables, beat.data)])
    [packet] = seen.on("RC")
    assert (packet.dwords, packet.keep, seen.straddle_keeps) == (5, (0xFF,), [keep])


# The cfg_* outputs in a CFG line of pins.txt, written down by hand: the name of each field, and its
# bits.
CONFIG_BITS = {
    "max_payload": range(2),
    "max_read_req": range(2, 5),
    "function_status": range(5, 21),
    "rcb_status": [21],
    "msi_enable": range(22, 26),
    "negotiated_width": range(26, 29),
    "current_speed": range(29, 31),
}


def test_the_recorder_and_its_reader_have_the_same_bits():
    """The recorder's Verilog packs the cfg_* outputs in the order in which the reader unpacks them,
    and has a port and a connection for each pin that it names."""
    found = {name: list(range(low, low + width)) for name, low, width in pin_recorder.CONFIG}
    assert found == {name: list(bits) for name, bits in CONFIG_BITS.items()}
    verilog = pin_recorder.verilog()
    packed = re.search(r"config_pins = \{(.*?)\}", verilog, re.DOTALL)[1].replace(",", " ").split()
    assert packed[::-1] == list(pin_recorder.RECORDED.values())
    ports = re.findall(r"^    input \[(\d+):0\] (\w+)", verilog, re.MULTILINE)
    assert {("61", "s_axis_rq_tuser"), ("0", "s_axis_cc_tready")} < {*ports}
    assert re.findall(r"^    \.(\w+)\(\1\)", verilog, re.MULTILINE) == [name for _, name in ports]


def test_a_recorder_without_a_mark_is_refused(tmp_path, monkeypatch):
    """A body of the recorder that lacks a line for generated text is refused, with that line."""
    body = tmp_path / "pin_recorder.sv.in"
    body.write_text(pin_recorder.BODY.read_text().replace("//: connections\n", ""))
    monkeypatch.setattr(pin_recorder, "BODY", body)
    with pytest.raises(ValueError, match="one line `//: connections`"):
        pin_recorder.verilog()
