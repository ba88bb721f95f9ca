# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Descriptors on RQ and CC that no gateware should make. Each of them breaks exactly the rule that
exists for it."""

import pytest

from sim.test.board.bench_card import (
    MANAGE_VALUE,
    MANAGE_WRITE,
    SEND_CC,
    request,
)
from sim.test.board.board_client import HIGH_MEMORY, wait_until

DATA = 0x0123_4567


def write(dwords=1, **changes):
    """Return the dwords of a legal write to host memory on RQ. `changes` (d0 to d3) are bits that
    are set in the dwords of its descriptor."""
    packet = [*request(HIGH_MEMORY, dwords, write=True), *[DATA] * dwords]
    for name, bits in changes.items():
        packet[int(name[1])] |= bits
    return packet


def read(**changes):
    packet = request(HIGH_MEMORY, 1)
    for name, bits in changes.items():
        packet[int(name[1])] |= bits
    return packet


LEGAL = {
    "a write": write(),
    "relaxed ordering, no snoop": write(d3=3 << 28),
    "a read": read(),
    "a poisoned write": write(d2=1 << 15),
    "another tag": read(d3=31),
}
ILLEGAL = {
    "an I/O read": (request(HIGH_MEMORY, 1, kind=2), "request-type"),
    "an I/O write": ([*request(HIGH_MEMORY, 1, kind=3), DATA], "request-type"),
    "an atomic": ([*request(HIGH_MEMORY, 1, kind=4), DATA], "request-type"),
    "a configuration read": (request(HIGH_MEMORY, 1, kind=8), "request-type"),
    "a message": (request(HIGH_MEMORY, 1, kind=12), "request-type"),
    "a reserved type": (request(HIGH_MEMORY, 1, kind=15), "request-type"),
    "a write of nothing": (write(dwords=0), "zero-length"),
    "a read of nothing": (request(HIGH_MEMORY, 0), "zero-length"),
    "a translated address": (write(d0=2), "reserved-fields"),
    "a translation request": (read(d0=1), "reserved-fields"),
    "an ECRC": (write(d3=1 << 31), "reserved-fields"),
    "a poisoned read": (read(d2=1 << 15), "reserved-fields"),
}


@pytest.mark.parametrize("name", LEGAL)
def test_a_legal_request_breaks_no_rule(bench, name):
    """No request of LEGAL breaks a rule. So if a changed request of the tests below breaks a rule,
    the change is the cause."""
    with bench() as (board, card):
        memory = card.memory(HIGH_MEMORY, 4096)
        card.send(LEGAL[name])
        if len(LEGAL[name]) == 5:
            wait_until(lambda: memory.data[:4] == DATA.to_bytes(4, "little"), "the write")
        else:
            card.completions(4)


@pytest.mark.parametrize("name", ILLEGAL)
def test_an_illegal_request_breaks_exactly_its_rule(bench, name):
    """Each request of ILLEGAL breaks its rule once, and no other rule. The card's later requests
    work."""
    packet, rule = ILLEGAL[name]
    with bench("--rules", "warn", violations=[rule]) as (board, card):
        card.memory(HIGH_MEMORY, 4096)
        card.send(packet)
        wait_until(lambda: board.stats()["violations"] == {rule: 1}, f"a breach of {rule}")
        card.send(write())
        card.send(read())
        card.completions(4)
    assert f"rule {rule} broken by" in board.output


def test_fatal_ends_the_board(bench):
    """Without the option --rules, a broken rule ends the board with status 1, and the board's
    output names the TLP."""
    with bench(status=1) as (board, card):
        card.send(write(dwords=0))
        board.wait()
    assert "rule zero-length broken by MWr 0x100000000 0 dw" in board.output


def completion(d0=0, d1=0, d2=0, status=0):
    """Return the dwords of a completion on CC for a tag that no host read has. It breaks the rule
    `unexpected-completion` even if its fields are right."""
    information = [] if status == 0 else [0xF, *request(HIGH_MEMORY, 1)]
    data = [DATA] if status == 0 else information
    return [
        4 << 16 | d0,
        (1 if status == 0 else 0) | 0xA0 << 16 | status << 11 | d1,
        0x80 | d2,
        *data,
    ]


@pytest.mark.parametrize(
    "fields,also",
    [
        ({}, set()),
        ({"d0": 1 << 7}, {"reserved-fields"}),
        ({"d0": 1 << 8}, {"reserved-fields"}),
        ({"d0": 1 << 15}, {"reserved-fields"}),
        ({"d0": 1 << 29}, {"reserved-fields"}),
        ({"d0": 1 << 31}, {"reserved-fields"}),
        ({"d1": 1 << 15}, {"reserved-fields"}),
        ({"d2": 1 << 31}, {"reserved-fields"}),
        ({"status": 1}, set()),
        ({"status": 4}, set()),
        ({"status": 2}, {"reserved-fields"}),
        ({"status": 3}, {"reserved-fields"}),
        ({"status": 7}, {"reserved-fields"}),
    ],
)
def test_reserved_fields_of_completions(bench, fields, also):
    """A completion on CC with a reserved bit set (locked, address type, ECRC), or with a status
    that does not exist, also breaks the rule `reserved-fields`."""
    rules = {"unexpected-completion"} | also
    with bench("--rules", "warn", violations=rules) as (board, card):
        card.send(completion(**fields), on=SEND_CC)
        wait_until(lambda: set(board.stats()["violations"]) == rules, f"breaches of {rules}")


@pytest.mark.parametrize(
    "offset,legal",
    [
        *((offset, True) for offset in (0xB0, 0xBC, 0x480, 0x4FC)),
        *((offset, False) for offset in (0xAC, 0xC0, 0x47C, 0x500, 0x04, 0x78)),
    ],
)
def test_the_users_configuration_space(bench, offset, legal):
    """If the card writes by cfg_mgmt outside the user's parts of configuration space (0xB0 to 0xBF,
    0x480 to 0x4FF), it breaks the rule `user-config-space`. No write by cfg_mgmt changes a
    value."""
    rules = [] if legal else ["user-config-space"]
    with bench("--rules", "warn", violations=rules) as (board, card):
        before = card.config_read(offset)
        card.write(MANAGE_VALUE, 0xFFFF_FFFF)
        card.write(MANAGE_WRITE, offset // 4)
        assert card.manage(0) == 0x9038_10EE, (
            "the write has ended, so a cfg_mgmt read works after it"
        )
        assert card.config_read(offset) == before
        assert board.stats()["violations"] == dict.fromkeys(rules, 1)
