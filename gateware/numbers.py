# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The numbers of the gateware: every width, limit, clock, tag count, bus address and CSR location.

Each number is written once, in this file. None depends on a board: pins and parts are in targets/.
Other files, in any language, get the numbers from this file:

    Python   imports this module
    Scala    lanebox.vocabulary.Numbers       tools/numbers.py writes it into each copy for sbt
    C++      numbers.hpp                      tools/numbers.py writes it for each build of the board
    C        litepcie_capability.h, layout.h  in software/, which must build alone: they are part of
             litepcie_limits.h and            the tree, and a test fails when they are out of date
             bitstream_format.h

gateware/test/test_numbers.py fails if a source defines a constant of its own for one of these
numbers. This module imports nothing, because a build reads it as a file.
"""

# Clock and data path ------------------------------------------------------------------------------

# The whole gateware has the hard block's own data width and clock at Gen3 x8. So it needs no clock
# crossing and no gearbox.
DATA_WIDTH   = 256
# Frequency of the user clock in Hz for a Gen3 x8 link. A board with fewer lanes may have another
# frequency.
SYS_CLK_FREQ = 250e6
TICK_NS      = 4 # Nanoseconds of a tick of device time. A tick is one cycle of the user clock.

# PCIe ---------------------------------------------------------------------------------------------

LINK_SPEED      = "gen3"
REFCLK_FREQ     = 100e6
BAR0_SIZE       = 0x20000
# The card advertises this as its Max_Payload_Size, in bytes. No write TLP and no read request of
# the card has more bytes.
LARGEST_PAYLOAD = 512
# No memory request on PCIe may cross a multiple of 4 KiB (base specification 2.2.7).
PAGE_BYTES      = 4096
ADDRESS_WIDTH   = 64 # Width of an address in host memory, in the DMA's descriptors and requests.
# The card has at most this many reads of host memory in flight if the host has enabled extended
# tags. Otherwise it has at most SHORT_READ_TAGS.
READ_TAGS       = 256
SHORT_READ_TAGS = 32
TAG_WIDTH       = (READ_TAGS - 1).bit_length()
# Width of the number of a request's dwords. A request may have a whole page, but not more.
DWORD_COUNT_WIDTH = (PAGE_BYTES//4).bit_length()
# Width of a completion's field `byte count`: the bytes of a read that are still to come, a page at
# the most.
BYTE_COUNT_WIDTH  = PAGE_BYTES.bit_length()
ID_WIDTH          = 16 # Width of a function's ID, which names the requester or the completer.
CONTEXT_WIDTH     = 16 # Width of the number that a client gives to a read, and gets back with it.
# Width of the sequence number of a request on RQ, which the hard block gives back when the request
# has left for the link (PG213).
SEQUENCE_WIDTH    = 6
# Each client that reads host memory has a landing memory, in which completions wait until they can
# be delivered in order. It has this many bytes.
LANDING_SIZE    = 65536
# The most reads of host memory in flight with LitePCIe's endpoint, which has a FIFO for the data of
# each of them.
STOCK_READ_TAGS = 16
# The most host reads that may be inside the card at a time. The hard block can count credits for no
# more.
MMIO_READS      = 32
TARGET_WINDOWS  = 16 # The most BAR windows that one port of the completer may have.
DMA_CHANNELS    = 1
DMA_TABLE_DEPTH = 256 # The most descriptors that the table of a DMA direction holds.
# Bytes of the FIFO in each direction between a DMA channel and the user slot.
DMA_BUFFER_SIZE = 8192

# Bytes that h2c may have in flight or waiting for the user: as many as may wait in the endpoint's
# landing memory while one read is late.
DMA_STORE_SIZE = LANDING_SIZE

# The most interrupt causes of the card. With MSI one message stands for all of them.
MSI_WIDTH       = 32

# Places of the capabilities in the card's configuration space: power management, MSI, MSI-X, PCI
# Express, Advanced Error Reporting and Secondary PCI Express.
CONFIG_POWER     = 0x40
CONFIG_MSI       = 0x48
CONFIG_MSIX      = 0x60
CONFIG_EXPRESS   = 0x70
CONFIG_AER       = 0x100
CONFIG_SECONDARY = 0x1c0

# The hard block's receive buffer for completions (PG213): it holds 256 headers, and 2048 units of
# 16 bytes for their data. With `completion_pool` headers and data share the 2048 units.
COMPLETION_HEADERS    = 256
COMPLETION_UNITS      = 2048
COMPLETION_UNIT_BYTES = 16

# Bytes of a descriptor, which stands before the payload of each TLP on its stream (PG213).
REQUEST_DESCRIPTOR    = 16 # On RQ and CQ.
COMPLETION_DESCRIPTOR = 12 # On CC and RC.

# Descriptors of the DMA ---------------------------------------------------------------------------

# The DMA's descriptors have LitePCIe's format: one 32-bit word with the length in bytes and the
# flags below, then the host address.
DESCRIPTOR_LENGTH_BITS  = 24
DESCRIPTOR_IRQ_DISABLE  = 1 << 24 # Flag of a descriptor: it raises no interrupt when it has ended.
# Flag of a descriptor: it ends no packet on the stream (h2c), or the stream's `last` does not end
# it (c2h).
DESCRIPTOR_LAST_DISABLE = 1 << 25

# Bits of the register `enable` of a DMA direction. Software writes only RUN. It reads the other
# bits.
DMA_ENABLE_RUN   = 1 << 0
# The DMA engine rests: no request or data is in flight, no notice (record or status line) is due,
# and its last write has left the hard block. LitePCIe's engine has only handed that write over.
DMA_ENABLE_IDLE  = 1 << 1
# User logic has taken all h2c data. Only Lanebox's h2c engine has this bit, not LitePCIe's.
DMA_ENABLE_TAKEN = 1 << 2

# The rings of buffers that LitePCIe's driver has: bytes of a buffer, buffers of a ring, and buffers
# for each interrupt. LitePCIe's programs rely on these numbers.
STOCK_BUFFER_SIZE           = 8192
STOCK_BUFFERS               = 256
STOCK_BUFFERS_PER_INTERRUPT = 32

# Bytes that LitePCIe's own h2c engine may have in flight. It counts a buffer as done when its last
# read was issued, and its software assumes that at most one such buffer is still being read.
STOCK_READ_AHEAD = STOCK_BUFFER_SIZE

# LitePCIe's h2c engine says that it is idle when it has issued its last read of host memory. After
# so much device time each such read has ended. So many reads of a register take as long.
SETTLING = {"settle_us": 16, "settle_reads": 64}

# Notices of the DMA -------------------------------------------------------------------------------

# Bits of the word `flags` in a record. If no bit is set, the buffer is full and its packet goes on
# in the next buffer.
RECORD_FLAGS = {
    "last":    1 << 0, # The stream's `last` has ended the c2h descriptor.
    "flushed": 1 << 1, # The flush time has ended the c2h descriptor.
    "error":   1 << 2, # The stream's `error` came with the `last` that ended the c2h descriptor.
}
# Bytes of a record, the card's report of one finished c2h buffer in host memory.
RECORD_BYTES  = 16
# While more c2h data waits, the card gathers this many records into one write to host memory.
RECORD_BATCH  = 16
# Bytes of a status line, the card's report in host memory of how far h2c or c2h has come.
STATUS_BYTES  = 32
# While a DMA direction is busy, the card writes its status line once in this many cycles.
STATUS_CYCLES = 1024

# Capture ------------------------------------------------------------------------------------------

CAPTURE_SEGMENTS = 2048 # A capture's ring in host memory consists of at most this many segments.
# The capture block's staging memory on the card has this many cells of 4 KiB.
CAPTURE_CELLS    = 256
# A queue's quota is at least this many cells. The longest record touches 6.
CAPTURE_QUOTA_LEAST = 8

# A status line of a capture is written after this many cells at the latest.
CAPTURE_CELLS_PER_LINE = 4
CAPTURE_LENGTH_BITS    = 14 # Width of the length of a frame, in bytes.
CAPTURE_PORT_BITS      = 4  # Width of the number of the port that a frame comes from.
CAPTURE_NET_PORT       = 14 # Number of the net device's port. The user slot's port is 15.
CAPTURE_QUEUES         = (1, 2, 4, 8, 16) # The numbers of queues that a capture block may have.
CAPTURE_QUEUE_BITS     = 4  # Width of the number of a queue.
CAPTURE_SPREAD_BITS    = 7  # Width of the number of an entry of the table that names queues.
CAPTURE_RULE_BITS      = 4  # Width of the number of a rule.
CAPTURE_WORD_BITS      = 4  # Width of the number of a word of 32 bits of a rule.
CAPTURE_WAIT_BITS      = 24 # Width of the longest time that a record waits for more, in cycles.
CAPTURE_PERIOD_BITS    = 24 # Width of the time between the generator's frames, in 1/256 cycle.
CAPTURE_FATE_BITS      = 2  # Width of the number of what became of a frame (Accounts.scala).

# A rule of the capture block (Rule.scala): the numbers of its words, and the lowest bit of each
# field in a word. capture/vocabulary/bits.py has their names, in this order.
CAPTURE_RULE_WORDS  = (0, 2, 4, 8, 12, 13, 14, 15)
CAPTURE_RULE_FACTS  = (0, 4, 5, 6, 7, 8, 16, 28)
CAPTURE_RULE_KINDS  = (0, 16)
CAPTURE_RULE_ACTION = (0, 16, 20, 21, 31)
CAPTURE_RULE_RANGE  = (0, 16)

# The player of pcapng files. A block's length has this many bits: a block has less than 16 MiB, as
# in Wireshark.
PLAYER_BLOCK_BITS    = 24
# The beats and the frames that wait in the player's store. Two frames of the largest size fit.
PLAYER_STORE_BEATS   = 1024
PLAYER_STORE_FRAMES  = 64
PLAYER_RATE_BITS     = 24 # Width of the register player_rate, in bytes a cycle.
PLAYER_FRACTION_BITS = 16 # Bits of that register below one byte a cycle.
PLAYER_COST_BITS     = 8  # Width of each of the two lengths in the register player_cost.

# The types of pcapng's blocks in a recording (draft-ietf-opsawg-pcapng, section 4).
PCAPNG_SECTION     = 0x0a0d0d0a
PCAPNG_INTERFACE   = 1
PCAPNG_RECORD      = 6 # A frame. pcapng calls the block "enhanced packet".
# The types of two more blocks that the card writes: a seal is the last block of an MBUF, and a
# filler fills room up. pcapng keeps these types for local use, and programs skip such blocks
# without a warning.
PCAPNG_SEAL        = 0x80004c42
PCAPNG_FILLER      = 0x80004c46
# The first word of a seal behind its type and length: "LB" and version 1.
CAPTURE_SEAL_MAGIC = 0x4c420001
# Offsets in bytes of a seal's fields. capture/vocabulary/bits.py has their names, in this order.
CAPTURE_SEAL       = (8, 12, 14, 16, 24, 32, 40, 48, 52)
# Sizes of a seal in bytes, the second if 8 bytes are left over, and the last of its reasons.
CAPTURE_SEALS      = {"seal_bytes": 64, "seal_long": 72, "seal_stopped": 2}
# Offsets in bytes of the words of a capture's status line, which the card writes to host memory.
CAPTURE_LINE       = {"position": 0, "records": 8, "lost": 16, "time": 24}
# Offsets in bytes of the parts of a record's block.
PCAPNG_RECORD_AT   = {"port": 8, "time": 12, "kept": 20, "length": 24, "data": 28}
# The types of two blocks of older programs, the values of if_tsresol for times in us and in ns,
# and the least bytes of any block and of a record.
PCAPNG_OTHERS = {
    "old_packet":    2,
    "simple_packet": 3,
    "microseconds":  6,
    "nanoseconds":   9,
    "block_least":   12,
    "record_least":  32,
}
PCAPNG_ORDER_MAGIC = 0x1a2b3c4d # The word by which a section tells its byte order.
# Numbers of options. pcapng numbers the options of each type of block anew.
PCAPNG_HARDWARE    = 2  # Option shb_hardware of a section: the card.
PCAPNG_USERAPPL    = 4  # Option shb_userappl of a section: the program that wrote it.
PCAPNG_NAME        = 2  # Option if_name of an interface.
PCAPNG_TSRESOL     = 9  # Option if_tsresol: the unit of an interface's times.
PCAPNG_TSOFFSET    = 14 # Option if_tsoffset: seconds to add to an interface's times.
PCAPNG_FLAGS       = 2  # Option epb_flags of a record.
PCAPNG_INBOUND     = 1  # epb_flags of a packet that came to the card, from a host or a network
PCAPNG_OUTBOUND    = 2  # epb_flags of a packet that the card sent
PCAPNG_DROPPED     = 4  # Option epb_dropcount of a record: frames lost before it.

# JTAG IDCODE of each part, without the revision in the upper four bits. Source: OpenOCD's
# cpld/xilinx-xcu.cfg.
IDCODE_KU5P = 0x4a62093
IDCODES = {"xcku5p": IDCODE_KU5P, "xcku3p": 0x4a63093}

# Bits of a part's BOOTSTS (UG570): it has fallen back to the golden image.
BOOTSTS = {"fallback": 1 << 1}
# Words of a bitstream (UG570): the one with which a part begins to take it, the bits of an IDCODE
# that are the part's revision, and the operation of a packet that writes a register.
BITSTREAM_SYNC     = 0xaa995566
BITSTREAM_REVISION = 0xf0000000
BITSTREAM_WRITE    = 2
# Numbers of registers: commands, IDCODE, and AXSS, a number of the user's (property USERID).
BITSTREAM_REG_COMMAND = 4
BITSTREAM_REG_IDCODE  = 12
BITSTREAM_REG_USER_ID = 13
BITSTREAM_CMD_DESYNC  = 13 # The command with which a bitstream ends.

# Limits of software -------------------------------------------------------------------------------

# Limits of a program's requests to the driver and the library. A name that ends in `_least` or
# `_most` is the least or the most that a value may be. `python -m tools.numbers` writes them for C:
#     python -m tools.numbers > software/uapi/litepcie_limits.h
LIMITS = {
    # Bytes of a buffer of a DMA ring, which is at least a page, too. The last two are the bytes and
    # the number of buffers of a ring whose program has no wish.
    "buffer_least":         1 << 12,
    "buffer_most":          1 << 22,
    "buffer_size":          STOCK_BUFFER_SIZE,
    "buffer_count":         STOCK_BUFFERS,
    # Buffers of a ring, for the driver and for a stream of the library. The card's table of
    # descriptors has the largest number.
    "buffers_least":        4,
    "stream_buffers_least": 16,
    # Period in us with which the progress of the card is polled.
    "poll_us_least":        10,
    "poll_us_most":         1000000,
    # Time in us after which an incomplete c2h buffer or beat ends.
    "flush_us_most":        1000000,
    # Bytes of a capture's ring in host memory, and of an MBUF, which is a part of the ring.
    "capture_ring_least":   1 << 16,
    "capture_ring_most":    1 << 30,
    "capture_mbuf_least":   1 << 12,
    "capture_mbuf_most":    1 << 22,
    # Bytes of the card's staging memory that a queue may use at once, and of a cell, which these
    # bytes are a multiple of.
    "capture_staging_least": CAPTURE_QUOTA_LEAST*PAGE_BYTES,
    "capture_staging_most": CAPTURE_CELLS*PAGE_BYTES,
    "capture_cell":         PAGE_BYTES,
    # Limits from the widths of the capture block's fields: bytes of a frame, ports that frames come
    # from, queues, rules, words of 32 bits in a rule, entries of the spread.
    "capture_frame_most":   (1 << CAPTURE_LENGTH_BITS) - 1,
    "capture_ports":        1 << CAPTURE_PORT_BITS,
    "capture_queues":       1 << CAPTURE_QUEUE_BITS,
    "capture_rules":        1 << CAPTURE_RULE_BITS,
    "rule_words":           1 << CAPTURE_WORD_BITS,
    "capture_spread":       1 << CAPTURE_SPREAD_BITS,
    # Bytes of the header of a recording, and pcapng's link type of its frames by default.
    "capture_header_bytes": 4096,
    "link_ethernet":        1,
}

# The version of the release: of driver, library, tools and Python package.
RELEASE = "0.1.0"

# The default PCI IDs of Xilinx's PCIe blocks. A device is 0x90GL: G is the PCIe generation, and L
# the number of lanes, where f stands for 16.
PCI_IDS = {
    "vendor":  0x10ee,
    "devices": (
        0x9021, 0x9022, 0x9024, 0x9028, 0x902f, 0x9031, 0x9032, 0x9034, 0x9038, 0x903f, 0x9041,
        0x9042, 0x9044, 0x9048,
    ),
}

# Configuration flash ------------------------------------------------------------------------------

FLASH_LAYOUT = {
    # The golden image is at address 0 and starts the application, which has the address
    # `application`. Each has room for `room` bytes. The part configures itself with 32-bit
    # addresses.
    "application": 1 << 24,
    "room":        1 << 24,
    # The last `spare` bytes of each room stay erased. A reboot begins this many bytes before the
    # application, because the part may skip up to 255 bytes from the address that it is given.
    "spare":       256,
    # Words that software must write to `unlock` or `reboot`, so that it does neither by mistake.
    "unlock":      0x4e45504f, # "OPEN" in memory: the golden image may be changed.
    "reboot":      0x544f4f42, # "BOOT" in memory: boot from the flash.
}

FLASH_PAGE_BYTES   = 256     # The most bytes that one command programs, within a multiple of them.
FLASH_SECTOR_BYTES = 1 << 16 # Bytes that FLASH_OPCODE_ERASE_64K erases.

# Opcodes of the flash's commands (data sheets of MT25QU256 and MX25U51245G). The address of a
# command has four bytes. If the command's name ends in SHORT or is DISCOVER, it has three. A name
# that ends in TOO is for a second opcode of the same command.
FLASH_OPCODE_READ_STATUS      = 0x05
FLASH_OPCODE_READ_FLAGS       = 0x70
FLASH_OPCODE_CLEAR_FLAGS      = 0x50
FLASH_OPCODE_WRITE_ENABLE     = 0x06
FLASH_OPCODE_WRITE_DISABLE    = 0x04
FLASH_OPCODE_IDENTIFY         = 0x9f
FLASH_OPCODE_IDENTIFY_TOO     = 0x9e
FLASH_OPCODE_DISCOVER         = 0x5a
FLASH_OPCODE_READ_NONVOLATILE = 0xb5
FLASH_OPCODE_READ_VOLATILE    = 0x85
FLASH_OPCODE_READ_EXTENDED    = 0xc8
FLASH_OPCODE_ENABLE_RESET     = 0x66
FLASH_OPCODE_RESET            = 0x99
FLASH_OPCODE_WAKE             = 0xab
FLASH_OPCODE_READ_SHORT       = 0x03
FLASH_OPCODE_READ_FAST_SHORT  = 0x0b
FLASH_OPCODE_READ             = 0x13
FLASH_OPCODE_READ_FAST        = 0x0c
FLASH_OPCODE_READ_PAIRS       = 0x3c
FLASH_OPCODE_PROGRAM_SHORT    = 0x02
FLASH_OPCODE_PROGRAM          = 0x12
FLASH_OPCODE_ERASE_4K_SHORT   = 0x20
FLASH_OPCODE_ERASE_32K_SHORT  = 0x52
FLASH_OPCODE_ERASE_64K_SHORT  = 0xd8
FLASH_OPCODE_ERASE_4K         = 0x21
FLASH_OPCODE_ERASE_32K        = 0x5c
FLASH_OPCODE_ERASE_64K        = 0xdc
FLASH_OPCODE_ERASE_ALL        = 0x60
FLASH_OPCODE_ERASE_ALL_TOO    = 0xc7

# VirtIO -------------------------------------------------------------------------------------------

VIRTIO_MAGIC      = 0x74726976 # The register MagicValue of virtio-mmio: "virt".
VIRTIO_VENDOR     = 0x584f424c # The register VendorID of Lanebox's virtio devices: "LBOX".
# Offsets of the two registers of Lanebox in a device's page, where virtio-mmio has none: the last
# violation, and the number of bytes or frames that were lost.
VIRTIO_REASON     = 0xf00
VIRTIO_DROPPED    = 0xf04
VIRTIO_QUEUE_SIZE = 256 # The most entries of a queue.
# The frame store of a virtio device has this many rows of 32 bytes.
VIRTIO_STORE_ROWS = 512
VIRTIO_NET_PAIRS  = 2 # Pairs of queues of the net device, beside its control queue.
VIRTIO_MTU = 1500 # The most bytes of a frame of the net device behind its Ethernet header.
# Bytes of a frame beside those of the MTU: two MAC addresses, two VLAN tags and the type.
ETHERNET_BYTES = 22
# The MAC address of the net device and that of the echo behind it, as they are written.
VIRTIO_MAC = 0x024c424f5801
ECHO_MAC   = 0x024c424f5802
# Used entries of a busy queue wait for this many cycles (50 us) at the most, until the device
# decides whether it sends an interrupt.
VIRTIO_PATIENCE   = 12500

# Commands of the user slot ------------------------------------------------------------------------

# A command of user logic reads or writes host memory. The dwords that it touches are at most this
# many bytes.
COMMAND_BYTES        = 4096
COMMAND_BYTES_BITS   = 13
COMMAND_CONTEXT_BITS = 16 # Width of the number that user logic gives to a command.
# The most commands that have begun and whose end user logic has not taken: twice the tags, so that
# a command is ready for each tag that becomes free.
COMMANDS             = 512
# The beats of the store in which the data of reads waits for user logic: eight reads of 4 KiB.
COMMAND_STORE_BEATS  = 1024
# The error code of a command that breaks a rule and was not carried out. Lower codes are those of
# ReadError (ReadError.scala).
COMMAND_REFUSED      = 7

# Bus: BAR0 + 0 is bus address 0 -------------------------------------------------------------------

CSR_BASE     = 0x00000
CSR_SIZE     = 0x10000
MEMORY_BASES = (0x10000, 0x14000)
MEMORY_SIZE  = 4096

# The place of MSI-X in BAR0, if it is built: a table entry of 16 bytes for each interrupt cause,
# then the pending bits.
MSIX_BASE    = 0x18000
MSIX_PENDING = MSIX_BASE + 16*MSI_WIDTH
MSIX_SIZE    = 4096

# The pages of the virtio devices in BAR0, if they are built: one page for each device.
VIRTIO_BASE = 0x1c000
VIRTIO_SIZE = 0x1000
VIRTIO_DEVICES = 2 # The console and the net device.
# The management CPU's image and mailbox in BAR0, if it is built. An image is no larger.
CPU_IMAGE_BASE   = 0x1a000
CPU_IMAGE_SIZE   = 0x2000
CPU_MAILBOX_BASE = 0x19000
CPU_MAILBOX_SIZE = 0x1000
# The interrupt cause of the first virtio device's queue 0. The causes of its other queues follow,
# and then the one for a change of its configuration. The causes of the next device come behind it.
VIRTIO_CAUSE = 16

# Offset of the capability table in BAR0. Software reads the table first, so its place never
# changes.
CAPABILITY_BASE = 0x1f000
CAPABILITY_SIZE = 4096

# BAR2 is prefetchable, so the host may map it write-combining. The memories in BAR2 have no address
# on the SoC's Wishbone bus.
BAR2_SIZE        = 0x200000
CARD_MEMORY_BASE = 0x080000
CARD_MEMORY_SIZE = 0x080000
AXI_BASE         = 0x100000
AXI_SIZE         = 0x100000
# Width of an ID on user logic's AXI4 bus, in bits: 5 for the place in which a burst lands, and 3
# for the epoch, which tells late answers from new ones (AxiTarget.scala).
AXI_ID_WIDTH     = 8

# A read of a Wishbone address at which nothing answers ends after this many cycles (0.5 us) with
# all ones, well before a host gives up waiting for its completion.
BUS_TIMEOUT = 128

# Cycles after which the MMIO bridge or a slave port gives up an access that its target does not
# answer. LiteX's own bus gives up earlier (BUS_TIMEOUT).
TARGET_TIMEOUT = 1 << 16

# The timeout of the card's reads of host memory, in seconds. The tag of a read that timed out is
# used again after 2.6 to 3 times this (ReturnParam.scala). By then the hard block must have given
# the read up, too: its own completion timeout is 50 ms by default.
COMPLETION_TIMEOUT = 20e-3

# The longest time until a read of host memory has ended, in seconds. The endpoint finds a timeout
# up to a quarter late (ReturnPath.scala).
LONGEST_READ = COMPLETION_TIMEOUT*5/4

# CSR locations, in pages of 2 KiB -----------------------------------------------------------------

# LiteX places the registers of each module on a page of its own. A page has this many 32-bit words.
CSR_PAGE_WORDS = 512

# The page of each module's registers. Pages are fixed, so that a new module moves no old register.
# Pages 5 to 7 stay free for more DMA channels. Page 23 is the last one that every layout of BAR0
# shows (gateware/vocabulary/windows.py, COMPAT).
CSR_LOCATIONS = {
    "ctrl":              0,
    "identifier_mem":    1,
    "pcie_phy":          2,
    "pcie_msi":          3,
    "pcie_dma0":         4,
    "device_time":       8,
    "pcie_counters":     9,
    "pattern":          10,
    "pcie_endpoint":    11,
    "mmio":             12,
    "stamps":           13,
    "pcie_notices0":    14,
    "pcie_moderation0": 15,
    "user":             16,
    # Page 17 stays empty. It is in the same 4 KiB host page as the registers `user`, which an
    # unprivileged program may map.
    "capture":          18,
    "flash":            19,
    "reboot":           20,
    "player":           21,
    "capture_queues":   22,
    "slot":             23,
    "sensors":          24,
    "module0":          25,
    "module1":          26,
    "management":       27,
    "capture_net":      28,
}

# Counters and indicators --------------------------------------------------------------------------

COUNTER_WIDTH = 64 # Width of device time and of the performance counters, in bits.
# Width of the counters of the user slot's monitor, in bits. At 250 MHz they wrap after 13 days.
SLOT_COUNTER_WIDTH = 48
HEARTBEAT_BIT = 27 # The heartbeat LED shows this bit of device time, which changes every 0.54 s.

DWORD_WIDTH     = 32
DWORDS_PER_BEAT = DATA_WIDTH//DWORD_WIDTH

BEAT_BYTES   = DATA_WIDTH//8
# Width of a stream's field `bytes`, in bits. Its values are 0 to 32.
STREAM_BYTES = BEAT_BYTES.bit_length()
