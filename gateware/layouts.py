# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Every width, clock, tag count, bus address and CSR location of the gateware, once.

Nothing here depends on a board: pins and parts are in targets/. Software never copies these
numbers. It reads the csr.h, soc.h and mem.h that a build generates from them.
"""

from litepcie.common import dma_layout
from litex.soc.interconnect.stream import EndpointDescription
from migen import bits_for

# Clock and data path ------------------------------------------------------------------------------

# The hard block's own width and clock at Gen3 x8: no clock crossing and no gearbox anywhere.
DATA_WIDTH   = 256
SYS_CLK_FREQ = 250e6 # A board whose link is narrower may have another one: targets/ says so.
TICK_NS      = 4     # One tick of device time is one cycle.

# PCIe ---------------------------------------------------------------------------------------------

LINK_SPEED      = "gen3"
REFCLK_FREQ     = 100e6
BAR0_SIZE       = 0x20000
LARGEST_PAYLOAD = 512   # Bytes of one write or of one read request: what the card advertises.
ADDRESS_WIDTH   = 64    # Of host memory, as seen by the DMA.
READ_TAGS       = 256   # Reads in flight if the host has extended tags on; else 32.
LANDING_SIZE    = 65536 # Bytes per reading client that are asked for or not yet taken.
STOCK_READ_TAGS = 16    # READ_TAGS of LitePCIe's endpoint, which has a FIFO for each.
MMIO_READS      = 32    # Reads by the host that may be inside at a time.
TARGET_WINDOWS  = 16    # Windows of one port of the completer, as in Targets.scala.
DMA_CHANNELS    = 1
DMA_TABLE_DEPTH = 256   # Descriptors per direction.
DMA_BUFFER_SIZE = 8192  # Bytes buffered per direction between the DMA and the user slot.

# Room of the DMA for reads: as much as waits in the endpoint while one read is late.
DMA_STORE_SIZE = LANDING_SIZE

MSI_WIDTH       = 32    # Interrupt causes behind the one MSI.

# LitePCIe's own h2c engine counts a buffer as done when its last read was issued. Its software
# assumes that at most one buffer of 8 KiB is still being read. So no more may be in flight.
STOCK_READ_AHEAD = 8192

# Bus: BAR0 + 0 is bus address 0 -------------------------------------------------------------------

CSR_BASE     = 0x00000
CSR_SIZE     = 0x10000
MEMORY_BASES = (0x10000, 0x14000)
MEMORY_SIZE  = 4096

# MSI-X, where it is built: a table entry of 16 bytes for each cause, then the pending bits.
MSIX_BASE    = 0x18000
MSIX_PENDING = MSIX_BASE + 16*MSI_WIDTH
MSIX_SIZE    = 4096

# The capability table. Software reads it first, so its place never changes.
CAPABILITY_BASE = 0x1f000
CAPABILITY_SIZE = 4096

# BAR2: the host may prefetch and write-combine it. It has no bus address: only the host sees it.
BAR2_SIZE        = 0x200000
CARD_MEMORY_BASE = 0x080000
CARD_MEMORY_SIZE = 0x080000
AXI_BASE         = 0x100000
AXI_SIZE         = 0x100000
AXI_ID_WIDTH     = 8         # 5 bits of place, 3 of epoch: see AxiTarget.scala.

# A read of a bus address where nothing answers ends after this many cycles (0.5 us) with all ones,
# well before a host gives up waiting for its completion.
BUS_TIMEOUT = 128

# Timeout of the card's reads, in seconds. The tag of a read that timed out is used again after 2.6
# to 3 times this (ReturnParam.scala). By then the hard block must have given the read up, too: its
# own completion timeout is 50 ms by default.
COMPLETION_TIMEOUT = 20e-3

# Longest time until a read has ended, in seconds: the endpoint finds a timeout up to a quarter late
# (ReturnPath.scala).
LONGEST_READ = COMPLETION_TIMEOUT*5/4

# CSR locations, in pages of 2 KiB -----------------------------------------------------------------

CSR_PAGE_WORDS = 512

# Fixed, so that a new block moves no old register. 5-7 stay free for more DMA channels. 23 is the
# last page that every layout of BAR0 shows: gateware/mmio/windows.py, COMPAT.
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
    "slot":             23,
}

# Counters and indicators --------------------------------------------------------------------------

COUNTER_WIDTH = 64
SLOT_COUNTER_WIDTH = 48 # Of the user slot's monitor: 13 days of cycles.
HEARTBEAT_BIT = 27  # Of device time: the LED changes every 0.54 s.

# Layouts ------------------------------------------------------------------------------------------

DWORD_WIDTH     = 32
DWORDS_PER_BEAT = DATA_WIDTH//DWORD_WIDTH

STREAM_BYTES = bits_for(DATA_WIDTH//8) # Width of `bytes`.

def stream_layout():
    """The h2c and c2h streams between the DMA and the user slot: one beat of `data` per cycle.

    `bytes` and `error` are valid with `last`. `bytes`: how many bytes of the beat are valid, from
    lane 0 on; 0 means all of them, so logic that never sets it sends whole beats. `error`:
    something is wrong with the packet that ends here.
    """
    return EndpointDescription([("data", DATA_WIDTH), ("bytes", STREAM_BYTES), ("error", 1)])

def plain_stream_layout():
    """The streams of LitePCIe's channel, and of logic that was written for it."""
    return dma_layout(DATA_WIDTH)

