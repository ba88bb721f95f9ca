# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Puts the programs for the card's virtio devices into a guest: Debian's own drivers, our transport
litepcie_virtio.ko, and the command virtio_console.

Promises: init.sh loads all modules before the guest's commands run. Limits: the modules are those
of the guest's own kernel, so each kernel has its own.
"""

from __future__ import annotations

from pathlib import Path

from sim.guest import driver, modules
from sim.guest.kernel import Kernel

HERE = Path(__file__).resolve().parent
# The drivers of Debian's kernel that drive the card's virtio devices.
STOCK = ("virtio_net", "virtio_console")
# The text that `make shell VIRTIO=1` prints before its shell begins.
HINT = """
The card's virtio console is /dev/hvc0, which virtio_console in the kernel drives through
litepcie_virtio.ko. What is sent comes back: `echo hello | virtio_console`
The card's net device is eth0. At the other end of its wire is a second network
card: `wire_up` puts that into a namespace of its own, in which `far` runs
commands. Then `ping 10.0.0.2`, or
`far iperf3 -s -D; iperf3 -c 10.0.0.2 -n 1M; ethtool -S eth0`
"""


def in_order(kernel: Kernel) -> list[Path]:
    """Return the kernel modules in the order in which they must be loaded, after litepcie.ko."""
    order: list[Path] = []
    for name in STOCK:
        order += [path for path in modules.ensure(kernel, name) if path not in order]
    return [*order, driver.ensure_virtio(kernel)]


def files(kernel: Kernel) -> list[tuple[Path, str]]:
    """Return pairs (host path, guest path) for a guest with this kernel.

    init.sh loads modules in the order of their names, and litepcie.ko is among them.
    """
    *stock, ours = in_order(kernel)
    placed = [(path, f"lib/modules/{n:02}-{path.name}") for n, path in enumerate(stock)]
    placed.append((ours, f"lib/modules/{ours.name}"))
    return [*placed, (HERE / "virtio_console.sh", "bin/virtio_console")]
