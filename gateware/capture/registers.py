# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The capture block in the SoC: its registers, and its master port of the endpoint.

CaptureUnit.scala has the logic. It writes frames as pcapng blocks to a ring in host memory, which
gateware/capture/README.md describes. The sources of frames are the generator and the player, and in
builds that have them the logic in the user slot and the net device.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.capture.clock import CaptureClock
from gateware.capture.player.net_registers import CaptureNet
from gateware.capture.queues.registers import CaptureQueues
from gateware.capture.vocabulary.bits import ACCOUNT_CONTROL, CONTROL, GENERATOR_CONTROL, STATUS
from gateware.endpoint.departure import Departure
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import spinal_instance
from gateware.vocabulary.spinal_ports import stream_ports
from tools.verilog.spinal_build import generate

LENGTH_BITS  = numbers.CAPTURE_LENGTH_BITS
SEGMENT_BITS = bits_for(numbers.CAPTURE_SEGMENTS - 1)
# Width of the number of a capture account, a count of frames by port and fate. The fate is in its
# lowest bits, and the port above them.
INDEX_BITS = numbers.CAPTURE_FATE_BITS + numbers.CAPTURE_PORT_BITS

def check_capture(capture, endpoint):
    """Raises ValueError if no build may have the number of queues `capture` (0: no capture block).

    LitePCIe's endpoint allows no capture block at all, since it does not cut writes of 4 KiB to the
    payload size that the host allows.
    """
    if capture and capture not in numbers.CAPTURE_QUEUES:
        raise ValueError(f"--capture {capture}: the number of queues is one of "
            f"{', '.join(map(str, numbers.CAPTURE_QUEUES))}")
    if capture and endpoint != "lanebox":
        raise ValueError("--capture, or user logic with `frames`: LitePCIe's endpoint does not cut "
            "the capture block's writes; leave it out, or build with --endpoint lanebox")

def needs_capture(capture, occupant, endpoint):
    """Returns how many queues the gateware's capture block has, and 0 if there is none. It has a
    capture block if one is asked for (`capture`, a number of queues), or if the user slot's
    occupant has frames for it."""
    needed = int(capture or occupant.frames is not None)
    check_capture(needed, endpoint)
    return needed

