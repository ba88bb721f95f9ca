# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The capability table: it says which blocks this gateware has, where in the BARs they are, and
which parameters they have.

Software reads the table at `numbers.CAPABILITY_BASE` in BAR0 and has no other address built in, so
one driver fits every build. capability_blocks.py makes the table from the finalized SoC, so it
cannot disagree with the gateware. This file has the table's form.

A table consists of little-endian 32-bit words: a header, then one entry per block. Each entry is a
multiple of 8 bytes. Software skips blocks of unknown types. It takes a parameter as 0 if an older
entry is too short for it. So a new block, or a new parameter at the end, only needs a new MINOR.
MAJOR changes if old software would misunderstand the table.

capability_header.py writes the numbers of the table as a C header, for driver and library.
"""

import struct
import zlib
from dataclasses import dataclass

from gateware import numbers

# The first word of the capability table. Its four bytes in memory are the text "LBOX".
MAGIC = 0x584f424c
MAJOR = 1
MINOR = 9

WORD         = 4
DIGEST_WORDS = 8 # 32-bit words of the field `digest`, a SHA-256 over the gateware's sources.
# 32-bit words of the field `target`, the board's name as text, padded with zeros.
TARGET_WORDS = 8
# Bytes of a page of registers. LiteX places the registers of each module on a page of their own.
CSR_PAGE = WORD*numbers.CSR_PAGE_WORDS
HOST_PAGE = 4096 # Bytes of the unit in which a host maps a BAR and gives programs access to it.

# The number of the 32-bit word at which each field of the capability table's header begins.
HEADER = {
    "magic":   0,
    "version": 1, # Version of the capability table: MAJOR above HEADER_SHIFT, MINOR below it.
    "bytes":   2, # Size of the whole capability table in bytes.
    "crc":     3, # CRC-32 of the whole capability table, computed with this word as 0.
    "blocks":  4, # Number of blocks of the gateware, each of which has an entry.
    "digest":  6,
    "target":  6 + DIGEST_WORDS,
}
HEADER_WORDS = HEADER["target"] + TARGET_WORDS
# The lowest bit of the upper part of the word `version`.
HEADER_SHIFT = {"major": 16}

# The number of each field's 32-bit word in a block's entry. The block's parameters follow.
ENTRY = {
    "type":   0, # Version of the block << 16 | number of the block's type.
    "length": 1, # Index among the blocks of its type << 24 | BAR << 16 | bytes of this entry.
    "offset": 2, # Offset of the block in its BAR, in bytes.
    "size":   3, # Number of bytes that the block has in its BAR.
}
ENTRY_WORDS = len(ENTRY)
ENTRY_ALIGNMENT = 8 # An entry has a multiple of this many bytes.
# The lowest bits of the parts of the words `type` and `length` above their lower 16 bits. The BAR's
# number has the bits below those of the index.
ENTRY_SHIFT = {"version": 16, "bar": 16, "index": 24}
# Version of a block. Software uses no block of another version.
BLOCK_VERSION = 1

@dataclass(frozen=True)
class BlockType:
    """A type of block: its number in the table, and its parameters in order. A parameter that names
    a register holds the register's offset in bytes from the block's start."""
    number:     int
    parameters: tuple
    about:      str
    version:    int = BLOCK_VERSION

BLOCK_TYPES = {
    "control": BlockType(1, ("reset", "scratch", "bus_errors"),
        "Registers of the SoC: reset, a scratch word, a count of bus errors"),
    "identifier": BlockType(2, (),
        "Identifier of the gateware: a text with one character in each word, ended by 0"),
    "endpoint": BlockType(3, ("kind", "data_width", "clock_hz", "read_tags"),
        "PCIe endpoint and the registers of its link; its clock, and its tags for reads"),
    "interrupts": BlockType(4, ("delivery", "causes", "enable", "clear", "vector"),
        "Interrupts: a bit for each cause in the registers enable, clear and vector"),
    "dma": BlockType(5, ("h2c", "c2h", "loopback", "table_depth", "address_width",
        "h2c_cause", "c2h_cause", "h2c_buffered", "c2h_buffered", "h2c_settled", "h2c_taken"),
        "A DMA channel; h2c and c2h are where the registers of each direction begin"),
    "device_time": BlockType(6, ("low", "high", "tick_ps"),
        "Device time, a counter on the card; a read of low latches high of the same moment"),
    "counters": BlockType(7, ("control", "time", "width"),
        "Counters of the endpoint's streams CQ, CC, RQ and RC (requests and completions)"),
    "memory": BlockType(8, (),
        "Memory on the card that the host reads and writes"),
    "user": BlockType(9, ("cause",),
        "Registers of the logic in the user slot"),
    "user_window": BlockType(11, (),
        "Addresses of the AXI4 bus of the logic in the user slot"),
    "msix": BlockType(12, ("vectors", "pending"),
        "MSI-X table with a vector for each cause; pending is an offset in it"),
    "pattern": BlockType(10, ("control",),
        "Generator and checker of a test pattern, between DMA and user slot"),
    "transactions": BlockType(13, ("control", "timeout", "read_tags", "landing_bytes",
        "host_credits", "completion_pool"),
        "Limits and counters of the Lanebox endpoint's transactions"),
    "stamps": BlockType(15, ("doorbell", "interrupt", "waiting"),
        "Device times of a doorbell write and of the interrupt message after it"),
    "records": BlockType(16, ("control", "writer_records_base", "writer_records_entries",
        "writer_status_base", "reader_status_base", "writer_flush", "most_entries"),
        "Host addresses to which a DMA channel writes records and status lines; flush time"),
    "moderation": BlockType(17, ("h2c", "c2h"),
        "Interrupt moderation of a DMA channel, a register for each direction"),
    "slot": BlockType(18, ("now", "width"),
        "Monitor of the user slot; a read of now takes a copy of the monitor's counters"),
    "capture": BlockType(19, ("control", "limit", "segment_base", "status_base", "account_control",
        "generator_control", "segments", "staging_bytes", "status", "wake", "cause",
        "clock_offset"),
        "Captures frames into a ring of pcapng blocks; its generator makes test frames"),
    "flash": BlockType(20, ("address", "length", "command", "unlock", "page_index", "page_data",
        "status", "crc", "refusals", "identification", "application", "room", "idcode"),
        "Engine of the configuration flash; place of the image, and the FPGA's IDCODE"),
    "reboot": BlockType(21, ("address", "go", "bootsts"),
        "Lets the FPGA boot an image from the configuration flash"),
    "sensors": BlockType(22, ("temperature", "vccint", "vccaux", "vccbram", "alarms", "seen",
        "clear", "sequences", "value_bits"),
        "Sensors of the FPGA's temperature and supply voltages, and their alarms"),
    "module": BlockType(23, ("control", "read", "write", "status", "buffer_place",
        "buffer_read", "buffer_write", "buffer_bytes"),
        "Cage of a QSFP module: its I2C bus and its pins; cage A is number 0"),
    "virtio": BlockType(24, ("device", "queues", "cause", "queue_size"),
        "A virtio device with the registers of virtio-mmio; queue n interrupts as cause + n"),
    "player": BlockType(25, ("control", "status"),
        "Plays the pcapng blocks of an h2c stream; the capture block takes its frames"),
    "management": BlockType(26, ("control", "status", "doorbell", "cause", "image_base",
        "image_bytes", "mailbox_base", "mailbox_bytes", "firmware"),
        "Management CPU: image and mailbox in BAR0, digest of the firmware"),
    "capture_queues": BlockType(27, ("select", "control", "rule_data", "rule_index", "spread",
        "discard_index", "discard_frames", "discard_bytes", "queues", "rules", "entries",
        "quota"),
        "Queues of the capture block; rules and a spread that choose a frame's queue"),
    "capture_net": BlockType(28, ("control", "lost", "port"),
        "Copies of the net device's frames for the capture block, and their port"),
    "mmio": BlockType(14, ("control", "reads_inside", "reads_most"),
        "MMIO bridge: order of the host's accesses, counters, reads in flight"),
}

# The offsets of the registers of one DMA direction, in bytes from the first one. LitePCIe decides
# which registers a direction has, and LiteX where they are. `_dma_group` raises an error if they
# are elsewhere.
DMA_GROUP = {
    "enable":            0x00,
    "table_value":       0x04,
    "table_we":          0x0c,
    "table_loop_prog_n": 0x10,
    "table_loop_status": 0x14,
    "table_level":       0x18,
    "table_reset":       0x1c,
}
DMA_WAYS = {"h2c": "reader", "c2h": "writer"}

# The offsets of the capture block's registers from the parameter that names the first register of
# their group. `_capture_blocks` raises an error if they are elsewhere.
CAPTURE_GROUPS = {
    "control": {"snap": 0x04, "wait": 0x08, "mbuf_log2": 0x0c, "segment_log2": 0x10,
        "last_segment": 0x14},
    "segment_base": {"segment_index": 0x08},
    "generator_control": {"generator_size": 0x04, "generator_period": 0x08,
        "generator_count": 0x0c, "generator_seed": 0x10, "generator_port_mask": 0x14,
        "generator_made": 0x18},
    "status": {"position": 0x04},
    "account_control": {"account_frames": 0x04, "account_bytes": 0x0c},
    "clock_offset": {"clock_rate": 0x08, "clock_low": 0x0c, "clock_high": 0x10},
}

# Version of the blocks `user` and `user_window` if the user's logic has commands. It differs from
# BLOCK_VERSION only in who may write to the block.
USER_WITH_COMMANDS = 2

# Values of two parameters in the capability table: `kind` of an endpoint, and `delivery` of
# interrupts (bits for MSI and MSI-X).
ENDPOINT_KINDS = {"litepcie": 0, "lanebox": 1}
DELIVERY_MSI   = 1 << 0
DELIVERY_MSIX  = 1 << 1

# Blocks -------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Block:
    """An entry of the capability table. It stands for a block of type `type`, which has `size`
    bytes from byte `offset` of BAR `bar` on. `parameters` has the block's parameters by name."""
    type:       str
    offset:     int
    size:       int
    parameters: dict
    index:      int = 0
    bar:        int = 0
    version:    int | None = None # None: the version of the block's type.

    def words(self):
        """Returns the entry's 32-bit words. Other parameters than its type's raise ValueError."""
        kind = BLOCK_TYPES[self.type]
        if set(self.parameters) != set(kind.parameters):
            raise ValueError(f"block {self.type}: parameters are {sorted(self.parameters)}; they "
                f"must be {sorted(kind.parameters)}")
        words = [0, 0, self.offset, self.size, *(self.parameters[n] for n in kind.parameters)]
        words += [0]*(-len(words) % (ENTRY_ALIGNMENT//WORD))
        version = self.version or kind.version
        words[ENTRY["type"]]   = version << ENTRY_SHIFT["version"] | kind.number
        words[ENTRY["length"]] = (self.index << ENTRY_SHIFT["index"] |
            self.bar << ENTRY_SHIFT["bar"] | WORD*len(words))
        return words

# Pages --------------------------------------------------------------------------------------------

# The types of blocks that the driver lets every user of the card map and write to. The driver maps
# whole host pages, and refuses a page that also holds a byte of anything else.
MAPPED_BY_USERS = ("memory", "user", "user_window")

def check_pages(blocks, banks):
    """Raises ValueError if a block that users map shares a host page with anything else, or does
    not consist of whole host pages.

    `banks` is what register_banks() returns: offset and size of the registers of every module."""
    for block in (b for b in blocks if b.type in MAPPED_BY_USERS):
        if block.offset % HOST_PAGE or block.size % HOST_PAGE:
            raise ValueError(f"block {block.type}: {block.size:#x} bytes at {block.offset:#x} of "
                f"BAR{block.bar} are no whole pages of {HOST_PAGE} bytes, which users could map")
        others = [(b.type, b.offset, b.size) for b in blocks
            if b is not block and b.bar == block.bar]
        if block.bar == 0:
            others += [(name, *place) for name, place in banks.items() if name != block.type]
        for name, offset, size in others:
            if offset < block.offset + block.size and block.offset < offset + size:
                raise ValueError(f"block {block.type} at {block.offset:#x} of BAR{block.bar} "
                    f"shares its pages with {name} at {offset:#x}: users could not map it without "
                    "mapping that, so move one of the two (numbers.py)")

# Table --------------------------------------------------------------------------------------------

def _text_words(text, count):
    raw = text.encode("ascii")
    if len(raw) >= WORD*count:
        raise ValueError(f"board name {text!r} has {len(raw)} characters; the capability table "
            f"has room for {WORD*count - 1}")
    return struct.unpack(f"<{count}I", raw.ljust(WORD*count, b"\0"))

def table(board, digest, entries):
    """Returns the 32-bit words of the capability table. `board` is the board's name, `digest` the
    hexadecimal SHA-256 of the sources, and `entries` has the Block of each entry."""
    body  = [word for entry in entries for word in entry.words()]
    words = [0]*HEADER_WORDS + body
    words[HEADER["magic"]]   = MAGIC
    words[HEADER["version"]] = MAJOR << HEADER_SHIFT["major"] | MINOR
    words[HEADER["bytes"]]   = WORD*len(words)
    words[HEADER["blocks"]]  = len(entries)
    words[HEADER["digest"]:HEADER["target"]] = struct.unpack(f"<{DIGEST_WORDS}I",
        bytes.fromhex(digest))
    words[HEADER["target"]:HEADER_WORDS] = _text_words(board, TARGET_WORDS)
    words[HEADER["crc"]] = zlib.crc32(struct.pack(f"<{len(words)}I", *words))
    if WORD*len(words) > numbers.CAPABILITY_SIZE:
        raise ValueError(f"capability table: {len(entries)} blocks take {WORD*len(words)} bytes; "
            f"there is room for {numbers.CAPABILITY_SIZE}")
    return words
