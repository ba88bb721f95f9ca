# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie.c of liblitepcie: the name of a device, and a device that cannot be opened."""

import socket

import pytest


def _socket_file(path):
    """Make a socket file on which no process listens, as after the end of a board process."""
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("", "has no name: it must be like /dev/litepcie0, vfio:0000:22:00.0 or sim:SOCKET"),
        ("sim:", '"sim:" has no name'),
        ("vfio:", '"vfio:" has no name'),
        ("vfio:nonsense", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:20.0", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:00.8", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:00.0,channel=-1", "option channel=-1 in the device string"),
        ("vfio:22:00.0,channel=4294967297", "option channel=4294967297 in the device string"),
        ("vfio:22:00.0,iommufd" + "x" * 60, "63 characters at most"),
        ("{tmp}/none", "no such device; load the driver"),
        ("{tmp}", "Is a directory"),
        ("{tmp}/file", "not a device file"),
        ("/dev/null", "not a device of the LitePCIe driver"),
        ("sim:{tmp}/none", "start the board with --socket"),
        ("sim:{tmp}/file", "not a socket"),
        ("sim:{tmp}/dead", "is the board that made this socket still running?"),
        ("sim:" + "x" * 200, "a socket's path has at most 107 characters, this one 200"),
        ("sim:{tmp}/none,speed=9", "there are mps=, mrrs= and timeout="),
        ("sim:{tmp}/none,mps=300", "power of two from 128 to 4096"),
        ("sim:{tmp}/none,timeout=0", "a whole number of seconds"),
    ],
)
def test_a_device_that_cannot_be_opened_is_one_sentence(util, tmp_path, name, sentence):
    """If a device cannot be opened, litepcie_util ends with status 1 and one sentence. With --json
    the sentence is in the list of failures.
    """
    (tmp_path / "file").write_text("text")
    _socket_file(tmp_path / "dead")
    device = name.format(tmp=tmp_path)
    result = util.run("-d", device, "info")
    assert result.returncode == 1
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    status, report = util.json(device, "info")
    assert status == 1
    assert report["ok"] is False
    assert sentence in report["failures"][0]
    assert report["conditions"] == {"mps": None, "mrrs": None, "device": device, "backend": None}
