# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Is there work? Device time in simulation advances only while there is."""

from functools import reduce
from operator import or_

from litex.gen import *
from migen import *


class Activity(LiteXModule):
    """`busy` while any of the given signals is.

    Free-running counters are not work. What the hard block's streams hold is seen at the boundary
    itself and is not repeated here.
    """
    def __init__(self, *sources):
        self.busy = Signal() # o

        # # #

        self.comb += self.busy.eq(reduce(or_, sources))
