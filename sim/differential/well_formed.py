# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Checks of each model's run by itself, for facts in which two right models may differ.

The completions of one read must bring its bytes once, in order, each with the right address and
count (base specification 2.3.1.1). An answer must belong to a request that waits for it."""

from __future__ import annotations

from dataclasses import replace

from sim.differential.observation import Observation, Packet

READ = 0
# Fields of a completion that must be the same in all completions of a read, and in both models.
COMMON = ("error", "locked", "status", "poisoned", "requester", "completer", "tc", "attributes")
# Fields of an error completion that are compared between the models.
REFUSAL = ("error", "status", "dwords", "byte_count", "low_address", "byte_enables", "start")


def enables(packet: Packet) -> list[int]:
    """Return the byte enables of each payload dword, from the request's first_be and last_be."""
    count = len(packet.payload)
    if count == 0:
        return []
    if "first_be" not in packet.fields:
        return [0xF] * count
    middle = [0xF] * (count - 2)
    return [packet.first_be, *middle, packet.last_be][:count] if count > 1 else [packet.first_be]


def enabled_bytes(packet: Packet) -> bytes:
    """Return the bytes of the TLP's payload that its byte enables select."""
    data = b""
    for dword, mask in zip(packet.payload, enables(packet)):
        lanes = dword.to_bytes(4, "little")
        data += bytes(lane for i, lane in enumerate(lanes) if mask >> i & 1)
    return data


def answers(side: Observation) -> list[Packet]:
    """Return the packets of CC with an added field `answers`.

    The field has the number of the read on CQ that the completion answers, or -1 if no read waits
    for it."""
    waiting: dict = {}
    reads, answered = 0, []
    for packet in side.packets:
        if packet.channel == "CQ" and packet.type == READ:
            waiting[packet.requester, packet.tag] = reads
            reads += 1
        elif packet.channel == "CC":
            read = waiting.pop((packet.requester, packet.tag), -1)
            answered.append(replace(packet, fields={**packet.fields, "answers": read}))
    return answered


def completions_of_reads(side: Observation) -> list[dict]:
    """Return a result for each read on RQ, in order, and one with a fault for each completion
    whose tag no read has.

    The result has the data, the COMMON fields, and faults."""
    reads: list = []
    waiting: dict = {}
    for packet in side.packets:
        if packet.channel == "RQ" and packet.type == READ:
            waiting[packet.tag] = _Read(packet)
            reads.append(waiting[packet.tag])
        elif packet.channel == "RC":
            read = waiting.get(packet.tag)
            if read is None:
                reads.append(_Read(None))
                reads[-1].faults.append(f"a completion for tag {packet.tag}, which no read has")
                continue
            read.add(packet)
            if packet.completed:
                del waiting[packet.tag]
    return [read.result() for read in reads]


class _Read:
    """A read of host memory by the card, with its completions that have come so far."""

    def __init__(self, request: Packet | None):
        self.request = request
        self.data = b""
        self.common: list = []
        self.faults: list = []
        self.ends: set = set()
        self.refusals: list = []
        self.completed = False

    def add(self, packet: Packet) -> None:
        """Check a completion with data and keep the data; hand any other to refuse().

        The card reads whole dwords only. A broken rule is added to `faults`; nothing is returned.
        """
        if packet.status:
            return self.refuse(packet)
        left = self.request.dwords * 4 - len(self.data)
        address = self.request.address + len(self.data)
        covered = _lane_bytes(packet)
        self._must("byte_count", packet.byte_count, left)
        self._must("low_address", packet.low_address, address & 0xFFF)
        self._must("dwords", packet.dwords * 4, len(packet.payload) * 4)
        self._must("byte_enables", len(covered), len(packet.payload) * 4)
        lanes = sum(bin(mask).count("1") for mask in packet.byte_enables)
        # No byte enable may cover the completion's descriptor, so the enables of all lanes count.
        self._must("byte_enables of all lanes", lanes, len(covered))
        self._must("completed", packet.completed, int(left == packet.dwords * 4))
        self._must("start", packet.start, (1,) + (0,) * (len(packet.start) - 1))
        self._must("discontinue", any(packet.discontinue), False)
        self._must("keep", packet.keep, _whole(len(packet.payload) + 3))
        common = tuple(packet.fields[name] for name in COMMON)
        if common not in self.common:
            self.common.append(common)
        self.ends.add(_end_flags(packet))
        self.data += covered

    def refuse(self, packet: Packet) -> None:
        """Check an error completion and keep it.

        An error completion has no data and is the last one of its read."""
        self._must("completed", packet.completed, 1)
        self._must("payload", packet.payload, ())
        self.refusals.append(packet)

    def _must(self, name: str, got, right) -> None:
        if got != right:
            self.faults.append(f"{name} {got}, not {right}")

    def result(self) -> dict:
        """Return the read's data, its first fault, and the fields of all of its completions."""
        result = {"data": self.data.hex(), "faults": tuple(self.faults[:1])}
        for i, name in enumerate(COMMON):
            result[name] = tuple(common[i] for common in self.common)
        for name in REFUSAL:
            result[f"refusal.{name}"] = tuple(packet.fields[name] for packet in self.refusals)
        result["end"] = tuple(sorted(self.ends))
        return result


def _end_flags(packet: Packet) -> str:
    """Return what is_eof of the beats says about the end of the packet.

    The text is "none" if is_eof is never set. It is "right" if only the last beat has is_eof, with
    the lane of the last dword. Otherwise the text has the values."""
    last = packet.keep[-1].bit_length() - 1
    right = (0,) * (len(packet.keep) - 1) + (1 | last << 1,)
    if not any(packet.fields["end"]):
        return "none"
    return "right" if packet.fields["end"] == right else str(packet.fields["end"])


def _whole(dwords: int) -> tuple:
    """Return the right value of tkeep for each beat of a packet of `dwords` dwords."""
    return tuple((1 << min(8, dwords - at)) - 1 for at in range(0, dwords, 8))


def _lane_bytes(packet: Packet) -> bytes:
    """Return the payload bytes that tuser's byte enables cover, in lane order.

    The bytes of the descriptor are left out."""
    data, at = b"", 0
    for mask, keep in zip(packet.byte_enables, packet.keep):
        for lane in range(8):
            if not keep >> lane & 1:
                continue
            if at >= 3:
                dword = packet.payload[at - 3].to_bytes(4, "little")
                data += bytes(dword[i] for i in range(4) if mask >> (4 * lane + i) & 1)
            at += 1
    return data
