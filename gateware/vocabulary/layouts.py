# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The fields of the streams and ports between stages.

Those that a SpinalHDL component has as well are written here, too: logic in Migen needs them before
the component is generated, which happens when the SoC is finalized. spinal_instance.py then
compares each name, direction and width with the component's own.
"""

from litepcie.common import dma_layout
from litex.soc.interconnect.stream import EndpointDescription
from migen import bits_for

from gateware.numbers import (
    DATA_WIDTH,
    DWORDS_PER_BEAT,
    MSI_WIDTH,
    STREAM_BYTES,
    TARGET_WINDOWS,
)


def stream_layout():
    """The h2c and c2h streams between the DMA and the user slot: one beat of `data` per cycle.

    `bytes` and `error` are valid with `last`. `bytes` says how many bytes of the beat are valid,
    from byte 0 on. 0 means all of them, so logic that never sets `bytes` sends whole beats. `error`
    says that something is wrong with the packet that ends with this beat.
    """
    return EndpointDescription([("data", DATA_WIDTH), ("bytes", STREAM_BYTES), ("error", 1)])

def plain_stream_layout():
    """The streams of LitePCIe's DMA, with data only. User logic written for LitePCIe has them."""
    return dma_layout(DATA_WIDTH)

# The hard block's pins. gateware/vocabulary/HardBlock.scala says what each
# field means. A TLP is a packet of its stream; on `rc` it is delimited by `start` and `end`
# instead.

_BEAT = [("data", DATA_WIDTH), ("keep", DWORDS_PER_BEAT)]

def cq_layout():
    """The host's requests to the card: a beat of 256 bits and the fields of tuser that are used."""
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("byte_enable", DATA_WIDTH//8),
        ("start", 1), ("discontinue", 1)]

def cc_layout():
    """The card's completions: a beat of 256 bits."""
    return [*_BEAT]

def rq_layout():
    """The card's requests: a beat of 256 bits and the fields of tuser that are used."""
    return [*_BEAT, ("first_be", 4), ("last_be", 4), ("sequence", 6)]

def rc_layout():
    """Completions for the card: a beat of 256 bits, in which one packet may end and another
    begin.
    """
    end = [("valid", 1), ("dword", 3)]
    return [*_BEAT, ("byte_enable", DATA_WIDTH//8), ("start_0", 1), ("start_1", 1),
        ("end_0", end), ("end_1", end), ("discontinue", 1)]

def sequence_layout():
    """Numbers of up to two requests that have left the hard block in this cycle (PG213,
    rq_seq_num).
    """
    return [("number_0", 6), ("valid_0", 1), ("number_1", 6), ("valid_1", 1)]

def link_settings_layout():
    """The host's settings: the codes of MPS and MRRS, whether RCB is 128 bytes, and bus
    mastering.
    """
    return [("max_payload", 3), ("max_read_request", 3), ("rcb_128", 1), ("bus_master", 1)]

def cfg_mgmt_layout():
    """A read of configuration space: the dword's address, the request, the data, and its arrival.
    """
    return [("address", 10), ("read", 1), ("data", 32), ("done", 1)]

def msix_control_layout():
    """The two bits of MSI-X message control: enable and function mask."""
    return [("enable", 1), ("mask", 1)]

def msix_layout():
    """The signals of MsixTable.scala. `causes`: a pulse raises a cause. `sent`: a pulse, a cycle
    late, for each message that RQ took. `registers`: a port of 32-bit words to the table and the
    pending bits.
    """
    address = bits_for(4*MSI_WIDTH - 1) + 1 # The upper half has the pending bits.
    return [("causes", MSI_WIDTH), ("busy", 1), ("sent", 1), ("registers", [("address", address),
        ("write", 1), ("write_data", 32), ("read_data", 32)])]

# Between the endpoint and its clients: gateware/vocabulary/Requests.scala
# says what each field means.

def request_layout():
    """A beat of a request of the card: a write with its data, or a read. Lengths are in dwords."""
    return [("write", 1), ("address", 64), ("dwords", 11), ("first_be", 4), ("last_be", 4),
        ("attributes", 3), ("context", 16), ("data", DATA_WIDTH)]

def read_data_layout():
    """A beat of the data that a read brings, with the read's context and its error code."""
    return [("data", DATA_WIDTH), ("dwords", 11), ("context", 16), ("error", 3)]

def requester_layout():
    """The fields of a host's request that its completion repeats."""
    return [("id", 16), ("tag", 8), ("traffic_class", 3), ("attributes", 3), ("function", 8)]

def target_request_layout():
    """The host's request to a target. `window` has one bit for each BAR window of the target; the
    bit of the window that holds the request is set.
    """
    return [("write", 1), ("bar", 3), ("window", TARGET_WINDOWS), ("offset", 32), ("dwords", 11),
        ("first_be", 4), ("last_be", 4), ("address", 64), ("requester", requester_layout()),
        ("data", DATA_WIDTH)]

def target_completion_layout():
    """A beat of a target's answer, with the fields that its completions need."""
    return [("requester", requester_layout()), ("status", 3), ("lower_address", 7),
        ("byte_count", 13), ("dwords", 11), ("final_", 1),
        ("request", [("address", 64), ("dwords", 11), ("first_be", 4), ("last_be", 4)]),
        ("data", DATA_WIDTH)]
