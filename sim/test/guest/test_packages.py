# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/guest/packages.py unpacks Debian packages only if they are signed and complete."""

import hashlib
import json
import shutil
import subprocess

import pytest

from sim.guest import SetupError, packages
from sim.guest.packages import Archive, Plan, unpack
from tools.progress import StepError


@pytest.fixture(autouse=True)
def build_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(packages, "BUILD", tmp_path / "build")


@pytest.fixture
def package(tmp_path):
    """Make a small Debian package with one file in it; returns its path."""
    tree = tmp_path / "tree"
    (tree / "DEBIAN").mkdir(parents=True)
    (tree / "DEBIAN" / "control").write_text(
        "Package: lanebox-test\nVersion: 1\nArchitecture: amd64\nMaintainer: nobody <n@example>\n"
        "Description: a file\n"
    )
    (tree / "usr").mkdir()
    (tree / "usr" / "file").write_text("content")
    path = tmp_path / "lanebox-test_1_amd64.deb"
    subprocess.run(["dpkg-deb", "--build", str(tree), str(path)], check=True, capture_output=True)
    return path


@pytest.fixture
def local_archive(monkeypatch, package):
    """Replace the class Archive, which runs apt, by one whose update() and fetch() need no network;
    returns that class. If its `fail` is set, fetch() fails."""

    class Local(Archive):
        fail = False
        fetches = 0

        def update(self, what):
            pass

        def fetch(self, plan, what):
            Local.fetches += 1
            if Local.fail:
                raise StepError("the network went away")
            return [shutil.copy(package, self.archives) and self.archives / package.name]

    monkeypatch.setattr(packages, "Archive", Local)
    return Local


def choose(archive):
    return Plan([], {})


SOURCES = [("http://mirror.example/debian", "bookworm")]


def test_the_manifest_says_what_is_there(local_archive, package, tmp_path):
    """The manifest of a folder with unpacked Debian packages has the file name, size and SHA-256 of
    each package, and the entries that the caller adds."""
    place = tmp_path / "build" / "thing"
    content = unpack(place, "thing", SOURCES, choose, lambda tree: {"release": "6.1"})
    assert (place / "root" / "usr" / "file").read_text() == "content"
    assert content == json.loads((place / "manifest.json").read_text())
    assert content["release"] == "6.1"
    assert content["packages"] == [
        {
            "file": package.name,
            "size": package.stat().st_size,
            "sha256": hashlib.sha256(package.read_bytes()).hexdigest(),
        }
    ]


def test_what_is_there_is_not_fetched_again(local_archive, tmp_path):
    """If Debian packages are already unpacked in a folder, packages.unpack() reads the folder's
    manifest and fetches nothing."""
    for _ in range(2):
        unpack(tmp_path / "build" / "thing", "thing", SOURCES, choose)
    assert local_archive.fetches == 1


def test_a_failed_fetch_leaves_nothing(local_archive, tmp_path):
    """A failed fetch of Debian packages leaves neither a directory nor state of apt. The next call
    starts anew."""
    place = tmp_path / "build" / "thing"
    local_archive.fail = True
    with pytest.raises(StepError, match="went away"):
        unpack(place, "thing", SOURCES, choose)
    assert [path for path in place.parent.iterdir() if path.is_dir()] == []
    local_archive.fail = False
    unpack(place, "thing", SOURCES, choose)
    assert (place / "root" / "usr" / "file").exists()


def test_a_directory_without_manifest_is_made_anew(local_archive, tmp_path):
    """unpack() makes a directory without a manifest, as a killed run leaves it, anew."""
    place = tmp_path / "build" / "thing"
    (place / "root").mkdir(parents=True)
    (place / "root" / "half").touch()
    (place.parent / ".thing.killed").mkdir()
    unpack(place, "thing", SOURCES, choose)
    assert not (place / "root" / "half").exists()
    assert not (place.parent / ".thing.killed").exists()


def test_an_archive_that_debian_did_not_sign_is_refused(package, tmp_path):
    """A package index without a signature by Debian's key is refused, whatever the machine's apt
    allows."""
    mirror = tmp_path / "mirror"
    index = mirror / "dists/bookworm/main/binary-amd64"
    index.mkdir(parents=True)
    (index / "Packages").write_text(f"Package: lanebox-test\nFilename: {package.name}\n")
    (mirror / "dists/bookworm/Release").write_text("Suite: bookworm\nComponents: main\n")
    archive = Archive(tmp_path / "apt", [(f"file:{mirror}", "bookworm")])
    with pytest.raises(SetupError, match=r"(not signed|NO_PUBKEY)(.|\n)*DEBIAN_MIRROR"):
        archive.update("test")


def test_without_debian_s_keyring_nothing_is_tried(monkeypatch, tmp_path):
    """Without Debian's keyring, the error names the package that has it."""
    monkeypatch.setenv("DEBIAN_KEYRING", str(tmp_path / "none.gpg"))
    with pytest.raises(SetupError, match="debian-archive-keyring"):
        Archive(tmp_path / "apt", SOURCES)


def test_a_mirror_that_cannot_be_reached_is_one_sentence(monkeypatch, tmp_path):
    """If a mirror cannot be reached, the error is one sentence without apt's messages. For other
    failures the error has apt's last lines."""
    words = "Temporary failure resolving 'm.example'"

    def fail(*_, **__):
        raise StepError(f"package indexes: exit status 100\nErr:1 {words}")

    monkeypatch.setattr(packages, "run", fail)
    archive = Archive(tmp_path / "apt", [("http://m.example", "bookworm")])
    with pytest.raises(SetupError, match="reaches none of http.*online.*same command") as caught:
        archive.update("fio")
    assert words not in str(caught.value)
    words = "the file has an unexpected size"
    with pytest.raises(SetupError, match=words):
        archive.update("fio")


def test_another_processor_is_refused(monkeypatch, tmp_path):
    """A processor other than amd64 is refused, because the machine's own compiler builds the
    guest's driver."""
    monkeypatch.setattr(packages.platform, "machine", lambda: "aarch64")
    with pytest.raises(SetupError, match="aarch64"):
        unpack(tmp_path / "build" / "thing", "thing", SOURCES, choose)
