# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Bit numbers of the fields of the capture block's registers.

registers.py makes the registers with them. The C header litepcie_capability.h and the programs that
drive the simulated card get them from here, too. This module imports nothing, so that a program
need not load LiteX for it. Rule.scala has the same numbers for the words of a rule, and a test
compares them.
"""

CONTROL           = {"run": 0, "keep_bad": 1, "lossless": 2, "newest": 3, "clear": 8, "seal": 9}
STATUS            = {"idle": 0, "accounts_busy": 1, "generator_idle": 2}
ACCOUNT_CONTROL   = {"index": 0, "snapshot": 31}
QUEUES_CONTROL    = {"sort": 0, "by_port": 1, "rules": 8}
QUEUES_SPREAD     = {"entry": 0, "queue": 8}
GENERATOR_CONTROL = {"run": 0, "mix": 1}
PLAYER_CONTROL    = {"run": 0, "keep_time": 1, "fixed_port": 2, "per_packet": 3, "pace": 4,
    "port": 8}
PLAYER_STATUS     = {"error": 0, "in_block": 8, "idle": 9}

# What becomes of a frame, in the order of the accounts (Accounts.scala).
FATES = ("delivered", "bad", "lost_ring", "lost_staging")
# The words of a rule by their numbers. The word behind `facts` and `kinds` is their mask. Of an
# address the two words have two words of masks behind them.
RULE_WORDS  = {"facts": 0, "kinds": 2, "source": 4, "destination": 8, "source_ports": 12,
    "destination_ports": 13, "lengths": 14, "action": 15}
RULE_FACTS  = {"port": 0, "ipv4": 4, "ipv6": 5, "fragment": 6, "has_ports": 7, "protocol": 8,
    "vlan": 16, "tagged": 28}
RULE_KINDS  = {"ethertype": 0, "tcp_flags": 16}
RULE_RANGE  = {"least": 0, "most": 16}
RULE_ACTION = {"snap": 0, "queue": 16, "has_queue": 20, "discard": 21, "on": 31}
# The values of the player's field `pace`, in the order of PlayerPace.scala.
PACES = ("fast", "recorded", "rate")

def mask(register, *fields):
    """Returns the value of a register in which these fields of one bit are 1 and all others 0."""
    return sum(1 << register[field] for field in fields)
