# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Fixtures of all tests: the seed in the report header, and builds that are made once.

Any pytest that runs inside the clone loads this module, also a pytest in an environment without
Migen. So each fixture imports the modules that it needs by itself.
"""

from unittest import mock

import pytest

from tools.testing.seeds import SHIFT


def pytest_report_header():
    """Return the line with the seed that pytest prints in the header of each run of tests."""
    return f"LANEBOX_SEED={SHIFT} (shifts every test's seeds; set it to repeat or to vary a run)"


@pytest.fixture(autouse=True)
def unnamed_signals(request):
    """Spare Migen the search for a name of each signal, which only Verilog needs.

    The search goes through all frames of the stack and keeps each object that it meets: 6 GB after
    700 designs.
    """
    if not request.node.get_closest_marker("model"):
        yield
        return
    from migen.fhdl import tracer

    with mock.patch.object(tracer, "trace_back", lambda name=None: [(name or "signal", 0)]):
        yield


def build(tmp_path_factory, *options):
    """Build the simulated card's gateware with these options into a new folder.

    Return the folder.
    """
    from tools.testing.repository import run_sim_target

    folder = tmp_path_factory.mktemp("sim")
    result = run_sim_target("--build", *options, "--output-dir", folder, PYTHONHASHSEED="1")
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def sim_build(tmp_path_factory):
    """Return the folder with the default build of the simulated card."""
    return build(tmp_path_factory)


@pytest.fixture(scope="session")
def stock_build(tmp_path_factory):
    """Return the folder with a build of the simulated card that has LitePCIe's endpoint."""
    return build(tmp_path_factory, "--endpoint", "litepcie")


@pytest.fixture(scope="session")
def msix_build(tmp_path_factory):
    """Return the folder with a build of the simulated card that has MSI-X."""
    return build(tmp_path_factory, "--msix")


@pytest.fixture(scope="session")
def built():
    """Return the built C library and litepcie_util, with the csr.json of their gateware."""
    from software.test.software_build import build_software

    return build_software()


@pytest.fixture
def util(built):
    """Return litepcie_util as an object that runs the program."""
    from software.test.software_build import Util

    return Util(built.util)


@pytest.fixture
def tool(built):
    """Return lanebox-capture as an object that runs the program."""
    from software.test.software_build import Util

    return Util(built.capture)


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """Return a stand-in for the machine's sysfs and /dev, which litepcie_util uses in this test."""
    from software.test.standin.sysfs_standin import Machine

    monkeypatch.setenv("LITEPCIE_ROOT", str(tmp_path))
    return Machine(tmp_path)


@pytest.fixture
def card(built, tmp_path):
    """Return a function that makes a stand-in for a card, with faults.

    Use: `with card(flip=("c2h", 3)) as standin:`.
    """
    from software.test.standin.vfio_user_standin import Standin

    def make(**faults):
        return Standin(tmp_path / "s", built.csr_json, **faults)

    return make


@pytest.fixture
def device(tmp_path):
    """Return the name of a simulated card whose socket lies in the test's own folder."""
    return f"sim:{tmp_path / 's'}"
