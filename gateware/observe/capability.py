# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The capability table: it says which blocks this gateware has, where in the BARs they are, and
which parameters they have.

Software reads the table at `numbers.CAPABILITY_BASE` in BAR0 and has no other address built in, so
one driver fits every build. The table is made from the finalized SoC, so it cannot disagree with
the gateware.

A table consists of little-endian 32-bit words: a header, then one entry per block. Each entry is a
multiple of 8 bytes. Software skips blocks of unknown types. It takes a parameter as 0 if an older
entry is too short for it. So a new block, or a new parameter at the end, only needs a new MINOR.
MAJOR changes if old software would misunderstand the table.

This module run as a program writes the numbers of the table as a C header, for driver and library,
to standard output:
    python -m gateware.observe.capability > software/uapi/litepcie_capability.h
"""

import struct
import zlib
from dataclasses import dataclass, replace

from gateware import numbers
from gateware.capture import bits as capture_bits
from gateware.card import sensors
from gateware.card.commands import Refusal
from gateware.card.cpu import layout as cpu_layout
from gateware.card.module import BUFFER_BYTES, ERRORS
from gateware.dma import moderation, notices
from gateware.virtio import device

# The first word of the capability table. Its four bytes in memory are the text "LBOX".
MAGIC = 0x584f424c
MAJOR = 1
MINOR = 5

WORD         = 4
DIGEST_WORDS = 8 # 32-bit words of the field `digest`, a SHA-256 over the gateware's sources.
# 32-bit words of the field `target`, the target's name as text, padded with zeros.
TARGET_WORDS = 8
# Bytes of a page of registers. LiteX places the registers of each module on a page of their own.
CSR_PAGE = WORD*numbers.CSR_PAGE_WORDS
# Bytes of a page of the host, which is the unit in which a host maps a BAR and gives programs
# access to it.
HOST_PAGE = 4096

# The number of the 32-bit word at which each field of the capability table's header begins.
HEADER = {
    "magic":   0,
    "version": 1, # Version of the capability table: MAJOR << 16 | MINOR.
    "bytes":   2, # Size of the whole capability table in bytes.
    "crc":     3, # CRC-32 of the whole capability table, computed with this word as 0.
    # Number of blocks of the gateware. The capability table has an entry for each block.
    "blocks":  4,
    "digest":  6,
    "target":  6 + DIGEST_WORDS,
}
HEADER_WORDS = HEADER["target"] + TARGET_WORDS

# The number of the 32-bit word of each field in a block's entry. The block's parameters follow
# these words.
ENTRY = {
    "type":   0, # Version of the block << 16 | number of the block's type.
    # Index of the block among those of its type << 24 | number of its BAR << 16 | bytes of this
    # entry.
    "length": 1,
    "offset": 2, # Offset of the block in its BAR, in bytes.
    "size":   3, # Number of bytes that the block has in its BAR.
}
ENTRY_WORDS = len(ENTRY)

@dataclass(frozen=True)
class BlockType:
    """A type of block: the number that stands for it in the table, and its parameters in order.

    A parameter that names a register holds the register's offset in bytes from the block's start.
    """
    number:     int
    parameters: tuple
    about:      str
    version:    int = 1

BLOCK_TYPES = {
    "control": BlockType(1, ("reset", "scratch", "bus_errors"),
        "Registers of the SoC: reset, scratch, count of bus errors"),
    "identifier": BlockType(2, (),
        "The gateware's identifier: a text, one character in each word, ended by 0"),
    "endpoint": BlockType(3, ("kind", "data_width", "clock_hz", "read_tags"),
        "The PCIe endpoint, and the registers of the link"),
    "interrupts": BlockType(4, ("delivery", "causes", "enable", "clear", "vector"),
        "Interrupt causes, their enables and their pending bits"),
    "dma": BlockType(5, ("h2c", "c2h", "loopback", "table_depth", "address_width",
        "h2c_cause", "c2h_cause", "h2c_buffered", "c2h_buffered", "h2c_settled", "h2c_taken"),
        "A DMA channel; h2c and c2h are where the registers of each direction begin"),
    "device_time": BlockType(6, ("low", "high", "tick_ps"),
        "Time of the card; a read of low keeps the matching high"),
    "counters": BlockType(7, ("control", "time", "width"),
        "Counters of the four PCIe streams CQ, CC, RQ and RC"),
    "memory": BlockType(8, (),
        "A memory that the host reads and writes"),
    "user": BlockType(9, ("cause",),
        "Registers of the logic in the user slot"),
    "user_window": BlockType(11, (),
        "Addresses of the AXI4 bus of the logic in the user slot"),
    "msix": BlockType(12, ("vectors", "pending"),
        "MSI-X table with a vector for each cause; pending is an offset in it"),
    "pattern": BlockType(10, ("control",),
        "Pattern generator and checker between DMA and user slot"),
    "transactions": BlockType(13, ("control", "timeout", "read_tags", "landing_bytes",
        "host_credits", "completion_pool"),
        "Limits and counters of the Lanebox endpoint"),
    "stamps": BlockType(15, ("doorbell", "interrupt", "waiting"),
        "Device time of a doorbell, and of the interrupt message after it"),
    "records": BlockType(16, ("control", "writer_records_base", "writer_records_entries",
        "writer_status_base", "reader_status_base", "writer_flush", "most_entries"),
        "Where a DMA channel writes records and status lines; its flush time"),
    "moderation": BlockType(17, ("h2c", "c2h"),
        "Interrupt moderation of a DMA channel, a register for each direction"),
    "slot": BlockType(18, ("now", "width"),
        "Monitor of the user slot; a read of now takes a copy of its counters"),
    "capture": BlockType(19, ("control", "limit", "segment_base", "status_base", "account_control",
        "generator_control", "segments", "staging_bytes", "status", "wake", "cause"),
        "Capture of frames into a ring of pcapng blocks, and a frame generator"),
    "flash": BlockType(20, ("address", "length", "command", "unlock", "page_index", "page_data",
        "status", "crc", "refusals", "identification", "application", "room", "idcode"),
        "Engine of the configuration flash; place of an image, and its part's IDCODE"),
    "reboot": BlockType(21, ("address", "go", "bootsts"),
        "Boot of an image from the configuration flash"),
    "sensors": BlockType(22, ("temperature", "vccint", "vccaux", "vccbram", "alarms", "seen",
        "clear", "sequences", "value_bits"),
        "Temperature and supplies of the FPGA, and their alarms"),
    "module": BlockType(23, ("control", "read", "write", "status", "buffer_place",
        "buffer_read", "buffer_write", "buffer_bytes"),
        "Cage of a QSFP module: its I2C bus and its pins; cage A is number 0"),
    "virtio": BlockType(24, ("device", "queues", "cause", "queue_size"),
        "A virtio device with the registers of virtio-mmio; queue n interrupts as cause + n"),
    "player": BlockType(25, ("control", "status"),
        "Player of pcapng from h2c, whose frames the capture block takes"),
    "management": BlockType(26, ("control", "status", "doorbell", "cause", "image_base",
        "image_bytes", "mailbox_base", "mailbox_bytes", "firmware"),
        "Management CPU; its image and mailbox in BAR0; the digest of its firmware"),
    "mmio": BlockType(14, ("control", "reads_inside", "read_slots"),
        "MMIO bridge: its order of accesses, its counters, its reads in flight"),
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
}

# Values of two parameters in the capability table: `kind` of an endpoint, and `delivery` of
# interrupts (bits for MSI and MSI-X).
ENDPOINT_KINDS = {"litepcie": 0, "lanebox": 1}
DELIVERY_MSI   = 1 << 0
DELIVERY_MSIX  = 1 << 1

# Blocks -------------------------------------------------------------------------------------------

@dataclass(frozen=True)
class Block:
    """An entry of the capability table. It stands for a block of type `type`, which has `size`
    bytes from byte `offset` of BAR `bar` on. `parameters` has the block's parameters by name.
    """
    type:       str
    offset:     int
    size:       int
    parameters: dict
    index:      int = 0
    bar:        int = 0

    def words(self):
        """Returns the 32-bit words of the entry. Raises ValueError if its parameters are not
        exactly those of its type.
        """
        kind = BLOCK_TYPES[self.type]
        if set(self.parameters) != set(kind.parameters):
            raise ValueError(f"block {self.type}: parameters are {sorted(self.parameters)}; they "
                f"must be {sorted(kind.parameters)}")
        words = [0, 0, self.offset, self.size, *(self.parameters[n] for n in kind.parameters)]
        words += [0]*(len(words) % 2) # An entry of the capability table has a multiple of 8 bytes.
        words[ENTRY["type"]]   = kind.version << 16 | kind.number
        words[ENTRY["length"]] = self.index << 24 | self.bar << 16 | WORD*len(words)
        return words

def _round_up(value, step):
    return -(-value//step)*step

class Registers:
    """The registers of one module of the SoC, with the offsets that LiteX gave them (those in
    csr.h). An index by a register's name gives its offset in bytes from the module's first
    register.
    """
    def __init__(self, soc, name):
        region = soc.csr.regions[name]
        # `origin` is an address on the SoC's bus, which equals the offset in BAR0.
        self.name, self.offset = name, region.origin
        self.places, place     = {}, 0
        for csr in region.obj:
            self.places[csr.name] = place
            place += WORD*((csr.size + region.busword - 1)//region.busword)
        # LiteX's bus decodes whole pages, so the module's registers take up whole pages of BAR0.
        self.size = _round_up(max(place, WORD), CSR_PAGE)

    def __getitem__(self, register):
        if register not in self.places:
            raise ValueError(f"{self.name} has no register {register}; it has "
                f"{', '.join(self.places)}")
        return self.places[register]

    def block(self, type, index=0, **parameters):
        """Returns a Block of the type `type` for these registers. If a parameter's value is a text,
        the text names a register, and the parameter becomes that register's offset in bytes.
        """
        values = {
            name: self[value] if isinstance(value, str) else value
            for name, value in parameters.items()
        }
        return Block(type, self.offset, CSR_PAGE, values, index)

def _dma_group(registers, theirs):
    """Returns the offset, in bytes, at which the register group of one DMA direction starts.
    `theirs` is LitePCIe's name of the direction: reader (h2c) or writer (c2h).
    """
    start  = registers[f"{theirs}_enable"]
    places = {name: registers[f"{theirs}_{name}"] - start for name in DMA_GROUP}
    if places != DMA_GROUP:
        raise ValueError(f"{registers.name}: the {theirs} registers are at {places}; version "
            f"{BLOCK_TYPES['dma'].version} of a DMA channel has them at {DMA_GROUP}")
    return start

def _dma_block(soc, index):
    """Returns the capability table's entry for DMA channel number `index` of the SoC."""
    registers = Registers(soc, f"pcie_dma{index}")
    groups    = {way: _dma_group(registers, theirs) for way, theirs in DMA_WAYS.items()}
    causes    = {
        f"{way}_cause": soc.constants[f"PCIE_DMA{index}_{theirs.upper()}_INTERRUPT"]
        for way, theirs in DMA_WAYS.items()
    }
    return registers.block("dma", index, **groups, **causes,
        loopback      = "loopback_enable",
        table_depth   = numbers.DMA_TABLE_DEPTH,
        address_width = soc.constants["DMA_ADDR_WIDTH"],
        h2c_buffered  = numbers.DMA_BUFFER_SIZE,
        c2h_buffered  = numbers.DMA_BUFFER_SIZE,
        h2c_settled   = soc.constants["DMA_H2C_SETTLED"],
        h2c_taken     = soc.constants["DMA_H2C_TAKEN"],
    )

