# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A stand-in for the card itself: registers, pattern, counters, and a DMA like LitePCIe's in the
mode in which each descriptor in a table is executed once.

The stand-in moves data buffer by buffer and has no TLPs, so it proves nothing about gateware. Tests
run software against the stand-in, which also misbehaves on request (see FAULTS).
"""

import json
import struct
import zlib
from array import array
from collections import deque

from gateware import numbers
from gateware.dma import notices
from gateware.observe import capability

BAR0, CONFIG = 0, 7
BAR0_SIZE, CONFIG_SIZE = numbers.BAR0_SIZE, 0x1000
SCRATCH_RESET = 0x12345678

# READ_TICKS: device time, in ticks, that a read of BAR0 takes. BUFFER_TICKS: device time, in ticks,
# of one call of work(), which moves at most one DMA buffer of any size in each direction.
READ_TICKS, BUFFER_TICKS = 187, 300
IRQ_DISABLE, LAST_DISABLE = numbers.DESCRIPTOR_IRQ_DISABLE, numbers.DESCRIPTOR_LAST_DISABLE
BEAT = numbers.DATA_WIDTH // 8
TABLE = {"value": 0x04, "address": 0x08, "push": 0x0C, "status": 0x14, "flush": 0x1C}

FAULTS = {
    # (direction, number of a DMA buffer, from 0): the stand-in flips one bit of the data of that
    # buffer. The number is right only if all buffers of the direction have moved the same number of
    # bytes. None: no bit is flipped.
    "flip": None,
    # numbers of the DMA's interrupts that do not reach the host; the first after plug() is 1
    "lose_msi": (),
    # The DMA moves no more once h2c and c2h together have moved this number of buffers or more
    # since plug(). None: there is no such limit.
    "stall_after": None,
    "dead": False,  # True: every register of BAR0 reads as all ones
    # "stock": as with stock LitePCIe, an 8-byte read of BAR0 returns all ones, and an 8-byte write
    # stores its first 4 bytes only
    "wide": "right",
    # length in ns of a tick of device time in the capability table; 0: the table does not say it
    "tick_ns": numbers.TICK_NS,
    "stuck": 0,  # mask of those bits of the scratch register that always read as 1
    # (word, value): word number `word` of the capability table has the value `value`. The table's
    # checksum is computed with this value, so software must notice the wrong value itself.
    "table": None,
    "checksum": 0,  # mask of those bits in which the checksum of the capability table is wrong
    # number at which the count of done descriptors of each DMA direction begins, at power-on and
    # after a flush of its table
    "done_before": 0,
    "missing": None,  # a PCI capability, "msi" or "pcie", that the card's configuration space lacks
    # True: the capability table has the block `records`, by which software lets the card write
    # records and status lines to host memory. The table also says that the card counts an h2c
    # buffer as done only when its data has arrived.
    "records": False,
    # number of buffers by which the count in the card's status lines exceeds the true count of
    # finished buffers
    "line_ahead": 0,
    # number of the c2h descriptor for which the card writes no record; the number of the first
    # descriptor is the value of the fault done_before. None: the card writes all records.
    "no_record": None,
    # values of the user slot monitor's registers, by name; None: the card has no monitor
    "slot": None,
    # The slot monitor copies its counters when slot_now is read. In this number of copies, from the
    # first on, slot_time and slot_c2h_beats change at each read of BAR0, as if another program had
    # read slot_now, too.
    "copies": 0,
    "flash": None,  # a flash engine (FlashStandin); None: the card has none
}


class Registers:
    """The names and addresses of the registers, read from the csr.json of a gateware build."""

    def __init__(self, path):
        csr = json.loads(path.read_text())
        self.address = {name: entry["addr"] for name, entry in csr["csr_registers"].items()}
        self.base = csr["csr_bases"]
        self.identifier = csr["csr_bases"]["identifier_mem"]
        # csr.json has the gateware's identifier in lower case. The stand-in returns it with a
        # capital at the beginning of each word.
        self.text = csr["constants"]["config_identifier"].title()
        self.memory0 = csr["memories"]["memory0"]["base"]
        # A write to this offset in BAR0 raises the interrupt of the user's logic, if that interrupt
        # is enabled in the register pcie_msi_enable.
        self.bell = self.memory0 + 0xFFC
        self.bit = {
            "h2c": 1 << csr["constants"]["pcie_dma0_reader_interrupt"],
            "c2h": 1 << csr["constants"]["pcie_dma0_writer_interrupt"],
            "user": 1 << csr["constants"]["user_interrupt"],
        }


def capability_table(registers, fault):
    """Return the stand-in's capability table as a dict of 32-bit words by offset in BAR0.

    The faults `table` and `checksum` put wrong words into the table.
    """
    base = registers.base
    places = capability.BLOCK_TYPES
    dma = {name: 0 for name in places["dma"].parameters} | {
        "h2c": registers.address["pcie_dma0_reader_enable"] - base["pcie_dma0"],
        "c2h": registers.address["pcie_dma0_writer_enable"] - base["pcie_dma0"],
        "table_depth": numbers.DMA_TABLE_DEPTH,
        "address_width": numbers.ADDRESS_WIDTH,
        "h2c_cause": registers.bit["h2c"].bit_length() - 1,
        "c2h_cause": registers.bit["c2h"].bit_length() - 1,
        "h2c_buffered": numbers.DMA_BUFFER_SIZE,
        "c2h_buffered": numbers.DMA_BUFFER_SIZE,
        "h2c_settled": int(fault["records"]),
    }
    endpoint = {
        "kind": 1,
        "data_width": numbers.DATA_WIDTH,
        "clock_hz": 10**9 // (fault["tick_ns"] or 1),
        "read_tags": numbers.READ_TAGS,
    }

    def block(kind, name, parameters=None):
        values = {name: 0 for name in places[kind].parameters} | (parameters or {})
        return capability.Block(kind, base[name], capability.CSR_PAGE, values)

    blocks = [
        block("control", "ctrl"),
        block("identifier", "identifier_mem"),
        block("endpoint", "pcie_phy", endpoint),
        block("interrupts", "pcie_msi"),
        block("dma", "pcie_dma0", dma),
        block("device_time", "device_time", {"tick_ps": 1000 * fault["tick_ns"]}),
        block("counters", "pcie_counters"),
        capability.Block("memory", registers.memory0, 4096, {}),
        block("pattern", "pattern"),
        block("user", "pattern", {"cause": registers.bit["user"].bit_length() - 1}),
    ]
    if fault["records"]:
        offsets = {
            name: registers.address[f"pcie_notices0_{name}"] - base["pcie_notices0"]
            for name in places["records"].parameters[:-1]
        }
        blocks.append(
            block(
                "records", "pcie_notices0", {**offsets, "most_entries": 1 << notices.MOST_ENTRIES}
            )
        )
    if fault["slot"] is not None:
        blocks.append(block("slot", "slot", {"width": numbers.SLOT_COUNTER_WIDTH}))
    if fault["flash"] is not None:
        blocks.append(fault["flash"].block())
    words = capability.table("standin", "5a" * 32, blocks)
    if fault["table"]:
        at, value = fault["table"]
        words[at], words[capability.HEADER["crc"]] = value, 0
        words[capability.HEADER["crc"]] = zlib.crc32(struct.pack(f"<{len(words)}I", *words))
    words[capability.HEADER["crc"]] ^= fault["checksum"]
    return {capability_place(n): word for n, word in enumerate(words)}


def capability_place(word):
    return numbers.CAPABILITY_BASE + 4 * word


class Channel:
    """One DMA direction of the stand-in for the card: its descriptor table and its counts."""

    def __init__(self, base, done, line):
        self.base = base
        # name of the register that has the bus address of this direction's status line, a place in
        # host memory to which the card writes the direction's counts
        self.line = line
        self.table = deque()
        # Count of done descriptors. It begins at the value of the fault done_before. The register
        # loop_status shows the lower 32 bits of this count.
        self.done = done
        # bytes that this direction has moved since power-on or since the last flush of its table
        self.position = 0
        self.moved = 0  # number of bytes that this DMA direction has moved since power-on
        # value that the byte count `moved` had when software last cleared the TLP counters; 0
        # before software has cleared them
        self.cleared = 0


class CardStandin:
    """A stand-in for a card after power-on.

    `memory` is a dict of the host memories that the stand-in's DMA reaches, by their bus addresses.
    `interrupt()` is called for each MSI that the fault lose_msi does not drop. plug() sets
    `interrupt` and empties `memory`.
    """

    def __init__(self, registers, fault, words=()):
        self.registers = registers
        self.fault = fault
        self.word = {
            **dict(words),
            registers.address["ctrl_scratch"]: SCRATCH_RESET,
            **capability_table(registers, fault),
        }
        # mask of the raised interrupt causes, which the register pcie_msi_vector shows; only the
        # cause of the user's logic is ever in it
        self.raised = 0
        self.h2c = Channel(
            registers.address["pcie_dma0_reader_enable"],
            fault["done_before"],
            "pcie_notices0_reader_status_base",
        )
        self.c2h = Channel(
            registers.address["pcie_dma0_writer_enable"],
            fault["done_before"],
            "pcie_notices0_writer_status_base",
        )
        # Data in the loopback that has come by h2c and has not gone back by c2h, in pieces. A piece
        # is a pair: its bytes, and whether a packet ends with them.
        self.inside = deque()
        self.reads = 0  # number of BAR0 reads that the stand-in has answered
        # number of copies that the slot monitor has made, one for each read of slot_now
        self.copies = 0
        self.time = self.generated = self.beats = self.errors = self.first_error = 0
        self.snapshot = {}
        self.first_buffer = None  # contents in host memory of the first h2c buffer that was moved
        self.plug(None)

    def plug(self, interrupt):
        """Connect the card to a host that has mapped no memory yet. Configuration space and the
        counts of moved buffers and of interrupts are reset. The registers keep their values.
        """
        self.interrupt = interrupt
        self.memory = {}
        self.buffers = self.interrupts = 0
        self.config = bytearray(CONFIG_SIZE)
        self.config[0:4] = struct.pack("<HH", 0x10EE, 0x9038)
        link = 0x34
        for offset, number, name, rest in [(0x48, 0x05, "msi", 0x80), (0x70, 0x10, "pcie", 2)]:
            if name != self.fault["missing"]:
                self.config[link] = offset
                self.config[offset : offset + 4] = struct.pack("<BBH", number, 0, rest)
                link = offset + 1
        # Device Capabilities, a register of the PCI Express capability: the card supports TLPs with
        # payloads of up to 512 bytes.
        self.config[0x74] = 2

    # Accesses -----------------------------------------------------------------------------------

    def read(self, offset, region, count):
        if region == CONFIG:
            assert offset % count == 0, f"a read of {count} bytes of config space at {offset:#x}"
            return bytes(self.config[offset : offset + count])
        self.time += READ_TICKS
        self.reads += 1
        if self.fault["dead"] or (count == 8 and self.fault["wide"] == "stock"):
            return b"\xff" * count
        words = [self._read_word(offset + at) for at in range(0, count, 4)]
        return struct.pack(f"<{count // 4}I", *words)

    def write(self, offset, region, data):
        if region == CONFIG:
            assert offset % len(data) == 0, f"{len(data)} bytes to config space at {offset:#x}"
            self.config[offset : offset + len(data)] = data
            return
        self.time += 1
        if self.fault["wide"] == "stock":
            data = data[:4]
        for at in range(0, len(data), 4):
            self._write_word(offset + at, struct.unpack_from("<I", data, at)[0])

    def bus_master(self):
        return bool(self.config[4] & 4)

    def on(self, name):
        """Return the value that software last wrote to the register `name`, which has one word.

        Without such a write, return the register's value at power-on.
        """
        return self.word.get(self.registers.address[name], 0)

    def wide(self, name):
        """Return the value that software last wrote to the register `name`, which has two words, or
        0 if software has written none.
        """
        at = self.registers.address[name]
        return self.word.get(at, 0) << 32 | self.word.get(at + 4, 0)

    def _read_word(self, offset):
        flash = self.fault["flash"]
        if flash and flash.register(offset):
            return flash.read(flash.register(offset))
        self.copies += offset == self.registers.address["slot_now"]
        for channel in (self.h2c, self.c2h):
            if offset == channel.base + TABLE["status"]:
                return channel.done & 0xFFFFFFFF
            if offset == channel.base:
                return self.word.get(offset, 0) & 1 | 2
        text = self.registers.text.encode() + b"\0" * 4
        if 0 <= offset - self.registers.identifier < 4 * len(text):
            return text[(offset - self.registers.identifier) // 4]
        for name, value in self._wide_values().items():
            at = offset - self.registers.address[name]
            if at in (0, 4):  # registers of two words have their upper word at the lower address
                return value >> 32 if at == 0 else value & 0xFFFFFFFF
        for name, value in self._values().items():
            if offset == self.registers.address[name]:
                return value
        return self.word.get(offset, 0)

    def _wide_values(self):
        return {
            **self.snapshot,
            **self._slot(),
            "pattern_h2c_beats": self.beats,
            "pattern_h2c_first_error": self.first_error,
        }

    def _slot(self):
        """Return the values of those registers of the slot monitor that have two words, by name.

        In the first copies, as many as the fault `copies` says, slot_time and slot_c2h_beats change
        between reads.
        """
        found = dict(self.fault["slot"] or {})
        if 0 < self.copies <= self.fault["copies"]:
            found["slot_time"] += self.reads
            found["slot_c2h_beats"] += self.reads
        return {name: value for name, value in found.items() if name != "slot_state"}

    def _values(self):
        control = int.from_bytes(self.config[0x78:0x7A], "little")
        state = (self.fault["slot"] or {}).get("slot_state", 0)
        return {
            "slot_now": state,
            "slot_state": state,
            "device_time_low": self.time & 0xFFFFFFFF,
            "device_time_high": self.time >> 32,
            "pcie_phy_link_status": 1 | 2 << 4 | 3 << 6,
            "pcie_phy_msi_enable": self.config[0x4A] & 1,
            "pcie_phy_max_payload_size": 128 << (control >> 5 & 7),
            "pcie_phy_max_request_size": 128 << (control >> 12 & 7),
            "pattern_h2c_errors": self.errors,
            "pcie_msi_vector": self.raised,
            "ctrl_scratch": self.on("ctrl_scratch") | self.fault["stuck"],
        }

    def _write_word(self, offset, value):
        flash = self.fault["flash"]
        if flash and flash.register(offset):
            flash.write(flash.register(offset), value)
        before = self.word.get(offset, 0)
        self.word[offset] = value
        for channel in (self.h2c, self.c2h):
            if offset == channel.base + TABLE["push"]:
                flags = self.word[channel.base + TABLE["value"]]
                address = value << 32 | self.word[channel.base + TABLE["address"]]
                channel.table.append(
                    (address, flags & 0xFFFFFF, not flags & IRQ_DISABLE, not flags & LAST_DISABLE)
                )
                assert len(channel.table) <= 256, "the descriptor table overflows"
            elif offset == channel.base + TABLE["flush"]:
                channel.table.clear()
                channel.done, channel.position = self.fault["done_before"], 0
                self.inside.clear()
        if offset == self.registers.address["pcie_counters_control"] and value & 1:
            self.snapshot = {
                "pcie_counters_time": self.time,
                "pcie_counters_rc_payload_bytes": self.h2c.moved - self.h2c.cleared,
                "pcie_counters_rq_payload_bytes": self.c2h.moved - self.c2h.cleared,
            }
        if offset == self.registers.address["pcie_counters_control"] and value & 2:
            self.h2c.cleared, self.c2h.cleared = self.h2c.moved, self.c2h.moved
        if offset == self.registers.address["pcie_msi_clear"]:
            self.raised &= ~value
        called = self.on("pcie_msi_enable") & self.registers.bit["user"]
        if offset == self.registers.bell and called:
            self.raised |= called
            self.interrupt()
        if offset == self.registers.address["pattern_control"]:
            started = value & ~before
            if started & 1:
                self.generated = 0
            if started & 2:
                self.beats = self.errors = self.first_error = 0

    # DMA ----------------------------------------------------------------------------------------

    def _ready(self):
        """Return two booleans: whether work() may move an h2c buffer now, and whether it may move a
        c2h buffer. With the loopback on, h2c moves only while c2h is enabled and has a descriptor,
        and c2h moves only if the loopback then has enough data."""
        most = self.fault["stall_after"]
        # The fault stall_after is read once, since another thread may change it between two reads.
        stalled = most is not None and self.buffers >= most
        if not self.memory or stalled or not self.bus_master():
            return False, False
        h2c = bool(self.on("pcie_dma0_reader_enable") & 1 and self.h2c.table)
        c2h = bool(self.on("pcie_dma0_writer_enable") & 1 and self.c2h.table)
        if self.on("pcie_dma0_loopback_enable") & 1:
            return h2c and c2h, h2c and c2h or (c2h and self._waits())
        control = self.on("pattern_control")
        return h2c and bool(control & 2), c2h and bool(control & 1)

    def can_work(self):
        return any(self._ready())

    def work(self):
        """Move one DMA buffer in each direction that is ready, and let device time pass. With the
        loopback on, c2h moves a buffer only if the loopback has enough data for it."""
        h2c, c2h = self._ready()
        self.time += BUFFER_TICKS
        ends = h2c and self.h2c.table[0][3]
        data = self._move(self.h2c, "h2c") if h2c else None
        if self.on("pcie_dma0_loopback_enable") & 1:
            if h2c:
                self.inside.append((data, ends))
            if self._waits():
                self._move(self.c2h, "c2h", *self._joined())
            return
        if h2c:
            self._check(data)
        if c2h:
            size = self.c2h.table[0][1]
            self._move(self.c2h, "c2h", self._pattern(self.generated, size))
            self.generated += size // 4

    def _waits(self):
        """Return whether the data in the loopback is enough for the next c2h buffer: it fills the
        buffer. If the next c2h descriptor does not have the flag LAST_DISABLE, data that has the
        end of a packet is enough, too.
        """
        _, size, _, wanted = self.c2h.table[0]
        return (wanted and any(ends for _, ends in self.inside)) or sum(
            len(data) + -len(data) % BEAT for data, _ in self.inside
        ) >= size

    def _joined(self):
        """Take the data of the next c2h buffer out of the loopback.

        Returns the data, and whether the end of a packet has ended the buffer. A packet's end does
        so only if the c2h descriptor does not have the flag LAST_DISABLE.
        """
        _, size, _, wanted = self.c2h.table[0]
        whole = b""
        while len(whole) < size:
            data, ends = self.inside.popleft()
            if ends and wanted and len(whole) + len(data) <= size:
                return whole + data, True
            whole += data + b"\0" * (-len(data) % BEAT)
            if len(whole) > size:
                self.inside.appendleft((whole[size:], ends))
        return whole[:size], False

    @staticmethod
    def _pattern(first, size):
        return array("I", range(first, first + size // 4)).tobytes()

    def _check(self, data):
        expected = self._pattern(self.beats * 8, len(data))
        for at in range(0, len(data), 32) if data != expected else ():
            if data[at : at + 32] != expected[at : at + 32]:
                if not self.errors:
                    self.first_error = self.beats + at // 32
                self.errors += 1
        self.beats += len(data) // 32

    def _place(self, address):
        """Return the host memory with the bus address `address`, and the offset in that memory."""
        base = max(base for base in self.memory if base <= address)
        return self.memory[base], address - base

    def _tell(self, channel, number, size, ends):
        """Write the record of a done descriptor (c2h only) to host memory, then the direction's
        status line. Each is written only if the register pcie_notices0_control switches it on, and
        the fault no_record leaves one record out."""
        control = self.on("pcie_notices0_control")
        own = notices.CONTROL["c2h_records"] if channel is self.c2h else 0
        if control & own and number != self.fault["no_record"]:
            entries = 1 << self.on("pcie_notices0_writer_records_entries")
            place = self.wide("pcie_notices0_writer_records_base") + 16 * (number % entries)
            memory, at = self._place(place)
            flags = notices.RECORD_FLAGS["last"] if ends else 0
            memory[at : at + 16] = struct.pack("<IIQ", size, flags, number + 1)
        if control & notices.CONTROL["c2h_status" if channel is self.c2h else "h2c_status"]:
            memory, at = self._place(self.wide(channel.line))
            line = channel.position, number + 1 + self.fault["line_ahead"], 0, self.time
            memory[at : at + 32] = struct.pack("<4Q", *line)

    def _move(self, channel, direction, data=None, ends=False):
        """Run the first descriptor in a direction's table: h2c reads host memory, and c2h writes
        `data` to it. Raise the interrupt that the descriptor asks for, if it is enabled and the
        fault lose_msi does not drop it.

        Returns the data that was moved. `ends` says whether the end of a packet has ended a c2h
        buffer. The buffer's record gets this flag.
        """
        address, size, asks, _ = channel.table.popleft()
        memory, at = self._place(address)
        size = size if data is None else len(data)
        data = bytearray(memory[at : at + size] if data is None else data)
        if self.first_buffer is None and channel is self.h2c:
            self.first_buffer = bytes(data)
        if self.fault["flip"] == (direction, channel.moved // size):
            data[0x123 % size] ^= 0x10
        if channel is self.c2h:
            memory[at : at + size] = bytes(data)
        channel.done += 1
        channel.moved += size
        channel.position += size
        self.buffers += 1
        self._tell(channel, channel.done - 1, size, ends)
        if asks and self.on("pcie_msi_enable") & self.registers.bit[direction]:
            self.interrupts += 1
            if self.interrupts not in self.fault["lose_msi"]:
                self.interrupt()
        return data
