# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The MMIO bridge: shows registers, memories and user logic in the host's BARs.

MmioBridge.scala has the logic: up to 32 reads inside, exact byte enables, and writes that never
wait behind reads. This file has the bridge's registers, and connects the bridge to the endpoint and
to its targets.

Memories and the AXI4 bus write every enabled byte and no other. LiteX's registers have no byte
enables: they take a whole dword or nothing. So the bridge refuses a write of only some bytes of a
register's dword, changes nothing, and counts it in `writes_refused`. A write without any enabled
byte (a zero-length write) does nothing and is not counted."""

from functools import reduce
from operator import or_

from litex.gen import *
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.mmio.axi import axi_ports
from gateware.mmio.lanes import LaneMemory
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import camel, stream_ports
from gateware.vocabulary.windows import BLOCK, BUS, default_windows
from tools.verilog.spinal_build import generate

# {name of the register: its description} of each counter of MmioStatistics.scala.
COUNTERS = {
    "writes":         "Write requests.",
    "reads":          "Read requests.",
    "completions":    "Completions sent for them.",
    "unsupported":    "Reads of what nothing answers for: Unsupported Request.",
    "aborted":        "Reads that a target answered with an error or not at all: Completer Abort.",
    "timeouts":       "Accesses that a target did not answer.",
    "writes_dropped": "Writes to what nothing answers for or cannot be written.",
    "writes_failed":  "Writes that a target answered with an error or not at all.",
}

# Later counters. Their registers are behind all others, so that no older one's address moves.
LATER_COUNTERS = {
    "writes_refused": "Dwords of registers that were not written, because not all four of their "
        "bytes were enabled: registers take whole dwords.",
}

# The kinds of MmioErrorKind.scala in its order, with a description of each. The register
# `mmio_error` shows a kind by its place in this order.
ERROR_KINDS = {
    "none":          "no error",
    "unmappedRead":  "unmapped read",
    "unmappedWrite": "unmapped write",
    "readOnly":      "read only",
    "busError":      "bus error",
    "timeout":       "timeout",
    "held":          "dropped write",
    "partial":       "refused write of less than a register",
}

def error_codes():
    """Returns the codes of the register `mmio_error` with what each of them means, as a text."""
    return ", ".join(f"{code} {about}" for code, about in enumerate(ERROR_KINDS.values()))

def card_memories(images):
    """Returns the card's memories (LaneMemory) by name. `images` has the 32-bit words of the block
    memories. The capability table is filled later, when the SoC is complete.

    Both block memories are one LaneMemory, because each memory that the bridge reads costs it 256
    multiplexers."""
    words = numbers.MEMORY_SIZE//4
    block = [word for image in images for word in [*image, *[0]*(words - len(image))]]
    return {
        BLOCK:         LaneMemory(numbers.MEMORY_SIZE*len(images), block),
        "capability":  LaneMemory(numbers.CAPABILITY_SIZE, [0], kind="rom"),
        "card_memory": LaneMemory(numbers.CARD_MEMORY_SIZE, kind="ultra"),
    }

class MmioBridge(LiteXModule):
    """Shows `memories` (LaneMemory by name) and a Wishbone bus to the host.

    `windows` (see windows.py) say at which BAR offsets memories and bus are. None stands for the
    card's own windows. `axi` is the AXI4 bus of user logic, if it has one (see axi.py). No write
    has more bytes than the payload size that the card advertises, because the completer drops
    larger writes."""
    def __init__(self, endpoint, memories, axi=None, windows=None):
        self.wishbone = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.busy     = Signal() # o, a host read or write is under way, so device time must run.

        self._control = CSRStorage(fields=[
            CSRField("strict", size=1, offset=0,
                description="Answer reads in their order, whatever target they are for."),
            CSRField("clear", size=1, offset=1, pulse=True,
                description="Set every counter and histogram below to zero."),
        ])
        self._reads_inside = CSRStatus(fields=[
            CSRField("now",  size=6, offset=0, description="Reads that wait for their answer."),
            CSRField("most", size=6, offset=8,
                description="The largest number of waiting reads since the last clear."),
        ])
        for name, about in COUNTERS.items():
            setattr(self, f"_{name}", CSRStatus(32, name=name, description=about))
        self._error = CSRStatus(fields=[
            CSRField("kind", size=3, offset=0, description=f"The last error: {error_codes()}."),
            CSRField("write", size=1, offset=3,
                description="The access of the last error was a write."),
        ])
        self._error_address = CSRStatus(32,
            description="Address of the last error: its offset in the target, or in the BAR with "
                "the kinds 1, 2, 3 and 6.")
        self._select = CSRStorage(fields=[
            CSRField("latency", size=5, offset=0, description="Bin of the latency histogram: "
                "2 x log2 of the cycles, and one more in the upper half."),
            CSRField("size", size=5, offset=8,
                description="Bin of the size histogram: log2 of the bytes, 16 more for writes."),
        ])
        self._latency_count = CSRStatus(32, description="Reads in the chosen bin.")
        self._size_count    = CSRStatus(32, description="Requests in the chosen bin.")
        for name, about in LATER_COUNTERS.items():
            setattr(self, f"_{name}", CSRStatus(32, name=name, description=about))

        # # #

        windows = default_windows(axi) if windows is None else windows

        target = endpoint.get_target([(w.bar, w.base, w.size) for w in windows])
        phy    = endpoint.phy
        idle   = Signal()
        self.comb += self.busy.eq(~idle)

        # Some address bits are 0 in every window of the bus, which synthesis cannot see behind the
        # bridge's queues. With the mask, the bus's decoders need not compare these bits.
        address = Signal(len(self.wishbone.adr))
        shown   = reduce(or_, (w.target_base | (w.size - 1) for w in windows if w.target == BUS), 0)
        self.comb += self.wishbone.adr.eq(address & (shown >> 2))

        pins = {}
        for name, memory in memories.items():
            pins.update(memory.pins(name))
        fields = self._control.fields
        verilog = generate("mmio.MmioBridge",
            memories   = [memory.parameter(name) for name, memory in memories.items()],
            windows    = [window.argument() for window in windows],
            timeout    = numbers.TARGET_TIMEOUT,
            writeBytes = numbers.LARGEST_PAYLOAD,
            **(dict(axi=True, axiAddressWidth=axi.address_width) if axi is not None else {}),
        )
        phy.platform.add_source(verilog)
        self.specials += spinal_instance(verilog,
            **stream_ports("request",    target.request,    "sink"),
            **stream_ports("completion", target.completion, "source"),
            **pins,
            **wishbone_ports(self.wishbone, address),
            **(axi_ports(axi) if axi is not None else {}),
            i_maxPayload      = phy.settings.max_payload,
            i_strict          = fields.strict,
            i_clearStatistics = fields.clear | endpoint.clear,
            i_stop            = phy.stop,
            o_idle            = idle,
            i_latencySelect   = self._select.fields.latency,
            i_sizeSelect      = self._select.fields.size,
            **self._statistics_ports(),
        )

    def _statistics_ports(self):
        counters = {**COUNTERS, **LATER_COUNTERS}
        signals  = {name: getattr(self, f"_{name}").status for name in counters}
        signals.update(
            reads_now         = self._reads_inside.fields.now,
            reads_max         = self._reads_inside.fields.most,
            lastError_kind    = self._error.fields.kind,
            lastError_write   = self._error.fields.write,
            lastError_address = self._error_address.status,
            latency_count     = self._latency_count.status,
            size_count        = self._size_count.status,
        )
        return {f"o_statistics_{name if 'Error' in name else camel(name)}": signal
            for name, signal in signals.items()}

def wishbone_ports(bus, address):
    """Returns the arguments of the MMIO bridge's Instance for its Wishbone bus. `address` gets the
    dword address on the bus. The bus's `cti` and `bte` stay 0, which means classic cycles."""
    return {
        "o_wishbone_CYC":      bus.cyc,
        "o_wishbone_STB":      bus.stb,
        "o_wishbone_WE":       bus.we,
        "o_wishbone_ADR":      address,
        "o_wishbone_SEL":      bus.sel,
        "o_wishbone_DAT_MOSI": bus.dat_w,
        "i_wishbone_DAT_MISO": bus.dat_r,
        "i_wishbone_ACK":      bus.ack,
        "i_wishbone_ERR":      bus.err,
    }
