# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of the block ListSum in examples/list_sum, which adds up a linked list in host memory.

sim/test/virtio/test_board_commands.py tests the same block on a whole simulated card.
"""

import random

import pytest
from migen import passive

from gateware.user.slot import find_occupant, make_occupant
from tools.testing.repository import ROOT
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate, watch

ListSum = find_occupant(f"{ROOT}/examples/list_sum/list_sum.py:ListSum")
FAILED = 3  # the error code of a read of an address that has no node


def make_list(values, rng):
    """Return ({address: (next address, value)}, first address) of a linked list of these values.
    The nodes have random addresses.
    """
    nodes = [16 * n for n in rng.sample(range(1, 1 << 20), len(values))]
    return dict(zip(nodes, zip([*nodes[1:], 0], values))), nodes[0]


def walks(nodes, heads, rng, limit=1 << 20):
    """Let the block ListSum add up one linked list for each address in `heads`, one after the
    other.

    `nodes` is {address: (next address, value)}. `limit` is the most nodes of a list. Returns for
    each list (sum, number of nodes read, whether it has more than `limit` nodes, error code).
    Asserts that each list gave one interrupt.
    """
    dut, found = ListSum(platform=None), []
    interrupts = 0

    @passive
    def host():
        """Stand in for the host: answer each read command of the block. The data and the end of the
        command come some cycles later, in any order.
        """
        command, h2c, done = dut.commands.command, dut.commands.h2c, dut.commands.done
        while True:
            yield command.ready.eq(1)
            yield
            while not (yield command.valid):
                yield
            assert (yield command.bytes) == 16 and not (yield command.write)
            # A read of 16 bytes may be two TLPs of which the second fails. The data that the block
            # then gets may have any next address.
            following, value = nodes.get((yield command.address), (8, 1))
            yield done.error.eq(0 if (yield command.address) in nodes else FAILED)
            yield command.ready.eq(0)
            yield h2c.data.eq(value << 64 | following)
            for stream in rng.sample([h2c, done], 2):
                for _ in range(rng.randrange(5)):
                    yield
                yield stream.valid.eq(1)
            yield
            assert (yield h2c.ready) and (yield done.ready)
            yield h2c.valid.eq(0)
            yield done.valid.eq(0)

    @passive
    def count():
        nonlocal interrupts
        while True:
            interrupts += yield dut.irq
            yield

    def run():
        yield dut.limit.storage.eq(limit)
        for number, head in enumerate(heads):
            yield dut.head.storage.eq(head)
            yield dut.start.fields.go.eq(1)
            yield
            yield dut.start.fields.go.eq(0)
            yield
            while (yield dut.busy):
                yield
            yield
            yield
            assert interrupts == number + 1
            endless, error = (yield dut.state.fields.endless), (yield dut.state.fields.error)
            found.append(((yield dut.sum.status), (yield dut.length.status), endless, error))

    simulate(dut, [run(), host(), count(), watch(dut.commands.command, "address")])
    return found


def test_it_fits_the_user_slot():
    """The user slot accepts ListSum with its commands, and its registers have the names that the
    client uses.
    """
    occupant = make_occupant(ListSum, platform=None)
    assert occupant.commands is not None
    names = [register.name for register in occupant.get_csrs()]
    assert sorted(names) == ["head", "length", "limit", "start", "state", "sum"]


@pytest.mark.parametrize("length", [1, 2, 50])
@each_seed(2)
def test_the_values_of_a_list_are_added_up(length, seed):
    """ListSum gives the right sum (modulo 2^64) and number of nodes for each list, also if it adds
    up the same list twice.
    """
    rng = random.Random(seed)
    values = [rng.getrandbits(64) for _ in range(length)]
    nodes, head = make_list(values, rng)
    assert walks(nodes, [head, head], rng) == [(sum(values) % (1 << 64), length, 0, 0)] * 2


@each_seed(2)
def test_a_node_that_cannot_be_read_ends_the_walk(seed):
    """If ListSum cannot read a node, it stops with the error of the read, and the node does not
    count. The next list is added up right.
    """
    rng = random.Random(seed)
    nodes, head = make_list([5, 6, 7], rng)
    broken, start = make_list([1, 2], rng)
    last = next(address for address, (following, _) in broken.items() if not following)
    broken[last] = (8, 2)
    found = walks({**nodes, **broken}, [start, head, 8, 0], rng)
    assert found == [(3, 2, 0, FAILED), (18, 3, 0, 0), (0, 0, 0, FAILED), (0, 0, 0, 0)]


@each_seed(1)
def test_a_list_without_end_is_left_at_the_limit(seed):
    """The block's walk through a linked list in host memory ends after `limit` nodes. If the list
    has more nodes, the block says so."""
    rng = random.Random(seed)
    nodes, head = make_list([1, 1, 1], rng)
    last = next(address for address, (following, _) in nodes.items() if not following)
    assert walks(nodes, [head], rng, limit=3) == [(3, 3, 0, 0)]
    nodes[last] = (head, 1)
    assert walks(nodes, [head, head], rng, limit=20) == [(20, 20, 1, 0)] * 2
