# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/host.py, which counts in a guest the instructions, system calls and copies that
the driver costs a host.

sim/rows/host.py counts the same for stock LitePCIe's driver. A "way" is how a program takes c2h
buffers: by poll() with counts in the index page, by poll() with counts by ioctl, or by read().
"""

import re

import pytest

from sim.errors import TestFailed
from sim.guest import run
from sim.rows import host

TERSE = ";".join(["3", "fio-3.33", *["0"] * 45, "1000000", "0"])  # a line of fio's terse output
CLOCK = "clock loop=1.0002 nothing=1000 idle_second=500\n"


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def test_what_is_not_the_driver_s_is_taken_off():
    """Counted.taking() subtracts the instructions of the measurement itself, and those that an idle
    guest takes in the same time."""
    line = "cost poll instructions=4000 nanoseconds=2000000000 bytes=1000000 most=32\n"
    assert host.Counted({"cost": CLOCK + line}).taking("poll") == 2000 * 1000


def test_the_median_of_several_counts_is_taken():
    """If a way of taking buffers was counted several times, Counted.taking() returns the median, so
    that one disturbed count does not matter. If one of the counts is invalid, it raises
    TestFailed."""
    line = "cost poll instructions={} nanoseconds=0 bytes=1000000 most={}\n"
    text = CLOCK + "".join(line.format(used, 32) for used in (9000, 3000, 2000))
    assert host.Counted({"cost": text}).taking("poll") == 2000 * 1000
    with pytest.raises(TestFailed, match="nobody counted"):
        host.Counted({"cost": text + line.format(3000, 257)}).taking("poll")


def test_a_clock_that_does_not_count_is_refused():
    """A guest's clock that does not count instructions, as without QEMU's -icount, is refused."""
    with pytest.raises(TestFailed, match="does not count"):
        host.Counted({"cost": CLOCK.replace("1.0002", "1.3")})


def test_what_was_not_counted_has_no_number():
    """If the guest's output has no count for a way of taking buffers (such as poll),
    Counted.taking() raises TestFailed, whose text names the way."""
    with pytest.raises(TestFailed, match="nothing was counted for cost poll"):
        host.Counted({"cost": CLOCK}).taking("poll")


@pytest.mark.parametrize("most", ["", " most=0", " most=257", " most=2048"])
def test_a_way_that_sleeps_uncounted_is_refused(most):
    """A way whose program may have slept, so that its instructions were not counted, is refused.
    Such a program has found more buffers at once than the ring has, or does not say how many."""
    line = f"cost poll instructions=4000 nanoseconds=2000000000 bytes=1000000{most}\n"
    with pytest.raises(TestFailed, match="cost poll: .* It slept where nobody counted"):
        host.Counted({"cost": CLOCK + line}).taking("poll")


def counted(factor):
    """Return the counts of a made-up guest. The first way of taking buffers in host.WAYS costs
    `factor` thousand instructions, the second twice that, and so on."""
    text = "clock loop=1 nothing=0 idle_second=0\n"
    for place, way in enumerate(host.WAYS, 1):
        used = factor * place * 1000
        text += f"cost {way} instructions={used} nanoseconds=10 bytes=1000 most=32\n"
        text += f"calls {way} calls={place} copied={place} bytes=1000\n"
    text += "calls index calls=0 copied=0 bytes=1000\n"
    for kind in ("bounce", "direct", "ring", "own"):
        text += f"disk {kind} chunk=1024 threads=1 instructions=10 nanoseconds=10 bytes=1000\n"
    for peer in ("fio", "fio_huge", "recorder", "fio_record"):
        for size in (1000, 3000):
            text += f"disk {peer} instructions={size} nanoseconds=1 bytes={size}\n"
    text += RECORDED
    trace = " 1: irq_handler_entry: x\n 2: sys_exit: x\n"
    return host.Counted({"cost": text, "trace": trace, "fio": TERSE, "fio_huge": TERSE})


def test_both_drivers_are_counted_by_the_same_program():
    """Each row compares the same way on both drivers, and says that waiting is included.

    A driver that costs twice as much in every way has a factor of 2 in every row.
    """
    rows = {row.id: row for row in host.rows(counted(2), counted(1))}
    taken = {name: row for name, row in rows.items() if name.startswith("host/insn_per_gb")}
    assert set(taken) == {f"host/insn_per_gb/{way}" for way in host.WAYS}
    for row in taken.values():
        assert row.vs == 2 and row.conditions["path"].endswith("waiting included")
    assert "never sleeps" in rows["host/syscalls_per_gb"].conditions["path"]
    assert "never sleeps" in rows["host/copied_per_gb"].conditions["path"]


def test_a_wakeup_is_the_time_between_two_events():
    """A wakeup lasts from an interrupt's entry to the return of the system call that waited. An
    entry or a return alone in the trace does not count."""
    trace = """
 <idle>-0 [000] d.h1. 100: irq_handler_entry: irq=25 name=litepcie
 <idle>-0 [000] d.h1. 1000: irq_handler_entry: irq=25 name=litepcie
 cost-9   [000] ..... 1500: sys_exit: NR 7 = 1
 cost-9   [000] ..... 9000: sys_exit: NR 7 = 1
