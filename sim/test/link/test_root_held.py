# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of a request of the host that waits for a credit: it leaves the root complex when the
credit has come, and not before."""

from sim.test.link.root_probe import run

MPS_512 = "config 78 2 2950"
# number of writes of 512 bytes for which the card's 1024 data credits (of 16 bytes) are enough
WHOLE_BUFFER = 32
WIRE = (4 + 12 + 512 + 4) / 7.877  # ns that a write of 512 bytes takes on the link, Gen3 x8
# The host gets its credits back more than this many ns after the card has freed them. That is a
# little less than the acknowledge latency limit.
UPDATE = 180


def test_a_request_held_for_credits_does_not_leave_before_they_come():
    """The card keeps writes in its receive buffer until all credits are used, and then takes them.
    The next write needs the time of the flow-control update and its whole time on the link.
    """
    fill = ["keep 1", f"peer write 0 512 {WHOLE_BUFFER + 4} 1 0", "run 5000", "keep 0"]
    times = [request[0] for request in run(MPS_512, *fill, "run 5000").requests]
    assert len(times) == WHOLE_BUFFER + 4
    assert times[0] == times[WHOLE_BUFFER - 1] >= 5000, "the card takes what it kept at once"
    assert times[WHOLE_BUFFER] - times[0] >= UPDATE + WIRE


def test_requests_lost_in_a_function_reset_give_their_credits_back():
    """A function level reset empties the card's receive buffer. The credits of the lost requests
    come back, so that as many writes as before the reset arrive after it."""
    fill = f"peer write 0 512 {WHOLE_BUFFER} 1 0"
    lost = ["keep 1", fill, "run 5000", "flr", "keep 0", "run 5000"]
    assert run(MPS_512, *lost).requests == []
    times = [request[0] for request in run(MPS_512, *lost, fill, "run 5000").requests]
    assert len(times) == WHOLE_BUFFER