def _csr_block(soc, name, type=None, **parameters):
    return Registers(soc, name).block(type or name, **parameters)

def _notice_blocks(soc):
    """Returns the table's entries for the notices (records and status lines) of DMA channels.
    LitePCIe's own channel has no notices, so it gets no entry.
    """
    names = [name for name in soc.csr.regions if name.startswith("pcie_notices")]
    return [Registers(soc, name).block("records", index,
        **{register: register for register in BLOCK_TYPES["records"].parameters[:-1]},
        most_entries=1 << notices.MOST_ENTRIES) for index, name in enumerate(names)]

def _moderation_blocks(soc):
    names = [name for name in soc.csr.regions if name.startswith("pcie_moderation")]
    return [Registers(soc, name).block("moderation", index, h2c="reader", c2h="writer")
        for index, name in enumerate(names)]

def _memory_block(soc, index):
    region = soc.bus.regions[f"memory{index}"]
    return Block("memory", region.origin, region.size, {}, index)

def _card_memory_blocks(soc):
    """Returns a list with the table's entry for the card memory in BAR2. The list is empty if the
    card has no MMIO bridge, since it then has no card memory.
    """
    if soc.mmio is None:
        return []
    return [Block("memory", numbers.CARD_MEMORY_BASE, numbers.CARD_MEMORY_SIZE, {},
        index=len(numbers.MEMORY_BASES), bar=2)]

