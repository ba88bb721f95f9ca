# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/kernel.py, which chooses the image and headers of one kernel version from
Debian's packages."""

import re

import pytest

from sim.guest import SetupError, kernel, mirror
from sim.guest.packages import Plan

# These packages are named as in Debian 12: the default series has the plain name, the other series
# has its number in the name.
PACKAGES = {
    "linux-headers-cloud-amd64": {"Depends": "linux-headers-6.1.0-56-cloud-amd64 (= 6.1.192-2)"},
    "linux-headers-6.12-cloud-amd64": {
        "Depends": "linux-headers-6.12.117+deb12-cloud-amd64 (= 6.12.117-1~deb12u1)"
    },
    "linux-headers-6.1.0-56-cloud-amd64": {
        "Version": "6.1.192-2",
        "Depends": "linux-headers-6.1.0-56-common (= 6.1.192-2), linux-kbuild-6.1 (>= 6.1.192-2), "
        "linux-compiler-gcc-12-x86",
    },
    "linux-headers-6.12.117+deb12-cloud-amd64": {
        "Version": "6.12.117-1~deb12u1",
        "Depends": "linux-base (>= 4.12~), linux-headers-6.12.117+deb12-common "
        "(= 6.12.117-1~deb12u1), linux-image-6.12.117+deb12-cloud-amd64 (= 6.12.117-1~deb12u1) "
        "| linux-image-6.12.117-unsigned (= 6.12.117-1~deb12u1), linux-kbuild-6.12.117+deb12, "
        "gcc-12",
    },
}
# These packages stand in for a release's backports, which keep kernels that a newer one has
# superseded.
BACKPORTS = {
    f"linux-headers-7.2.{patch}+deb13-cloud-amd64": {
        "Version": f"7.2.{patch}-1~bpo13+1",
        "Depends": f"linux-headers-7.2.{patch}+deb13-common, linux-kbuild-7.2.{patch}+deb13",
    }
    for patch in (6, 9, 10, 11)
}
MISSING = {"linux-image-7.2.11+deb13-cloud-amd64"}


RELEASE = re.compile(r"linux-headers-(\d\S*)")


class FakeArchive:
    suites = "http://mirror.example/debian bookworm"

    def control(self, package):
        return PACKAGES.get(package, {})

    def names(self, prefix):
        images = {f"linux-image-{m.group(1)}" for m in map(RELEASE.match, PACKAGES) if m}
        return sorted(name for name in {*PACKAGES, *images} - MISSING if name.startswith(prefix))

    def plan_exact(self, packages):
        return Plan(packages, {})


@pytest.mark.parametrize(
    ("series", "release", "parts"),
    [
        (
            series,
            "6.1.0-56-cloud-amd64",
            ["linux-headers-6.1.0-56-common=6.1.192-2", "linux-kbuild-6.1"],
        )
        for series in ("", "6.1")
    ]
    + [
        (
            "6.12",
            "6.12.117+deb12-cloud-amd64",
            [
                "linux-headers-6.12.117+deb12-common=6.12.117-1~deb12u1",
                "linux-kbuild-6.12.117+deb12",
            ],
        ),
    ],
)
def test_every_part_has_a_version_that_the_headers_accept(series, release, parts):
    """Image, headers and common headers all have the same version, since a module that was built
    for another kernel would not load. kbuild is the newest, since the headers ask for no version or
    for at least theirs: Debian's archive drops the older kbuild before the newer image is there."""
    facts, plan = kernel.plan(FakeArchive(), series)
    version = PACKAGES[f"linux-headers-{release}"]["Version"]
    assert facts == {"release": release, "version": version}
    names = [f"linux-image-{release}", f"linux-headers-{release}"]
    assert plan.argv == [*(f"{name}={version}" for name in names), *parts, "busybox-static"]


def test_a_series_that_is_not_there_is_an_error():
    """A series that does not exist is refused with a list of those that do. "6.1" does not match
    6.12."""
    for series in ("6.6", "6.11", "6.0"):
        with pytest.raises(SetupError, match=rf"KERNEL={series}: .* 6\.1, 6\.12"):
            kernel.plan(FakeArchive(), series)


def test_the_newest_of_a_superseded_series_is_taken(monkeypatch):
    """Of a series, the newest kernel that has an image is chosen. Versions are compared as numbers:
    7.2.10 is newer than 7.2.9."""
    monkeypatch.setitem(globals(), "PACKAGES", {**PACKAGES, **BACKPORTS})
    facts, _ = kernel.plan(FakeArchive(), "7.2")
    assert facts == {"release": "7.2.10+deb13-cloud-amd64", "version": "7.2.10-1~bpo13+1"}
    meta = {"Depends": "linux-headers-7.2.11+deb13-cloud-amd64 (= 7.2.11-1~bpo13+1)"}
    monkeypatch.setitem(PACKAGES, "linux-headers-cloud-amd64", meta)
    assert kernel.plan(FakeArchive(), "7.2")[0] == facts
    assert kernel.plan(FakeArchive(), "6.12")[0]["release"] == "6.12.117+deb12-cloud-amd64"


