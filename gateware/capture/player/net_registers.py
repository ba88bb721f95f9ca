# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The registers of the copies of a net device's frames, which the capture block records.

NetFrames.scala has the logic. It is a part of the component CaptureUnit, which registers.py of the
capture block instantiates. So this module only has signals for that component's ports.
"""

from litex.gen import *
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.capture.vocabulary.bits import NET_CONTROL
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_ports import flow_ports


class CaptureNet(LiteXModule):
    """The registers, and two streams whose beats are copied when they are taken.

    A beat of `received` or `sent` is copied in each cycle in which its `valid` is 1. `ready` is
    not used. `ports` are the Instance arguments for the component that has the logic.
    """
    def __init__(self):
        self.received = stream.Endpoint(layouts.frame_layout()) # i
        self.sent     = stream.Endpoint(layouts.frame_layout()) # i

        self._control = CSRStorage(fields=[
            CSRField("on", size=1, offset=NET_CONTROL["on"],
                description="Copy the net device's frames, received and sent, to the capture "
                    f"block, as frames of port {numbers.CAPTURE_NET_PORT}."),
        ])
        self._lost = CSRStatus(32, description="Frames of the net device that were not copied for "
            "want of room since ``on`` was last set.")

        # # #

        self.ports = {
            "i_net_on":   self._control.fields.on,
            "o_net_lost": self._lost.status,
            **flow_ports("net_received", self.received, "sink"),
            **flow_ports("net_sent", self.sent, "sink"),
        }

    def copy(self, virtio):
        """Returns the statements that copy the frames of the virtio devices' net device."""
        statements = []
        for copy, passing in ((self.received, virtio.c2h), (self.sent, virtio.h2c)):
            statements += [
                passing.connect(copy, omit={"valid", "ready"}),
                copy.valid.eq(passing.valid & passing.ready),
            ]
        return statements