def _user_blocks(soc):
    """Returns a list with the table's entry for the registers of user logic; empty if user logic
    has none. The block reaches to the end of the last host page (4 KiB) that holds such a register.
    No other block may use that page.
    """
    if "user" not in soc.csr.regions:
        return []
    registers = Registers(soc, "user")
    block     = registers.block("user", cause=soc.constants["USER_INTERRUPT"])
    return [replace(block, size=_round_up(registers.size, HOST_PAGE))]

def _user_window_blocks(soc):
    if soc.user.axi is None:
        return []
    return [Block("user_window", numbers.AXI_BASE, numbers.AXI_SIZE, {}, bar=2)]

def _lanebox_blocks(soc, endpoint):
    """Returns the table's entries for registers that only the Lanebox endpoint and the MMIO bridge
    have.
    """
    found = []
    if endpoint == "lanebox":
        found.append(_csr_block(soc, "pcie_endpoint", "transactions",
            control="control", timeout="timeout", read_tags=numbers.READ_TAGS,
            landing_bytes = numbers.LANDING_SIZE,
            host_credits  = numbers.MMIO_READS,
            completion_pool = int(soc.pcie_endpoint.completion_pool)))
    if soc.mmio is not None:
        found.append(_csr_block(soc, "mmio",
            control="control", reads_inside="reads_inside", read_slots=numbers.MMIO_READS))
    return found

