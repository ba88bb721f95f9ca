# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The fields of the streams and ports between the stages of the gateware.

The fields of a SpinalHDL component's ports are repeated in this file, because logic in Migen needs
them before the component is generated, which happens when the SoC is finalized. Widths that follow
from PCIe or from the data path are in gateware/numbers.py for both languages. Plain ones, such as 3
bits of a status, stand in both. spinal_instance.py compares each name, direction and width with the
component's own when an Instance is made. gateware/test/vocabulary/test_layouts.py compares all
layouts of this file in one place."""

from litepcie.common import dma_layout
from litex.soc.interconnect.stream import EndpointDescription
from migen import bits_for

from gateware.numbers import (
    ADDRESS_WIDTH,
    BYTE_COUNT_WIDTH,
    CAPTURE_LENGTH_BITS,
    CAPTURE_PORT_BITS,
    CONTEXT_WIDTH,
    COUNTER_WIDTH,
    DATA_WIDTH,
    DWORD_COUNT_WIDTH,
    DWORDS_PER_BEAT,
    ID_WIDTH,
    MSI_WIDTH,
    SEQUENCE_WIDTH,
    STREAM_BYTES,
    TAG_WIDTH,
    TARGET_WINDOWS,
)


def stream_layout():
    """Returns the layout of the h2c and c2h streams between the DMA and the user slot.

    `bytes` and `error` are valid with `last`. `bytes` says how many bytes of the beat are valid,
    from byte 0 on. 0 means all 32, so logic that never sets `bytes` sends whole beats. `error` says
    that something is wrong with the packet that ends with this beat."""
    return EndpointDescription([("data", DATA_WIDTH), ("bytes", STREAM_BYTES), ("error", 1)])

def plain_stream_layout():
    """Returns the layout of the streams of LitePCIe's DMA, and of user logic written for it."""
    return dma_layout(DATA_WIDTH)

def frame_layout():
    """Returns the layout of a beat of a stream of frames, which Frames.scala describes."""
    head = [("time", COUNTER_WIDTH), ("original", 16), ("kept", CAPTURE_LENGTH_BITS),
        ("port", CAPTURE_PORT_BITS), ("flags", 32)]
    return [("data", DATA_WIDTH), ("bytes", 5), ("error", 1), ("head", head)]

# The layouts of the hard block's streams and side-bands follow. HardBlock.scala says what each
# field means. In CQ, CC and RQ the stream's `last` ends a TLP. In RC `start_*` and `end_*` say
# where TLPs begin and end.

_BEAT = [("data", DATA_WIDTH), ("keep", DWORDS_PER_BEAT)]

def cq_layout():
    """Returns the layout of a beat on CQ, the host's requests, with the used parts of `tuser`."""
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("byte_enable", DATA_WIDTH//8),
        ("start", 1), ("discontinue", 1)]

def cc_layout():
    """Returns the layout of a beat on CC, which takes the card's completions: 256 bits of data."""
    return [*_BEAT]

def rq_layout():
    """Returns the layout of a beat on RQ, the card's requests, with the used parts of `tuser`."""
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("sequence", SEQUENCE_WIDTH)]

def rc_layout():
    """Returns the layout of a beat on RC. One completion may end in it and another one begin."""
    end = [("valid", 1), ("dword", 3)]
    return [*_BEAT, ("byte_enable", DATA_WIDTH//8), ("start_0", 1), ("start_1", 1),
        ("end_0", end), ("end_1", end), ("discontinue", 1)]

def sequence_layout():
    """Returns the layout for the numbers of up to two requests that have left (pcie_rq_seq_num)."""
    return [("number_0", SEQUENCE_WIDTH), ("valid_0", 1), ("number_1", SEQUENCE_WIDTH),
        ("valid_1", 1)]

def link_settings_layout():
    """Returns the layout for the host's settings. MPS and MRRS are codes (128 bytes << code).
    `rcb_128` says that the RCB is 128 bytes and not 64."""
    return [("max_payload", 3), ("max_read_request", 3), ("rcb_128", 1), ("bus_master", 1)]

def cfg_mgmt_layout():
    """Returns the layout of a port that reads the card's configuration space. `address` is in
    dwords. `read` stays high until `done` says that `data` has arrived."""
    return [("address", 10), ("read", 1), ("data", 32), ("done", 1)]

def msix_control_layout():
    """Returns the layout of the two bits that the host sets in MSI-X message control: `enable`
    turns MSI-X on, `mask` masks all vectors."""
    return [("enable", 1), ("mask", 1)]

def msix_layout():
    """Returns the layout of the port to MsixTable.scala. A pulse in `causes` raises the interrupt
    cause of its bit. `sent` is a pulse, a cycle late, for each message that RQ took. `registers` is
    a port of 32-bit words to the table and the pending bits."""
    # The upper half of the addresses is for the pending bits.
    address = bits_for(4*MSI_WIDTH - 1) + 1
    return [("causes", MSI_WIDTH), ("busy", 1), ("sent", 1), ("registers", [("address", address),
        ("write", 1), ("write_data", 32), ("read_data", 32)])]

# The layouts between the endpoint and its clients (Request.scala, ReadData.scala), and between it
# and its targets (TargetRequest.scala, TargetCompletion.scala).

def request_layout():
    """Returns the layout of a beat of a client's request to host memory. A read is one beat."""
    return [("write", 1), ("address", ADDRESS_WIDTH), ("dwords", DWORD_COUNT_WIDTH),
        ("first_be", 4), ("last_be", 4), ("attributes", 3), ("context", CONTEXT_WIDTH),
        ("data", DATA_WIDTH)]

def read_data_layout():
    """Returns the layout of a beat of data read from host memory, with the read's `context`."""
    return [("data", DATA_WIDTH), ("dwords", DWORD_COUNT_WIDTH), ("context", CONTEXT_WIDTH),
        ("error", 3)]

def requester_layout():
    """Returns the layout of the fields of a host's request that its completions repeat."""
    return [("id", ID_WIDTH), ("tag", TAG_WIDTH), ("traffic_class", 3), ("attributes", 3),
        ("function", 8)]

def target_request_layout():
    """Returns the layout of a beat of a host's request. In `window` its BAR window's bit is set."""
    return [("write", 1), ("bar", 3), ("window", TARGET_WINDOWS), ("offset", 32),
        ("dwords", DWORD_COUNT_WIDTH), ("first_be", 4), ("last_be", 4), ("address", ADDRESS_WIDTH),
        ("requester", requester_layout()), ("data", DATA_WIDTH)]

def target_completion_layout():
    """Returns the layout of a beat of a target's completion for a host's read."""
    return [("requester", requester_layout()), ("status", 3), ("lower_address", 7),
        ("byte_count", BYTE_COUNT_WIDTH), ("dwords", DWORD_COUNT_WIDTH), ("final_", 1),
        ("request", [("address", ADDRESS_WIDTH), ("dwords", DWORD_COUNT_WIDTH), ("first_be", 4),
            ("last_be", 4)]),
        ("data", DATA_WIDTH)]
