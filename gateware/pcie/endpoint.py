# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The PCIe endpoint, by name: what turns the PHY's raw TLP streams into requests and completions.

Every choice has the interface of LitePCIeEndpoint (`phy`, `crossbar`, `max_pending_requests`), so
that every LitePCIe front end attaches to any of them.
"""

from litepcie.core import LitePCIeEndpoint

from lanebox.layouts import ADDRESS_WIDTH, READ_TAGS


def _litepcie(phy):
    endpoint = LitePCIeEndpoint(phy,
        max_pending_requests = READ_TAGS,
        address_width        = ADDRESS_WIDTH,
        endianness           = phy.endianness,
    )
    # The endpoint refers to the PHY, so LiteX would map the PHY's registers a second time.
    endpoint.autocsr_exclude = {"phy"}
    return endpoint

ENDPOINTS = {"litepcie": _litepcie}

def check_endpoint(name):
    """A ValueError that lists the endpoints there are, unless `name` is one of them."""
    if name not in ENDPOINTS:
        raise ValueError(f"endpoint {name!r} is unknown: choose one of {', '.join(ENDPOINTS)}")

def make_endpoint(name, phy):
    """The endpoint called `name` on `phy`."""
    check_endpoint(name)
    return ENDPOINTS[name](phy)
