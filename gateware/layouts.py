# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Every width, clock, tag count, bus address and CSR location of the gateware, once.

Nothing here depends on a board: pins and parts live in targets/. Software never copies these
numbers, it reads the csr.h, soc.h and mem.h that a build generates from them.
"""

from litepcie.common import dma_layout

# Clock and data path ------------------------------------------------------------------------------

# The hard block's own width and clock at Gen3 x8: no clock crossing and no gearbox anywhere.
DATA_WIDTH   = 256
SYS_CLK_FREQ = 250e6
TICK_NS      = 4     # One tick of device time is one cycle.

# PCIe ---------------------------------------------------------------------------------------------

LINK_SPEED      = "gen3"
BAR0_SIZE       = 0x20000
ADDRESS_WIDTH   = 64    # Of host memory, as seen by the DMA.
READ_TAGS       = 16    # Reads in flight: 16 x 512 B cover 1 us of round trip at Gen3 x8.
DMA_CHANNELS    = 1
DMA_BUFFER_SIZE = 8192  # Bytes buffered per direction between the DMA and the user slot.
MSI_WIDTH       = 32    # Interrupt causes behind the one MSI.

# Bus: BAR0 + 0 is bus address 0 -------------------------------------------------------------------

CSR_BASE     = 0x00000
MEMORY_BASES = (0x10000, 0x14000)
MEMORY_SIZE  = 4096

# A read of an address where nothing answers ends after this many cycles (0.5 us) with all ones,
# well before a host gives up on its completion.
BUS_TIMEOUT = 128

# CSR locations, in pages of 2 KiB -----------------------------------------------------------------

# Pinned, so that a new block moves no old register. 5-7 stay free for more DMA channels.
CSR_LOCATIONS = {
    "ctrl":           0,
    "identifier_mem": 1,
    "pcie_phy":       2,
    "pcie_msi":       3,
    "pcie_dma0":      4,
    "device_time":    8,
    "pcie_counters":  9,
    "pattern":       10,
    "user":          16,
}

# Counters and indicators --------------------------------------------------------------------------

COUNTER_WIDTH = 64
HEARTBEAT_BIT = 27  # Of device time: the LED changes every 0.54 s.

# Layouts ------------------------------------------------------------------------------------------

DWORD_WIDTH     = 32
DWORDS_PER_BEAT = DATA_WIDTH//DWORD_WIDTH

def stream_layout():
    """The h2c and c2h streams between the DMA and the user slot: one beat of `data` per cycle."""
    return dma_layout(DATA_WIDTH)
