# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bit numbers of the fields of the capture block's registers.

registers.py makes the registers with them. The C header litepcie_capability.h and the programs that
drive the simulated card get them from here, too. This module imports only numbers, so that a
program need not load LiteX for it. The places in a rule are those of Rule.scala, too."""

from gateware import numbers

CONTROL           = {"run": 0, "keep_bad": 1, "lossless": 2, "newest": 3, "clear": 8, "seal": 9}
STATUS            = {"idle": 0, "accounts_busy": 1, "generator_idle": 2}
ACCOUNT_CONTROL   = {"index": 0, "snapshot": 31}
QUEUES_CONTROL    = {"sort": 0, "by_port": 1, "rules": 8}
NET_CONTROL       = {"on": 0}
QUEUES_SPREAD     = {"entry": 0, "queue": 8}
GENERATOR_CONTROL = {"run": 0, "mix": 1}
PLAYER_CONTROL    = {"run": 0, "keep_time": 1, "fixed_port": 2, "per_packet": 3, "pace": 4,
    "port": 8}
PLAYER_STATUS     = {"error": 0, "in_block": 8, "idle": 9}

# The fates of a frame, in the order of the accounts (Accounts.scala).
FATES = ("delivered", "bad", "lost_ring", "lost_staging")
# The number of the 32-bit word of a rule in which each part of the rule begins. Behind `facts` and
# `kinds` is a word with the mask. Behind the words of an address are as many words with its mask.
RULE_WORDS  = dict(zip(("facts", "kinds", "source", "destination", "source_ports",
    "destination_ports", "lengths", "action"), numbers.CAPTURE_RULE_WORDS))
RULE_FACTS  = dict(zip(("port", "ipv4", "ipv6", "fragment", "has_ports", "protocol", "vlan",
    "tagged"), numbers.CAPTURE_RULE_FACTS))
RULE_KINDS  = dict(zip(("ethertype", "tcp_flags"), numbers.CAPTURE_RULE_KINDS))
RULE_RANGE  = dict(zip(("least", "most"), numbers.CAPTURE_RULE_RANGE))
RULE_ACTION = dict(zip(("snap", "queue", "has_queue", "discard", "on"),
    numbers.CAPTURE_RULE_ACTION))
SEAL = dict(zip(("magic", "queue", "reason", "number", "time", "records", "bytes", "lost_ring",
    "lost_staging"), numbers.CAPTURE_SEAL))
# The values of the player's field `pace`, in the order of PlayerPace.scala.
PACES = ("fast", "recorded", "rate")

def mask(register, *fields):
    """Returns the value of a register in which these fields of one bit are 1 and all others 0."""
    return sum(1 << register[field] for field in fields)
