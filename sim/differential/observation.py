# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Turns the file of the pin recorder into TLPs with every field of descriptor and tuser.

The module knows the descriptors' tables of PG213 (chapters "Descriptor formats", 256 bit) and
nothing of either model. The positions of fields in tuser are those of gateware/phy/pins.py."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gateware.numbers import DWORDS_PER_BEAT as DATA_DWORDS
from gateware.phy.pins import position
from sim.differential.pin_recorder import CONFIG

CHANNELS = ("CQ", "CC", "RQ", "RC")

# Fields of PG213's descriptors, the hard block's form of TLP headers, as (name, lowest bit, width
# in bits). Bits are counted over all dwords of the descriptor, from its first dword on.
REQUEST = (
    ("address_type", 0, 2),
    ("address", 2, 62),
    ("dwords", 64, 11),
    ("type", 75, 4),
)
CQ = (
    *REQUEST,
    ("requester", 80, 16),
    ("tag", 96, 8),
    ("function", 104, 8),
    ("bar", 112, 3),
    ("aperture", 115, 6),
    ("tc", 121, 3),
    ("attributes", 124, 3),
)
RQ = (
    *REQUEST,
    ("poisoned", 79, 1),
    ("requester", 80, 16),
    ("tag", 96, 8),
    ("completer", 104, 16),
    ("requester_enable", 120, 1),
    ("tc", 121, 3),
    ("attributes", 124, 3),
    ("ecrc", 127, 1),
)
CC = (
    ("low_address", 0, 7),
    ("address_type", 8, 2),
    ("byte_count", 16, 13),
    ("locked", 29, 1),
    ("dwords", 32, 11),
    ("status", 43, 3),
    ("poisoned", 46, 1),
    ("requester", 48, 16),
    ("tag", 64, 8),
    ("completer", 72, 16),
    ("completer_enable", 88, 1),
    ("tc", 89, 3),
    ("attributes", 92, 3),
    ("ecrc", 95, 1),
)
RC = (
    ("low_address", 0, 12),
    ("error", 12, 4),
    ("byte_count", 16, 13),
    ("locked", 29, 1),
    ("completed", 30, 1),
    ("dwords", 32, 11),
    ("status", 43, 3),
    ("poisoned", 46, 1),
    ("requester", 48, 16),
    ("tag", 64, 8),
    ("completer", 72, 16),
    ("tc", 89, 3),
    ("attributes", 92, 3),
)
DESCRIPTORS = {"CQ": (4, CQ), "CC": (3, CC), "RQ": (4, RQ), "RC": (3, RC)}

TUSER = {
    "CQ": "m_axis_cq_tuser",
    "CC": "s_axis_cc_tuser",
    "RQ": "s_axis_rq_tuser",
    "RC": "m_axis_rc_tuser",
}


def _field(channel: str, name: str, first: str = "", last: str = "") -> tuple[str, int, int]:
    """Return (name, lowest bit, width in bits) of a field of the channel's tuser.

    With `first` and `last` the field reaches from one field of the pin to another."""
    low, _ = position(TUSER[channel], first or name)
    high, width = position(TUSER[channel], last or first or name)
    return name, low, high + width - low


# Fields of tuser as (name, lowest bit, width in bits). Those of FIRST_USER are valid in a TLP's
# first beat only. Those of BEAT_USER belong to each beat.
FIRST_USER = {
    "CQ": tuple(_field("CQ", name) for name in ("first_be", "last_be", "tph")),
    "CC": (),
    "RQ": tuple(
        _field("RQ", name) for name in ("first_be", "last_be", "address_offset", "tph", "sequence")
    ),
    "RC": (),
}
BEAT_USER = {
    "CQ": (
        _field("CQ", "byte_enables", "byte_enable"),
        *(_field("CQ", name) for name in ("start", "discontinue", "parity")),
    ),
    "CC": tuple(_field("CC", name) for name in ("discontinue", "parity")),
    "RQ": tuple(_field("RQ", name) for name in ("discontinue", "parity")),
    "RC": (
        _field("RC", "byte_enables", "byte_enable"),
        _field("RC", "start", "start_0", "start_1"),
        _field("RC", "end", "end_0_valid", "end_1_dword"),
        *(_field("RC", name) for name in ("discontinue", "parity")),
    ),
}


@dataclass(frozen=True)
class Packet:
    """A TLP as it passed the hard block's pins. `fields` has its descriptor and tuser, by name.

    A field is a number. A field of BEAT_USER is a tuple with a number for each beat. A field can
    also be read as an attribute of the packet."""

    channel: str
    cycle: int
    fields: dict
    payload: tuple  # The dwords of the TLP behind the descriptor, as far as tkeep covers them.
    keep: tuple  # The value of tkeep in each beat of the TLP.

    def __getattr__(self, name):
        try:
            return self.fields[name]
        except KeyError:
            raise AttributeError(f"{self.channel} has no field {name}") from None


