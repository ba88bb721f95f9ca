# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Make the host look for the card again after the card was given another configuration.

The card's old devices are removed first, since a driver must not keep a device that has changed.
The functions read and write sysfs. LANEBOX_SYSFS names another folder in place of /sys, for tests.
This module needs only Python's standard library.
"""

import os
import time
from pathlib import Path

# After a rescan of the PCI bus, the link must train and the host must find the card within this
# many seconds.
PATIENCE = 5

class RescanError(RuntimeError):
    """Raised if the host does not find the card. The message says why, and what to do."""

def sysfs():
    """Return sysfs' folder of the PCI bus. LANEBOX_SYSFS puts another folder in place of /sys."""
    return Path(os.environ.get("LANEBOX_SYSFS", "/sys"))/"bus"/"pci"

def _read(device, name):
    try:
        return (device/name).read_text().strip()
    except OSError:
        return "?"

def find_cards(vendor, device):
    """Return the folders in sysfs of the PCI devices with these vendor and device IDs."""
    wanted = (f"{vendor:#06x}", f"{device:#06x}")
    return [entry for entry in sorted((sysfs()/"devices").glob("*"))
        if (_read(entry, "vendor"), _read(entry, "device")) == wanted]

def _write(path):
    try:
        path.write_text("1")
    except PermissionError:
        raise RescanError(f"--rescan writes {path}, which root may: run this again with sudo") \
            from None
    except OSError as error:
        raise RescanError(f"{path}: {error.strerror}: has this host PCIe?") from None

def link(card):
    """Return a sentence with speed and width of the PCIe link of `card` (a folder in sysfs), and
    with their maximum if it is higher.
    """
    speed, width = _read(card, "current_link_speed"), _read(card, "current_link_width")
    most         = f"{_read(card, 'max_link_speed')} x{_read(card, 'max_link_width')}"
    below        = "" if f"{speed} x{width}" == most else f", of {most} that the card has"
    return f"{card.name}: link {speed} x{width}{below}"

def _wait(reached, patience):
    until = time.monotonic() + patience
    while not reached() and time.monotonic() < until:
        time.sleep(0.02)
    return reached()

def rescan(vendor, device, patience=PATIENCE):
    """Remove the host's old devices of the card, and rescan. Return a sentence about the link of
    each card found.

    `patience` is in seconds. Raise RescanError if no card is found in time.
    """
    for card in find_cards(vendor, device):
        _write(card/"remove")
        if not _wait(lambda card=card: not card.exists(), patience):
            raise RescanError(f"{card.name} does not go: is a program still using it?")
    _write(sysfs()/"rescan")
    if not _wait(lambda: find_cards(vendor, device), patience):
        raise RescanError(f"the host has no device {vendor:04x}:{device:04x} after a rescan. "
            "If the slot was empty when the host started, its bridge may have no room or no "
            "power for one: restart the host (warm, so that the card keeps its configuration)")
    return [link(card) for card in find_cards(vendor, device)]
