# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Connects the wire behind the card's net device to a second network card of the same guest.

The second card is QEMU's virtio-net-pci, with `-netdev stream` on the socket of the board's wire.
It is in a network namespace of its own, so what the guest sends to it goes through card and wire.
The guest needs no root on the host, and no TAP. Limits: the kernel needs its module virtio_pci.
"""

from __future__ import annotations

from pathlib import Path

from gateware import numbers
from sim.guest import modules, net_programs, virtio
from sim.guest.kernel import Kernel

HERE = Path(__file__).resolve().parent
FAR_MAC = 0x525400AA0002  # a locally administered address with QEMU's prefix
# Addresses of the card's net device and of the second card, which wire_up sets.
NEAR, FAR = "10.0.0.1", "10.0.0.2"
# Commands of the guest: wire_up gives both ends their addresses, and `far COMMAND` runs a command
# in the second card's namespace.
COMMANDS = ("wire_up", "far")


def mac(address: int) -> str:
    """Return a MAC address as the kernel writes it."""
    return ":".join(f"{byte:02x}" for byte in address.to_bytes(6, "big"))


def devices(path: Path) -> tuple[str, ...]:
    """Return QEMU's arguments for the second card, at the end of the wire at the socket `path`.

    The board must listen there already.
    """
    socket = str(path).replace(",", ",,")
    return (
        "-netdev",
        f"stream,id=far,server=off,addr.type=unix,addr.path={socket}",
        "-device",
        f"virtio-net-pci,netdev=far,mac={mac(FAR_MAC)},romfile=",
    )


def files(kernel: Kernel) -> list[tuple[Path | bytes, str]]:
    """Return pairs (host path or content, guest path) of what the guest needs beside the files of
    sim/guest/virtio.py: the module for the second card, the programs of net_programs and COMMANDS.

    wire_up names the card's net device eth0 and the second card eth1.
    """
    there = virtio.in_order(kernel)
    more = [path for path in modules.ensure(kernel, "virtio_pci") if path not in there]
    placed: list[tuple[Path | bytes, str]] = [
        (path, f"lib/modules/virtio_{n:02}-{path.name}") for n, path in enumerate(more)
    ]
    ends = f"near_mac={mac(numbers.VIRTIO_MAC)} far_mac={mac(FAR_MAC)} near={NEAR} far={FAR}\n"
    placed += [(HERE / f"{name}.sh", f"bin/{name}") for name in COMMANDS]
    return [*placed, *net_programs.ensure(), (ends.encode(), "lib/wire")]
