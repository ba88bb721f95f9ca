# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of endpoint/ports.py, which adapts LitePCIe's port layouts to the endpoint."""

import random

import pytest
from litepcie.common import completion_layout, request_layout

from gateware import numbers
from gateware.endpoint.ports import (
    DataAdapter,
    RequestAdapter,
    port_completion_layout,
    port_request_layout,
)
from gateware.vocabulary import layouts
from tools.testing.seeds import each_seed
from tools.testing.stream_model import simulate


def offered(values):
    """Return the fields that the endpoint gets if LitePCIe's port offers a request with these
    `values`.
    """
    dut, seen = RequestAdapter(), {}

    def look():
        for name, value in values.items():
            yield getattr(dut.sink, name).eq(value)
        yield
        for name, *_ in layouts.request_layout():
            seen[name] = yield getattr(dut.source, name)

    simulate(dut, [look()])
    return seen


def test_the_layouts_are_litepcies_and_more():
    """The endpoint's port layouts have all fields of LitePCIe's, so LitePCIe's front ends attach
    unchanged.
    """
    for ours, theirs in (
        (port_request_layout(), request_layout(numbers.DATA_WIDTH, numbers.ADDRESS_WIDTH)),
        (port_completion_layout(), completion_layout(numbers.DATA_WIDTH, numbers.ADDRESS_WIDTH)),
    ):
        assert set(theirs.payload_layout) < set(ours.payload_layout)


@pytest.mark.parametrize("length, dwords, last_be", [(1, 1, 0x0), (2, 2, 0xF), (0, 1024, 0xF)])
def test_a_litepcie_request_is_whole_dwords(length, dwords, last_be):
    """A LitePCIe request without byte enables covers whole dwords; its length 0 means 1024
    dwords.
    """
    seen = offered({"len": length})
    assert (seen["dwords"], seen["first_be"], seen["last_be"]) == (dwords, 0xF, last_be)


def test_byte_enables_count_when_they_are_given():
    """With `with_be` set, the byte enables of the request are passed on as they are."""
    seen = offered({"len": 3, "with_be": 1, "first_be": 0x8, "last_be": 0x3})
    assert (seen["dwords"], seen["first_be"], seen["last_be"]) == (3, 0x8, 0x3)


@pytest.mark.parametrize("whole", [0, 1])
def test_a_request_of_1024_dwords_says_so_if_byte_enables_are_given(whole):
    """With `with_be` set, `whole` adds 1024 to the length, and a length of 0 does not."""
    assert offered({"len": 0, "with_be": 1, "whole": whole})["dwords"] == 1024 * whole


@each_seed(2)
def test_context_carries_user_and_channel(seed):
    """The channel is the upper byte of the context, and the user_id is the lower one."""
    rng = random.Random(seed)
    user, channel = rng.randrange(256), rng.randrange(256)
    assert offered({"user_id": user, "channel": channel})["context"] == channel << 8 | user


@each_seed(3)
def test_data_comes_back_as_one_packet_a_request(seed):
    """The data of each read request comes as one packet, framed by `first` and `last`.

    `end` is always 1. `err` is set in the beats whose `error` is not 0.
    """
    rng = random.Random(seed)
    dut = DataAdapter(channel=3)
    sent = [[rng.randrange(2**32) for _ in range(rng.randrange(1, 5))] for _ in range(20)]
    codes = [rng.choice([0, 0, 1, 4]) for _ in sent]
    seen = []

    def drive():
        for packet, code in zip(sent, codes):
            for n, data in enumerate(packet):
                yield dut.sink.data.eq(data)
                yield dut.sink.error.eq(code)
                yield dut.sink.context.eq(0x0355)
                yield dut.sink.last.eq(n == len(packet) - 1)
                yield dut.sink.valid.eq(1)
                yield dut.source.ready.eq(0)
                while rng.random() < 0.4:
                    yield
                yield dut.source.ready.eq(1)
                yield
                beat = []
                for name in ("dat", "first", "last", "end", "err", "error", "user_id", "channel"):
                    beat.append((yield getattr(dut.source, name)))
                seen.append(beat)

    simulate(dut, [drive()])
    expected = [
        [data, n == 0, n == len(packet) - 1, 1, code != 0, code, 0x55, 3]
        for packet, code in zip(sent, codes)
        for n, data in enumerate(packet)
    ]
    assert seen == expected