def _capture_blocks(soc):
    if "capture" not in soc.csr.regions:
        return []
    registers = Registers(soc, "capture")
    for first, group in CAPTURE_GROUPS.items():
        places = {name: registers[name] - registers[first] for name in group}
        if places != group:
            raise ValueError(f"capture: registers are at {places} from {first} on; version "
                f"{BLOCK_TYPES['capture'].version} of the block has them at {group}")
    values = {
        "segments":      numbers.CAPTURE_SEGMENTS,
        "staging_bytes": numbers.CAPTURE_CELLS*numbers.PAGE_BYTES,
        "cause":         soc.constants["CAPTURE_INTERRUPT"],
    }
    return [
        registers.block("capture",
            **{name: values.get(name, name) for name in BLOCK_TYPES["capture"].parameters}),
        _csr_block(soc, "player", control="control", status="status"),
    ]

def _card_blocks(soc):
    """Returns the table's entries for the card services; empty if the card has none."""
    if "flash" not in soc.csr.regions:
        return []
    part = soc.platform.device.partition("-")[0]
    if part not in numbers.IDCODES:
        raise ValueError(f"--card: the IDCODE of {part} is not known (gateware/numbers.py), and an "
            "image for another part must not get into the flash")
    layout = {name: numbers.FLASH_LAYOUT[name] for name in ("application", "room")}
    layout["idcode"] = numbers.IDCODES[part]
    return [
        _csr_block(soc, "flash", **layout,
            **{register: register for register in BLOCK_TYPES["flash"].parameters
                if register not in layout}),
        _csr_block(soc, "reboot",
            **{register: register for register in BLOCK_TYPES["reboot"].parameters}),
    ]

