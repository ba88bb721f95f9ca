# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The windows of BAR0 and BAR2 onto the targets of the bridge.

    BAR0  0x00000  registers     0x10000, 0x14000  the two block memories     0x1f000  capabilities
          0x18000  MSI-X, where it is built
    BAR2  0x000000, 0x004000  the two block memories     0x080000  512 KiB     0x100000  user's AXI4

The block memories are in both BARs: a driver that maps only BAR0 must reach them, and BAR2 is
prefetchable, so it may be mapped write-combining.
"""

from dataclasses import dataclass

from lanebox import layouts

BUS   = "wishbone"
AXI   = "axi"
BLOCK = "block_memory" # Both of MEMORY_BASES, one behind the other.

@dataclass(frozen=True)
class Bar0:
    """The layout of BAR0: registers and block memories. The capability table never moves."""
    csr:      int   # On the bus as well: an offset in BAR0 is a bus address.
    windows:  tuple # (base, size) of each part of the registers that is shown.
    memories: tuple

    def regions(self):
        """Base and size, by name, of each memory of the bridge that is not inside the registers'
        region.
        """
        table  = (layouts.CAPABILITY_BASE, layouts.CAPABILITY_SIZE)
        beside = not self.csr <= layouts.CAPABILITY_BASE < self.csr + layouts.CSR_SIZE
        return {
            **{f"memory{n}": (base, layouts.MEMORY_SIZE) for n, base in enumerate(self.memories)},
            **({"capability": table} if beside else {}),
        }

# The layouts of BAR0, by what the card is compatible with. "seed000": two memories of 4 KiB, 16 KiB
# apart, at the start of BAR0, as programs for a bridge with nothing else expect them. Programs that
# use csr.h's offsets without a base, like LitePCIe's own driver, would write into these memories.
# This project's programs ask the capability table.
COMPAT = {
    None: Bar0(
        csr      = layouts.CSR_BASE,
        windows  = ((layouts.CSR_BASE, layouts.CSR_SIZE),),
        memories = layouts.MEMORY_BASES,
    ),
    "seed000": Bar0(
        csr      = 0x10000,
        windows  = ((0x10000, 0x8000), (0x18000, 0x4000)), # Up to page 23, the last in use.
        memories = (0x0000, 0x4000),
    ),
}

def check_compat(compat, endpoint, msix):
    """Raises ValueError with the reason if such a card cannot be built."""
    if compat not in COMPAT:
        raise ValueError(f"compat {compat!r} is unknown: choose one of "
            f"{', '.join(name for name in COMPAT if name)}, or none")
    if compat and endpoint != "lanebox":
        raise ValueError(f"compat {compat!r} needs the bridge, which the endpoint {endpoint!r} has "
            "not; choose the endpoint lanebox")
    if compat and msix:
        raise ValueError(f"compat {compat!r} has registers where the table of MSI-X would be: "
            "choose one of the two")

@dataclass(frozen=True)
class Window:
    """`size` bytes at `base` of a BAR show `target` from its own address `target_base` on."""
    bar:         int
    base:        int
    size:        int
    target:      str
    target_base: int = 0

def block_windows(bar, bases):
    """Windows onto the block memories, each at its own base."""
    size = layouts.MEMORY_SIZE
    return [Window(bar, base, size, BLOCK, size*n) for n, base in enumerate(bases)]

def bus_window(base, size):
    """A window of BAR0 onto the bus. Its offset in BAR0 is the bus address."""
    return Window(0, base, size, BUS, base)

def default_windows(axi=None, msix=False, compat=None):
    """The windows of the card's own build. `axi` is the bus of user logic, if there is one."""
    bar0 = COMPAT[compat]
    return [
        *[bus_window(base, size) for base, size in bar0.windows],
        Window(0, layouts.CAPABILITY_BASE, layouts.CAPABILITY_SIZE, "capability"),
        *block_windows(0, bar0.memories),
        *block_windows(2, [base - layouts.MEMORY_BASES[0] for base in layouts.MEMORY_BASES]),
        Window(2, layouts.CARD_MEMORY_BASE, layouts.CARD_MEMORY_SIZE, "card_memory"),
        *([bus_window(layouts.MSIX_BASE, layouts.MSIX_SIZE)] if msix else []),
        *([Window(2, layouts.AXI_BASE, layouts.AXI_SIZE, AXI)] if axi else []),
    ]

def gaps(size, taken):
    """The parts of a BAR0 of `size` bytes that no (BAR, base, size) in `taken` covers, as such
    tuples.
    """
    free, at = [], 0
    for _, base, length in sorted(taken, key=lambda window: window[1]):
        if base > at:
            free.append((0, at, base - at))
        at = base + length
    if at < size:
        free.append((0, at, size - at))
    return free
