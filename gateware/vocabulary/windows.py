# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Says which parts of BAR0 and BAR2 (the BAR windows) show which target of the MMIO bridge.

    BAR0  0x00000  registers     0x10000, 0x14000  the two block memories     0x1f000  capabilities
          0x18000  MSI-X, where it is built         0x1c000  virtio devices, where they are built
          0x19000  the management CPU's mailbox, and 0x1a000 its image, where it is built
    BAR2  0x000000, 0x004000  the two block memories     0x080000  512 KiB     0x100000  user's AXI4

The block memories are in both BARs: a driver that maps only BAR0 must reach them, and BAR2 is
prefetchable, so it may be mapped write-combining."""

from dataclasses import dataclass

from gateware import numbers

BUS   = "wishbone"
AXI   = "axi"
# The target that holds both block memories (MEMORY_BASES), one behind the other.
BLOCK = "block_memory"

@dataclass(frozen=True)
class Bar0:
    """A layout of BAR0: it says where registers and block memories are. The capability table is at
    the same place in every layout."""
    # Byte offset of the registers in BAR0, which equals their address on the SoC's bus.
    csr:      int
    windows:  tuple # (base, size) in bytes of each part of BAR0 that shows registers to the host.
    memories: tuple # Byte offsets of the block memories in BAR0.

    def regions(self):
        """Returns {name: (base, size)}, in bytes, of the bridge's memories in BAR0 that lie outside
        the region of the registers."""
        table  = (numbers.CAPABILITY_BASE, numbers.CAPABILITY_SIZE)
        beside = not self.csr <= numbers.CAPABILITY_BASE < self.csr + numbers.CSR_SIZE
        return {
            **{f"memory{n}": (base, numbers.MEMORY_SIZE) for n, base in enumerate(self.memories)},
            **({"capability": table} if beside else {}),
        }

# The layouts of BAR0, by the programs that the card is compatible with. None is the project's own
# layout. "seed000" has two memories of 4 KiB, 16 KiB apart, at the start of BAR0, as programs for a
# card with nothing but these memories expect them. Programs that use csr.h's offsets without a
# base, like LitePCIe's own driver, would write into these memories. This project's programs find
# the registers by the capability table.
COMPAT = {
    None: Bar0(
        csr      = numbers.CSR_BASE,
        windows  = ((numbers.CSR_BASE, numbers.CSR_SIZE),),
        memories = numbers.MEMORY_BASES,
    ),
    "seed000": Bar0(
        csr      = 0x10000,
        # The two windows show register pages 0 to 23. No module has registers in a page above.
        windows  = ((0x10000, 0x8000), (0x18000, 0x4000)),
        memories = (0x0000, 0x4000),
    ),
}

def check_compat(compat, endpoint, msix):
    """Raises ValueError, with the reason, if the layout of BAR0 that `compat` names does not go
    together with `endpoint`, or with MSI-X if `msix` is true."""
    if compat not in COMPAT:
        raise ValueError(f"compat {compat!r} is unknown: choose one of "
            f"{', '.join(name for name in COMPAT if name)}, or none")
    if compat and endpoint != "lanebox":
        raise ValueError(f"compat {compat!r} needs the bridge, and the endpoint {endpoint!r} "
            "has none; choose the endpoint lanebox")
    if compat and msix:
        raise ValueError(f"compat {compat!r} has registers where the table of MSI-X would be: "
            "choose one of the two")

@dataclass(frozen=True)
class Window:
    """A BAR window: `size` bytes of a BAR, from offset `base` on, show the target's bytes from its
    own address `target_base` on."""
    bar:         int
    base:        int
    size:        int
    target:      str
    target_base: int = 0

    def argument(self):
        """Returns the BAR window as text, in the form that Window.scala parses."""
        return f"{self.bar},{self.base},{self.size},{self.target},{self.target_base}"

def block_windows(bar, bases):
    """Returns the windows of a BAR, at `bases`, that show the block memories."""
    size = numbers.MEMORY_SIZE
    return [Window(bar, base, size, BLOCK, size*n) for n, base in enumerate(bases)]

def bus_window(base, size):
    """Returns a window of BAR0 that shows the bus. A bus address is the offset in BAR0."""
    return Window(0, base, size, BUS, base)

def default_windows(axi=None, msix=False, compat=None, virtio=False, cpu=False):
    """Returns all BAR windows of a card. `axi` is the AXI4 bus of user logic, or None."""
    bar0 = COMPAT[compat]
    return [
        *[bus_window(base, size) for base, size in bar0.windows],
        Window(0, numbers.CAPABILITY_BASE, numbers.CAPABILITY_SIZE, "capability"),
        *block_windows(0, bar0.memories),
        *block_windows(2, [base - numbers.MEMORY_BASES[0] for base in numbers.MEMORY_BASES]),
        Window(2, numbers.CARD_MEMORY_BASE, numbers.CARD_MEMORY_SIZE, "card_memory"),
        *([bus_window(numbers.MSIX_BASE, numbers.MSIX_SIZE)] if msix else []),
        *([bus_window(numbers.VIRTIO_BASE, numbers.VIRTIO_DEVICES*numbers.VIRTIO_SIZE)]
            if virtio else []),
        *([bus_window(numbers.CPU_MAILBOX_BASE, numbers.CPU_MAILBOX_SIZE),
           bus_window(numbers.CPU_IMAGE_BASE, numbers.CPU_IMAGE_SIZE)] if cpu else []),
        *([Window(2, numbers.AXI_BASE, numbers.AXI_SIZE, AXI)] if axi else []),
    ]

def gaps(size, taken):
    """Returns [(BAR, base, size)] of those parts of BAR0's `size` bytes that are not `taken`."""
    free, at = [], 0
    for _, base, length in sorted(taken, key=lambda window: window[1]):
        if base > at:
            free.append((0, at, base - at))
        at = base + length
    if at < size:
        free.append((0, at, size - at))
    return free
