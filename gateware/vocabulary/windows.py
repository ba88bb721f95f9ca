# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The BAR windows: which parts of BAR0 and BAR2 show which target of the MMIO bridge.

    BAR0  0x00000  registers     0x10000, 0x14000  the two block memories     0x1f000  capabilities
          0x18000  MSI-X, where it is built
    BAR2  0x000000, 0x004000  the two block memories     0x080000  512 KiB     0x100000  user's AXI4

The block memories are in both BARs: a driver that maps only BAR0 must reach them, and BAR2 is
prefetchable, so it may be mapped write-combining.
"""

from dataclasses import dataclass

from gateware import numbers

BUS   = "wishbone"
AXI   = "axi"
BLOCK = "block_memory" # One target holds both block memories (MEMORY_BASES), one after the other.

@dataclass(frozen=True)
class Bar0:
    """The layout of BAR0: registers and block memories. The capability table never moves."""
    csr:      int   # Base of the registers, both in BAR0 and on the bus: the addresses are equal.
    windows:  tuple # (base, size) of each part of the registers that the host sees.
    memories: tuple # Bases of the block memories.

    def regions(self):
        """The base and size, by name, of each of the bridge's memories in BAR0 that is outside the
        region of the registers.
        """
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
        windows  = ((0x10000, 0x8000), (0x18000, 0x4000)), # Pages 0 to 23; no later is used.
        memories = (0x0000, 0x4000),
    ),
}

def check_compat(compat, endpoint, msix):
    """Raises ValueError, with the reason, if a card with this `compat`, endpoint and MSI-X cannot
    be built.
    """
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
    """A BAR window: `size` bytes of a BAR, from offset `base` on, are the target's bytes from its
    own address `target_base` on.
    """
    bar:         int
    base:        int
    size:        int
    target:      str
    target_base: int = 0

    def argument(self):
        """The window as text, in the form that Window.scala parses."""
        return f"{self.bar},{self.base},{self.size},{self.target},{self.target_base}"

def block_windows(bar, bases):
    """The windows of a BAR onto the block memories, each at its own base."""
    size = numbers.MEMORY_SIZE
    return [Window(bar, base, size, BLOCK, size*n) for n, base in enumerate(bases)]

def bus_window(base, size):
    """A window of BAR0 onto the Wishbone bus. An offset in BAR0 is the same address on the bus."""
    return Window(0, base, size, BUS, base)

def default_windows(axi=None, msix=False, compat=None):
    """All windows of a card. `axi` is the AXI4 bus of user logic, or None if it has none."""
    bar0 = COMPAT[compat]
    return [
        *[bus_window(base, size) for base, size in bar0.windows],
        Window(0, numbers.CAPABILITY_BASE, numbers.CAPABILITY_SIZE, "capability"),
        *block_windows(0, bar0.memories),
        *block_windows(2, [base - numbers.MEMORY_BASES[0] for base in numbers.MEMORY_BASES]),
        Window(2, numbers.CARD_MEMORY_BASE, numbers.CARD_MEMORY_SIZE, "card_memory"),
        *([bus_window(numbers.MSIX_BASE, numbers.MSIX_SIZE)] if msix else []),
        *([Window(2, numbers.AXI_BASE, numbers.AXI_SIZE, AXI)] if axi else []),
    ]

def gaps(size, taken):
    """The parts of BAR0, which has `size` bytes, that no window in `taken` covers. A window is a
    tuple (BAR, base, size), and so is each part in the result.
    """
    free, at = [], 0
    for _, base, length in sorted(taken, key=lambda window: window[1]):
        if base > at:
            free.append((0, at, base - at))
        at = base + length
    if at < size:
        free.append((0, at, size - at))
    return free
