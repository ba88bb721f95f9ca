# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/rows/virtio/line.py and of the program `line`, on the simulated card whose net
device has a wire."""

import pytest

from sim import artefacts
from sim.endpoints import DEFAULT
from sim.errors import TestFailed
from sim.rows.measure import Conditions
from sim.rows.virtio import line
from tools.testing.seeds import SHIFT

SHORT, LONG = 3000, 10 * line.FRAMES
# Received frames wait on the card while the device reads about buffers. When the line has brought
# all frames, this many may be missing. In a long run they may be as many as the device has room
# for (16 KiB, and 96 bytes for each), and any more would be lost.
WAITING, ROOM = 50, 170
# The device shows up to 8 received frames at once, so as many too many may be counted.
SHOWN_AT_ONCE = 8


@pytest.fixture(scope="module")
def card():
    """Return the path of the board and that of csr.json."""
    built = artefacts.build(DEFAULT, virtio=True, port="wire")
    return built.board, built.gateware / "csr.json"


def check(card, frames, order, waiting):
    """Send frames both ways. Check that no frame was lost, and that both directions had the line's
    rate."""
    at = Conditions(seed=SHIFT + 1)
    total, *rates = line.rows(*card, at, frames, orders=[order])
    assert total.id == "virtio/line/10g/64" + line.ORDERS[order]
    assert total.value == 0 and total.violations == 0
    # The rings were full: the card never had to wait for the driver.
    assert min(total.conditions["least_chains"].values()) > line.VIRTIO_QUEUE_SIZE // 2
    for entry, way, missing in zip(rates, ("h2c", "c2h"), (1, waiting), strict=True):
        assert entry.id.endswith(f"/{way}") and entry.binds == "line"
        assert entry.limit == pytest.approx(14.881, abs=0.001)
        assert -missing <= (entry.ratio - 1) * frames <= SHOWN_AT_ONCE


@pytest.mark.parametrize("order", line.ORDERS)
def test_both_directions_have_the_line_rate_without_loss(card, order):
    """3000 frames of 64 bytes go each way through the net device at the line rate of 10G, with full
    rings. None is lost, changed or repeated. The descriptors follow one another, or those that were
    freed last come first."""
    check(card, SHORT, order, WAITING)


def test_two_runs_are_the_same(card):
    """All accounts of two runs are the same to the cycle, so they do not depend on how busy the
    machine is."""
    at = Conditions(seed=SHIFT + 1)
    first, second = (list(line.rows(*card, at, 500, orders=["last"])) for _ in range(2))
    assert first == second and first[0].cycles > 0


@pytest.mark.soak
@pytest.mark.parametrize("order", line.ORDERS)
def test_the_line_rate_is_held_for_twenty_milliseconds(card, order):
    """The same holds for 300,000 frames each way, ten times as many as the row has."""
    check(card, LONG, order, ROOM)


def test_lost_frames_are_counted(card):
    """A line of 40G brings more frames than the device can write, so frames are lost. The row has
    their number, which is that of the device's register, and no frame is lost on its way out."""
    at = Conditions(seed=SHIFT + 1)
    total, _, c2h = line.rows(*card, at, SHORT, gigabits=40, orders=["turn"])
    assert total.value > 0 and total.value == total.conditions["lost"]["c2h"]
    assert c2h.ratio < 0.9


ACCOUNT = {"lost": 0, "repeated": 0, "changed": 0}


@pytest.mark.parametrize(
    "way, wrong, device_lost, words",
    [
        ("h2c", {"lost": 1}, 0, "lost, and the device counts 0"),
        ("c2h", {"lost": 1}, 0, "lost, and the device counts 0"),
        ("c2h", {}, 1, "lost, and the device counts 1"),
        ("h2c", {"repeated": 1}, 0, "1 frames of h2c came repeated"),
        ("c2h", {"changed": 2}, 0, "2 frames of c2h came changed"),
    ],
)
def test_accounts_that_cannot_be_give_no_row(way, wrong, device_lost, words):
    """A frame that comes twice or changed, one that is lost on its way out, and one whose loss the
    device has not counted, raise TestFailed."""
    found = {"h2c": ACCOUNT, "c2h": ACCOUNT, "device_lost": device_lost}
    found[way] = {**ACCOUNT, **wrong}
    stats = {"wire": {"h2c": {"frames": 5}, "c2h": {"frames": 5}}, "unmapped": 0}
    with pytest.raises(TestFailed, match=words):
        line._check("row", found, stats, 5)


@pytest.mark.parametrize("way", ["h2c", "c2h"])
def test_frames_that_never_pass_the_mac_give_no_row(way):
    """If fewer frames have passed the MAC than were sent, TestFailed is raised."""
    found = {"h2c": ACCOUNT, "c2h": ACCOUNT, "device_lost": 0}
    stats = {"wire": {"h2c": {"frames": 5}, "c2h": {"frames": 5}}, "unmapped": 0}
    stats["wire"][way] = {"frames": 4}
    with pytest.raises(TestFailed, match=f"4 of 5 frames of {way} passed the MAC"):
        line._check("row", found, stats, 5)
