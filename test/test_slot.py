# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""user/slot.py"""

import sys
from types import SimpleNamespace

import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Module, Signal
from stream_model import simulate

from lanebox.layouts import plain_stream_layout, stream_layout
from lanebox.user.axi_memory import MemoryOnAxi
from lanebox.user.loopback import Loopback
from lanebox.user.slot import find_occupant, make_occupant, occupant_sources


class Good(LiteXModule):
    """What fits the slot; each bad occupant below differs from it in one thing."""

    def __init__(self, platform):
        self.platform = platform
        self.sink     = stream.Endpoint(stream_layout())
        self.source   = stream.Endpoint(stream_layout())
        self.irq      = Signal()


class NoSink(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        del self.sink


class NarrowSource(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.source = stream.Endpoint([("data", 128)])


class WideIrq(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.irq = Signal(2)


class NoIrq(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.irq = None


class BusyIsABool(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.busy = True


class AxiIsABool(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.axi = True


class NotLiteX(Module):
    def __init__(self, platform):
        self.sink   = stream.Endpoint(stream_layout())
        self.source = stream.Endpoint(stream_layout())
        self.irq    = Signal()


@pytest.mark.parametrize("occupant, sentence", [
    (NoSink,       "NoSink: `sink` \\(h2c\\) is None; it must be stream.Endpoint"),
    (NarrowSource, "NarrowSource: `source` \\(c2h\\) has the layout .*128.* must be .*256"),
    (WideIrq,      "WideIrq: `irq` \\(interrupt\\) is .*; it must be Signal\\(\\) of one bit"),
    (NoIrq,        "NoIrq: `irq` \\(interrupt\\) is None"),
    (BusyIsABool,  "BusyIsABool: `busy` .* is True"),
    (AxiIsABool,   "AxiIsABool: `axi` .* is True; it must be user_axi\\(\\)"),
    (NotLiteX,     "NotLiteX is not a LiteXModule"),
])
def test_what_does_not_fit_is_refused(occupant, sentence):
    """An occupant that does not fit is refused by name, with what it has and what it must have."""
    with pytest.raises(ValueError, match=sentence):
        make_occupant(occupant, platform=None)


class Plain(Good):
    """Written for LitePCIe's layout: what comes goes back in the next cycle."""

    def __init__(self, platform):
        Good.__init__(self, platform)
        self.buffer = stream.Buffer(plain_stream_layout())
        self.sink, self.source = self.buffer.sink, self.buffer.source


def test_streams_of_litepcie_s_layout_are_connected():
    """Data and `last` pass; of the ends of packets nothing does: whole beats, no errors."""
    made  = make_occupant(Plain, platform=None)
    seen  = []

    def run():
        for field, value in (("valid", 1), ("data", 77), ("last", 1), ("bytes", 5), ("error", 1)):
            yield getattr(made.sink, field).eq(value)
        yield made.source.ready.eq(1)
        for _ in range(3):
            yield
        for name in ("valid", "data", "last", "bytes", "error"):
            seen.append((yield getattr(made.source, name)))
        assert (yield made.sink.ready)

    simulate(made, [run()])
    assert seen == [1, 77, 1, 0, 0]


@pytest.mark.parametrize("occupant", [Good, Loopback, MemoryOnAxi, Plain])
def test_what_fits_is_accepted(occupant):
    """A fitting occupant is made, gets the platform, and always has a busy signal."""
    made = make_occupant(occupant, platform=SimpleNamespace())
    assert isinstance(made, occupant) and len(made.busy) == 1


def test_an_axi_bus_needs_the_bridge():
    """With a bus master that has no AXI4 the bus would answer nobody: refused, with the way out."""
    with pytest.raises(ValueError, match="MemoryOnAxi has an AXI4 bus.*--endpoint lanebox"):
        make_occupant(MemoryOnAxi, platform=None, with_axi=False)


def test_find_by_dotted_name():
    """MODULE may be a dotted name."""
    assert find_occupant("lanebox.user.loopback:Loopback") is Loopback


def test_find_by_file(tmp_path):
    """MODULE may be a .py file anywhere; what stands beside it counts as its sources."""
    (tmp_path/"mine.py").write_text("class Mine:\n    pass\n")
    (tmp_path/"helper.v").write_text("")
    (tmp_path/"notes.txt").write_text("")
    mine = find_occupant(f"{tmp_path}/mine.py:Mine")
    assert mine.__name__ == "Mine"
    assert [path.name for path in occupant_sources(mine)] == ["helper.v", "mine.py"]
    assert "mine" not in sys.modules


@pytest.mark.parametrize("text, sentence", [
    ("lanebox.user.loopback",       "must be MODULE:CLASS"),
    (":Loopback",                   "must be MODULE:CLASS"),
    ("lanebox.user.loopback:",      "must be MODULE:CLASS"),
    ("lanebox.user.none:Loopback",  "module 'lanebox.user.none' cannot be loaded"),
    ("/nowhere/none.py:Loopback",   "module '/nowhere/none.py' cannot be loaded"),
    ("lanebox.user.loopback:Other", "'lanebox.user.loopback' has no class 'Other'"),
])
def test_what_cannot_be_found_is_an_error(text, sentence):
    """A name that leads nowhere is refused, with the part that does."""
    with pytest.raises(ValueError, match=sentence):
        find_occupant(text)
