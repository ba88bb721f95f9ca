# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""pcie/endpoint.py"""

import pytest

from lanebox.pcie.endpoint import ENDPOINTS, check_endpoint, make_endpoint


def test_every_name_is_accepted():
    """Each name in ENDPOINTS may be chosen."""
    for name in ENDPOINTS:
        check_endpoint(name)


def test_unknown_name_is_refused():
    """An unknown name is refused with a list of the names, before any gateware is made."""
    with pytest.raises(ValueError, match="'lightpcie' is unknown: choose one of lanebox, litepcie"):
        make_endpoint("lightpcie", phy=None)


def test_a_pool_is_refused_where_completions_are_not_counted():
    """LitePCIe's endpoint refuses --completion-pool, which would have no effect there."""
    check_endpoint("lanebox", completion_pool=True)
    with pytest.raises(ValueError, match="--completion-pool: LitePCIe's endpoint does not count"):
        make_endpoint("litepcie", phy=None, completion_pool=True)
