# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of live_guest.py: if the commands of a test go wrong, their guest ends with a reason, and
the next test gets a new guest."""

import pytest

from sim.guest import run
from sim.guest.supervise import GuestError
from sim.test.driver import live_guest
from sim.test.driver.live_guest import LiveGuest

# each failure that the test provokes costs a boot of a guest
pytestmark = [pytest.mark.guest, pytest.mark.soak]


def test_what_goes_wrong_ends_the_guest(monkeypatch, tmp_path):
    """A guest ends if its commands hang, if they fail, or if the card is missing after them. The
    next commands run in a new guest."""
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")
    with LiveGuest() as guest:
        assert guest.run(["echo this >/out/that"])["that"] == b"this\n"
        assert "that" not in guest.run(["true"]) and guest.boots == 1
        with monkeypatch.context() as patch, pytest.raises(GuestError, match="timed out"):
            patch.setattr(live_guest, "STEP_SECONDS", 5)
            guest.run(["sleep 1000"])
        with pytest.raises(GuestError, match="status 3"):
            guest.run(["exit 3"])
        with pytest.raises(GuestError, match="locks: /dev/litepcie0: No such file"):
            guest.run(["echo 0000:01:00.0 >/sys/bus/pci/drivers/litepcie/unbind"])
        guest.run(["true"])
        assert guest.boots == 4