# The hard block's pins. gateware/spinal/src/main/scala/lanebox/pcie/HardBlock.scala says what each
# field means. A TLP is a packet of its stream; on `rc` it is delimited by `start` and `end`
# instead.

_BEAT = [("data", DATA_WIDTH), ("keep", DWORDS_PER_BEAT)]

def cq_layout():
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("byte_enable", DATA_WIDTH//8),
        ("start", 1), ("discontinue", 1)]

def cc_layout():
    return [*_BEAT]

def rq_layout():
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("sequence", 6)]

def rc_layout():
    end = [("valid", 1), ("dword", 3)]
    return [*_BEAT, ("byte_enable", DATA_WIDTH//8), ("start_0", 1), ("start_1", 1),
        ("end_0", end), ("end_1", end), ("discontinue", 1)]

def sequence_layout():
    return [("number_0", 6), ("valid_0", 1), ("number_1", 6), ("valid_1", 1)]

def link_settings_layout():
    return [("max_payload", 3), ("max_read_request", 3), ("rcb_128", 1), ("bus_master", 1)]

def cfg_mgmt_layout():
    return [("address", 10), ("read", 1), ("data", 32), ("done", 1)]

def msix_control_layout():
    return [("enable", 1), ("mask", 1)]

def msix_layout():
    """MsixTable.scala: a pulse for each cause, a pulse (a cycle late) for each message that RQ
    took, and a port to the table and the pending bits by dwords.
    """
    address = bits_for(4*MSI_WIDTH - 1) + 1 # The upper half has the pending bits.
    return [("causes", MSI_WIDTH), ("busy", 1), ("sent", 1), ("registers", [("address", address),
        ("write", 1), ("write_data", 32), ("read_data", 32)])]

# Between the endpoint and its clients: gateware/spinal/src/main/scala/lanebox/pcie/Requests.scala
# says what each field means.

def request_layout():
    return [("write", 1), ("address", 64), ("dwords", 11), ("first_be", 4), ("last_be", 4),
        ("attributes", 3), ("context", 16), ("data", DATA_WIDTH)]

def read_data_layout():
    return [("data", DATA_WIDTH), ("dwords", 11), ("context", 16), ("error", 3)]

def requester_layout():
    return [("id", 16), ("tag", 8), ("traffic_class", 3), ("attributes", 3), ("function", 8)]

def target_request_layout():
    """`window` has one bit for each window of the target: the one that holds the request is set."""
    return [("write", 1), ("bar", 3), ("window", TARGET_WINDOWS), ("offset", 32), ("dwords", 11),
        ("first_be", 4), ("last_be", 4), ("address", 64), ("requester", requester_layout()),
        ("data", DATA_WIDTH)]

def target_completion_layout():
    return [("requester", requester_layout()), ("status", 3), ("lower_address", 7),
        ("byte_count", 13), ("dwords", 11), ("final_", 1),
        ("request", [("address", 64), ("dwords", 11), ("first_be", 4), ("last_be", 4)]),
        ("data", DATA_WIDTH)]
