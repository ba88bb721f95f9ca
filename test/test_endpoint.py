# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""pcie/endpoint.py"""

import pytest

from lanebox.pcie.endpoint import ENDPOINTS, check_endpoint, make_endpoint


def test_every_name_is_accepted():
    """The names in the table are those that may be chosen."""
    for name in ENDPOINTS:
        check_endpoint(name)


def test_unknown_name_is_refused():
    """Another name is refused with the names there are, before anything is made."""
    with pytest.raises(ValueError, match="'lightpcie' is unknown: choose one of lanebox, litepcie"):
        make_endpoint("lightpcie", phy=None)


def test_a_pool_is_refused_where_completions_are_not_counted():
    """What would have no effect is an error."""
    check_endpoint("lanebox", completion_pool=True)
    with pytest.raises(ValueError, match="--completion-pool: LitePCIe's endpoint does not count"):
        make_endpoint("litepcie", phy=None, completion_pool=True)
