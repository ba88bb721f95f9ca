# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test that litepcie_util's limits of rates are those of sim/rows/limits.py, for links of Gen1 to
Gen3.
"""

import itertools
import subprocess

import pytest

from sim.rows import limits, limits_header
from software.test.software_build import build_software
from tools.testing.repository import ROOT

TABLE = ROOT / "software" / "tools" / "litepcie_util" / "dma" / "limits_table.h"


def test_the_table_is_what_the_formulas_give():
    """limits_table.h is what sim/rows/limits_header.py generates. A comment in limits_table.h names
    that script.
    """
    assert TABLE.read_text() == limits_header.header() + "\n"


def _expected(
    monkeypatch,
    gen,
    lanes,
    mps,
    mrrs,
    completion,
    tags,
    rtt,
    straddle,
    rcb=64,
    cycle_ns=limits.CYCLE_NS,
):
    monkeypatch.setattr(limits, "RAW", limits.LANE[gen] * lanes)
    monkeypatch.setattr(limits, "CYCLE_NS", cycle_ns)
    return [
        limits.c2h(mps, mps),
        limits.h2c(completion, mps, tags, mrrs, rtt, straddle, rcb),
        limits.duplex(mps, mrrs),
        limits.mmio_write(8, mps, below_4_gib=True),
        limits.packets(64, mps),
        limits.packets(1024, mps),
    ]


def test_every_limit_is_the_formulas(monkeypatch):
    """litepcie_util and limits.py give the same limits for each link of a grid.

    The grid has link generations, numbers of lanes, MPS, MRRS, sizes of completions, numbers of
    tags, round trip times, read completion boundaries and lengths of the card's clock cycle.
    """
    out = build_software().out
    grid = [
        case
        for case in itertools.product(
            (1, 2, 3),
            (1, 4, 8),
            (128, 256, 512),
            (128, 512),
            (64, 128, 256, 512),
            (16, 64),
            (0, 600, 10000),
            (0, 1),
            (64, 128),
            (4, 8),
        )
        if case[4] <= case[2]
    ]
    lines = "".join(
        f"{g} {w} {mps} {mrrs} {c} {tags * mrrs} {rtt} {s} {rcb} {cycle}\n"
        for g, w, mps, mrrs, c, tags, rtt, s, rcb, cycle in grid
    )
    done = subprocess.run(
        [out / "test" / "limits"], input=lines, capture_output=True, text=True, timeout=60
    )
    answers = done.stdout.splitlines()
    assert done.returncode == 0 and len(answers) == len(grid) == 2 * 3888
    for case, answer in zip(grid, answers):
        for want, got in zip(_expected(monkeypatch, *case), answer.split(";")):
            value, binds = got.split(",")
            assert float(value) == pytest.approx(want.value, rel=1e-9), case
            assert binds == want.binds, (case, got, want)


def test_a_narrow_link_is_bound_by_its_wire(monkeypatch):
    """The wire of a Gen3 x1 link limits c2h at MPS 256 to 0.889 GB/s.

    The raw rate of such a link is an eighth of the 7.877 GB/s of x8.
    """
    limit = _expected(monkeypatch, 3, 1, 256, 512, 256, 64, 600, 1)[0]
    assert limit.binds == "wire" and limit.value == pytest.approx(0.889, abs=0.001)
