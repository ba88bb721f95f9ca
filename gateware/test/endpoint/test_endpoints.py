# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of endpoint/endpoints.py, which makes the endpoint that `--endpoint` names."""

import pytest

from gateware.endpoint.endpoints import ENDPOINTS, check_endpoint, make_endpoint


def test_every_name_is_accepted():
    """check_endpoint() accepts each name in ENDPOINTS."""
    for name in ENDPOINTS:
        check_endpoint(name)


def test_unknown_name_is_refused():
    """An unknown name for `--endpoint` is refused with a list of the known names."""
    with pytest.raises(ValueError, match="'lightpcie' is unknown: choose one of lanebox, litepcie"):
        make_endpoint("lightpcie", phy=None)


def test_a_pool_is_refused_where_completions_are_not_counted():
    """`--completion-pool` is refused with LitePCIe's endpoint, where it would have no effect."""
    check_endpoint("lanebox", completion_pool=True)
    with pytest.raises(ValueError, match="--completion-pool: LitePCIe's endpoint does not count"):
        make_endpoint("litepcie", phy=None, completion_pool=True)
