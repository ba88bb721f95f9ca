# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIe endpoints, by name. They turn the PHY's raw TLP streams into requests and completions.

Every endpoint has the interface of LitePCIeEndpoint (`phy`, `crossbar`, `max_pending_requests`), so
every LitePCIe front end attaches to any of them. It also has

    interrupt  stream.Endpoint(msi_layout())   i, messages for the host
    busy       Signal()   o, it waits for an answer that may never come: device time must run
    interrupt_sent  Signal()   o, a cycle late: a message has been sent

An MSI has been sent when the block answers `cfg_interrupt_msi_sent`: by PG213 it has then been
transmitted on the link. A message of MSI-X is one of the card's writes. It counts as sent when RQ
takes it, like every other request; the block's own way to the link comes after that.
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
    # LiteX finds the PHY through the endpoint and would map the PHY's registers a second time.
    endpoint.autocsr_exclude = {"phy"}
    endpoint.interrupt       = phy.msi # Not behind a fence: a message may overtake data.
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
    """Raises ValueError unless the endpoint `name` exists; the message lists those that do.

    Also raises ValueError for a `completion_pool` with an endpoint that counts no completion space.
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
