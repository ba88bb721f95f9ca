# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Rows of `make bench` that may differ from run to run, and rows that make it fail.

BY_CLIENT in sim/rows/results.py must list exactly the rows that may differ, because software or
wall time has a part in them.
"""

import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from sim import bench
from sim.rows import host, host_record, results
from sim.rows.measure import Conditions
from sim.rows.results import Row

ENDPOINTS = ("lanebox", "litepcie")


class Software:
    """A stand-in for the utility and for the board. It counts how often it was called, and gives
    made-up answers."""

    asked = 0

    def __init__(self, *_):
        self.at, self.board = Conditions(), self

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def run(self, command, *_):
        Software.asked += 1
        names = {
            "mmio_bench": ("mmio_read/4", "mmio_read/8", "mmio_write/4", "mmio_write/8"),
            "latency": ("dma/64", "interrupt/64"),
        }.get(command, ())
        rows = [
            {
                "id": name,
                "op": name[5:].partition("/")[0],
                "size_bytes": 8,
                "unit": "ns",
                "value": 1.0,
                "reason": None,
            }
            for name in names
        ]
        return {"ok": True, "rows": rows}, 0

    def stats(self):
        Software.asked += 1
        return {"cycles": 1, "cpu_seconds": 1.0, "violations": {}}

    def cpu_seconds(self):
        Software.asked += 1
        return 0.0


def streams_of(_board, _csr, at, job, *_):
    way = {"gb_per_s": 1.0, "bytes_per_cycle": 4.0, "window_bytes": 1, "compared_bytes": 1}
    report = {way_name: way for way_name in ("c2h", "h2c")}
    return {**report, "ok": True, "direction": job.name, "window": {"cycles": 1}}, at, 0


def by_software(name):
    """Return a stand-in for a function that yields one benchmark row measured by a program or by
    the machine's clock. The stand-in counts its calls."""

    def rows(*_):
        Software.asked += 1
        yield Row(name, 1.0, "GB/s")

    return rows


@pytest.fixture
def faked(monkeypatch):
    built = SimpleNamespace(gateware=Path("gateware"), board=Path("board"), headers=Path("headers"))
    rows = lambda *names: lambda *_: iter([Row(name, 1.0, "GB/s") for name in names])  # noqa: E731
    monkeypatch.setattr(bench, "Card", Software)
    monkeypatch.setattr(bench.streams, "measure", streams_of)
    monkeypatch.setattr(bench.artefacts, "build", lambda *_, **__: built)
    monkeypatch.setattr(bench.artefacts, "utility", lambda *_: Path("util"))
    monkeypatch.setattr(bench.time, "sleep", lambda _: None)
    monkeypatch.setattr(bench.model, "rows", rows("model/write/64"))
    monkeypatch.setattr(bench.idle_reads, "rows", rows("mmio_read_cycles/bram"))
    monkeypatch.setattr(bench.peer, "rows", rows("p2p_read/64", "mmio_write/64"))
    monkeypatch.setattr(bench.peer, "axi_rows", rows("p2p_read_axi50/64"))
    monkeypatch.setattr(bench.commands, "rows", rows("slot.commands/64@0.6us"))
    monkeypatch.setattr(bench.capture_rate, "rows", rows("capture/c2h/64"))
    monkeypatch.setattr(bench.flash, "rows", by_software("card/flash/update"))
    monkeypatch.setattr(bench.cpu, "rows", by_software("sim/cpu/awake"))
    monkeypatch.setattr(bench.virtio_latency, "rows", rows("virtio/reads/split"))
    monkeypatch.setattr(bench.virtio_latency, "packed_rows", rows("virtio/reads/packed"))
    monkeypatch.setattr(bench.virtio_line, "rows", rows("virtio/line/10g/64"))
    monkeypatch.setattr(bench.capture_line, "rows", rows("capture/line/4x10/64"))
    monkeypatch.setattr(bench.capture_both, "rows", rows("capture/both/4x10/64"))
    monkeypatch.setattr(bench.capture_cost, "rows", rows("capture/latency/64"))
    monkeypatch.setattr(bench.capture_queues, "rows", rows("capture/fair/4q/1518"))
    programs = [by_software(f"capture/{name}") for name in ("insn/packet", "syscalls")]
    monkeypatch.setattr(
        bench.capture_host, "rows", lambda: (row for each in programs for row in each())
    )
    monkeypatch.setattr(bench.area, "rows", rows("area/lut"))


def measured():
    """Return [(row id, whether software was called since the row before)] for all rows that `make
    bench` measures with stand-ins."""
    found, before = [], Software.asked
    for entry in bench.everything(1, list(ENDPOINTS)):
        found.append((entry.id, Software.asked > before))
        before = Software.asked
    return found


def test_the_list_of_rows_that_may_differ_is_exact(faked):
    """BY_CLIENT lists a result row if and only if software or the machine's clock has made it."""
    asked, last, last_asked = {}, None, False
    for name, fresh in measured():
        # Result rows of one report follow each other, and their ids begin with the same word.
        kind = name.removeprefix("stock/").partition("/")[0].partition("_")[0]
        asked.setdefault(name, fresh or (kind == last and last_asked))
        last, last_asked = kind, asked[name]
    assert len(asked) > 30
    listed = {name for name in asked if results.by_client(name)}
    assert listed == {name for name, was in asked.items() if was}


def test_no_entry_of_the_list_is_idle(faked):
    """Each prefix in BY_CLIENT, the list of rows that may differ from run to run, begins the id of
    a row that exists."""
    names = [name.removeprefix("stock/") for name, _ in measured()]
    # ids of result rows that `make bench VM=1` makes
    names += [*(name for _, _, name in host.O_DIRECT), host_record.NAME]
    for begins in results.BY_CLIENT:
        assert any(name.startswith(begins) for name in names), begins


def status(monkeypatch, *rows):
    """Let `make bench` measure exactly the benchmark rows `rows`. Return its exit status."""
    monkeypatch.setattr(sys, "argv", ["bench"])
    monkeypatch.setattr(bench, "everything", lambda *_: iter(rows))
    monkeypatch.setattr(bench, "recorded", lambda *_: None)
    monkeypatch.setattr(bench, "merge", lambda _: None)
    monkeypatch.setattr(bench.page, "write", lambda _: bench.RESULTS)
    return bench.main()


def test_a_row_that_must_not_be_ends_make_bench_with_status_1(monkeypatch, capsys):
    """A row beyond its limit, or with a broken rule, is named on stderr and makes `make bench` end
    with status 1. Rows of LitePCIe's endpoint may have broken rules."""
    good = Row("a", 7.0, "GB/s", 7.1, "wire", 0.99, violations=0)
    fast, rude = replace(good, id="fast", ratio=1.1), replace(good, id="rude", violations=3)
    assert status(monkeypatch, good, replace(rude, id="stock/a")) == 0
    assert capsys.readouterr().err.count("bench:") == 0
    for wrong, words in ((fast, "fast is beyond its limit"), (rude, "rude broke 3 rules")):
        assert status(monkeypatch, good, wrong) == 1
        assert f"bench: {words}" in capsys.readouterr().err
