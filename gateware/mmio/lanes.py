# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Lane memories: the memories that the MMIO bridge shows to the host.

A lane memory has eight lanes of 32 bits, each with its own row address. So an access reaches any 32
bytes, from any dword on, in one cycle. Lane l of row r is the memory's 32-bit word 8 r + l. A dword
is always in its own lane, and the bridge rotates it into the order of the TLP."""

from litex.gen import *
from migen import *
from migen.fhdl.specials import READ_FIRST

from gateware.numbers import DWORD_WIDTH, DWORDS_PER_BEAT, PAGE_BYTES

LANES      = DWORDS_PER_BEAT
ROW_BYTES  = LANES*DWORD_WIDTH//8
BYTE_WIDTH = 8
PAGE       = PAGE_BYTES

# The number of cycles from a row's address to the row's data, by the kind of lane memory.
LATENCY = {"block": 1, "rom": 1, "ultra": 3}


class LaneMemory(LiteXModule):
    """A memory of `size` bytes with one port to write and one to read.

    `kind` is "block" (block RAM), "rom" (read only; the synthesis tool chooses what it is made of)
    or "ultra" (UltraRAM, with two rows in one of its words). `image` has the initial 32-bit words,
    from the memory's start on; UltraRAM takes no image. A read sees all writes of earlier cycles.
    If a row is written in the very cycle in which it is read, the read returns the old bytes."""
    def __init__(self, size, image=None, kind="block"):
        if kind not in LATENCY:
            raise ValueError(f"a lane memory of kind {kind!r}; it must be one of "
                f"{', '.join(LATENCY)}")
        if size < PAGE or size & (size - 1):
            raise ValueError(f"a lane memory of {size} bytes; it must be a power of two and at "
                f"least a page of {PAGE}, for no request crosses one")
        if image is not None and kind == "ultra":
            raise ValueError("an image for a lane memory of kind 'ultra'; UltraRAM starts at zero "
                "and cannot be initialised")
        if image is None and kind == "rom":
            raise ValueError("a lane memory of kind 'rom' without an image would never hold any")
        if image is not None and len(image) > size//4:
            raise ValueError(f"an image of {len(image)} words; the memory of {size} bytes has room "
                f"for {size//4}")
        self.size     = size
        self.kind     = kind
        self.latency  = LATENCY[kind]
        self.writable = kind != "rom"
        rows          = size//ROW_BYTES
        row_width     = bits_for(rows - 1)

        self.write_rows  = [Signal(row_width, name=f"write_rows_{n}") for n in range(LANES)] # i
        self.write_data  = Signal(LANES*DWORD_WIDTH)                                        # i
        self.write_mask  = Signal(LANES*DWORD_WIDTH//BYTE_WIDTH)                            # i
        self.read_enable = Signal()                                                         # i
        self.read_rows   = [Signal(row_width, name=f"read_rows_{n}") for n in range(LANES)]  # i
        self.read_data   = Signal(LANES*DWORD_WIDTH)                                        # o

        # # #

        self.arrays = []
        words = [*(image or []), *[0]*(size//4 - len(image or []))]
        for lane in range(LANES):
            data = slice(lane*DWORD_WIDTH, (lane + 1)*DWORD_WIDTH)
            mask = slice(lane*DWORD_WIDTH//BYTE_WIDTH, (lane + 1)*DWORD_WIDTH//BYTE_WIDTH)
            if kind == "ultra":
                self.add_ultra_lane(rows, lane, data, mask)
            else:
                self.add_block_lane(rows, lane, data, mask, words[lane::LANES])

    def set_image(self, image):
        """Sets the 32-bit words of the memory, from its start on; words that `image` lacks are 0.
        This is for contents that are known only when the SoC is complete."""
        words = [*image, *[0]*(self.size//4 - len(image))]
        for lane, array in enumerate(self.arrays):
            array.init = words[lane::LANES]

    def add_array(self, lane, width, depth, init, style):
        """Returns the read port and the write port (None for a ROM) of a new Migen Memory."""
        # LiteX names the file with an array's initial contents after the array, so each has its own
        # name.
        array = Memory(width, depth, init=init, name=f"lane{lane}")
        if style is not None:
            array.attr = {("ram_style", style)}
        # READ_FIRST: a read returns the bytes from before a write of the same cycle. With Migen's
        # default it would return the new bytes, which costs logic.
        read = array.get_port(has_re=True, mode=READ_FIRST)
        self.specials += array, read
        self.arrays.append(array)
        if not self.writable:
            return read, None
        write = array.get_port(write_capable=True, we_granularity=BYTE_WIDTH, mode=READ_FIRST)
        self.specials += write
        return read, write

    def add_block_lane(self, rows, lane, data, mask, words):
        """Adds one lane (32 bits of each row) in block RAM, with rows of its own."""
        style       = "block" if self.kind == "block" else None
        read, write = self.add_array(lane, DWORD_WIDTH, rows, words, style)
        self.comb += [
            read.adr.eq(self.read_rows[lane]),
            read.re.eq(self.read_enable),
            self.read_data[data].eq(read.dat_r),
        ]
        if write is not None:
            self.comb += [
                write.adr.eq(self.write_rows[lane]),
                write.dat_w.eq(self.write_data[data]),
                write.we.eq(self.write_mask[mask]),
            ]

    def add_ultra_lane(self, rows, lane, data, mask):
        """Adds one lane in UltraRAM, whose words of 72 bits hold two rows of 32 bits."""
        read, write = self.add_array(lane, 2*DWORD_WIDTH, rows//2, None, "ultra")
        word        = Signal(2*DWORD_WIDTH)
        # `halves` says which half of its UltraRAM word holds the row that was read. It is delayed
        # by two cycles, as the data is.
        halves      = [Signal() for _ in range(2)]
        write_half  = self.write_rows[lane][0]
        self.comb += [
            read.adr.eq(self.read_rows[lane][1:]),
            read.re.eq(self.read_enable),
            write.adr.eq(self.write_rows[lane][1:]),
            write.dat_w.eq(Replicate(self.write_data[data], 2)),
            write.we.eq(Mux(write_half,
                Cat(C(0, 4), self.write_mask[mask]), Cat(self.write_mask[mask], C(0, 4)))),
        ]
        self.sync += [
            halves[0].eq(self.read_rows[lane][0]),
            halves[1].eq(halves[0]),
            # Read data passes through two registers: UltraRAM's own output register, and one behind
            # the multiplexer that chooses the half.
            word.eq(read.dat_r),
            self.read_data[data].eq(Mux(halves[1], word[DWORD_WIDTH:], word[:DWORD_WIDTH])),
        ]

    # Attachment of a block memory to the MMIO bridge ----------------------------------------------

    def parameter(self, name):
        """Returns this memory as the text NAME,BYTES,LATENCY,rw (or ro) for MmioBridge.scala."""
        return f"{name},{self.size},{self.latency},{'rw' if self.writable else 'ro'}"

    def pins(self, name):
        """Returns the MMIO bridge's Instance arguments that connect this memory as `name`."""
        prefix = f"memory_{name}"
        return {
            **{f"o_{prefix}_writeRows_{n}": row for n, row in enumerate(self.write_rows)},
            **{f"o_{prefix}_readRows_{n}":  row for n, row in enumerate(self.read_rows)},
            f"o_{prefix}_writeData":  self.write_data,
            f"o_{prefix}_writeMask":  self.write_mask,
            f"o_{prefix}_readEnable": self.read_enable,
            f"i_{prefix}_readData":   self.read_data,
        }
