# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Fixtures of several tests here: the SPI proxy, the design through which a flash is written."""

import pytest

from bringup.jtag.design import make_platform, write_design
from bringup.jtag.spi_proxy import CONSTRAINTS, SpiProxyDesign
from bringup.test.jtag_bench import build


@pytest.fixture(scope="session")
def design(tmp_path_factory):
    """Return the folder with the proxy's Verilog and constraints."""
    folder = tmp_path_factory.mktemp("proxy")
    write_design(
        SpiProxyDesign(), "spi_proxy", make_platform("xcku5p-ffvb676-2-i"), CONSTRAINTS, folder
    )
    return folder


@pytest.fixture(scope="session")
def library(design, tmp_path_factory):
    """Return the compiled proxy, for Bench."""
    return build(
        design / "gateware" / "spi_proxy.v", "spi_proxy", "", tmp_path_factory.mktemp("bench")
    )
