# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The long campaigns of random steps against the capture block, with one queue
(CaptureCampaign.scala) and with four (QueuesCampaign.scala)."""

import re

import pytest

from tools.testing.scala_program import run_scala

pytestmark = [pytest.mark.spinal, pytest.mark.soak]

STEPS = 1_000_000
SECONDS = 3600


FATES = ("delivered", "bad", "lost for the ring", "lost for the staging memory")
CAMPAIGNS = {
    "lanebox.capture.CaptureCampaign": FATES,
    "lanebox.capture.queues.QueuesCampaign": (*FATES, "discarded by a rule"),
}


@pytest.mark.parametrize("campaign", CAMPAIGNS)
def test_the_loss_identity_holds_in_a_million_steps(campaign, tmp_path):
    """In 10^6 random steps every frame is delivered whole, lost whole or discarded, and is counted
    once with its cause, in frames and bytes."""
    said = run_scala(campaign, STEPS, folder=tmp_path, seconds=SECONDS)
    print(said[-2000:])
    lines = re.findall(r"^ +(\d+) (.+)$", said, re.MULTILINE)
    counts = {what: int(number) for number, what in lines}
    assert counts["frames"] > STEPS / 3
    assert sum(counts[fate] for fate in CAMPAIGNS[campaign]) == counts["frames"]
    assert min(counts[fate] for fate in CAMPAIGNS[campaign]) > 300, counts
