# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""pcie/ports.py: LitePCIe's layouts in front of the endpoint"""

import random

import pytest
from litepcie.common import completion_layout, request_layout
from seeds import each_seed
from stream_model import simulate

from lanebox import layouts
from lanebox.pcie.ports import (
    DataAdapter,
    RequestAdapter,
    port_completion_layout,
    port_request_layout,
)


def offered(values):
    """The endpoint's fields for a request with these fields of the port."""
    dut, seen = RequestAdapter(), {}

    def look():
        for name, value in values.items():
            yield getattr(dut.sink, name).eq(value)
        yield
        for name, *_ in layouts.request_layout():
            seen[name] = (yield getattr(dut.source, name))

    simulate(dut, [look()])
    return seen

def test_the_layouts_are_litepcies_and_more():
    """The layouts have all fields of LitePCIe's, so its frontends attach unchanged."""
    for ours, theirs in (
        (port_request_layout(),    request_layout(layouts.DATA_WIDTH, layouts.ADDRESS_WIDTH)),
        (port_completion_layout(), completion_layout(layouts.DATA_WIDTH, layouts.ADDRESS_WIDTH)),
    ):
        assert set(theirs.payload_layout) < set(ours.payload_layout)

@pytest.mark.parametrize("length, dwords, last_be", [(1, 1, 0x0), (2, 2, 0xf), (0, 1024, 0xf)])
def test_a_litepcie_request_is_whole_dwords(length, dwords, last_be):
    """A request without byte enables has whole dwords. A length of 0 means 1024."""
    seen = offered({"len": length})
    assert (seen["dwords"], seen["first_be"], seen["last_be"]) == (dwords, 0xf, last_be)

def test_byte_enables_count_when_they_are_given():
    seen = offered({"len": 3, "with_be": 1, "first_be": 0x8, "last_be": 0x3})
    assert (seen["first_be"], seen["last_be"]) == (0x8, 0x3)

@each_seed(2)
def test_context_carries_user_and_channel(seed):
    rng = random.Random(seed)
    user, channel = rng.randrange(256), rng.randrange(256)
    assert offered({"user_id": user, "channel": channel})["context"] == channel << 8 | user

@each_seed(3)
def test_data_comes_back_as_one_packet_a_request(seed):
    """`first` and `last` frame each request's data, `end` is 1, and `err` is set with `error`."""
    rng   = random.Random(seed)
    dut   = DataAdapter(channel=3)
    sent  = [[rng.randrange(2**32) for _ in range(rng.randrange(1, 5))] for _ in range(20)]
    codes = [rng.choice([0, 0, 1, 4]) for _ in sent]
    seen  = []

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
        for packet, code in zip(sent, codes) for n, data in enumerate(packet)
    ]
    assert seen == expected
