# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `litepcie_util mmio_bench --all` on the board: the rate of each kind of access follows
from its round trips."""

import json
import subprocess

import pytest

from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions

READS = (4, 8, 16, 32, 64)


def bench(*options):
    built = artefacts.build("lanebox")
    util = artefacts.utility(built.headers)
    with BoardProcess(built.board, [*Conditions().board_options(), *options]) as board:
        done = subprocess.run(
            [util, "-d", f"sim:{board.socket}", "--json", "mmio_bench", "--all", "-n", "64"],
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    return {row["id"]: row for row in json.loads(done.stdout)["rows"]}


@pytest.fixture(scope="module")
def rows():
    return bench()


def test_a_read_brings_its_size_in_each_round_trip(rows):
    """In `litepcie_util mmio_bench` a host read of 4 to 64 bytes by one access is one TLP. Its rate
    is its number of bytes per round trip."""
    for size in READS:
        row = rows[f"read_access/{size}"]
        assert row["binds"] == "one read in flight"
        assert 0.95 < row["ratio"] <= 1.01
        assert row["value"] == pytest.approx(size * 1000 / row["access_ns"], rel=1e-6)
        # The read takes the 700 ns of --mmio-rtt and about 45 ns in the card.
        assert row["access_ns"] == pytest.approx(745, abs=30)


def test_a_call_for_each_word_is_as_slow_as_its_words(rows):
    """If each word is read by one call of the library, the rate is 4 bytes per round trip, whatever
    the size."""
    rates = [rows[f"read_call/{size}"]["value"] for size in (8, 64, 128, 512, 1024, 4096)]
    assert rates == pytest.approx([rows["read_access/4"]["value"]] * 6, rel=0.03)
    assert all(rows[f"read_call/{size}"]["ratio"] <= 1.01 for size in (8, 4096))


def test_what_this_host_cannot_do_says_why_in_place_of_a_number(rows):
    """A simulated card cannot be mapped. So the rows of `litepcie_util mmio_bench` for mapped
    accesses have a sentence with the reason in place of a number."""
    refused = {name for name, row in rows.items() if row["value"] is None}
    assert refused == {
        "read_mapped/4",
        "read_mapped/8",
        "write_mapped/4",
        "write_mapped/8",
        "write_combined/64",
        "read_memcpy/4096",
        "write_memcpy/4096",
    }
    assert all("cannot be mapped" in rows[name]["reason"] for name in refused)
    assert all(row["limit"] and row["binds"] for name, row in rows.items() if name not in refused)


def test_what_binds_is_not_the_limit_when_it_is_far(rows):
    """If a rate is far below the card's limit, the row of `litepcie_util mmio_bench` names what
    limits the rate instead: the host's single stores, or that the host serves one thread at a
    time."""
    for size in READS:
        row = rows[f"write_access/{size}"]
        assert row["ratio"] < 0.5 and row["binds"] == "the host's own stores"
    assert rows["write_access/64"]["limit"] == pytest.approx(5333.33, abs=0.01)
    assert rows["read_threads/8"]["limit"] == pytest.approx(8 * rows["read_access/8"]["limit"])
    assert rows["read_threads/8"]["binds"] == "one access at a time"


def test_a_longer_round_trip_halves_the_rates():
    """If the host's round trip takes twice as long, `litepcie_util mmio_bench` reports half the
    rate of a read and half the limit. So the utility measures the round trip, and does not assume
    it."""
    row = bench("--mmio-rtt", "1450")["read_access/64"]
    assert row["access_ns"] == pytest.approx(1500, abs=40)
    assert 0.95 < row["ratio"] <= 1.01
