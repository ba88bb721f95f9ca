# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The entries of the capability table (capability.py), made from a finalized SoC: its registers'
addresses, its interrupt causes and its parameters."""

from dataclasses import replace

from gateware import numbers
from gateware.card.module import BUFFER_BYTES
from gateware.dma import notices
from gateware.observe.capability import (
    BLOCK_TYPES,
    CAPTURE_GROUPS,
    CSR_PAGE,
    DELIVERY_MSI,
    DELIVERY_MSIX,
    DMA_GROUP,
    DMA_WAYS,
    ENDPOINT_KINDS,
    HOST_PAGE,
    USER_WITH_COMMANDS,
    WORD,
    Block,
    check_pages,
    table,
)


def _round_up(value, step):
    return -(-value//step)*step

class Registers:
    """The registers of one module of the SoC. An index by a register's name gives its offset in
    bytes from the module's first register, as in csr.h."""
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
        the text names a register, and the parameter becomes that register's offset in bytes."""
        values = {
            name: self[value] if isinstance(value, str) else value
            for name, value in parameters.items()
        }
        return Block(type, self.offset, CSR_PAGE, values, index)

def _dma_group(registers, theirs):
    """Returns the byte offset of the registers of `theirs`: reader (h2c) or writer (c2h)."""
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
    LitePCIe's own channel has no notices, so it gets no entry."""
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
    card has no MMIO bridge, since it then has no card memory."""
    if soc.mmio is None:
        return []
    return [Block("memory", numbers.CARD_MEMORY_BASE, numbers.CARD_MEMORY_SIZE, {},
        index=len(numbers.MEMORY_BASES), bar=2)]

def _user_blocks(soc):
    """Returns a list with the table's entry for the registers of user logic; empty if user logic
    has none. The block reaches to the end of the last host page (4 KiB) that holds such a register.
    No other block may use that page.

    Logic with commands reaches all host memory that the card reaches, and its registers may have
    addresses. So its block has a version of its own: the driver gives ordinary users no right to
    write to a version that it does not know (software/kernel/rights.c)."""
    if "user" not in soc.csr.regions:
        return []
    registers = Registers(soc, "user")
    block     = registers.block("user", cause=soc.constants["USER_INTERRUPT"])
    version   = USER_WITH_COMMANDS if soc.user.commands else None
    return [replace(block, size=_round_up(registers.size, HOST_PAGE), version=version)]

def _user_window_blocks(soc):
    if soc.user.axi is None:
        return []
    version = USER_WITH_COMMANDS if soc.user.commands else None
    return [Block("user_window", numbers.AXI_BASE, numbers.AXI_SIZE, {}, bar=2, version=version)]

def _lanebox_blocks(soc, endpoint):
    """Returns the table's entries for registers that only the Lanebox endpoint and the MMIO bridge
    have."""
    found = []
    if endpoint == "lanebox":
        found.append(_csr_block(soc, "pcie_endpoint", "transactions",
            control="control", timeout="timeout", read_tags=numbers.READ_TAGS,
            landing_bytes = numbers.LANDING_SIZE,
            host_credits  = numbers.MMIO_READS,
            completion_pool = int(soc.pcie_endpoint.completion_pool)))
    if soc.mmio is not None:
        found.append(_csr_block(soc, "mmio",
            control="control", reads_inside="reads_inside", reads_most=numbers.MMIO_READS))
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
    # Each queue has an equal part of the capture block's segments and staging memory.
    queues = soc.capture_queues.count if soc.capture_queues else 1
    values = {
        "segments":      numbers.CAPTURE_SEGMENTS//queues,
        "staging_bytes": numbers.CAPTURE_CELLS*numbers.PAGE_BYTES//queues,
        "cause":         soc.constants["CAPTURE_INTERRUPT"],
    }
    return [
        registers.block("capture",
            **{name: values.get(name, name) for name in BLOCK_TYPES["capture"].parameters}),
        _csr_block(soc, "player", control="control", status="status"),
        *_capture_queues_blocks(soc),
        *_capture_net_blocks(soc),
    ]

def _capture_queues_blocks(soc):
    """Returns a list with the table's entry for the capture's queues; empty if it has only one."""
    if soc.capture_queues is None:
        return []
    values = {
        "queues":  soc.capture_queues.count,
        "rules":   1 << numbers.CAPTURE_RULE_BITS,
        "entries": 1 << numbers.CAPTURE_SPREAD_BITS,
    }
    return [_csr_block(soc, "capture_queues",
        **{name: values.get(name, name) for name in BLOCK_TYPES["capture_queues"].parameters})]

def _capture_net_blocks(soc):
    """Returns a list with the table's entry for the net device's frames; empty without them."""
    if soc.capture_net is None:
        return []
    return [_csr_block(soc, "capture_net",
        control="control", lost="lost", port=numbers.CAPTURE_NET_PORT)]

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
    if soc.virtio is None:
        return []
    return [Block("virtio", entry.base, numbers.VIRTIO_SIZE, {
        "device": entry.id, "queues": entry.queues, "cause": entry.cause,
        "queue_size": numbers.VIRTIO_QUEUE_SIZE}, index)
        for index, entry in enumerate(soc.virtio.devices)]

def _msix_blocks(soc):
    if soc.msix is None:
        return []
    return [Block("msix", numbers.MSIX_BASE, numbers.MSIX_SIZE, {
        "vectors": numbers.MSI_WIDTH, "pending": numbers.MSIX_PENDING - numbers.MSIX_BASE})]

def blocks(soc, endpoint):
    """Returns the entries (Block) for all blocks of a SoC, in the order of the table. The SoC's
    registers must have addresses already."""
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

# Table --------------------------------------------------------------------------------------------

def register_banks(soc):
    """Returns {module: (offset, size)}, in bytes of BAR0, for the registers of every module of the
    SoC, including modules that the capability table does not name."""
    banks = {}
    for name, region in soc.csr.regions.items():
        memory      = not isinstance(region.obj, list)
        size        = _round_up(WORD*region.obj.depth, CSR_PAGE) if memory else Registers(soc,
            name).size
        banks[name] = (region.origin, size)
    return banks

def capability_words(soc, board, endpoint, digest):
    """Returns all 32-bit words of the memory that holds the capability table of `soc`. The
    registers of `soc` must have addresses already."""
    entries = blocks(soc, endpoint)
    check_pages(entries, register_banks(soc))
    words = table(board, digest, entries)
    # The rest of the memory that holds the capability table is filled with zeros, so that
    # simulation and silicon start with the same contents.
    return words + [0]*(numbers.CAPABILITY_SIZE//WORD - len(words))
