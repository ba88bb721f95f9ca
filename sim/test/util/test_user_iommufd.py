# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of VFIO by iommufd, on a guest kernel that this project builds, since Debian's kernels lack
iommufd for VFIO."""

import json

import pytest

from sim import artefacts
from sim.guest import built, qemu, run
from sim.test.driver.driver_guest import needs_kernels
from sim.test.util.user_guest import BIND, IOMMU, boot, sentences, when

pytestmark = [pytest.mark.guest, pytest.mark.soak, needs_kernels]
DEVICE = "/dev/vfio/devices/vfio0"


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def guest():
    return run.Guest(qemu.ensure(), built.ensure("p2p"), None)


def test_iommufd_passes_the_same_suite(start_board):
    """The library's test programs pass through VFIO by iommufd and by type1, on one kernel. By
    default the library uses iommufd."""
    held = "[ $(ls -l /proc/$user/fd | grep -c -e ' /dev/iommu$' -e ' {}$') = 2 ]"
    commands = [
        BIND,
        "library vfio:01:00.0,iommufd /root/csr.json",
        "streams vfio:0000:01:00.0,iommufd 64 >/out/text",
        when("streams vfio:01:00.0 400", held.format(DEVICE)),
        "library vfio:01:00.0,type1 /root/csr.json",
        when("streams vfio:01:00.0,type1 400", "ls -l /proc/$user/fd | grep -q ' /dev/vfio/vfio$'"),
    ]
    with start_board() as board:
        result = boot(
            board,
            commands,
            ("library", "streams"),
            vfio=False,
            guest=guest(),
            append=("intel_iommu=on",),
            devices=IOMMU,
        )
        assert board.stats()["unmapped"] == 0
    assert result.files["text"].decode().count("64 buffers") == 5


def test_what_is_in_the_way_of_iommufd_has_a_sentence(start_board):
    """A missing right to open the card, and a card in use, have a sentence by iommufd and by type1.
    If a user may not open iommufd, the library uses type1."""
    ask = "library {} /root/csr.json 2>>/out/why && false || true"
    nobody = "su nobody -c '{}' 2>>/out/why && false || true"
    named, plain = "vfio:01:00.0,iommufd", "vfio:01:00.0"
    commands = [
        BIND,
        "echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd",
        nobody.format(f"library {named} /root/csr.json"),
        f"chmod 666 {DEVICE} /dev/iommu; chmod 600 /dev/vfio/vfio",
        nobody.format("library vfio:01:00.0,type1 /root/csr.json"),
        f"chmod 600 {DEVICE}",
        nobody.format(f"library {plain} /root/csr.json"),
    ]
    for holder in (named, f"{plain},type1"):
        program = f"streams {holder} 400 >/dev/null & user=$!"
        begun = "until grep -q vfio-msi /proc/interrupts; do kill -0 $user; sleep 0.1; done"
        commands += [program, begun, ask.format(named), ask.format(f"{plain},type1"), "wait $user"]
    commands.append(f"library {named} /root/csr.json")
    with start_board() as board:
        found = sentences(
            boot(
                board,
                commands,
                ("library", "streams"),
                vfio=False,
                guest=guest(),
                append=("intel_iommu=on",),
                devices=IOMMU,
            )
        )
    for sentence, wanted in zip(
        found,
        (
            "/dev/iommu: Permission denied; run as root",
            "/dev/vfio/vfio: Permission denied",
            "/dev/vfio/vfio: Permission denied",
            "0000:01:00.0: another program has this card; let it finish first",
            "another program has this IOMMU group",
            "0000:01:00.0: another program has this card; let it finish first",
            "another program has this IOMMU group",
        ),
        strict=True,
    ):
        assert wanted in sentence, "\n".join(found)


def test_the_utility_names_the_interface_that_is_open_to_its_user(start_board):
    """`litepcie_util vfio status` names the interface that its user may open: none, type1 or
    iommufd."""
    util = artefacts.utility(artefacts.build("lanebox").headers, static=True)
    status = "su nobody -c 'litepcie_util --json vfio status 01:00.0' >/out/{}"
    commands = [
        "echo 'nobody:x:65534:65534::/:/bin/sh' >/etc/passwd",
        "litepcie_util --json vfio bind 01:00.0 >/out/root",
        "group=/dev/vfio/$(basename $(readlink /sys/bus/pci/devices/0000:01:00.0/iommu_group))",
        f"chmod 600 /dev/vfio/vfio /dev/iommu {DEVICE} $group",
        status.format("nothing"),
        "chmod 666 /dev/vfio/vfio $group",
        status.format("older"),
        f"chmod 666 /dev/iommu {DEVICE}",
        status.format("newer"),
    ]
    with start_board() as board:
        files = boot(
            board,
            commands,
            files=[(util, "bin/litepcie_util")],
            vfio=False,
            guest=guest(),
            append=("intel_iommu=on",),
            devices=IOMMU,
        ).files
    said = {name: json.loads(files[name]) for name in ("root", "nothing", "older", "newer")}
    assert {name: report["interface"] for name, report in said.items()} == {
        "root": "iommufd",
        "nothing": None,
        "older": "type1",
        "newer": "iommufd",
    }
    assert {report["device_node"] for report in said.values()} == {DEVICE}
    assert "by root only" in " ".join(said["nothing"]["findings"]), said["nothing"]["findings"]
