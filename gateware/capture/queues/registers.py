# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The registers of a capture block with several queues: the rules, the table that spreads frames
over queues, and the choice of the queue that the registers of capture/registers.py show.

CaptureQueues.scala has the logic. It is a part of the component CaptureUnit, which registers.py of
the capture block instantiates. So this module only has signals for that component's ports.
"""

from litex.gen import *
from litex.soc.interconnect.csr import *
from migen import *

from gateware import numbers
from gateware.capture.vocabulary.bits import QUEUES_CONTROL, QUEUES_SPREAD

QUEUE_BITS = numbers.CAPTURE_QUEUE_BITS
RULE_BITS  = numbers.CAPTURE_RULE_BITS
WORD_BITS  = numbers.CAPTURE_WORD_BITS

class CaptureQueues(LiteXModule):
    """The registers of `count` queues, beside those of the capture block for one queue."""
    def __init__(self, count):
        self.count = count

        self._select = CSRStorage(QUEUE_BITS,
            description="Queue to which the capture block's registers ``limit``, ``wake``, "
                "``status_base``, ``last_segment``, ``segment_index``, ``position``, the accounts "
                "and ``control.seal`` belong, and the register ``quota``.")
        self.add_rules()
        self.add_discards()
        self.add_quota()

    def add_rules(self):
        """Adds the registers with which software writes rules, and how frames are spread."""
        self._control = CSRStorage(fields=[
            CSRField("sort", size=1, offset=QUEUES_CONTROL["sort"],
                description="Choose the queue of each frame by the rules and the table of "
                    "``spread``. Otherwise all frames go to queue 0. This bit must stay the same "
                    "while frames are taken."),
            CSRField("by_port", size=1, offset=QUEUES_CONTROL["by_port"],
                description="The number of a frame's entry in the table of ``spread`` is the "
                    "frame's port. Otherwise it is the hash of its addresses and ports, modulo "
                    "128."),
            CSRField("rules", size=RULE_BITS + 1, offset=QUEUES_CONTROL["rules"],
                description="Rules in use, from rule 0 on: 0 to 16."),
        ])
        self._rule_data = CSRStorage(32, description="A 32-bit word of a rule (Rule.scala).")
        self._rule_index = CSRStorage(RULE_BITS + WORD_BITS,
            description="Writing rule*16 + word sets this word of this rule to ``rule_data``.")
        self._spread = CSRStorage(fields=[
            CSRField("entry", size=numbers.CAPTURE_SPREAD_BITS, offset=QUEUES_SPREAD["entry"],
                description="Number of the entry of the table that the write sets."),
            CSRField("queue", size=QUEUE_BITS, offset=QUEUES_SPREAD["queue"],
                description="Queue that the frames of this entry go to."),
        ])

    def add_discards(self):
        """Adds the registers in which software reads how many frames the rules have discarded."""
        self._discard_index = CSRStorage(1 + numbers.CAPTURE_PORT_BITS,
            description="Account to show: 0 to 15 is that of a rule, 16 to 31 that of a port.")
        self._discard_frames = CSRStatus(64,
            description="Discarded frames of the account, as the last snapshot copied them.")
        self._discard_bytes = CSRStatus(64,
            description="Bytes that these frames had at their source.")

    def add_quota(self):
        """Adds the register of quotas. It stands behind all others, which keep their places in the
        register map."""
        self._quota = CSRStorage(bits_for(numbers.CAPTURE_CELLS),
            reset       = numbers.CAPTURE_CELLS//self.count,
            description = "A write lets the queue ``select`` have so many cells of 4 KiB of the "
                "staging memory in use at once, from now on: "
                f"{numbers.CAPTURE_QUOTA_LEAST} to {numbers.CAPTURE_CELLS}. Other values have no "
                "effect. A queue that has more in use gets none until enough have been written to "
                "its ring. If the quotas are more together than the memory has, the queues share "
                "it as frames come. At reset each queue has an equal part.")

    def ports(self, capture):
        """Returns the Instance arguments for the component that has the logic. `capture` has the
        registers of one queue.
        """
        control, word = self._control.fields, self._rule_index.storage
        return {
            "i_sort_select":              self._select.storage,
            "i_sort_statusWritten":       capture._status_base.re,
            "i_sort_lastWritten":         capture._last_segment.re,
            "i_sort_quota_valid":         self._quota.re,
            "i_sort_quota_payload":       self._quota.storage,
            "i_sort_sorts":               control.sort,
            "i_sort_byPort":              control.by_port,
            "i_sort_count":               control.rules,
            "i_sort_rule_valid":          self._rule_index.re,
            "i_sort_rule_payload_rule":   word[WORD_BITS:],
            "i_sort_rule_payload_word":   word[:WORD_BITS],
            "i_sort_rule_payload_data":   self._rule_data.storage,
            "i_sort_spread_valid":        self._spread.re,
            "i_sort_spread_payload_entry": self._spread.fields.entry,
            "i_sort_spread_payload_queue": self._spread.fields.queue,
            "i_sort_index":               self._discard_index.storage,
            "o_sort_discarded_frames":    self._discard_frames.status,
            "o_sort_discarded_bytes":     self._discard_bytes.status,
        }