def test_an_image_that_is_split_is_taken_in_parts(monkeypatch):
    """From Linux 7 on, Debian's kernel image is two packages, one with the binary and one with the
    modules. sim/guest/kernel.py finds both."""
    release = "7.2.10+deb13-cloud-amd64"
    parts = ", ".join(f"linux-{part}-{release} (= 7.2.10-1)" for part in ("binary", "modules"))
    monkeypatch.setitem(globals(), "PACKAGES", {**PACKAGES, **BACKPORTS})
    monkeypatch.setitem(PACKAGES, f"linux-image-{release}", {"Depends": f"kmod, {parts}"})
    assert kernel.plan(FakeArchive(), "7.2")[1].argv[0].startswith(f"linux-binary-{release}=")
    assert kernel.part_of_image(FakeArchive(), release, "modules") == f"linux-modules-{release}"
    whole = "6.1.0-56-cloud-amd64"
    assert kernel.part_of_image(FakeArchive(), whole, "modules") == f"linux-image-{whole}"


@pytest.mark.parametrize(
    ("suite", "series", "backports"),
    [("trixie", "7.2", True), ("trixie", "6.12", False), ("bookworm", "6.12", False)],
)
def test_only_a_newer_series_is_looked_for_in_backports(monkeypatch, suite, series, backports):
    """On Debian 13, backports are searched for a kernel series that is not the release's own. On
    Debian 12 backports are never searched."""
    monkeypatch.setenv("DEBIAN_MIRROR", "http://m.example")
    monkeypatch.setenv("DEBIAN_SUITE", suite)
    asked = []
    monkeypatch.setattr(kernel.packages, "unpack", lambda *given: asked.extend(given[2]))
    kernel.fetch("directory", series)
    newer = [("http://m.example", f"{suite}-backports")] if backports else []
    assert asked == [("http://m.example", suite), *newer]


def test_nonsense_for_a_series_is_an_error():
    """A KERNEL that is not the number of a series is refused before anything is fetched."""
    with pytest.raises(SetupError, match=r"KERNEL=latest.*6\.12"):
        kernel.ensure("latest")


def test_the_headers_can_be_moved(tmp_path):
    """Absolute paths in Debian's kernel headers become relative ones, so that the tree can lie
    anywhere."""
    headers = tmp_path / "usr/src/linux-headers-6.1.0-1-cloud-amd64"
    headers.mkdir(parents=True)
    (tmp_path / "lib/modules").mkdir(parents=True)
    image = tmp_path / "usr/lib/modules/6.1.0-1-cloud-amd64/vmlinuz"
    image.parent.mkdir(parents=True)
    image.touch()
    (headers / "Makefile").write_text(
        "KBUILD_OUTPUT=/usr/src/linux-headers-6.1.0-1-cloud-amd64\n"
        "include /usr/src/linux-headers-6.1.0-1-common/Makefile\n"
    )
    kernel.make_movable(tmp_path, "6.1.0-1-cloud-amd64")
    text = (headers / "Makefile").read_text()
    assert text == ("KBUILD_OUTPUT=$(CURDIR)\ninclude ../linux-headers-6.1.0-1-common/Makefile\n")
    assert not (tmp_path / "lib/modules").exists()
    # From Linux 7 on Debian has the kernel's image in the folder of its modules. make_movable()
    # moves it to boot.
    assert (tmp_path / "boot/vmlinuz-6.1.0-1-cloud-amd64").exists()
    with pytest.raises(SetupError, match="layout"):
        kernel.make_movable(tmp_path, "6.1.0-1-cloud-amd64")


def test_a_part_that_was_removed_is_an_error(tmp_path):
    """If a part of a fetched kernel is missing, the message names the file and what to remove."""
    with pytest.raises(SetupError, match=r"vmlinuz-6\.1.*is missing.*Remove"):
        kernel.load(tmp_path, {"release": "6.1", "version": "1"})


def test_a_machine_that_changed_its_release_gets_another_kernel(monkeypatch, tmp_path):
    """The folder of a fetched kernel has the machine's Debian release in its name, because the
    headers must fit the machine's compiler."""
    monkeypatch.setattr(kernel, "BUILD", tmp_path)
    monkeypatch.delenv("KERNEL", raising=False)
    asked = []
    monkeypatch.setattr(kernel, "fetch", lambda directory, series: asked.append(directory.name))
    monkeypatch.setattr(kernel, "load", lambda directory, content: None)
    for suite in ("bookworm", "trixie", "sid"):
        monkeypatch.setattr(mirror, "suite", lambda suite=suite: suite)
        kernel.ensure()
    assert asked == ["bookworm-6.1", "trixie-6.12", "sid-default"]
