# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The two PCIe endpoints, by name: `lanebox` is this project's, `litepcie` is LitePCIe's. An
endpoint turns the PHY's raw TLP streams into requests and completions.

Both endpoints have the interface of LitePCIeEndpoint (`phy`, `crossbar`, `max_pending_requests`),
so every LitePCIe front end attaches to either of them. Each endpoint also has

    interrupt  stream.Endpoint(msi_layout())   i, MSI messages for the host
    busy       Signal()   o, the endpoint waits for an answer that may never come, so device time
                          must run
    interrupt_sent  Signal()   o, an interrupt message was sent in the cycle before

An MSI counts as sent when the hard block answers `cfg_interrupt_msi_sent`: by PG213 it has then
been transmitted on the link. An MSI-X message is one of the card's writes. It counts as sent when
RQ takes it; after that it still has to pass through the hard block to the link."""

from litepcie.core import LitePCIeEndpoint
from migen import *

from gateware.endpoint.lanebox import LaneboxEndpoint
from gateware.numbers import ADDRESS_WIDTH, STOCK_READ_TAGS


def _litepcie(phy, completion_pool):
    endpoint = LitePCIeEndpoint(phy,
        max_pending_requests = STOCK_READ_TAGS,
        address_width        = ADDRESS_WIDTH,
        endianness           = phy.endianness,
    )
    # LiteX finds the PHY through the endpoint and would map the PHY's registers a second time.
    endpoint.autocsr_exclude = {"phy"}
    # LitePCIe's endpoint sends an MSI at once, so it may overtake data that was written earlier.
    endpoint.interrupt       = phy.msi
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
    """Raises ValueError if no endpoint is called `name`, or if it cannot have `completion_pool`."""
    if completion_pool and name == "litepcie":
        raise ValueError("--completion-pool: LitePCIe's endpoint does not count completions; "
            "leave it out, or build with --endpoint lanebox")
    if name not in ENDPOINTS:
        raise ValueError(f"endpoint {name!r} is unknown: choose one of {', '.join(ENDPOINTS)}")

def make_endpoint(name, phy, completion_pool=False):
    """Returns a new endpoint of the kind `name`, a key of ENDPOINTS, on the PHY `phy`. Raises
    ValueError as check_endpoint() does. LaneboxEndpoint explains `completion_pool`."""
    check_endpoint(name, completion_pool)
    return ENDPOINTS[name](phy, completion_pool)
