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
                                              the tree, and a test fails when they are out of date

gateware/test/test_numbers.py fails if a source defines a constant of its own for one of these
numbers. This module imports nothing, because a build reads it as a file.
"""

# Clock and data path ------------------------------------------------------------------------------

# The whole gateware has the hard block's own data width and clock at Gen3 x8. So it needs no clock
# crossing and no gearbox.
DATA_WIDTH   = 256
SYS_CLK_FREQ = 250e6 # The user clock in Hz. A board with a narrower link may have another clock.
TICK_NS      = 4     # Nanoseconds of a tick of device time, which is one cycle.

# PCIe ---------------------------------------------------------------------------------------------

LINK_SPEED      = "gen3"
REFCLK_FREQ     = 100e6
BAR0_SIZE       = 0x20000
LARGEST_PAYLOAD = 512   # Bytes of one write or of one read request: what the card advertises.
PAGE_BYTES      = 4096  # No request crosses a multiple of 4 KiB (base specification 2.2.7).
ADDRESS_WIDTH   = 64    # Bits of an address in host memory, as the DMA has it.
READ_TAGS       = 256   # Reads in flight if the host has extended tags on; else SHORT_READ_TAGS.
SHORT_READ_TAGS = 32
TAG_WIDTH       = (READ_TAGS - 1).bit_length()
LANDING_SIZE    = 65536 # Bytes of the landing memory that each reading client has.
STOCK_READ_TAGS = 16    # Reads in flight with LitePCIe's endpoint, which has a FIFO for each read.
MMIO_READS      = 32    # Most host reads inside the card: the hard block counts no more credits.
TARGET_WINDOWS  = 16    # The most BAR windows of one port of the completer.
DMA_CHANNELS    = 1
DMA_TABLE_DEPTH = 256   # Descriptors in the table of each DMA direction.
DMA_BUFFER_SIZE = 8192  # Bytes buffered per direction between the DMA and the user slot.

# Bytes that h2c may have in flight or waiting for the user: as many as may wait in the endpoint's
# landing memory while one read is late.
DMA_STORE_SIZE = LANDING_SIZE

MSI_WIDTH       = 32    # The most interrupt causes; with MSI, one message stands for all.

# The hard block's receive buffer for completions (PG213): it holds 256 headers, and 2048 units of
# 16 bytes for their data. With `completion_pool` headers and data share the 2048 units.
COMPLETION_HEADERS    = 256
COMPLETION_UNITS      = 2048
COMPLETION_UNIT_BYTES = 16

# Descriptors of the DMA ---------------------------------------------------------------------------

# A descriptor is LitePCIe's: one word with the length in bytes and these flags, then the address.
DESCRIPTOR_LENGTH_BITS  = 24
DESCRIPTOR_IRQ_DISABLE  = 1 << 24 # No interrupt when the descriptor has ended.
DESCRIPTOR_LAST_DISABLE = 1 << 25 # The descriptor ends no packet (h2c), or no packet ends it (c2h).

# Bits of the register `enable` of a DMA direction. Software writes RUN and reads the others.
DMA_ENABLE_RUN   = 1 << 0
DMA_ENABLE_IDLE  = 1 << 1 # The engine rests: no request or data is in flight, no notice is due.
DMA_ENABLE_TAKEN = 1 << 2 # User logic has taken all data. Only this project's h2c engine has it.

# The rings of buffers that LitePCIe's driver has: bytes of a buffer, buffers of a ring, and buffers
# for each interrupt. LitePCIe's programs rely on these numbers.
STOCK_BUFFER_SIZE           = 8192
STOCK_BUFFERS               = 256
STOCK_BUFFERS_PER_INTERRUPT = 32

# Bytes that LitePCIe's own h2c engine may have in flight. It counts a buffer as done when its last
# read was issued, and its software assumes that at most one such buffer is still being read.
STOCK_READ_AHEAD = STOCK_BUFFER_SIZE

# Notices of the DMA -------------------------------------------------------------------------------

RECORD_BYTES  = 16   # Bytes of a record, the card's report of one finished c2h buffer.
RECORD_BATCH  = 16   # Records that one write carries while more data waits.
STATUS_BYTES  = 32   # Bytes of a status line, the card's report of how far a direction has come.
STATUS_CYCLES = 1024 # Cycles between two status lines of a direction that is busy.

# Capture ------------------------------------------------------------------------------------------

CAPTURE_SEGMENTS = 2048 # The most segments that a capture's ring in host memory may have.
CAPTURE_CELLS    = 256  # Cells of 4 KiB in the capture's staging memory on the card.

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

# The capability table. Software reads it first, so its place never changes.
CAPABILITY_BASE = 0x1f000
CAPABILITY_SIZE = 4096

# BAR2 is prefetchable, so the host may write-combine it. Its contents have no address on the bus.
BAR2_SIZE        = 0x200000
CARD_MEMORY_BASE = 0x080000
CARD_MEMORY_SIZE = 0x080000
AXI_BASE         = 0x100000
AXI_SIZE         = 0x100000
AXI_ID_WIDTH     = 8         # Bits of an AXI4 ID: 5 of place, 3 of epoch (AxiTarget.scala).

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

CSR_PAGE_WORDS = 512 # 32-bit words of a page of registers.

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
    "capture":          18, # Page 17 stays empty: it is in the same 4 KiB host page as `user`.
    "slot":             23,
}

# Counters and indicators --------------------------------------------------------------------------

COUNTER_WIDTH = 64 # Bits of device time and of the performance counters.
SLOT_COUNTER_WIDTH = 48 # Bits of the user slot monitor's counters: they wrap after 13 days.
HEARTBEAT_BIT = 27  # The bit of device time that the heartbeat LED shows: it changes every 0.54 s.

DWORD_WIDTH     = 32
DWORDS_PER_BEAT = DATA_WIDTH//DWORD_WIDTH

BEAT_BYTES   = DATA_WIDTH//8
STREAM_BYTES = BEAT_BYTES.bit_length() # Bits of a stream's `bytes`: 0 to 32.
