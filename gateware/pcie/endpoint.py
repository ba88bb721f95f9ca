# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIe endpoint, by name: what turns the PHY's raw TLP streams into requests and completions.

Every choice has the interface of LitePCIeEndpoint (`phy`, `crossbar`, `max_pending_requests`), so
that every LitePCIe front end attaches to any of them, and besides

    interrupt  stream.Endpoint(msi_layout())   i, messages for the host
    busy       Signal()   o, it waits for somebody who may stay silent: device time must run
    interrupt_sent  Signal()   o, a cycle late: the hard block is through with a message

An MSI is through when the block answers `cfg_interrupt_msi_sent`: it has been transmitted on the
link, says PG213. A message of MSI-X is one of the card's writes, and through when RQ takes it, as
every other request is for the counters; the block's own way to the link is behind that.
"""

from litepcie.core import LitePCIeEndpoint
from migen import *

from lanebox.layouts import ADDRESS_WIDTH, STOCK_READ_TAGS
from lanebox.pcie.lanebox import LaneboxEndpoint


def _litepcie(phy, completion_pool):
    endpoint = LitePCIeEndpoint(phy,
        max_pending_requests = STOCK_READ_TAGS,
        address_width        = ADDRESS_WIDTH,
        endianness           = phy.endianness,
    )
    # The endpoint refers to the PHY, so LiteX would map the PHY's registers a second time.
    endpoint.autocsr_exclude = {"phy"}
    endpoint.interrupt       = phy.msi # Beside the data, which it may overtake.
    endpoint.busy            = Signal()
    endpoint.interrupt_sent  = Signal()
    endpoint.sync += endpoint.interrupt_sent.eq(phy.msi.valid & phy.msi.ready)
    return endpoint

def _lanebox(phy, completion_pool):
    endpoint = LaneboxEndpoint(phy, completion_pool)
    endpoint.autocsr_exclude = {"phy"}
    return endpoint

ENDPOINTS = {"lanebox": _lanebox, "litepcie": _litepcie}

def check_endpoint(name, completion_pool=False):
    """A ValueError that lists the endpoints there are, unless `name` is one of them.

    Another one for a `completion_pool` that the endpoint cannot count in.
    """
    if completion_pool and name == "litepcie":
        raise ValueError("--completion-pool: LitePCIe's endpoint does not count completions; "
            "leave it out, or build with --endpoint lanebox")
    if name not in ENDPOINTS:
        raise ValueError(f"endpoint {name!r} is unknown: choose one of {', '.join(ENDPOINTS)}")

def make_endpoint(name, phy, completion_pool=False):
    """The endpoint called `name` on `phy`; `completion_pool`: see LaneboxEndpoint."""
    check_endpoint(name, completion_pool)
    return ENDPOINTS[name](phy, completion_pool)