class Capture(LiteXModule):
    """The generator and the capture block, with their registers, writing to the master port `port`.
    `player` has the registers of the player, whose logic is in the same component.

    `time` is device time in cycles of `cycle_ns`, which must be a power of two. Frames have the
    times of `clock` in ns, which are those since the card's reset until software sets the clock.
    `frames` is the user slot's stream of packets, if it has one: each packet becomes a frame of the
    last port. `queues` has the registers of several queues, and `net` those of the net device's
    frames.
    """
    def __init__(self, platform, port, time, player, cycle_ns=numbers.TICK_NS, frames=None,
        queues=None, net=None):
        # o, the capture block or a source of frames has work, so device time must run.
        self.busy = Signal()
        self.irq  = Signal() # o, one cycle: the status line is beyond `wake`.

        self.add_settings()
        self.add_generator()
        self.add_results()
        self.add_wake()
        self.add_mix()
        self.clock = CaptureClock(cycle_ns) # Its registers stand behind all others, too.

        # # #

        # The capture logic offers no request: the endpoint has taken the last one.
        idle    = Signal()
        works   = Signal() # The capture logic has work.
        request = stream.Endpoint(layouts.request_layout())
        slot    = {} if frames is None else stream_ports("slot", frames, "sink")
        sort    = {} if queues is None else queues.ports(self)
        copies  = {} if net is None else net.ports
        verilog = generate("capture.CaptureUnit", **({"fromSlot": "true"} if slot else {}),
            **({"fromNet": "true"} if copies else {}),
            **({"queues": queues.count} if sort else {}))
        platform.add_source(verilog)
        control, accounts = self._control.fields, self._account_control.fields
        self.specials += spinal_instance(verilog,
            i_settings_run           = control.run,
            i_settings_keepBad       = control.keep_bad,
            i_settings_lossless      = control.lossless,
            i_settings_newest        = control.newest,
            # The capture block would ask for relaxed ordering with this input. It is 0, since a
            # master port has no field for TLP attributes.
            i_settings_relaxed       = Signal(),
            i_settings_snap          = self._snap.storage,
            i_settings_patience      = self._wait.storage,
            i_settings_mbufLog2      = self._mbuf_log2.storage,
            i_settings_segmentLog2   = self._segment_log2.storage,
            i_settings_lastSegment   = self._last_segment.storage,
            i_settings_statusAddress = self._status_base.storage,
            i_generator_run          = self._generator_control.fields.run,
            i_generator_mix          = self._generator_control.fields.mix,
            i_generator_small_size   = self._generator_size.storage,
            i_generator_small_period = self._generator_period.storage,
            i_generator_middle_size   = self._generator_middle_size.storage,
            i_generator_middle_period = self._generator_middle_period.storage,
            i_generator_large_size   = self._generator_large_size.storage,
            i_generator_large_period = self._generator_large_period.storage,
            i_generator_count        = self._generator_count.storage,
            i_generator_seed         = self._generator_seed.storage,
            i_generator_portMask     = self._generator_port_mask.storage,
            i_clear                  = control.clear,
            i_seal                   = control.seal,
            i_limit_valid            = self._limit.re,
            i_limit_payload          = self._limit.storage,
            i_segment_valid          = self._segment_index.re,
            i_segment_payload_index  = self._segment_index.storage,
            i_segment_payload_page   = self._segment_base.storage[log2_int(numbers.PAGE_BYTES):],
            i_wake_valid             = self._wake.re,
            i_wake_payload           = self._wake.storage,
            o_call                   = self.irq,
            i_now                    = self.nanoseconds(time, cycle_ns),
            i_clock                  = self.clock.time,
            o_position               = self._position.status,
            o_idle                   = idle,
            o_made                   = self._generator_made.status,
            o_silent                 = self._status.fields.generator_idle,
            o_busy                   = works,
            i_snapshot               = accounts.snapshot,
            o_accountsBusy           = self._status.fields.accounts_busy,
            i_index                  = accounts.index,
            o_account_frames         = self._account_frames.status,
            o_account_bytes          = self._account_bytes.status,
            **stream_ports("request", request, "source"),
            **player.ports,
            **slot,
            **sort,
            **copies,
        )
        self.connect_port(request, port)
        self.departure = departure = Departure()
        self.comb += [
            departure.taken.eq(request.valid & request.ready & request.last),
            departure.sent.eq(port.sent),
            self._status.fields.idle.eq(idle & ~departure.leaving),
            self.busy.eq(works | departure.leaving),
        ]

    def add_settings(self):
        """Adds the registers with which software sets the ring, its limit, and the modes of
        capture."""
        self._control = CSRStorage(fields=[
            CSRField("run", size=1, offset=CONTROL["run"], description="Take frames."),
            CSRField("keep_bad", size=1, offset=CONTROL["keep_bad"],
                description="Record the frames that their source found bad, too."),
            CSRField("lossless", size=1, offset=CONTROL["lossless"],
                description="Let frames wait for room. Otherwise frames without room are lost."),
            CSRField("newest", size=1, offset=CONTROL["newest"],
                description="Write over the ring without regard to ``limit``."),
            CSRField("clear", size=1, offset=CONTROL["clear"], pulse=True,
                description="Begin anew at position 0; only while idle. Needed after reset."),
            CSRField("seal", size=1, offset=CONTROL["seal"], pulse=True,
                description="End the present MBUF (a part of the ring) with a seal now."),
        ])
        self._snap = CSRStorage(LENGTH_BITS, description="Bytes to keep of a frame; 0: all.")
        self._wait = CSRStorage(numbers.CAPTURE_WAIT_BITS, reset=250,
            description="Cycles for which whole records may wait for more records, before the "
                "card writes them to the ring.")
        self._mbuf_log2 = CSRStorage(5, reset=20,
            description="An MBUF has 2 to this power of bytes: 12 to 22.")
        self._segment_log2 = CSRStorage(5, reset=21,
            description="A segment has 2 to this power of bytes: 12 to 30, at least mbuf_log2.")
        self._last_segment = CSRStorage(SEGMENT_BITS,
            description="Number of the ring's last segment.")
        self._status_base = CSRStorage(64,
            description="Address of the status line: a multiple of 32.")
        self._segment_base = CSRStorage(64,
            description="Address of a segment: a multiple of 4 KiB.")
        self._segment_index = CSRStorage(SEGMENT_BITS,
            description="Writing the number of a segment gives it the address ``segment_base``.")
        self._limit = CSRStorage(64,
            description="The card may write the ring up to this many bytes since the start. A "
                "value below an earlier one has no effect.")

    def add_generator(self):
        """Adds the registers of the generator, which makes test frames for the capture block."""
        self._generator_control = CSRStorage(fields=[
            CSRField("run", size=1, offset=GENERATOR_CONTROL["run"],
                description="Make frames, from frame 0 on."),
            CSRField("mix", size=1, offset=GENERATOR_CONTROL["mix"],
                description="Of each 12 frames make 7 of the size ``generator_size``, 4 of "
                    "``generator_middle_size`` and 1 of ``generator_large_size``, each with its "
                    "own period."),
        ])
        self._generator_size = CSRStorage(LENGTH_BITS, reset=64,
            description="Bytes of a frame: 1 or more.")
        self._generator_period = CSRStorage(numbers.CAPTURE_PERIOD_BITS,
            description="Time from frame to frame in 1/256 of a cycle; 0: as fast as possible.")
        self._generator_count = CSRStorage(32, description="Frames to make; 0: without end.")
        self._generator_seed = CSRStorage(32, description="Seed of the frames' data.")
        self._generator_port_mask = CSRStorage(numbers.CAPTURE_PORT_BITS,
            description="Frame n comes from port n AND this mask, bit by bit.")
        self._generator_made = CSRStatus(32, description="Frames made since the generator began.")

    def add_results(self):
        """Adds the registers in which software reads the capture block's status, its position in
        the ring, and the accounts (counts of frames by port and fate)."""
        self._status = CSRStatus(fields=[
            CSRField("idle", size=1, offset=STATUS["idle"],
                description="The capture block has stopped, and its last write has left the card."),
            CSRField("accounts_busy", size=1, offset=STATUS["accounts_busy"],
                description="Accounts are being copied or cleared."),
            CSRField("generator_idle", size=1, offset=STATUS["generator_idle"],
                description="No frame is being made."),
        ])
        self._position = CSRStatus(64, description="The position in bytes since the start that the "
            "next status line will have. The data may not be in host memory yet, and the value may "
            "change between the reads of its two halves, so software should read the status line.")
        self._account_control = CSRStorage(fields=[
            CSRField("index", size=INDEX_BITS, offset=ACCOUNT_CONTROL["index"],
                description="Port*4 + fate. Fates: 0 delivered, 1 bad, 2 lost because the ring was "
                    "full, 3 lost because the staging memory was full."),
            CSRField("snapshot", size=1, offset=ACCOUNT_CONTROL["snapshot"], pulse=True,
                description="Copy all accounts at one moment."),
        ])
        self._account_frames = CSRStatus(64, description="Frames of the copied account ``index``.")
        self._account_bytes = CSRStatus(64,
            description="Bytes that these frames had at their source.")

    def add_wake(self):
        """Adds the register with which software asks for one interrupt."""
        self._wake = CSRStorage(64, description="A position in bytes since the start. A write "
            "arms one interrupt, which the card sends as soon as it has written a status line "
            "beyond this position, even if it wrote the line before. ``clear`` disarms it.")

    def add_mix(self):
        """Adds the registers of the generator's larger frames. They stand behind all others, whose
        places in the register map stay as they were."""
        for name, reset in (("middle", 594), ("large", 1518)):
            size = CSRStorage(LENGTH_BITS, reset=reset, name=f"generator_{name}_size",
                description=f"Bytes of the {name} frames in a mix: 1 or more.")
            period = CSRStorage(numbers.CAPTURE_PERIOD_BITS, name=f"generator_{name}_period",
                description=f"Time from a {name} frame to the next frame, as in "
                    "``generator_period``.")
            setattr(self, f"_generator_{name}_size", size)
            setattr(self, f"_generator_{name}_period", period)

    def nanoseconds(self, time, cycle_ns):
        """Returns device time in ns. `time` is device time in cycles of `cycle_ns`, a power of two,
        so it is only shifted."""
        shift = log2_int(cycle_ns)
        now   = Signal(len(time))
        self.comb += now.eq(Cat(Replicate(0, shift), time[:len(time) - shift]))
        return now

    def connect_port(self, request, port):
        """Connects the capture block's requests, which have request_layout(), to the master port
        `port`, which has LitePCIe's layout."""
        source = port.source
        self.comb += [
            request.connect(source, keep={"valid", "ready", "last"}),
            source.channel.eq(port.channel),
            source.we.eq(1),
            source.adr.eq(request.address),
            source.len.eq(request.dwords),
            source.whole.eq(request.dwords[10]),
            source.dat.eq(request.data),
            source.with_be.eq(1),
            source.first_be.eq(request.first_be),
            source.last_be.eq(request.last_be),
        ]

# The capture block in the SoC ---------------------------------------------------------------------

def add_capture(soc, count, with_net):
    """Adds the capture block with `count` queues to the SoC, if it is not 0. The block writes to
    host memory through a write-only master port of its own, and has an interrupt cause of its own.
    `with_net`: it can record the frames of a net device.
    """
    if not count:
        return
    soc.capture_queues = CaptureQueues(count) if count > 1 else None
    soc.capture_net    = CaptureNet() if with_net else None
    port = soc.pcie_endpoint.crossbar.get_master_port(write_only=True, told=True)
    soc.capture = Capture(soc.platform, port, soc.device_time.time, soc.player,
        cycle_ns = round(1e9/soc.sys_clk_freq), frames=soc.user.frames, queues=soc.capture_queues,
        net=soc.capture_net)
    soc.busy = soc.busy | soc.capture.busy
    soc.add_interrupts({"CAPTURE": soc.capture.irq})
