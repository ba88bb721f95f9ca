# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""A memory on the AXI4 bus of user logic, with a latency that can be chosen. It answers as the
memory controller of a card would."""

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *
from migen.fhdl.specials import READ_FIRST

from gateware.mmio.axi import user_axi
from gateware.numbers import AXI_ID_WIDTH, BEAT_BYTES, DATA_WIDTH

IN_FLIGHT    = 32 # The MMIO bridge has at most this many requests in flight on the AXI4 bus.
LEAST_CYCLES = 2  # The smallest latency that AxiMemory can have, in cycles.


class Ripe(LiteXModule):
    """Says whether some request has been inside the memory for `cycles` cycles and is not answered
    yet."""
    def __init__(self, cycles):
        self.enters = Signal() # i, one cycle: the memory takes a request.
        self.taken  = Signal() # i, one cycle: the memory ends its answer to a request.
        self.any    = Signal() # o, at least one request may be answered now.

        # # #

        count = Signal(max=2*IN_FLIGHT)
        line  = Signal(max(cycles, 1))
        comes = line[-1] if cycles else self.enters
        if cycles:
            self.sync += line.eq(Cat(self.enters, line[:-1]))
        self.comb += self.any.eq(count != 0)
        self.sync += count.eq(count + comes - self.taken)

class AxiMemory(LiteXModule):
    """A memory of `size` bytes on an AXI4 bus. Its contents repeat over the bus's whole window.

    The first beat of a read comes `latency` cycles after the request, or later if earlier reads are
    still being answered. Then a beat comes in every cycle. The response to a write comes about
    `latency` cycles after its last beat. Answers keep the order of requests."""
    def __init__(self, size, latency=LEAST_CYCLES):
        if latency < LEAST_CYCLES:
            raise ValueError(f"an AXI memory with a latency of {latency} cycles; it must be "
                f"{LEAST_CYCLES} or more")
        if size < BEAT_BYTES or size & (size - 1):
            raise ValueError(f"an AXI memory of {size} bytes; it must be a power of two and at "
                f"least {BEAT_BYTES}")
        self.bus  = user_axi()
        self.hold = Signal() # i, while high the memory answers no read.

        # # #

        # `array` is a local variable and not an attribute, since LiteX would make registers of an
        # attribute that is a Memory.
        array = Memory(DATA_WIDTH, size//BEAT_BYTES, name="axi_memory")
        self.specials += array
        self._add_reads(array, latency)
        self._add_writes(array, latency)

    def _commands(self, channel, depth):
        """Puts the AXI4 requests on `channel` (`ar` or `aw`) into a FIFO, with their row, ID and
        length. Returns the FIFO's output."""
        layout = [("row", bits_for(depth - 1)), ("id", AXI_ID_WIDTH), ("len", 8)]
        queue  = stream.SyncFIFO(layout, IN_FLIGHT)
        self.submodules += queue
        # connect() does not fit: the FIFO's layout has no address, only the row.
        self.comb += [
            queue.sink.valid.eq(channel.valid),
            channel.ready.eq(queue.sink.ready),
            queue.sink.row.eq(channel.addr[log2_int(BEAT_BYTES):]),
            queue.sink.id.eq(channel.id),
            queue.sink.len.eq(channel.len),
        ]
        return queue.source

    def _add_reads(self, array, latency):
        ar, r   = self.bus.ar, self.bus.r
        command = self._commands(ar, array.depth)
        port    = array.get_port(has_re=True, mode=READ_FIRST)
        beat    = Signal(8)
        go      = Signal()
        last    = Signal()
        self.ripe_reads = ripe = Ripe(latency - LEAST_CYCLES)
        self.specials += port
        self.comb += [
            ripe.enters.eq(ar.valid & ar.ready),
            go.eq(ripe.any & ~self.hold & (~r.valid | r.ready)),
            last.eq(beat == command.len),
            # connect() does not fit: a request is taken with the last beat of its data, and its
            # answer waits until `ripe` has counted the latency.
            command.ready.eq(go & last),
            ripe.taken.eq(command.ready),
            port.adr.eq(command.row + beat),
            port.re.eq(go),
            r.data.eq(port.dat_r),
        ]
        self.sync += [
            If(r.ready, r.valid.eq(0)),
            If(go,
                r.valid.eq(1),
                r.id.eq(command.id),
                r.last.eq(last),
                beat.eq(Mux(last, 0, beat + 1)),
            ),
        ]

    def _add_writes(self, array, latency):
        w, b    = self.bus.w, self.bus.b
        command = self._commands(self.bus.aw, array.depth)
        port    = array.get_port(write_capable=True, we_granularity=8, mode=READ_FIRST)
        beat    = Signal(8)
        ends    = Signal()
        self.done       = done = stream.SyncFIFO([("id", AXI_ID_WIDTH)], IN_FLIGHT)
        self.ripe_ended = ripe = Ripe(latency - LEAST_CYCLES)
        self.specials += port
        self.comb += [
            w.ready.eq(command.valid & done.sink.ready),
            port.adr.eq(command.row + beat),
            port.dat_w.eq(w.data),
            If(w.valid & w.ready, port.we.eq(w.strb)),
            ends.eq(w.valid & w.ready & w.last),
            # As with reads, a request is taken with the last beat of its data.
            command.ready.eq(ends),
            done.sink.valid.eq(ends),
            done.sink.id.eq(command.id),
            ripe.enters.eq(ends),
            b.valid.eq(ripe.any),
            b.id.eq(done.source.id),
            done.source.ready.eq(b.valid & b.ready),
            ripe.taken.eq(done.source.ready),
        ]
        self.sync += If(w.valid & w.ready, beat.eq(Mux(w.last, 0, beat + 1)))
