# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Whether there is work. Device time in simulation advances only while there is."""

from functools import reduce
from operator import or_

from litex.gen import *
from migen import *


class Activity(LiteXModule):
    """`busy` while any of the given signals is high.

    Free-running counters are not work. TLPs in the hard block's streams are seen by the simulation
    at the boundary itself, so they are not included here.
    """
    def __init__(self, *sources):
        self.busy = Signal() # o

        # # #

        self.comb += self.busy.eq(reduce(or_, sources))
