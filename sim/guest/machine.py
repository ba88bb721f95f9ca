# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The virtual machine as a QEMU command line: a q35 with a root port, and the board behind it.

Each of these choices is necessary:
- Guest memory is a shared memfd. With a private copy the guest would never see the card's DMA.
- The card is behind a root port. Directly on the root bus it would lose its link registers.
- x-msg-timeout is ten minutes. With the default, a read that is answered after 5 s breaks the
  socket.
- TCG is used unless KVM is asked for. Even if /dev/kvm opens, it may not run an unmodified kernel.
"""

from __future__ import annotations

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path

from sim.guest import SetupError
from sim.guest.kernel import Kernel

SIZES = (128, 256, 512, 1024, 2048, 4096)
SOCKET_LENGTH = 107  # The longest path of a Unix socket, in bytes, that fits a sockaddr_un.
MESSAGE_TIMEOUT_MS = 600_000

KERNEL_OPTIONS = (
    "console=ttyS0",
    # Without KVM a busy host may let the guest miss ticks that its kernel's timer check counts.
    "no_timer_check",
    # `quiet` and `mitigations=off` make the boot faster.
    "quiet",
    "mitigations=off",
    # With these options a fault of the guest's kernel ends the guest at once.
    "panic=-1",
    "oops=panic",
    # With these options a slow board does not look like a hang of the kernel.
    "nowatchdog",
    "rcupdate.rcu_cpu_stall_suppress=1",
    # With this option user programs may map BAR0 while the driver has it.
    "iomem=relaxed",
    # The kernel leaves MPS and MRRS alone, since init.sh programs them (pcie.sh).
    "pci=pcie_bus_tune_off",
)


@dataclass(frozen=True)
class Machine:
    """The choices for one virtual machine. Without a socket the machine has no card."""

    socket: Path | None = None
    mps: int = 256
    mrrs: int = 512
    memory: int = 512  # the guest's memory in MiB
    accel: str = "tcg"  # QEMU's accelerator: "tcg" or "kvm"
    icount: int | None = None  # one guest instruction takes 2**icount ns of the guest's time
    # If set, the guest has two NUMA nodes: the card is on node `node`, the CPU on node 0.
    node: int | None = None
    node_memory: int = 64  # MiB of `memory` that the second NUMA node has, in a guest with two
    # With False, guest memory is private: a test uses that to see whether the board notices.
    share: bool = True
    append: tuple[str, ...] = ()  # more options for the command line of the guest's kernel
    devices: tuple[str, ...] = ()  # more arguments for QEMU, such as disks or other cards

    def __post_init__(self) -> None:
        for name in ("mps", "mrrs"):
            if getattr(self, name) not in SIZES:
                sizes = ", ".join(map(str, SIZES))
                raise SetupError(f"{name}={getattr(self, name)}: the sizes of PCIe are {sizes}.")
        if self.accel not in ("tcg", "kvm"):
            raise SetupError(f"accel={self.accel}: QEMU runs the guest with tcg or kvm.")
        if self.accel == "kvm" and self.icount is not None:
            raise SetupError(f"icount={self.icount}: only tcg counts instructions, not kvm.")
        if self.node not in (None, 0, 1):
            raise SetupError(f"node={self.node}: the guest has two NUMA nodes, 0 and 1.")
        if self.socket is not None:
            check_socket(self.socket)

    def arguments(self, kernel: Kernel, initramfs: Path, results: Path, extra: tuple = ()) -> list:
        """Return QEMU's arguments without the console.

        `extra` are options of the guest's kernel for this run.
        """
        size = f"{self.memory}M"
        share = "on" if self.share else "off"
        return [
            "-machine",
            "q35" if self.node is not None else "q35,memory-backend=ram",
            "-m",
            size,
            "-smp",
            "1",
            *memory("ram", self.memory - (self.node_memory if self.node is not None else 0), share),
            "-accel",
            self.accel,
            "-cpu",
            "max" if self.accel == "tcg" else "host",
            *(["-icount", f"shift={self.icount}"] if self.icount is not None else []),
            "-nodefaults",
            "-no-reboot",
            "-display",
            "none",
            # The next character device is the guest's ttyS1. A comma in a path is doubled, since
            # QEMU takes a single comma for the end of the path.
            "-chardev",
            f"file,id=results,path={str(results).replace(',', ',,')}",
            "-device",
            "isa-serial,chardev=results,index=1",
            "-kernel",
            kernel.image,
            "-initrd",
            initramfs,
            "-append",
            " ".join([*KERNEL_OPTIONS, *self._sizes(), *self.append, *extra]),
            *self._nodes(),
            *(self._card() if self.socket is not None else []),
            *self.devices,
        ]

    def _nodes(self) -> list[str]:
        if self.node is None:
            return []
        # Only a host bridge can be given a NUMA node. A root port has the node of its bridge.
        bridge = f"pxb-pcie,id=bridge,bus=pcie.0,bus_nr=64,numa_node={self.node}"
        # Node 1 gets memory because the kernel ignores a node that has neither processor nor
        # memory.
        return [
            "-numa",
            "node,nodeid=0,cpus=0,memdev=ram",
            *memory("far", self.node_memory, "on"),
            "-numa",
            "node,nodeid=1,memdev=far",
            "-device",
            bridge,
        ]

    def _card(self) -> list[str]:
        return card_arguments(self.socket, root="pcie.0" if self.node is None else "bridge")

    def _sizes(self) -> list[str]:
        # The kernel passes options that it does not know to init, as environment variables.
        return [f"mps={self.mps}", f"mrrs={self.mrrs}"] if self.socket is not None else []


def memory(name: str, size: int, share: str) -> list[str]:
    """Return QEMU's arguments for `size` MiB of guest memory in a memfd.

    The board can map it if it is shared.
    """
    return ["-object", f"memory-backend-memfd,id={name},size={size}M,share={share}"]


def card_arguments(socket: Path, slot: int = 1, root: str = "pcie.0") -> list[str]:
    """Return QEMU's arguments for the board at `socket` as a card behind its own root port."""
    # The device is written in JSON, because its property `socket` is an object of its own.
    port = "root_port" if slot == 1 else f"root_port{slot}"
    card = {
        "driver": "vfio-user-pci",
        "id": f"card{slot}",
        "bus": port,
        "x-msg-timeout": MESSAGE_TIMEOUT_MS,
        "socket": {"type": "unix", "path": str(socket)},
    }
    return [
        "-device",
        f"pcie-root-port,id={port},bus={root},chassis={slot},slot={slot}",
        "-device",
        json.dumps(card),
    ]


def check_socket(path: Path) -> None:
    """Raise SetupError for a socket that QEMU could not use.

    The check does not connect to the socket, since a board serves one client at a time.
    """
    length = len(os.fsencode(path))
    if length > SOCKET_LENGTH:
        raise SetupError(
            f"socket {path}: the path has {length} bytes, and Linux allows {SOCKET_LENGTH}. Start "
            "the board with a shorter one."
        )
    try:
        kind = os.stat(path).st_mode
    except OSError as error:
        raise SetupError(
            f"socket {path}: {error.strerror}. The board must be there before the guest starts: "
            "wait for its line `board: listening on ...`."
        ) from None
    if not stat.S_ISSOCK(kind):
        raise SetupError(f"socket {path}: this is no socket. Give what the board was started with.")