def _upkeep_blocks(soc):
    """Returns the table's entries for sensors and cages; empty if the card has none."""
    if "sensors" not in soc.csr.regions:
        return []
    channels = ("temperature", "vccint", "vccaux", "vccbram")
    return [_csr_block(soc, "sensors", **{name: f"monitor_{name}" for name in channels},
        **{register: register for register in ("alarms", "seen", "clear", "sequences")},
        value_bits = soc.sensors.value_bits)] + [
        Registers(soc, name).block("module", int(name.removeprefix("module")),
            **{register: register for register in BLOCK_TYPES["module"].parameters[:-1]},
            buffer_bytes = BUFFER_BYTES)
        for name in soc.csr.regions if name.startswith("module")]

def _management_blocks(soc):
    if "management" not in soc.csr.regions:
        return []
    return [_csr_block(soc, "management", control="control", status="status", doorbell="doorbell",
        cause         = soc.constants["MANAGEMENT_INTERRUPT"],
        image_base    = numbers.CPU_IMAGE_BASE,
        image_bytes   = numbers.CPU_IMAGE_SIZE,
        mailbox_base  = numbers.CPU_MAILBOX_BASE,
        mailbox_bytes = numbers.CPU_MAILBOX_SIZE,
        firmware      = soc.management.firmware.version())]

def _virtio_blocks(soc):
    built = (entry for entry in device.DEVICES if entry.name in soc.bus.regions)
    return [Block("virtio", entry.base, numbers.VIRTIO_SIZE, {
        "device": entry.id, "queues": entry.queues, "cause": entry.cause,
        "queue_size": numbers.VIRTIO_QUEUE_SIZE}, index) for index, entry in enumerate(built)]

def _msix_blocks(soc):
    if soc.msix is None:
        return []
    return [Block("msix", numbers.MSIX_BASE, numbers.MSIX_SIZE, {
        "vectors": numbers.MSI_WIDTH, "pending": numbers.MSIX_PENDING - numbers.MSIX_BASE})]

def blocks(soc, endpoint):
    """Returns the entries (Block) for all blocks of a SoC, in the order of the table. The SoC's
    registers must have addresses already.
    """
    identifier = soc.csr.regions["identifier_mem"]
    return [
        _csr_block(soc, "ctrl", "control",
            reset="reset", scratch="scratch", bus_errors="bus_errors"),
        Block("identifier", identifier.origin, WORD*identifier.obj.depth, {}),
        _csr_block(soc, "pcie_phy", "endpoint",
            kind       = ENDPOINT_KINDS[endpoint],
            data_width = numbers.DATA_WIDTH,
            clock_hz   = soc.sys_clk_freq,
            read_tags  = numbers.READ_TAGS if endpoint == "lanebox" else numbers.STOCK_READ_TAGS),
        _csr_block(soc, "pcie_msi", "interrupts",
            delivery = DELIVERY_MSI | (0 if soc.msix is None else DELIVERY_MSIX),
            causes   = numbers.MSI_WIDTH,
            enable   = "enable", clear="clear", vector="vector"),
        *_msix_blocks(soc),
        *(_dma_block(soc, index) for index in range(numbers.DMA_CHANNELS)),
        *_notice_blocks(soc),
        *_moderation_blocks(soc),
        _csr_block(soc, "device_time",
            low="low", high="high", tick_ps=round(1e12/soc.sys_clk_freq)),
        _csr_block(soc, "pcie_counters", "counters",
            control="control", time="time", width=numbers.COUNTER_WIDTH),
        _csr_block(soc, "stamps",
            doorbell="doorbell", interrupt="interrupt", waiting="waiting"),
        *(_memory_block(soc, index) for index in range(len(numbers.MEMORY_BASES))),
        *_card_memory_blocks(soc),
        *_user_blocks(soc),
        *_user_window_blocks(soc),
        _csr_block(soc, "pattern", control="control"),
        _csr_block(soc, "slot", now="now", width=numbers.SLOT_COUNTER_WIDTH),
        *_lanebox_blocks(soc, endpoint),
        *_capture_blocks(soc),
        *_card_blocks(soc),
        *_upkeep_blocks(soc),
        *_management_blocks(soc),
        *_virtio_blocks(soc),
    ]

