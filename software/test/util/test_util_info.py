# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util info with a stand-in for the card."""


def test_info_shows_what_was_negotiated(util, card, device):
    """`info` shows the card's MPS and MRRS, which are those that the device name asks for."""
    with card() as standin:
        status, report = util.json(f"{device},mps=256,mrrs=1024", "info")
    assert status == 0
    assert report["identifier"] == standin.registers.text
    assert (report["mps_bytes"], report["mrrs_bytes"]) == (256, 1024)
    assert (report["link_up"], report["link_gen"], report["link_lanes"]) == (True, 3, 8)
    assert report["msi_enabled"] is True
    assert report["conditions"]["backend"] == "sim"
    assert report["endpoint"]["clock_hz"] == 250000000
    for way, bit in standin.registers.bit.items():
        assert 1 << report["endpoint"][f"interrupt_{way}"] == bit


def test_mps_defaults_to_what_the_card_advertises_and_may_not_exceed_it(util, card, device):
    """The MPS of a simulated card is by default what the card advertises, 512 bytes for the
    stand-in.

    A larger MPS is refused.
    """
    with card():
        assert util.json(device, "info")[1]["mps_bytes"] == 512
        result = util.run("-d", f"{device},mps=1024", "info")
    assert result.returncode == 1
    assert "mps=1024: the board advertises 512 bytes" in result.stderr
