# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Drive the hard-block model at its pins, without a gateware, by model_probe.cpp.

This file encodes and decodes descriptors from PG213's tables, and not by the code of the C++ model,
so that an error in either is seen.
"""

from __future__ import annotations

import functools
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from gateware.numbers import DWORDS_PER_BEAT as BEAT_DWORDS
from sim.test.model.probe_build import build_probe

MEMORY = 0x1_0000_0000  # bus address of 64 KiB of host memory, whose byte i holds i & 0xff
# Cycles that most tests let pass. A read of host memory takes fewer with the default latencies.
RUN = 400


@functools.cache
def program() -> Path:
    """Return the path of the program made from model_probe.cpp. The program is compiled again when
    a source changes."""
    return build_probe(Path(__file__).with_suffix(".cpp"))


@dataclass(frozen=True)
class Beat:
    last: bool
    keep: int
    byte_en: int
    # The beat's flags in tuser. RC: sof in bits 1:0, eof_0 in 5:2, eof_1 in 9:6. CQ: first_be in
    # 3:0, last_be in 7:4.
    enables: int
    data: tuple


@dataclass(frozen=True)
class Seen:
    """The output of model_probe.cpp: beats on CQ and RC, bytes stored in host memory by address,
    answers of host reads as (ok, value), names of broken rules, number of interrupts, payload rates
    in GB/s, and the lists commented below.
    """

    cq: list
    rc: list
    stored: dict
    answers: list
    broken: set
    interrupts: int
    rates: list
    # picoseconds that one TLP takes on the wire, one entry for each `link` command
    wire_ps: list = field(default_factory=list)
    # picoseconds by which a wrong LCRC delays a TLP, one entry for each `link` command
    replay_ps: list = field(default_factory=list)
    # acknowledge latency limit in picoseconds, one entry for each `link` command
    limit_ps: list = field(default_factory=list)
    # {pin name: value} of the tag and credit pins, one entry for each `state` command
    states: list = field(default_factory=list)
    # sequence numbers on pcie_rq_seq_num0/1, in the order in which they appeared
    sequence: list = field(default_factory=list)


def run(commands, straddle=False) -> Seen:
    """Run commands of model_probe.cpp on a fresh model of the hard block, with bus master, memory
    space and MSI enabled. Returns what the program printed, as Seen."""
    setup = ["config 4 2 6", "config 4a 2 1", "config 10 4 e0000000", "run 2"]
    result = subprocess.run(
        [program(), *(["straddle"] if straddle else [])],
        input="\n".join([*setup, *commands, ""]),
        text=True,
        capture_output=True,
    )
    assert result.returncode == 0, result.stderr
    return parse(result.stdout)


def parse(text) -> Seen:
    seen = Seen([], [], {}, [], set(), text.count("interrupt\n"), [])
    for line in text.splitlines():
        verb, *words = line.split()
        if verb in ("cq", "rc"):
            last, keep, byte_en, enables, *data = (int(word, 16) for word in words)
            getattr(seen, verb).append(Beat(bool(last), keep, byte_en, enables, tuple(data)))
        elif verb == "stored":
            seen.stored[int(words[0], 16)] = int(words[1], 16)
        elif verb == "answer":
            seen.answers.append((words[0] == "1", int(words[1], 16)))
        elif verb == "broken":
            seen.broken.add(words[0])
        elif verb == "seq":
            seen.sequence.append(int(words[0], 16))
        elif verb == "state":
            seen.states.append(dict(zip(words[::2], map(int, words[1::2]))))
        elif verb == "rate":
            seen.rates.append(float(words[0]))
            seen.wire_ps.append(int(words[1]))
            seen.replay_ps.append(int(words[2]))
            seen.limit_ps.append(int(words[3]))
    return seen


# Encoding of PG213's "Requester Request Descriptor" and "Completer Completion Descriptor" --------


def beats(interface, dwords, enables=()):
    """Return commands that offer the packet `dwords` on RQ or CC, beat by beat. `enables` are the
    first and last byte enables, on RQ only."""
    commands = []
    for at in range(0, len(dwords), BEAT_DWORDS):
        part = dwords[at : at + BEAT_DWORDS]
        last, keep = at + BEAT_DWORDS >= len(dwords), (1 << len(part)) - 1
        padded = [*part, *[0] * (BEAT_DWORDS - len(part))]
        commands.append(" ".join(f"{v:x}" for v in (last, keep, *enables, *padded)))
    return [f"{interface} {command}" for command in commands]


def request(write, address, dwords, first_be=0xF, last_be=None, tag=0, kind=None, payload=None):
    """Return commands that send a memory request on RQ. `payload` is a list of dwords; without it
    the bytes count up from 0."""
    if last_be is None:
        last_be = 0xF if dwords > 1 else 0
    kind = (1 if write else 0) if kind is None else kind
    descriptor = [address & 0xFFFF_FFFC, address >> 32, dwords | kind << 11, tag]
    if payload is None:
        payload = [0x03020100 + 0x04040404 * i & 0xFFFF_FFFF for i in range(dwords)]
    packet = descriptor + (payload if write else [])
    return beats("rq", packet, (first_be, last_be))


def completion(tag, byte_count, payload, low=0, status=0, dwords=None, requester=0xA0):
    """Return commands by which the card sends a completion on CC, with the dwords in `payload`."""
    count = len(payload) if dwords is None else dwords
    descriptor = [low | byte_count << 16, count | status << 11 | requester << 16, tag]
    return beats("cc", descriptor + payload)


# Decoding of the program's output ---------------------------------------------------------------


def packets(interface_beats):
    """Return the packets in the beats of one interface of the hard block, each as a list of
    dwords."""
    result, current = [], []
    for beat in interface_beats:
        current += beat.data[: bin(beat.keep).count("1")]
        if beat.last:
            result.append(current)
            current = []
    return result


def decode_rc(dwords):
    """Return the fields of PG213's "Requester Completion Descriptor" in a packet of RC. `data` is
    the payload in bytes."""
    return {
        "low": dwords[0] & 0xFFF,
        "error": dwords[0] >> 12 & 0xF,
        "byte_count": dwords[0] >> 16 & 0x1FFF,
        "done": dwords[0] >> 30 & 1,
        "dwords": dwords[1] & 0x7FF,
        "status": dwords[1] >> 11 & 7,
        "tag": dwords[2] & 0xFF,
        "data": b"".join(dword.to_bytes(4, "little") for dword in dwords[3:]),
    }


def decode_cq(dwords):
    """Return the fields of PG213's "Completer Request Descriptor" in a packet of CQ. `payload` is a
    list of dwords."""
    return {
        "address": dwords[1] << 32 | dwords[0] & ~3,
        "dwords": dwords[2] & 0x7FF,
        "type": dwords[2] >> 11 & 0xF,
        "requester": dwords[2] >> 16,
        "tag": dwords[3] & 0xFF,
        "function": dwords[3] >> 8 & 0xFF,
        "bar": dwords[3] >> 16 & 7,
        "aperture": dwords[3] >> 19 & 0x3F,
        "payload": dwords[4:],
    }