"""
    assert host.Counted({"cost": CLOCK, "trace": trace}).wakeup() == 500


def test_what_fio_does_once_is_taken_off():
    """The instructions that fio takes at its start and end are the same in a long run and a short
    one. They are subtracted from fio's cost."""
    line = "disk {} chunk=1048576 threads=1 instructions={} nanoseconds={} bytes={}\n"
    text = "clock loop=1 nothing=0 idle_second=0\n" + line.format("ring", 200 * 1000, 10, 1000)
    text += line.format("own", 125 * 1000, 20, 1000)
    for peer, each in (("fio", 300), ("fio_huge", 100)):
        for loops in (1, 3):
            used = 10**9 + each * 1000 * loops
            text += line.format(peer, used, 10 * loops, 1000 * loops)
    texts = {"cost": text, "fio": TERSE, "fio_huge": TERSE}
    found = {entry.id: entry for entry in host.o_direct(host.Counted(texts))}
    assert found["host/o_direct"].value == found["host/o_direct"].ratio == 1.5
    # For the row host/o_direct/huge the ring lies in the program's own memory, and fio has huge
    # pages.
    assert found["host/o_direct/huge"].value == 0.8
    conditions = found["host/o_direct"].conditions
    assert conditions["insn_per_gb"] == {"ring": 200e9, "fio": 300e9}
    assert conditions["live_mb_per_s"] == {"ring": 1e5, "fio": 1024}
    same = re.sub("bytes=3000", "bytes=1000", text)
    with pytest.raises(TestFailed, match="its start cannot be taken off"):
        host.o_direct(host.Counted({**texts, "cost": same}))


RECORDED = "packets 9 bytes 9 naps 1 io_uring 1 fixed 1 direct 1\n"


def recorded(each, ways=RECORDED):
    """Return made-up counts of the packet recorder and of fio. They take `each[name]` instructions
    for a byte, and a different number for their start."""
    text = "clock loop=1 nothing=0 idle_second=0\n" + ways
    for name, start in (("recorder", 10**9), ("fio_record", 5)):
        for size in (1000, 3000):
            used = start + each[name] * size
            text += f"disk {name} instructions={used} nanoseconds=10 bytes={size}\n"
    return host.Counted({"cost": text})


def test_the_recorder_is_compared_with_fio_without_their_starts():
    """The row has fio's instructions over the recorder's, for each byte more that a long run
    writes. A recorder that costs more than fio has a value below 1."""
    entry = host.recorder(recorded({"recorder": 10, "fio_record": 12}))
    assert (entry.id, entry.value, entry.ratio) == ("record/fio", 1.2, 1.2)
    assert entry.conditions["insn_per_gb"] == {"recorder": 10e9, "fio_record": 12e9}
    assert host.recorder(recorded({"recorder": 10, "fio_record": 8})).value == 0.8


@pytest.mark.parametrize("ways", ["", RECORDED.replace("fixed 1", "fixed 0")])
def test_a_recorder_that_writes_in_another_way_has_no_row(ways):
    """If the packet recorder did not write by io_uring from registered memory with O_DIRECT, the
    row `record/fio` is refused with TestFailed."""
    with pytest.raises(TestFailed, match="the recorder wrote by"):
        host.recorder(recorded({"recorder": 1, "fio_record": 1}, ways))


@pytest.mark.guest
@pytest.mark.soak  # this test boots two guests
def test_the_driver_costs_less_than_litepcie_s():
    """The driver needs at most 40 % of stock LitePCIe's instructions with poll() and the index
    page, 90 % with poll() and ioctls, and 115 % with read().

    A program that spins on the index page makes no system call and no copy. A wakeup takes no more
    instructions than with LitePCIe's driver.
    """
    rows = {row.id: row for row in host.measure(print)}
    for row in rows.values():
        print(row.id, row.value, row.unit, row.vs, row.conditions)
    assert rows["host/insn_per_gb/poll"].vs <= 0.4
    assert rows["host/insn_per_gb/abi"].vs <= 0.9
    assert rows["host/insn_per_gb/read"].vs <= 1.15
    assert rows["host/wakeup_insn"].vs <= 1
    assert rows["host/syscalls_per_gb"].value == 0
    assert rows["host/copied_per_gb"].value == 0
    # The stock driver's counts prove that the measurement sees system calls and copies.
    assert rows["host/syscalls_per_gb"].conditions["stock"] > 1000
    assert rows["host/copied_per_gb"].conditions["stock_read"] > 0.9e9
    for name in ("host/o_direct", "host/o_direct/huge"):
        assert rows[name].ratio >= 0.9, name
    assert rows["record/fio"].ratio >= 0.97
    for size in ("128K", "512K", "2048K", "8192K", "16384K", "32768K"):
        for threads in (1, 4):
            rungs = [rows[f"host/ladder/{way}/{size}/x{threads}"] for way in ("direct", "bounce")]
            assert rungs[0].value < rungs[1].value, rungs
