# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/host.py: what the driver costs is counted, and less than LitePCIe's."""

import re

import pytest

from sim import host
from sim.errors import TestFailed
from sim.guest import run

CLOCK = "clock loop=1.0002 nothing=1000 idle_second=500\n"


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def test_what_is_not_the_driver_s_is_taken_off():
    """The measurement's own instructions, and those of an idle guest for as long as it took."""
    line = "cost poll instructions=4000 nanoseconds=2000000000 bytes=1000000\n"
    assert host.Counted({"cost": CLOCK + line}).taking("poll") == 2000 * 1000


def test_a_clock_that_does_not_count_is_refused():
    """Without -icount a loop takes any time; so it does where a tick is not an instruction."""
    with pytest.raises(TestFailed, match="does not count"):
        host.Counted({"cost": CLOCK.replace("1.0002", "1.3")})


def test_what_was_not_counted_has_no_number():
    """A way that is missing in the output ends in a sentence."""
    with pytest.raises(TestFailed, match="nothing was counted for cost index"):
        host.Counted({"cost": CLOCK}).taking("index")


def test_a_wakeup_is_the_time_between_two_events():
    """Entries without a return, and returns without an entry before them, are none."""
    trace = """
 <idle>-0 [000] d.h1. 100: irq_handler_entry: irq=25 name=litepcie
 <idle>-0 [000] d.h1. 1000: irq_handler_entry: irq=25 name=litepcie
 cost-9   [000] ..... 1500: sys_exit: NR 7 = 1
 cost-9   [000] ..... 9000: sys_exit: NR 7 = 1
"""
    assert host.Counted({"cost": CLOCK, "trace": trace}).wakeup() == 500


def test_what_fio_does_once_is_taken_off():
    """Its start and end cost as much in a long run as in a short one."""
    line = "disk {} chunk=1048576 threads=1 instructions={} nanoseconds={} bytes={}\n"
    text = "clock loop=1 nothing=0 idle_second=0\n" + line.format("ring", 200 * 1000, 10, 1000)
    text += line.format("own", 125 * 1000, 20, 1000)
    for peer, each in (("fio", 300), ("fio_huge", 100)):
        for loops in (1, 3):
            used = 10**9 + each * 1000 * loops
            text += line.format(peer, used, 10 * loops, 1000 * loops)
    terse = ";".join(["3", "fio-3.33", *["0"] * 45, "1000000", "0"])
    texts = {"cost": text, "fio": terse, "fio_huge": terse}
    found = {entry.id: entry for entry in host.o_direct(host.Counted(texts))}
    assert found["host/o_direct"].value == found["host/o_direct"].ratio == 1.5
    assert found["host/o_direct/huge"].value == 0.8  # another ring, and another fio
    conditions = found["host/o_direct"].conditions
    assert conditions["insn_per_gb"] == {"ring": 200e9, "fio": 300e9}
    assert conditions["live_mb_per_s"] == {"ring": 1e5, "fio": 1024}
    same = re.sub("bytes=3000", "bytes=1000", text)
    with pytest.raises(TestFailed, match="its start cannot be taken off"):
        host.o_direct(host.Counted({**texts, "cost": same}))


@pytest.mark.guest
@pytest.mark.soak  # two guests
def test_the_driver_costs_less_than_litepcie_s():
    """Half of its instructions at most, no call and no copy on the fast path, no slower to wake."""
    rows = {row.id: row for row in host.measure(print)}
    for row in rows.values():
        print(row.id, row.value, row.unit, row.vs, row.conditions)
    assert rows["host/insn_per_gb"].vs <= 0.5
    assert rows["host/wakeup_insn"].vs <= 1
    assert rows["host/syscalls_per_gb"].value == 0
    assert rows["host/copied_per_gb"].value == 0
    # The stock driver's numbers show that calls and copies are seen where there are some.
    assert rows["host/syscalls_per_gb"].conditions["stock"] > 1000
    assert rows["host/copied_per_gb"].conditions["stock_read"] > 0.9e9
    for name in ("host/o_direct", "host/o_direct/huge"):
        assert rows[name].ratio >= 0.9, name
    for size in ("128K", "512K", "2048K", "8192K", "16384K", "32768K"):
        for threads in (1, 4):
            rungs = [rows[f"host/ladder/{way}/{size}/x{threads}"] for way in ("direct", "bounce")]
            assert rungs[0].value < rungs[1].value, rungs