# Pages --------------------------------------------------------------------------------------------

# The types of blocks that the driver lets every user of the card map and write to. The driver maps
# whole host pages, and refuses a page that also holds a byte of anything else.
MAPPED_BY_USERS = ("memory", "user", "user_window")

def register_banks(soc):
    """Returns {module: (offset, size)}, in bytes of BAR0, for the registers of every module of the
    SoC, including modules that the capability table does not name.
    """
    banks = {}
    for name, region in soc.csr.regions.items():
        memory      = not isinstance(region.obj, list)
        size        = _round_up(WORD*region.obj.depth, CSR_PAGE) if memory else Registers(soc,
            name).size
        banks[name] = (region.origin, size)
    return banks

def check_pages(blocks, banks):
    """Raises ValueError if a block that users map shares a host page with anything else, or does
    not consist of whole host pages.

    `banks` is what register_banks() returns: offset and size of the registers of every module.
    """
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
        raise ValueError(f"target name {text!r} has {len(raw)} characters; the capability table "
            f"has room for {WORD*count - 1}")
    return struct.unpack(f"<{count}I", raw.ljust(WORD*count, b"\0"))

def table(target, digest, entries):
    """Returns the 32-bit words of the capability table. `digest` is the hexadecimal SHA-256 of the
    sources, and `entries` has the Block of each entry.
    """
    body  = [word for entry in entries for word in entry.words()]
    words = [0]*HEADER_WORDS + body
    words[HEADER["magic"]]   = MAGIC
    words[HEADER["version"]] = MAJOR << 16 | MINOR
    words[HEADER["bytes"]]   = WORD*len(words)
    words[HEADER["blocks"]]  = len(entries)
    words[HEADER["digest"]:HEADER["target"]] = struct.unpack(f"<{DIGEST_WORDS}I",
        bytes.fromhex(digest))
    words[HEADER["target"]:HEADER_WORDS] = _text_words(target, TARGET_WORDS)
    words[HEADER["crc"]] = zlib.crc32(struct.pack(f"<{len(words)}I", *words))
    if WORD*len(words) > numbers.CAPABILITY_SIZE:
        raise ValueError(f"capability table: {len(entries)} blocks take {WORD*len(words)} bytes; "
            f"there is room for {numbers.CAPABILITY_SIZE}")
    return words

