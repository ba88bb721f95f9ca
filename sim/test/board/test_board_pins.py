# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The model of the hard block, driven at its pins without gateware: each rule is broken and kept,
and each field of the descriptors is checked.

Real gateware could not break these rules, since it sends only whole dwords and legal TLPs.
"""

import pytest

from sim.test.model.model_probe import (
    MEMORY,
    RUN,
    completion,
    decode_cq,
    decode_rc,
    packets,
    request,
    run,
)

# Commands to model_probe.cpp that write configuration space: config OFFSET BYTES VALUE, all in hex
EXTENDED_TAGS = "config 78 2 2910"
BUS_MASTER_OFF = "config 4 2 2"
MSI_OFF = "config 4a 2 0"
MPS_128 = "config 78 2 2810"  # Device Control: MPS 128 bytes, MRRS 512 bytes

WHOLE = request(True, MEMORY, 16)  # a write of 64 bytes by the card, which has three beats on RQ
# The host reads four bytes at offset 0x10 of BAR0 and waits for a completion with tag 0.
READ = ["read 10 4", f"run {RUN}"]


def gap(commands):
    return [commands[0], "run 1", *commands[1:]]


def with_keep(commands, keep):
    """Return `commands`, with `keep` as the tkeep of the last beat that they send."""
    verb, last, _, *rest = commands[-1].split()
    return [*commands[:-1], " ".join([verb, last, f"{keep:x}", *rest])]


def held_reads(completions):
    """Return commands for reads that bring `completions` completions, four for each read. They wait
    while the test holds RC's ready low, and are then taken."""
    reads = [request(False, MEMORY, 128, tag=tag) for tag in range(completions // 4)]
    return [MPS_128, "hold", *sum(reads, []), f"run {3 * RUN}", "take"]


def late_reads(completions):
    """Return commands for reads that bring `completions` completions, four for each read. They wait
    inside the hard block while it stalls. RC's ready stays high."""
    reads = [request(False, MEMORY, 128, tag=tag) for tag in range(completions // 4)]
    return [MPS_128, *sum(reads, []), "stall 64", f"run {3 * RUN}", "stall 0"]


# {name of the case: (commands to model_probe.cpp, the hard block's rules that they break)}
CASES = {
    "a whole write": (WHOLE, []),
    "tvalid falls inside a TLP": (gap(WHOLE), ["tvalid-gap"]),
    "tvalid falls between TLPs": ([*WHOLE, "run 5", *WHOLE], []),
    "tvalid falls inside a completion": (
        [*READ, *gap(completion(0, 4, [1] * 8, low=0x10))],
        ["tvalid-gap", "completion-byte-count"],
    ),
    "tkeep with a hole": (with_keep(WHOLE, 0b1011), ["tkeep-mismatch"]),
    "tkeep longer than the dword count": (with_keep(WHOLE, 0x1F), ["tkeep-mismatch"]),
    "tkeep shorter than the dword count": (with_keep(WHOLE, 0x7), ["tkeep-mismatch"]),
    "a read with payload": (request(True, MEMORY, 4, kind=0), ["tkeep-mismatch"]),
    "an I/O request": (request(False, MEMORY, 1, kind=2), ["request-type"]),
    "an atomic operation": (request(True, MEMORY, 1, kind=4), ["request-type"]),
    "one dword, last enables set": (request(True, MEMORY, 1, 0xF, 0x1), ["byte-enables"]),
    "one dword with a hole": (request(True, MEMORY, 1, 0x9), []),
    "one dword, nothing enabled": (request(True, MEMORY, 1, 0x0), []),
    "two dwords, first enables clear": (request(True, MEMORY, 2, 0x0, 0xF), ["byte-enables"]),
    "two dwords, last enables clear": (request(True, MEMORY, 2, 0xF, 0x0), ["byte-enables"]),
    "an aligned quadword with holes": (request(True, MEMORY, 2, 0x5, 0xA), []),
    "two dwords with holes, not aligned": (
        request(True, MEMORY + 4, 2, 0x5, 0xF),
        ["byte-enables"],
    ),
    "three dwords, hole at the start": (request(True, MEMORY, 3, 0x5, 0xF), ["byte-enables"]),
    "three dwords, hole at the end": (request(True, MEMORY, 3, 0xF, 0x5), ["byte-enables"]),
    "three dwords, cut at both ends": (request(True, MEMORY, 3, 0x8, 0x1), []),
    "up to a 4 KiB boundary": (request(True, MEMORY + 4096 - 64, 16), []),
    "across a 4 KiB boundary": (request(True, MEMORY + 4096 - 60, 16), ["crosses-4k"]),
    "as much payload as MPS": ([MPS_128, *request(True, MEMORY, 32)], []),
    "more payload than MPS": ([MPS_128, *request(True, MEMORY, 33)], ["payload-above-mps"]),
    "a read as large as MRRS": (request(False, MEMORY, 128), []),
    "a read larger than MRRS": (request(False, MEMORY, 129), ["read-above-mrrs"]),
    "two reads, two tags": (
        request(False, MEMORY, 1, tag=1) + request(False, MEMORY, 1, tag=2),
        [],
    ),
    "two reads, one tag": (
        request(False, MEMORY, 1, tag=1) + request(False, MEMORY, 1, tag=1),
        ["tag-in-use"],
    ),
    "a tag used again after its completion": (
        [*request(False, MEMORY, 1, tag=1), f"run {RUN}", *request(False, MEMORY, 1, tag=1)],
        [],
    ),
    "a tag used again before its last completion": (
        [MPS_128, "hold", *request(False, MEMORY, 128), f"run {RUN}", *request(False, MEMORY, 1)],
        ["tag-in-use", "rc-backpressure"],
    ),
    "a tag above 31": (request(False, MEMORY, 1, tag=32), ["tag-range"]),
    "a tag above 31, extended tags on": ([EXTENDED_TAGS, *request(False, MEMORY, 1, tag=200)], []),
    "a write with any tag": (request(True, MEMORY, 1, tag=200), []),
    "a request without bus master": ([BUS_MASTER_OFF, *WHOLE], ["bus-master-off"]),
    "an interrupt": (["msi"], []),
    "an interrupt with MSI off": ([MSI_OFF, "msi"], ["msi-disabled"]),
    "an interrupt without bus master": ([BUS_MASTER_OFF, "msi"], ["msi-disabled"]),
    "a completion that nobody waits for": (completion(5, 4, [1]), ["unexpected-completion"]),
    "a completion with another tag": (
        [*READ, *completion(1, 4, [1], low=0x10)],
        ["unexpected-completion"],
    ),
    "a right completion": ([*READ, *completion(0, 4, [1], low=0x10)], []),
    "a wrong byte count": ([*READ, *completion(0, 3, [1], low=0x10)], ["completion-byte-count"]),
    "a wrong lower address": ([*READ, *completion(0, 4, [1], low=0)], ["completion-byte-count"]),
    "a wrong requester": (
        [*READ, *completion(0, 4, [1], low=0x10, requester=0)],
        ["completion-byte-count"],
    ),
    "two dwords for one": ([*READ, *completion(0, 4, [1, 2], low=0x10)], ["completion-byte-count"]),
    "fewer dwords than the count says": (
        [*READ, *completion(0, 4, [1], low=0x10, dwords=2)],
        ["tkeep-mismatch", "completion-byte-count"],
    ),
    "UR with the request's information": (
        [*READ, *completion(0, 4, [0] * 5, status=1, dwords=0)],
        [],
    ),
    "UR in three dwords": ([*READ, *completion(0, 4, [], status=1)], ["completion-error-form"]),
    "many completions, taken as they come": (
        [MPS_128, *[c for tag in range(32) for c in request(False, MEMORY, 128, tag=tag)]],
        [],
    ),
    "64 completions wait while RC is held": (held_reads(64), ["rc-backpressure"]),
    "68 completions wait while RC is held": (
        held_reads(68),
        ["rc-completions", "rc-backpressure"],
    ),
    "60 completions wait inside the block": (late_reads(60), []),
    "68 completions wait inside the block": (late_reads(68), ["rc-completions"]),
}


@pytest.mark.parametrize("case", CASES)
def test_each_rule_can_be_broken_and_kept(case):
    """The commands of each case in CASES break exactly the rules of its row. A case with legal
    commands breaks none."""
    commands, rules = CASES[case]
    assert run([*commands, f"run {RUN}"]).broken == set(rules)


# Writes by the card ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dwords,first_be,last_be",
    [
        (1, 0xF, 0),
        (1, 0x0, 0),
        (1, 0x6, 0),
        (1, 0x9, 0),
        (2, 0x5, 0xA),
        (2, 0x8, 0x1),
        (3, 0xE, 0x7),
        (16, 0xC, 0x3),
        (16, 0xF, 0xF),
    ],
)
def test_only_enabled_bytes_are_stored(dwords, first_be, last_be):
    """Of a write by the card, host memory receives exactly the bytes that the write's byte enables
    select."""
    seen = run([*request(True, MEMORY, dwords, first_be, last_be), f"run {RUN}"])
    enabled = [first_be >> i & 1 for i in range(4)]
    if dwords > 1:
        enabled += [1] * 4 * (dwords - 2) + [last_be >> i & 1 for i in range(4)]
    expected = {MEMORY + i: i & 0xFF for i, on in enumerate(enabled) if on}
    assert seen.stored == expected


# Reads by the card -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "offset,dwords,first_be,last_be,expected",
    [
        # `expected` has (lower address, byte count, dwords) of each completion of a host read at
        # MPS 128.
        (0, 1, 0xF, 0, [(0, 4, 1)]),
        # PCIe: the completion of a host read without byte enables (zero-length) has the byte count
        # 1.
        (0, 1, 0x0, 0, [(0, 1, 1)]),
        (4, 1, 0x4, 0, [(6, 1, 1)]),
        (4, 1, 0x6, 0, [(5, 2, 1)]),
        (0, 2, 0x8, 0x1, [(3, 2, 2)]),
        (0, 64, 0xF, 0xF, [(0, 256, 32), (128, 128, 32)]),
        (0, 64, 0xC, 0x3, [(2, 252, 32), (128, 126, 32)]),
        (124, 34, 0xE, 0xF, [(125, 135, 1), (128, 132, 32), (256, 4, 1)]),
        (0xF80, 32, 0xF, 0xF, [(0xF80, 128, 32)]),
    ],
)
def test_lower_address_and_byte_count(offset, dwords, first_be, last_be, expected):
    """The completions of a read by the card have the lower address of its first enabled byte, and
    the byte count up to its last enabled byte (base specification 2.3.1.1)."""
    read = request(False, MEMORY + offset, dwords, first_be, last_be, tag=9)
    seen = run([MPS_128, *read, f"run {RUN}"])
    fields = [decode_rc(packet) for packet in packets(seen.rc)]
    assert [(f["low"], f["byte_count"], f["dwords"]) for f in fields] == expected
    assert {(f["tag"], f["status"], f["error"]) for f in fields} == {(9, 0, 0)}
    assert [f["done"] for f in fields] == [0] * (len(fields) - 1) + [1]
    data = b"".join(f["data"] for f in fields)
    assert data == bytes((offset + i) & 0xFF for i in range(4 * dwords))


def test_unsupported_request_on_rc():
    """If the host refuses a read, one completion with status UR, PG213's error code 2 and no
    payload ends the read on RC."""
    seen = run([*request(False, 0x2000, 16, tag=3), f"run {RUN}"])
    [packet] = packets(seen.rc)
    fields = decode_rc(packet)
    assert (fields["status"], fields["error"], fields["dwords"], fields["done"]) == (1, 2, 0, 1)
    assert (fields["byte_count"], fields["tag"], fields["data"]) == (64, 3, b"")


def test_byte_enables_of_rc_beats():
    """The byte enables in m_axis_rc_tuser are set for a completion's payload, and clear for its
    descriptor."""
    seen = run([*request(False, MEMORY, 8, tag=0), f"run {RUN}"])
    assert [(beat.keep, beat.byte_en) for beat in seen.rc] == [(0xFF, 0xFFFF_F000), (0x7, 0xFFF)]


# Requests of the host --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "offset, count",
    [(offset, count) for count in (1, 2, 4, 8) for offset in range(0, 8, count)],
)
def test_a_host_write_on_cq(offset, count):
    """A naturally aligned host write of 1, 2, 4 or 8 bytes appears on CQ as one beat with the right
    descriptor, data and byte enables."""
    value = 0x8877665544332211 & ((1 << 8 * count) - 1)
    seen = run([f"write {0x100 + offset:x} {count:x} {value:x}", f"run {RUN}"])
    [beat], [packet] = seen.cq, packets(seen.cq)
    fields = decode_cq(packet)
    assert (fields["address"], fields["type"]) == (0xE000_0100 + (offset & ~3), 1)
    assert (fields["bar"], fields["aperture"], fields["function"]) == (0, 17, 0)
    assert fields["dwords"] == len(fields["payload"]) == (2 if count == 8 else 1)

    shift = offset & 3
    enabled = ((1 << count) - 1) << shift
    assert beat.enables == (0xFF if count == 8 else enabled)
    assert beat.byte_en == enabled << 16, "the data begin after a descriptor of 16 bytes"
    payload = sum(dword << 32 * i for i, dword in enumerate(fields["payload"]))
    assert payload >> 8 * shift & ((1 << 8 * count) - 1) == value


@pytest.mark.parametrize("count", [1, 2, 4, 8])
def test_a_host_read_there_and_back(count):
    """A host read appears on CQ without payload. The host gets the bytes of the completion that the
    card sends on CC."""
    offset = 8 - count if count < 4 else 0
    asked = run([f"read {offset:x} {count:x}", f"run {RUN}"])
    [packet] = packets(asked.cq)
    fields = decode_cq(packet)
    assert (fields["type"], fields["payload"]) == (0, [])
    assert asked.cq[0].byte_en == 0
    dwords = fields["dwords"]
    data = [0x44332211, 0x88776655][:dwords] if offset < 4 else [0x88776655]
    answer = completion(fields["tag"], count, data, low=offset)
    seen = run([f"read {offset:x} {count:x}", f"run {RUN}", *answer, f"run {RUN}"])
    whole = 0x8877665544332211 >> 8 * offset & ((1 << 8 * count) - 1)
    assert seen.answers == [(True, whole)] and seen.broken == set()


@pytest.mark.parametrize(
    "answer", [completion(0, 4, [0] * 5, status=1, dwords=0), completion(0, 4, [1], low=0)]
)
def test_a_read_that_fails_gives_all_ones(answer):
    """If the card answers a host read by an error or by a wrong completion, the host gets all
    ones."""
    seen = run([*READ, *answer, f"run {RUN}"])
    assert seen.answers == [(False, 0xFFFF_FFFF)]


def test_a_read_that_is_never_answered_gives_all_ones():
    """If the card does not answer a host read, the host gets all ones after 50 us of device
    time."""
    assert run([*READ, "run 12000"]).answers == []
    assert run([*READ, "run 13000"]).answers == [(False, 0xFFFF_FFFF)]


def test_an_interrupt_reaches_the_host():
    """If the card drives cfg_interrupt_msi_int for one cycle, the host gets one interrupt, after
    the writes that the card sent before it."""
    seen = run([*WHOLE, "msi", f"run {RUN}"])
    assert seen.interrupts == 1 and len(seen.stored) == 64
