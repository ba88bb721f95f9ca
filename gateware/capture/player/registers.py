# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The player in the SoC: its registers, and its place in the h2c stream.

Player.scala has the logic. It is a part of the component CaptureUnit, which registers.py of the
capture block instantiates. So this module only has signals for that component's ports.
"""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.capture.player.h2c_switch import H2cSwitch
from gateware.capture.vocabulary.bits import PLAYER_CONTROL, PLAYER_STATUS

# The values of the field `error`: which rule a block broke. Names and order are those of
# PacketReader.scala, which test_player_errors.py checks.
ERRORS = {
    "none":      "no rule was broken",
    "length":    "the block's length is below 12, or no multiple of 4",
    "lengths":   "the two lengths of the block differ",
    "long":      "the block has 16 MiB or more",
    "endian":    "the section is big endian",
    "section":   "the section's byte-order magic is none",
    "packet":    "the packet reaches beyond its block",
    "too_large": "the packet has 16 KiB or more, or had 64 KiB or more on the wire",
    "no_port":   "there is no port with the number of the interface",
    "stream":    "the host failed to give the bytes of the stream",
}

class Player(LiteXModule):
    """The registers of the player, and the switch that gives it the h2c stream.

    `ports` are the Instance arguments for the component that has the player's logic.
    """
    def __init__(self):
        self.switch = H2cSwitch()

        self.add_settings()
        self.add_results()

        # # #

        stream, control = self.switch.player, self._control.fields
        status, results = self._status.fields, "o_player_results_"
        self.comb += self.switch.to_play.eq(control.run)
        # The host failed to give data of the h2c packet that ends with the present beat.
        failed     = Signal()
        self.comb += failed.eq(stream.last & stream.error)
        self.ports = {
            "i_player_run":                     control.run,
            "i_player_settings_pace_mode":      control.pace,
            "i_player_settings_pace_perPacket": control.per_packet,
            "i_player_settings_pace_rate":      self._rate.storage,
            "i_player_settings_pace_overhead":  self._cost.fields.overhead,
            "i_player_settings_pace_least":     self._cost.fields.least,
            "i_player_settings_fixedPort":      control.fixed_port,
            "i_player_settings_port":           control.port,
            "i_player_settings_keepTime":       control.keep_time,
            "i_stream_valid":                   stream.valid,
            "o_stream_ready":                   stream.ready,
            "i_stream_payload_data":            stream.data,
            "i_stream_payload_failed":          failed,
            "o_playerIdle":                     status.idle,
            f"{results}error":                  status.error,
            f"{results}inBlock":                status.in_block,
            **{f"{results}{name}": getattr(self, f"_{name}").status
                for name in ("passed", "skipped", "empty", "packets", "bytes", "begun", "ended")},
        }

    def add_settings(self):
        """Adds the registers with which software starts the player and sets its pace."""
        self._control = CSRStorage(fields=[
            CSRField("run", size=1, offset=PLAYER_CONTROL["run"],
                description="Take the h2c stream from the user slot, and play it. Setting this bit "
                    "clears all results. It may be set only while ``idle`` is 1."),
            CSRField("keep_time", size=1, offset=PLAYER_CONTROL["keep_time"],
                description="Frames have their recorded times. Otherwise they have the times at "
                    "which they are played."),
            CSRField("fixed_port", size=1, offset=PLAYER_CONTROL["fixed_port"],
                description="All frames have the port ``port``. Otherwise a frame's port is the "
                    "number of its interface in the pcapng file."),
            CSRField("per_packet", size=1, offset=PLAYER_CONTROL["per_packet"],
                description="A frame costs ``overhead`` bytes, whatever its length."),
            CSRField("pace", size=2, offset=PLAYER_CONTROL["pace"],
                description="0: as fast as frames are taken; 1: at the recorded distances; 2: at "
                    "``rate``."),
            CSRField("port", size=numbers.CAPTURE_PORT_BITS, offset=PLAYER_CONTROL["port"],
                description="Port of all frames if ``fixed_port`` is set."),
        ])
        self._rate = CSRStorage(numbers.PLAYER_RATE_BITS, description="The rate of frames with "
            f"``pace`` 2, in 1/{1 << numbers.PLAYER_FRACTION_BITS} byte a cycle. What a frame "
            "costs in bytes is set by ``cost``.")
        self._cost = CSRStorage(fields=[
            CSRField("overhead", size=numbers.PLAYER_COST_BITS, offset=0,
                description="Bytes by which a frame costs more than it has."),
            CSRField("least", size=numbers.PLAYER_COST_BITS, offset=8,
                description="A frame of fewer bytes costs this many bytes and the overhead."),
        ])

    def add_results(self):
        """Adds the registers that say what the player has played, and why it has stopped."""
        self._status = CSRStatus(fields=[
            CSRField("error", size=4, offset=PLAYER_STATUS["error"],
                description="Why the player has stopped, 0 if it has not: " + "; ".join(
                    f"{n}: {text}" for n, text in enumerate(ERRORS.values()) if n) + "."),
            CSRField("in_block", size=1, offset=PLAYER_STATUS["in_block"],
                description="The beats that have come so far end inside a pcapng block."),
            CSRField("idle", size=1, offset=PLAYER_STATUS["idle"],
                description="No frame is leaving."),
        ])
        self._packets = CSRStatus(48, description="Frames that the player has begun.")
        self._bytes   = CSRStatus(48, description="Bytes of these frames.")
        self._passed  = CSRStatus(32,
            description="Pcapng blocks of any type that came whole and broke no rule.")
        self._skipped = CSRStatus(32,
            description="Blocks counted in ``passed`` that hold no packet.")
        self._empty   = CSRStatus(32,
            description="Blocks counted in ``passed`` whose packet has no bytes, so no frame.")
        self._begun   = CSRStatus(64, description="Device time of the first frame, in ns.")
        self._ended   = CSRStatus(64, description="Device time of the last frame's end, in ns.")

# The player in the SoC ----------------------------------------------------------------------------

def add_player(soc):
    """Adds the player's registers to the SoC. Returns the stream that takes h2c data for the player
    and for the user slot."""
    soc.player = Player()
    soc.comb  += soc.player.switch.slot.connect(soc.user.sink)
    return soc.player.switch.sink
