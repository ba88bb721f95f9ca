# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tells whether the card has work. In simulation device time advances only while the card has work.
"""

from functools import reduce
from operator import or_

from litex.gen import *
from migen import *


class Activity(LiteXModule):
    """Sets `busy` while any of the given signals is high.

    A free-running counter is not work. TLPs in the hard block's streams are not included here,
    because the simulation sees them itself at the hard block's pins."""
    def __init__(self, *sources):
        self.busy = Signal() # o

        # # #

        self.comb += self.busy.eq(reduce(or_, sources))
