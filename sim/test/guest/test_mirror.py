# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/guest/mirror.py finds out which of a machine's apt sources is Debian's."""

import pytest

from sim.guest import SetupError, mirror

MAIN = ("http://mirror.example/debian", "bookworm")
UPDATES = ("http://mirror.example/debian", "bookworm-updates")
SECURITY = ("http://mirror.example/debian-security", "bookworm-security")
VENDOR = ("https://packages.example/repos/tool", "bookworm")
OTHER = ("https://packages.example/apt", "cloud-sdk-bookworm")


@pytest.fixture(autouse=True)
def no_overrides(monkeypatch):
    for name in ("DEBIAN_MIRROR", "DEBIAN_SUITE", "DEBIAN_KEYRING"):
        monkeypatch.delenv(name, raising=False)


def test_main_comes_first_and_security_is_found():
    """Of Debian's sources main comes first, then security, then updates. Sources of others are left
    out."""
    assert mirror.choose([OTHER, SECURITY, VENDOR, UPDATES, MAIN], "bookworm") == [
        MAIN,
        SECURITY,
        UPDATES,
    ]


def test_a_cloud_image_s_mirror_list_is_a_mirror():
    """A source that names a file with a list of mirrors, as on Debian's cloud images, counts as a
    mirror of Debian."""
    pair = ("mirror+file:/etc/apt/mirrors/debian.list", "bookworm")
    assert mirror.choose([VENDOR, pair], "bookworm") == [pair]


def test_a_configuration_that_says_stable_counts():
    """A source that follows Debian by the name `stable` counts as Debian's."""
    pair = ("http://mirror.example/debian", "stable")
    assert mirror.choose([pair], "trixie") == [pair]


def test_the_machine_s_own_configuration_is_read(monkeypatch, tmp_path):
    """The machine's apt sources are read by apt-get, so that their format does not matter."""
    fake = tmp_path / "apt-get"
    fake.write_text(
        "#!/bin/sh\ncat <<E\n"
        "'http://m.example/debian/dists/trixie/InRelease' m_InRelease 0 \n"
        "'http://m.example/debian/dists/trixie/main/binary-amd64/Packages.xz' m_Packages 0 \n"
        "'http://m.example/debian/dists/trixie/contrib/binary-amd64/Packages.xz' m_Packages 0 \n"
        "E\n"
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert mirror.configured() == [("http://m.example/debian", "trixie")]


def test_a_stranger_is_told_what_to_set(monkeypatch):
    """On a machine that is not Debian, the error names DEBIAN_MIRROR, and VM=0 as the way without a
    guest."""
    monkeypatch.setattr(mirror, "os_release", lambda: {"ID": "ubuntu", "PRETTY_NAME": "Ubuntu 24"})
    with pytest.raises(SetupError, match=r"Ubuntu 24.*DEBIAN_MIRROR.*VM=0"):
        mirror.sources()


def test_a_named_mirror_overrides(monkeypatch):
    """If DEBIAN_MIRROR and DEBIAN_SUITE are set, sim/guest/mirror.py takes them in place of the
    machine's apt sources, on any machine."""
    monkeypatch.setattr(mirror, "os_release", lambda: {"ID": "ubuntu", "VERSION_CODENAME": "noble"})
    monkeypatch.setenv("DEBIAN_MIRROR", "http://near.example/debian/")
    assert mirror.sources() == [("http://near.example/debian", "bookworm")]
    monkeypatch.setenv("DEBIAN_SUITE", "trixie")
    assert mirror.sources() == [("http://near.example/debian", "trixie")]


def test_without_apt_the_error_says_so(monkeypatch, tmp_path):
    """If the machine has no apt-get, the error of sim/guest/mirror.py says so, and names VM=0 as
    the way to run without a guest."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SetupError, match=r"no apt-get.*VM=0"):
        mirror.configured()
