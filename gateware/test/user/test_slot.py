# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of user/slot.py, which checks and connects the user's logic (the occupant of the slot)."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStatus
from migen import Case, If, Instance, Module, Signal

from gateware.user.axi_memory import MemoryOnAxi
from gateware.user.commands import UserCommands
from gateware.user.loopback import Loopback
from gateware.user.slot import check_built, find_occupant, make_occupant, occupant_sources
from gateware.vocabulary.layouts import plain_stream_layout, stream_layout
from tools.testing.stream_model import simulate


class Good(LiteXModule):
    """User logic that fits the slot.

    Most classes below differ from this one in one thing, which is wrong.
    """

    def __init__(self, platform):
        self.platform = platform
        self.sink = stream.Endpoint(stream_layout())
        self.source = stream.Endpoint(stream_layout())
        self.irq = Signal()


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


class MisspeltIrq(NoIrq):
    def __init__(self, platform):
        NoIrq.__init__(self, platform)
        self.irk = Signal()


class MisspeltSink(NoSink):
    def __init__(self, platform):
        NoSink.__init__(self, platform)
        self.sinc = stream.Endpoint(stream_layout())


class MisspeltBusy(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.busy, self.bussy = None, Signal()


class BusyIsABool(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.busy = True


class AxiIsABool(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.axi = True


class CommandsAreABool(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.commands = True


class GivesCommands(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.commands = UserCommands()


class NotLiteX(Module):
    def __init__(self, platform):
        self.sink = stream.Endpoint(stream_layout())
        self.source = stream.Endpoint(stream_layout())
        self.irq = Signal()


@pytest.mark.parametrize(
    "occupant, sentence",
    [
        (NoSink, "NoSink: `sink` \\(h2c\\) is None; it must be stream.Endpoint"),
        (NarrowSource, "NarrowSource: `source` \\(c2h\\) has the layout .*128.* must be .*256"),
        (WideIrq, "WideIrq: `irq` \\(interrupt\\) is .*; it must be Signal\\(\\) of one bit"),
        (NoIrq, "NoIrq: `irq` \\(interrupt\\) is None"),
        (MisspeltIrq, "MisspeltIrq: `irq` .* is None; .* of one bit. Did you mean `irk`\\?$"),
        (MisspeltSink, "MisspeltSink: `sink` .* is None; .* Did you mean `sinc`\\?$"),
        (MisspeltBusy, "MisspeltBusy: `busy` .* is None; .* Did you mean `bussy`\\?$"),
        (BusyIsABool, "BusyIsABool: `busy` .* is True"),
        (AxiIsABool, "AxiIsABool: `axi` .* is True; it must be user_axi\\(\\)"),
        (CommandsAreABool, "CommandsAreABool: `commands` .* is True; it must be UserCommands"),
        (NotLiteX, "NotLiteX is not a LiteXModule"),
    ],
)
def test_what_does_not_fit_is_refused(occupant, sentence):
    """User logic that does not fit the slot is refused, with what it has and what it must have.

    The message begins with file, line and the name of the class.
    """
    with pytest.raises(ValueError, match=rf"^{__file__}:\d+: user logic {sentence}"):
        make_occupant(occupant, platform=None)


class Quiet(Good):
    """User logic that never takes a beat of h2c, since nothing drives sink.ready."""


class Takes(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.comb += self.sink.ready.eq(1)


class TakesInVerilog(Good):
    def __init__(self, platform):
        Good.__init__(self, platform)
        self.specials += Instance("taker", o_ready=self.sink.ready)


class TwoOfAName(Takes):
    def __init__(self, platform):
        Takes.__init__(self, platform)
        self.crc = CSRStatus(32)
        self.last = CSRStatus(32, name="crc")


class FullPage(Takes):
    words = 512

    def __init__(self, platform):
        Takes.__init__(self, platform)
        self.wide = CSRStatus(64 * 32)
        self.others = [CSRStatus(8, name=f"other{n}") for n in range(self.words - 64)]

    def get_csrs(self):
        return [self.wide, *self.others]


class OverfullPage(FullPage):
    words = 513


def built(occupant):
    """Make user logic of the class `occupant`, and check it as the SoC does before the build."""
    made = make_occupant(occupant, platform=SimpleNamespace())
    region = SimpleNamespace(obj=made.get_csrs())
    made.finalize()
    check_built(made, {"user": region} if region.obj else {})


@pytest.mark.parametrize("occupant", [Loopback, MemoryOnAxi, Takes, TakesInVerilog, FullPage])
def test_what_takes_beats_is_built(occupant):
    """User logic is accepted if a statement, a submodule or an Instance drives its sink.ready."""
    built(occupant)


def test_beats_that_nobody_takes_are_found_before_anything_is_built():
    """If nothing drives sink.ready, an error says so before anything is built.

    The message also says what to write if that was meant.
    """
    with pytest.raises(ValueError, match=r"Quiet: nothing drives `sink.ready`.*sink.ready.eq\(1\)"):
        built(Quiet)


def test_registers_for_which_the_page_has_no_room_are_found_before_anything_is_built():
    """If user logic's registers need more words than their page has, an error says so before the
    build.

    The page has 512 words of 32 bits. A register of 2048 bits takes 64 of them.
    """
    with pytest.raises(ValueError, match="OverfullPage has registers of 513 words .* page has 512"):
        built(OverfullPage)


def test_two_registers_of_a_name_are_found_before_anything_is_built():
    """Two registers of one name in user logic are an error.

    The generated csr.h would have both registers, and software in Python only one.
    """
    with pytest.raises(ValueError, match="TwoOfAName: two of its registers are called `crc`"):
        built(TwoOfAName)


class Narrows(Good):
    """User logic that assigns a signal to a narrower one. `where` names the place of the
    assignment.
    """

    where = None

    def __init__(self, platform):
        where = self.where
        Good.__init__(self, platform)
        self.length = CSRStatus(12)
        self.inner = stream.Endpoint([("data", 128)])
        count = Signal(16)
        wide = Signal(300)
        held = Signal(8)
        if where == "comb":
            self.comb += self.length.status.eq(count)
        if where == "sync":
            self.sync += If(count[0], Case(count, {3: [held.eq(count)]}))
        if where == "stream":
            self.comb += self.sink.connect(self.inner, omit={"bytes", "error"})
        if where == "field":
            self.comb += self.source.data.eq(wide)
        if where == "right":
            self.comb += [
                self.length.status.eq(count[:12]),
                held.eq(count + 1),
                held[:4].eq(count),
                count.eq(held),
                wide.eq(self.sink.data),
            ]


@pytest.mark.parametrize(
    "where, sentence, line",
    [
        (
            "comb",
            "`count` has 16 bits and `self.length.status`, to which it is assigned, has 12: "
            r".*write count\[:12\]$",
            "self.length.status.eq(count)",
        ),
        (
            "sync",
            r"`count` has 16 bits and `held`, .* has 8: .*write count\[:8\]$",
            "held.eq(count)",
        ),
        (
            "stream",
            r"`self.sink.data` has 256 bits and `self.inner.data`, .* has 128: ",
            "class Narrows",
        ),
        (
            "field",
            r"`wide` has 300 bits and `self.source.data`, .* has 256: ",
            "self.source.data.eq(wide)",
        ),
    ],
)
def test_bits_that_would_be_lost_in_silence_are_found(monkeypatch, where, sentence, line):
    """If user logic assigns a signal to a narrower one, the error names line, signals, widths and
    remedy.
    """
    monkeypatch.setattr(Narrows, "where", where)
    with pytest.raises(ValueError, match=sentence) as caught:
        make_occupant(Narrows, platform=None)
    number = int(str(caught.value).split(":")[1])
    assert line in Path(__file__).read_text().splitlines()[number - 1]


def test_bits_that_are_dropped_in_words_are_accepted(monkeypatch):
    """Assignments that drop bits in a visible or harmless way are accepted.

    They are a slice, a sum, a part of a signal, and a wider target.
    """
    monkeypatch.setattr(Narrows, "where", "right")
    make_occupant(Narrows, platform=None)


class Plain(Good):
    """User logic with LitePCIe's stream layout. It sends each h2c beat back on c2h in the next
    cycle.
    """

    def __init__(self, platform):
        Good.__init__(self, platform)
        self.buffer = stream.Buffer(plain_stream_layout())
        self.sink, self.source = self.buffer.sink, self.buffer.source


def test_streams_of_litepcie_s_layout_are_connected():
    """User logic with LitePCIe's stream layout is connected: data and `last` pass.

    `bytes` and `error`, which that layout does not have, are 0.
    """
    made = make_occupant(Plain, platform=None)
    seen = []

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
    """User logic that fits the slot is accepted, gets the platform, and always has a busy
    signal.
    """
    made = make_occupant(occupant, platform=SimpleNamespace())
    assert isinstance(made, occupant) and len(made.busy) == 1


def test_an_axi_bus_needs_the_bridge():
    """User logic with an AXI4 bus is refused if the endpoint has no bridge for it."""
    with pytest.raises(ValueError, match="MemoryOnAxi has an AXI4 bus.*--endpoint lanebox"):
        make_occupant(MemoryOnAxi, platform=None, with_axi=False)


def test_commands_need_the_lanebox_endpoint():
    """User logic with commands is refused if the endpoint has no byte enables."""
    assert make_occupant(GivesCommands, platform=None).commands is not None
    with pytest.raises(ValueError, match="GivesCommands has `commands`.*--endpoint lanebox"):
        make_occupant(GivesCommands, platform=None, with_commands=False)


def test_find_by_dotted_name():
    """In MODULE:CLASS, the text that names user logic, MODULE may be a dotted name."""
    assert find_occupant("gateware.user.loopback:Loopback") is Loopback


def test_find_by_file(tmp_path):
    """In MODULE:CLASS, MODULE may be a .py file in any folder.

    The source files beside that file count as its sources.
    """
    (tmp_path / "mine.py").write_text("class Mine:\n    pass\n")
    (tmp_path / "helper.v").write_text("")
    (tmp_path / "notes.txt").write_text("")
    mine = find_occupant(f"{tmp_path}/mine.py:Mine")
    assert mine.__name__ == "Mine"
    assert [path.name for path in occupant_sources(mine)] == ["helper.v", "mine.py"]
    assert "mine" not in sys.modules


@pytest.mark.parametrize(
    "text, sentence",
    [
        ("gateware.user.loopback", "must be MODULE:CLASS"),
        (":Loopback", "must be MODULE:CLASS"),
        ("gateware.user.loopback:", "must be MODULE:CLASS"),
        ("gateware.user.none:Loopback", "module 'gateware.user.none' cannot be loaded"),
        ("/nowhere/none.py:Loopback", "module '/nowhere/none.py' cannot be loaded"),
        ("gateware.user.loopback:Other", "'gateware.user.loopback' has no class 'Other'"),
    ],
)
def test_what_cannot_be_found_is_an_error(text, sentence):
    """A MODULE:CLASS that cannot be found is refused, and the message names the part that
    is wrong.
    """
    with pytest.raises(ValueError, match=sentence):
        find_occupant(text)