def capability_words(soc, target, endpoint, digest):
    """Returns all 32-bit words of the memory that holds the capability table of `soc`. The
    registers of `soc` must have addresses already.
    """
    entries = blocks(soc, endpoint)
    check_pages(entries, register_banks(soc))
    words = table(target, digest, entries)
    # The rest of the memory that holds the capability table is filled with zeros, so that
    # simulation and silicon start with the same contents.
    return words + [0]*(numbers.CAPABILITY_SIZE//WORD - len(words))

# C header -----------------------------------------------------------------------------------------

HEAD = """\
/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The capability table at a fixed place in BAR0: which blocks the gateware has. And
 * the numbers that card and software share.
 * Generated by gateware/observe/capability.py, which describes the table, and from
 * gateware/numbers.py: do not edit.
 */
#ifndef LITEPCIE_CAPABILITY_H
#define LITEPCIE_CAPABILITY_H
"""

def _defines(prefix, values, form="{}"):
    names = {f"LITEPCIE_{prefix}{name}".upper(): form.format(v) for name, v in values.items()}
    return [f"#define {name.ljust(39)} {value}" for name, value in names.items()]

def _of_numbers(*names, form="{}"):
    """Returns the C header's #define lines for these names of gateware/numbers.py. `form` is the
    format string of the values.
    """
    return _defines("", {name: getattr(numbers, name) for name in names}, form)

def c_header():
    """Returns the text of the C header, which has the constants of the capability table and the
    numbers that software shares with the card.
    """
    lines = ["/* The capability table: little-endian 32-bit words */"]
    lines += _defines("CAP_", {
        "offset": f"{numbers.CAPABILITY_BASE:#x}", "size": f"{numbers.CAPABILITY_SIZE:#x}",
        "magic": f"{MAGIC:#x}", "major": MAJOR, "minor": MINOR,
        "digest_words": DIGEST_WORDS, "target_words": TARGET_WORDS,
        "header_words": HEADER_WORDS, "entry_words": ENTRY_WORDS,
    })
    lines += ["", "/* Word numbers in the header of the capability table */"]
    lines += _defines("CAP_HEADER_", HEADER)
    lines += ["", "/* Word numbers in an entry of the table; its parameters follow these words */"]
    lines += _defines("CAP_ENTRY_", ENTRY)
    for name, kind in BLOCK_TYPES.items():
        lines += ["", f"/* {kind.about} */", *_defines("BLOCK_", {name: kind.number})]
        lines += _defines(f"{name}_", {p: n for n, p in enumerate(kind.parameters)})
    lines += ["", "/* Values of the parameters endpoint kind and interrupts delivery */"]
    lines += _defines("ENDPOINT_KIND_", ENDPOINT_KINDS)
    lines += _defines("DELIVERY_", {"msi": DELIVERY_MSI, "msix": DELIVERY_MSIX})
    lines += ["", "/* Offsets in the register group of one DMA direction, in bytes */"]
    lines += _defines("DMA_GROUP_", DMA_GROUP, "{:#04x}")
    lines += ["", "/* Offsets in a group of the capture block's registers, in bytes */"]
    for group in CAPTURE_GROUPS.values():
        lines += _defines("CAPTURE_GROUP_", group, "{:#04x}")
    lines += ["", "/* Bits of the capture block's registers: control, status, account_control */"]
    for name, bits in (("CONTROL", capture_bits.CONTROL),
        ("STATUS", capture_bits.STATUS), ("ACCOUNT", capture_bits.ACCOUNT_CONTROL)):
        lines += _defines(f"CAPTURE_BIT_{name}_", {field: f"(1u << {bit})"
            for field, bit in bits.items() if field != "index"})
    lines += ["", "/* The player: widths in bits of the registers player_rate and player_cost */"]
    lines += _of_numbers("PLAYER_RATE_BITS", "PLAYER_FRACTION_BITS", "PLAYER_COST_BITS")
    lines += ["", "/* Bits of a group's register enable: 0 is written, the others are read */"]
    lines += _of_numbers("DMA_ENABLE_RUN", "DMA_ENABLE_IDLE", "DMA_ENABLE_TAKEN")
    lines += ["", "/* Bits of the word of a descriptor that has the length */"]
    lines += _of_numbers("DESCRIPTOR_LENGTH_BITS")
    lines += _of_numbers("DESCRIPTOR_IRQ_DISABLE", "DESCRIPTOR_LAST_DISABLE", form="{:#x}")
    lines += ["", "/* LitePCIe's rings: bytes of a buffer, buffers, buffers per interrupt */"]
    lines += _of_numbers("STOCK_BUFFER_SIZE", "STOCK_BUFFERS", "STOCK_BUFFERS_PER_INTERRUPT")
    lines += ["", "/* Most causes; bytes of a beat; reads in flight without extended tags */"]
    lines += _defines("", {"causes_max": numbers.MSI_WIDTH})
    lines += _of_numbers("BEAT_BYTES", "SHORT_READ_TAGS")
    lines += ["", "/* Size of BAR0 in bytes */", *_of_numbers("BAR0_SIZE", form="{:#x}")]
    lines += ["", "/* Records: bits of control, bits of a record's flags, offsets in bytes */"]
    lines += _defines("RECORDS_CONTROL_", notices.CONTROL)
    lines += _defines("RECORDS_LOG2_", {
        "least_entries": notices.LEAST_ENTRIES, "most_entries": notices.MOST_ENTRIES})
    lines += _defines("RECORD_FLAG_", notices.RECORD_FLAGS)
    lines += _defines("RECORD_", {**notices.RECORD, "size": notices.RECORD_SIZE})
    lines += _defines("STATUS_LINE_", {
        **notices.STATUS_LINE, "size": notices.STATUS_SIZE, "cycles": notices.LINE_INTERVAL,
    })
    lines += ["", "/* Moderation: interval_bits hold cycles, the count_bits above them a count */"]
    lines += _defines("MODERATION_", {
        "interval_bits": moderation.INTERVAL_BITS, "count_bits": moderation.COUNT_BITS})
    lines += ["", "/* Words that open the flash's golden image, and that boot from the flash */"]
    lines += _defines("", {f"{name}_word": numbers.FLASH_LAYOUT[name]
        for name in ("unlock", "reboot")}, "{:#x}")
    lines += ["", "/* Last bytes of each image's room in the flash, which stay erased */"]
    lines += _defines("FLASH_", {"spare": numbers.FLASH_LAYOUT["spare"]})
    lines += ["", "/* Why the flash engine refused a command: the field refusal of its status */"]
    lines += _defines("FLASH_REFUSAL_", {reason.name.lower(): int(reason) for reason in Refusal})
    lines += ["", "/* Management CPU: its states, and the words of an image's header */"]
    lines += _defines("CPU_STATE_", cpu_layout.STATES)
    lines += _defines("CPU_IMAGE_", {"magic": f"{cpu_layout.IMAGE_MAGIC:#x}",
        "least": cpu_layout.LEAST_IMAGE, **{f"word_{name}": place
            for name, place in cpu_layout.IMAGE_WORDS.items()}})
    lines += ["", "/* Its mailbox: offsets in bytes of words and rings, sizes of rings */"]
    lines += _defines("MAILBOX_", {"magic": f"{cpu_layout.MAILBOX_MAGIC:#x}",
        **cpu_layout.MAILBOX}, "{}")
    for name, (place, size) in cpu_layout.RINGS.items():
        lines += _defines(f"MAILBOX_RING_{name}_", {"place": place, "size": size})
    lines += _defines("MAILBOX_COMMAND_", cpu_layout.COMMANDS)
    lines += ["", "/* Longest time of a read of host memory, with the timeout after reset */"]
    lines += _defines("", {"longest_read_us": round(numbers.LONGEST_READ*1e6)})
    lines += ["", "/* How a transfer of a module's memory ended: the field error of its status */"]
    lines += _defines("MODULE_ERROR_", ERRORS)
    lines += ["", "/* Sensors: a code of code_bits is a temperature in degrees Celsius, span*code",
        " * / 2^code_bits - offset, or a voltage in volts, full*code / 2^code_bits */"]
    lines += _defines("SENSORS_", {"code_bits": sensors.CODE_BITS,
        "temperature_span": sensors.TEMPERATURE_SPAN,
        "temperature_offset": sensors.TEMPERATURE_OFFSET, "voltage_full": sensors.VOLTAGE_SPAN})
    return HEAD + "\n" + "\n".join(lines) + "\n\n#endif /* LITEPCIE_CAPABILITY_H */\n"

if __name__ == "__main__":
    print(c_header(), end="")