class Observation:
    """The observation of one model's run: packets in the order of the pins, messages, cfg_*.

    `outcome` has the values that software saw."""

    def __init__(self, directory: Path, outcome: dict):
        self.outcome = outcome
        self.packets: list[Packet] = []
        # An entry for each interrupt message of the card: (sent, fail, cfg_interrupt_msi_int).
        self.messages: list[tuple[int, int, int]] = []
        # the values of the hard block's cfg_* outputs after each change
        self.configs: list[dict] = []
        open_beats: dict = {channel: [] for channel in CHANNELS}
        lines = (directory / "pins.txt").read_text().splitlines()
        # The values that tlast has on RC. Only with straddle is tlast always 0.
        ends = {line.split()[2] for line in lines if line.startswith("RC ")}
        straddle = Straddle() if ends == {"0"} else None
        for line in lines:
            channel, cycle, *rest = line.split()
            if channel == "MSI":
                self.messages.append((int(rest[0]), int(rest[1]), int(rest[2], 16)))
                continue
            if channel == "CFG":
                pins = int(rest[0], 16)
                self.configs.append({name: _bits(pins, low, n) for name, low, n in CONFIG})
                continue
            beat = [int(rest[0])] + [int(text, 16) for text in rest[1:]]
            for part in straddle.parts(beat) if straddle and channel == "RC" else [beat]:
                open_beats[channel].append(part)
                if part[0]:
                    self.packets.append(_packet(channel, int(cycle), open_beats[channel]))
                    open_beats[channel] = []
        self.straddle_keeps = sorted(straddle.keeps) if straddle else []
        self.unfinished = [channel for channel in CHANNELS if open_beats[channel]]

    def on(self, channel: str) -> list[Packet]:
        """Return the packets of one channel (CQ, CC, RQ or RC), in the order of their arrival."""
        return [packet for packet in self.packets if packet.channel == channel]


class Straddle:
    """Converts RC beats with PG213's straddle option into beats of one completion each.

    With the option tlast is never set, and is_eof says where a completion ends. A start or an end
    at a place that PG213 does not allow raises ValueError."""

    def __init__(self):
        # Every value of tkeep that was seen on RC. Straddle does not use tkeep.
        self.keeps: set = set()
        # The dwords of the completion under way, each as (dword, its four byte enables).
        self.dwords: list = []

    def parts(self, beat: list) -> list:
        """Return the beats into which the completions that end in this RC beat are converted."""
        user = beat[2]
        ends = [_rc(user, f"end_{n}_dword") for n in (0, 1) if _rc(user, f"end_{n}_valid")]
        starts = [0, 4][: _rc(user, "start_0") + _rc(user, "start_1")]
        if len(starts) == 1 and self.dwords:
            starts = [4]
        return [part for piece in self._pieces(beat, starts, ends) for part in piece]

    def _pieces(self, beat: list, starts: list, ends: list):
        """Yield, for each completion that ends in this RC beat, the list of all beats of that
        completion."""
        _, keep, user, data = beat
        self.keeps.add(keep)
        for lane in range(DATA_DWORDS):
            if starts and lane == starts[0]:
                if self.dwords:
                    raise ValueError(f"straddle: one begins in lane {lane}, inside another")
                starts.pop(0)
            elif not self.dwords:
                continue
            self.dwords.append((_bits(data, 32 * lane, 32), _bits(user, 4 * lane, 4)))
            if ends and lane == ends[0]:
                ends.pop(0)
                yield self._beats(user)
        if starts or ends:
            raise ValueError(f"straddle: begins {starts} and ends {ends} where nothing does")

    def _beats(self, user: int) -> list:
        """Return the beats of the completion that has ended.

        `user` is tuser of the last RC beat: discontinue and parity are taken from it."""
        whole, self.dwords = self.dwords, []
        result = []
        for at in range(0, len(whole), DATA_DWORDS):
            part = whole[at : at + DATA_DWORDS]
            last = at + DATA_DWORDS >= len(whole)
            enables = sum(mask << 4 * i for i, (_, mask) in enumerate(part))
            tuser = _rc_tuser(
                byte_enable=enables,
                start_0=int(at == 0),
                end_0_valid=int(last),
                end_0_dword=len(part) - 1 if last else 0,
                discontinue=_rc(user, "discontinue"),
                parity=_rc(user, "parity"),
            )
            data = sum(dword << 32 * i for i, (dword, _) in enumerate(part))
            result.append([int(last), (1 << len(part)) - 1, tuser, data])
        return result


def _rc(user: int, field: str) -> int:
    """Return the value of a field of RC's tuser, by its name."""
    return _bits(user, *position(TUSER["RC"], field))


def _rc_tuser(**fields: int) -> int:
    """Return the value of RC's tuser that has these fields."""
    return sum(value << position(TUSER["RC"], name)[0] for name, value in fields.items())


def _bits(value: int, low: int, count: int) -> int:
    return value >> low & ((1 << count) - 1)


def _packet(channel: str, cycle: int, beats: list) -> Packet:
    head, table = DESCRIPTORS[channel]
    dwords = []
    for _, keep, _, data in beats:
        dwords += [_bits(data, 32 * i, 32) for i in range(DATA_DWORDS) if keep >> i & 1]
    descriptor = sum(dword << 32 * i for i, dword in enumerate(dwords[:head]))
    fields = {name: _bits(descriptor, low, count) for name, low, count in table}
    if "address" in fields:
        fields["address"] <<= 2
    for name, low, count in FIRST_USER[channel]:
        fields[name] = _bits(beats[0][2], low, count)
    for name, low, count in BEAT_USER[channel]:
        fields[name] = tuple(_bits(user, low, count) for _, _, user, _ in beats)
    return Packet(channel, cycle, fields, tuple(dwords[head:]), tuple(beat[1] for beat in beats))
