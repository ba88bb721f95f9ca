# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/guest/kernel.py: image and headers of one version, chosen by series."""

import pytest

from sim.guest import SetupError, kernel, mirror
from sim.guest.packages import Plan

# As in Debian 12: the default series by the plain name, the other one by its own.
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
        "Depends": "linux-base (>= 4.12~), linux-headers-6.12.117+deb12-common (= 6.12.117-1), "
        "linux-image-6.12.117+deb12-cloud-amd64 (= 6.12.117-1) | linux-image-6.12.117-unsigned, "
        "linux-kbuild-6.12.117+deb12, gcc-12",
    },
}


class FakeArchive:
    suites = "http://mirror.example/debian bookworm"

    def control(self, package):
        return PACKAGES.get(package, {})

    def names(self, prefix):
        return [name for name in PACKAGES if name.startswith(prefix)]

    def plan_exact(self, packages):
        return Plan(packages, {})


@pytest.mark.parametrize(
    ("series", "release", "parts"),
    [
        ("", "6.1.0-56-cloud-amd64", ["linux-headers-6.1.0-56-common", "linux-kbuild-6.1"]),
        ("6.1", "6.1.0-56-cloud-amd64", ["linux-headers-6.1.0-56-common", "linux-kbuild-6.1"]),
        (
            "6.12", "6.12.117+deb12-cloud-amd64",
            ["linux-headers-6.12.117+deb12-common", "linux-kbuild-6.12.117+deb12"],
        ),
    ],
)  # fmt: skip
def test_every_part_has_the_version_of_the_headers(series, release, parts):
    """A module that was built against another version would not load."""
    facts, plan = kernel.plan(FakeArchive(), series)
    version = PACKAGES[f"linux-headers-{release}"]["Version"]
    assert facts == {"release": release, "version": version}
    names = [f"linux-image-{release}", f"linux-headers-{release}", *parts]
    assert plan.argv == [*(f"{name}={version}" for name in names), "busybox-static"]


def test_a_series_that_is_not_there_is_an_error():
    """6.1 must not be taken for 6.12 or 6: the message lists what there is."""
    for series in ("6.6", "6.11", "6.0"):
        with pytest.raises(SetupError, match=rf"KERNEL={series}: .* 6\.1, 6\.12"):
            kernel.plan(FakeArchive(), series)


def test_nonsense_for_a_series_is_an_error():
    """It is refused before anything is fetched."""
    with pytest.raises(SetupError, match=r"KERNEL=latest.*6\.12"):
        kernel.ensure("latest")


def test_the_headers_can_be_moved(tmp_path):
    """The only absolute path in Debian's headers becomes a relative one."""
    headers = tmp_path / "usr/src/linux-headers-6.1.0-1-cloud-amd64"
    headers.mkdir(parents=True)
    (tmp_path / "lib/modules").mkdir(parents=True)
    (headers / "Makefile").write_text("include /usr/src/linux-headers-6.1.0-1-common/Makefile\n")
    kernel.make_movable(tmp_path, "6.1.0-1-cloud-amd64")
    text = (headers / "Makefile").read_text()
    assert text == "include ../linux-headers-6.1.0-1-common/Makefile\n"
    assert not (tmp_path / "lib/modules").exists()
    with pytest.raises(SetupError, match="layout"):
        kernel.make_movable(tmp_path, "6.1.0-1-cloud-amd64")


def test_a_part_that_was_removed_is_an_error(tmp_path):
    """The message names the file and what to remove."""
    with pytest.raises(SetupError, match=r"vmlinuz-6\.1.*is missing.*Remove"):
        kernel.load(tmp_path, {"release": "6.1", "version": "1"})


def test_a_machine_that_changed_its_release_gets_another_kernel(monkeypatch, tmp_path):
    """The directory carries the suite: the headers must fit the machine's compiler."""
    monkeypatch.setattr(kernel, "BUILD", tmp_path)
    monkeypatch.delenv("KERNEL", raising=False)
    asked = []
    monkeypatch.setattr(kernel, "fetch", lambda directory, series: asked.append(directory.name))
    monkeypatch.setattr(kernel, "load", lambda directory, content: None)
    for suite in ("bookworm", "trixie", "sid"):
        monkeypatch.setattr(mirror, "suite", lambda suite=suite: suite)
        kernel.ensure()
    assert asked == ["bookworm-6.1", "trixie-6.12", "sid-default"]
