# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of bringup/rescan.py with a made-up sysfs, in which a thread acts as the kernel."""

import shutil
import subprocess
import sys
import threading

import pytest

from bringup import rescan
from tools.testing.repository import ROOT
from tools.vivado.run import DEVICE, VENDOR

SECONDS = 30


class Host:
    """Model of the kernel: a made-up sysfs with a card at 01:00.0, and a thread that acts on
    writes.

    `after` is the (speed, width) of the card's link after a rescan. None: the card does not come
    back.
    """

    def __init__(self, root, after):
        self.bus, self.after, self.seen = root / "bus" / "pci", after, []
        self.add("0000:00:1f.0", 0x8086, 0x1234, ("2.5 GT/s PCIe", "1"))
        self.add("0000:01:00.0", VENDOR, DEVICE, ("2.5 GT/s PCIe", "1"))
        (self.bus / "rescan").write_text("")
        self.stop = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def add(self, name, vendor, device, link):
        # The made-up PCI device's folder is filled elsewhere and moved to devices/ only when it is
        # complete.
        folder = self.bus / name
        folder.mkdir(parents=True)
        for file, text in (
            ("vendor", f"{vendor:#06x}"),
            ("device", f"{device:#06x}"),
            ("current_link_speed", link[0]),
            ("current_link_width", link[1]),
            ("max_link_speed", "8.0 GT/s PCIe"),
            ("max_link_width", "8"),
            ("remove", ""),
        ):
            (folder / file).write_text(f"{text}\n" if text else "")
        (self.bus / "devices").mkdir(exist_ok=True)
        folder.rename(self.bus / "devices" / name)

    def run(self):
        while not self.stop.wait(0.01):
            for folder in list((self.bus / "devices").iterdir()):
                if (folder / "remove").read_text() == "1":
                    self.seen.append(folder.name)
                    shutil.rmtree(folder)
            if (self.bus / "rescan").read_text() == "1":
                (self.bus / "rescan").write_text("")
                self.seen.append("rescan")
                if self.after and not (self.bus / "devices" / "0000:01:00.0").exists():
                    self.add("0000:01:00.0", VENDOR, DEVICE, self.after)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join(SECONDS)


def run(root):
    return subprocess.run(
        [sys.executable, ROOT / "targets" / "ku5p.py", "--rescan"],
        timeout=SECONDS,
        capture_output=True,
        text=True,
        env={"LANEBOX_SYSFS": str(root)},
    )


@pytest.mark.parametrize(
    "link, sentence",
    [
        (("8.0 GT/s PCIe", "8"), "0000:01:00.0: link 8.0 GT/s PCIe x8\n"),
        (
            ("8.0 GT/s PCIe", "1"),
            "0000:01:00.0: link 8.0 GT/s PCIe x1, of 8.0 GT/s PCIe x8 that the card has\n",
        ),
    ],
)
def test_the_link_is_told_after_a_rescan(tmp_path, link, sentence):
    """--rescan removes the card's old device and rescans the bus. A link below the card's maximum
    is reported.
    """
    with Host(tmp_path, link) as host:
        result = run(tmp_path)
    assert result.returncode == 0, result.stderr
    assert result.stdout == sentence
    assert host.seen == ["0000:01:00.0", "rescan"]


def test_a_card_that_does_not_come_back_is_an_error(tmp_path, monkeypatch):
    """If the card does not come back, --rescan is an error. The card's old link is not reported."""
    monkeypatch.setenv("LANEBOX_SYSFS", str(tmp_path))
    with Host(tmp_path, None), pytest.raises(rescan.RescanError, match="10ee:9038 after a rescan"):
        rescan.rescan(VENDOR, DEVICE, patience=0.5)


def test_a_host_without_pcie_is_told(tmp_path):
    """On a host without PCIe --rescan says so, without a traceback."""
    result = run(tmp_path / "nothing")
    assert result.returncode == 1
    assert "has this host PCIe?" in result.stderr and "Traceback" not in result.stderr


def test_who_is_not_root_is_told(tmp_path, monkeypatch):
    """--rescan tells a user who may not write to sysfs to use sudo."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(rescan.Path, "write_text", refuse)
    with pytest.raises(rescan.RescanError, match="with sudo"):
        rescan._write(tmp_path / "rescan")
