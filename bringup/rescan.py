# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Makes the host look at its PCIe slots again after the card has got another configuration.

Old devices of the card are removed first: a driver must not keep a device that has changed. The
functions read and write sysfs (LANEBOX_SYSFS names another root, for tests). Standard library only.
"""

import os
import time
from pathlib import Path

PATIENCE = 5 # Seconds that the link may take to train and the host to find the card.

class RescanError(RuntimeError):
    """The host does not have the card. The message says why, and what to do."""

def sysfs():
    """Return the folder of PCI devices in sysfs. LANEBOX_SYSFS puts another tree in place of
    /sys.
    """
    return Path(os.environ.get("LANEBOX_SYSFS", "/sys"))/"bus"/"pci"

def _read(device, name):
    try:
        return (device/name).read_text().strip()
    except OSError:
        return "?"

def find_cards(vendor, device):
    """Return the devices with these identifiers, as folders in sysfs."""
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
    """Return a sentence with speed and width of the card's PCIe link."""
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
    """Remove the old cards, rescan, and return a sentence about the link of each card."""
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
