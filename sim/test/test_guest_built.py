# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""On kernels of our own configuration: peer-to-peer DMA, and everything that finds mistakes.

Building one takes minutes: only with `make soak SOAK=full` (or SOAK=kernels, these tests alone in
full length).
"""

import os

import pytest
from driver_guest import CARD, boot

from lanebox import layouts
from sim.guest import built, driver, qemu, run

needs_kernels = pytest.mark.skipif(
    os.environ.get("SOAK") not in ("full", "kernels"),
    reason="builds a kernel, for minutes: make soak SOAK=kernels",
)


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


def guest(name):
    """What a run on this kernel needs."""
    kernel = built.ensure(name)
    return run.Guest(qemu.ensure(), kernel, driver.ensure(kernel))


def disk(tmp_path):
    """QEMU's arguments for an NVMe disk of 4 MiB."""
    image = tmp_path / "disk"
    image.write_bytes(bytes(4 << 20))
    return ("-drive", f"file={image},if=none,id=disk,format=raw",
            "-device", "nvme,drive=disk,serial=1")  # fmt: skip


def test_a_kernel_is_named_after_its_configuration():
    """Two configurations are two kernels, and an unknown one ends in a sentence."""
    assert built.digest("p2p") != built.digest("debug")
    with pytest.raises(run.SetupError, match="kernel rt: there are p2p, debug"):
        built.ensure("rt")


@needs_kernels
@pytest.mark.guest
@pytest.mark.soak
def test_a_disk_reads_and_writes_the_card_s_memory(start_board, tmp_path):
    """64 KiB from the disk into the card and back, with no copy in the host's memory.

    Only what is memory is offered, and what is not keeps away from it; the driver goes and comes.
    """
    offset, size = layouts.CARD_MEMORY_BASE, layouts.CARD_MEMORY_SIZE
    commands = [
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"cat {CARD}/p2pmem/available >/out/available",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        f"peer {CARD} /dev/litepcie0 /dev/nvme0n1 {offset:#x} {size:#x}",
    ]
    # The kernel lets devices below different ports speak on processors that it knows: AMD's Zen.
    devices = (*disk(tmp_path), "-cpu", "max,family=23")
    with start_board() as board:
        result = boot(board, commands, guest=guest("p2p"), programs=["peer"], devices=devices)
    assert int(result.files["available"]) == size


@pytest.mark.guest
@pytest.mark.soak
def test_debian_s_kernels_cannot_offer_it(start_board):
    """The parameter ends in its own sentence, and the card works without it."""
    commands = [
        "rmmod litepcie; insmod /lib/modules/litepcie.ko p2pmem=1",
        "[ ! -e /dev/litepcie0 ]; dmesg | grep -q 'p2pmem=1 needs a kernel with PCI_P2PDMA'",
        "rmmod litepcie; insmod /lib/modules/litepcie.ko; stress cycle /dev/litepcie0 1",
    ]
    with start_board() as board:
        boot(board, commands)
