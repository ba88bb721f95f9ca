# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that the same gateware moves the same bytes and TLPs on this project's hard-block model and
on cocotbext-pcie's.

sim/differential/compare.py says what is compared, and what cannot be. The known differences of the
two models are listed in sim/differential/disagreements.md.
"""

import shutil
from dataclasses import replace
from types import SimpleNamespace

import pytest

import sim.board.build
from sim.differential import cocotb_side, environment
from sim.differential.compare import Disagreement, compare
from sim.differential.known import Known, judge, load
from sim.differential.observation import CHANNELS, Observation
from sim.endpoints import DEFAULT, ENDPOINTS
from sim.test.board.board_builds import ROOT, build_gateware
from sim.test.model import differential_board
from tools.testing.seeds import SHIFT

# Parity fields of CQ and RC, which are not compared: only cocotbext-pcie drives them, or their
# values are random (see disagreements.md). The number of RC beats with parity depends on how
# completions are split.
UNCOMPARED = {("CQ", "parity"), ("RC", "parity")}


def observe_theirs(gateware, directory, seed, length=1, split=False):
    directory.mkdir()
    outcome = cocotb_side.observe(gateware, directory, seed, length, split)
    assert outcome["unreached"] is None, "the plan does not work on the other model"
    return SimpleNamespace(outcome=outcome, pins=Observation(directory, outcome))


def observe_ours(gateware, directory, theirs, seed, length=1, split=False):
    directory.mkdir()
    bar = theirs.outcome["bar"]
    outcome = differential_board.observe(gateware, directory, seed, length, bar, split)
    return Observation(directory, outcome)


def assert_agreed(endpoint, ours, theirs):
    unlisted, gone = judge(compare(ours, theirs), load(endpoint))
    assert not unlisted, "not in disagreements.md:\n" + "\n".join(map(str, unlisted[:20]))
    assert not gone, "no longer so, take it out of disagreements.md:\n" + "\n".join(map(str, gone))


@pytest.fixture(
    scope="module",
    params=[DEFAULT, *(pytest.param(e, marks=pytest.mark.soak) for e in ENDPOINTS if e != DEFAULT)],
)
def endpoint(request):
    """Return the name of an endpoint, for each endpoint in turn. Its known disagreements are its
    rows of disagreements.md."""
    return request.param


@pytest.fixture(scope="module")
def gateware(endpoint):
    return build_gateware(endpoint)


@pytest.fixture(scope="module")
def theirs(gateware, tmp_path_factory):
    return observe_theirs(gateware, tmp_path_factory.mktemp("differential") / "theirs", SHIFT)


@pytest.fixture(scope="module")
def ours(gateware, theirs, tmp_path_factory):
    directory = tmp_path_factory.mktemp("differential") / "ours"
    return observe_ours(gateware, directory, theirs, SHIFT)


def test_the_models_agree_but_for_the_listed(endpoint, ours, theirs):
    """After the same operations on both models the comparison finds exactly the listed
    disagreements."""
    assert_agreed(endpoint, ours, theirs.pins)


def test_the_plan_exercises_what_it_claims(ours):
    """The plan makes DMA in both directions with 32- and 64-bit addresses and all sizes of MPS and
    MRRS, and host accesses with all byte enables."""
    writes = [packet for packet in ours.on("RQ") if packet.type == 1]
    reads = [packet for packet in ours.on("RQ") if packet.type == 0]
    for mps in (128, 256, 512):
        assert any(packet.dwords * 4 == mps for packet in writes), mps
        assert any(packet.dwords * 4 == mps for packet in reads), mps
    for packets in (writes, reads):
        assert {packet.address >> 32 for packet in packets} == {0, 2}
    assert {packet.first_be for packet in ours.on("CQ")} == {0x1, 0x2, 0x4, 0x8, 0x3, 0xC, 0xF}
    assert {packet.last_be for packet in ours.on("CQ")} == {0x0, 0xF}
    assert len(ours.messages) == 3


def test_the_other_model_loses_no_credit(theirs):
    """After all reads of the host are answered, cocotbext-pcie's model has all 32 credits back, so
    the plan loses none."""
    assert theirs.outcome["credits"] == 32


@pytest.mark.parametrize("channel", CHANNELS)
def test_the_comparison_sees_every_field(endpoint, ours, theirs, channel):
    """The comparison sees one changed bit in any field of a TLP: it gives a disagreement that is
    not listed."""
    known = load(endpoint)
    for name in _fields(ours, channel):
        if (channel, name) in UNCOMPARED:
            continue
        changed = _changed(ours, channel, name)
        assert judge(compare(changed, theirs.pins), known)[0], f"{channel}: {name} goes unnoticed"


def test_the_comparison_sees_loss_and_repetition(endpoint, ours, theirs):
    """The comparison sees a TLP that is missing or comes twice, on each channel: it gives a
    disagreement that is not listed."""
    known = load(endpoint)
    for channel in CHANNELS:
        at = _place(ours, channel)
        fewer = [*ours.packets[:at], *ours.packets[at + 1 :]]
        more = [*ours.packets[: at + 1], *ours.packets[at:]]
        for packets in (fewer, more):
            assert judge(compare(_with(ours, packets), theirs.pins), known)[0], channel


@pytest.mark.parametrize(
    "version,cocotb",
    [((5, 6), "1.9.2"), ((5, 20), "1.9.2"), ((5, 32), "2.1.0"), ((5, 48), "2.1.0")],
)
def test_cocotb_goes_with_verilator(monkeypatch, version, cocotb):
    """Verilator before 5.032 gets cocotb 1.9, because that Verilator cannot compile cocotb 2."""
    monkeypatch.setattr(environment, "verilator_version", lambda: version)
    assert environment.cocotb_version() == cocotb


def test_a_row_covers_its_values_only():
    """In a row of disagreements.md `*` matches anything and brackets match themselves. Each row has
    a reason and the name of an endpoint, or `both`."""
    row = Known("cfg.width", "[3]", "(0*)", "both", "")
    assert row.covers(Disagreement("cfg.width", "[3]", "(0, 0)"))
    assert not row.covers(Disagreement("cfg.width", "3", "(0,)"))
    assert not row.covers(Disagreement("cfg.width", "[3]", "(1,)"))
    assert all(len(row.reason) > 10 for row in load())
    assert {row.endpoint for row in load()} <= {"both", *ENDPOINTS}


def _fields(side, channel):
    return [*side.on(channel)[0].fields, "payload", "keep"]


def _place(side, channel):
    """Return the index of a TLP with data on `channel`, from the middle of the recording."""
    places = [i for i, p in enumerate(side.packets) if p.channel == channel and p.payload]
    return places[len(places) // 2]


def _changed(side, channel, name):
    at = _place(side, channel)
    packet = side.packets[at]
    if name in ("payload", "keep"):
        # All four bytes of the dword are changed, so that the change counts whatever the byte
        # enables are.
        value = getattr(packet, name)
        packet = replace(packet, **{name: tuple(x ^ 0xFFFF_FFFF for x in value[:1]) + value[1:]})
    else:
        value = packet.fields[name]
        flipped = value ^ 1 if isinstance(value, int) else (value[0] ^ 1, *value[1:])
        packet = replace(packet, fields={**packet.fields, name: flipped})
    return _with(side, [*side.packets[:at], packet, *side.packets[at + 1 :]])


def _with(side, packets):
    copy = object.__new__(Observation)
    copy.__dict__.update(side.__dict__, packets=packets)
    return copy


# For each endpoint: pairs (this project's model, the other model), where 1 stands for short
# completions. On the larger gateware, all four pairs would take minutes.
SPLITS = {"litepcie": [(0, 0), (0, 1), (1, 0), (1, 1)], "lanebox": [(0, 1), (1, 0)]}


@pytest.mark.soak
@pytest.mark.parametrize(
    "endpoint,split_ours,split_theirs",
    [(name, *splits) for name, all_splits in SPLITS.items() for splits in all_splits],
    indirect=["endpoint"],
)
def test_the_models_agree_at_length(endpoint, gateware, tmp_path, split_ours, split_theirs):
    """Plans of four times the length give only listed disagreements, with long and short
    completions on either model."""
    seed = 100 + SHIFT + 2 * split_ours + split_theirs
    other = observe_theirs(gateware, tmp_path / "theirs", seed, 4, bool(split_theirs))
    mine = observe_ours(gateware, tmp_path / "ours", other, seed, 4, bool(split_ours))
    assert_agreed(endpoint, mine, other.pins)


# Misreadings of PG213 that the model's author could have made: (file, right text, wrong text, field
# that must differ). This project's other tests could share such an error, so the comparison with
# another model must find each misreading.
MISREADINGS = {
    "CQ address dwords swapped": (
        "block/descriptor.cpp",
        "(request.address) & ~3u, static_cast<uint32_t>(request.address >> 32)",
        "(request.address >> 32), static_cast<uint32_t>(request.address & ~3u)",
        "cq.address",
    ),
    "CQ first and last enables swapped": (
        "machine/gateware.cpp",
        "cq_tuser_first_be = out.cq_first_be;\n    to.m_axis_cq_tuser_last_be = out.cq_last_be;",
        "cq_tuser_first_be = out.cq_last_be;\n    to.m_axis_cq_tuser_last_be = out.cq_first_be;",
        "cq.first_be",
    ),
    "CQ byte enables of all lanes": (
        "block/hard_block.cpp",
        "out.cq_byte_en = cq_source_.byte_enables()",
        "out.cq_byte_en = ~0u",
        "cq.byte_enables",
    ),
    "CQ aperture wrong": (
        "block/hard_block.cpp",
        "encode_cq(tlp, bar.id, bar.aperture_bits())",
        "encode_cq(tlp, bar.id, 1)",
        "cq.aperture",
    ),
    "RC lower address of 7 bits": (
        "block/descriptor.cpp",
        "static_cast<uint32_t>(completion.address) & 0xfff",
        "static_cast<uint32_t>(completion.address) & 0x7f",
        "rc.faults",
    ),
}


@pytest.mark.soak
# The test uses LitePCIe's endpoint, since its gateware compiles faster than Lanebox's.
@pytest.mark.parametrize("endpoint", ["litepcie"], indirect=True)
@pytest.mark.parametrize("misreading", MISREADINGS)
def test_a_misreading_is_found(endpoint, gateware, theirs, tmp_path, monkeypatch, misreading):
    """A misreading of PG213, planted in a copy of the board's source, is found in the field that it
    concerns."""
    file, right, wrong, place = MISREADINGS[misreading]
    board = tmp_path / "board"
    shutil.copytree(ROOT / "sim" / "board", board, ignore=shutil.ignore_patterns("__pycache__"))
    text = (board / file).read_text()
    assert text.count(right) == 1, f"{file} no longer has {right!r}: adapt the test"
    (board / file).write_text(text.replace(right, wrong))
    monkeypatch.setattr(sim.board.build, "BOARD", board)
    mine = observe_ours(gateware, tmp_path / "ours", theirs, SHIFT)
    places = {found.what for found in judge(compare(mine, theirs.pins), load(endpoint))[0]}
    assert place in places, places
