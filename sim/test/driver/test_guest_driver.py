# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/driver.py, which builds our driver and LitePCIe's for a guest. It names a
module's folder by a hash of what the module is built from."""

import re
from pathlib import Path

import pytest

from sim.guest import SetupError, driver, packages
from sim.guest.kernel import Kernel
from tools.progress import StepError


@pytest.fixture
def headers(tmp_path):
    folder = tmp_path / "include"
    folder.mkdir()
    for name in driver.GENERATED:
        (folder / name).write_text(f"/* {name} */\n")
    return folder


@pytest.fixture
def kernel(tmp_path):
    """Return a kernel whose headers are one Makefile that makes an empty module, so that a test
    fetches nothing."""
    tree = tmp_path / "linux"
    tree.mkdir()
    (tree / "Makefile").write_text(
        "modules:\n\ttest -f $(M)/main.c && grep -q main.o $(M)/Kbuild && "
        "printf 'int x;' | $(CC) -x c -c - -o $(M)/litepcie.ko\n"
    )
    return Kernel("6.1.0-test", "1", tree, tree, tree)


@pytest.fixture(autouse=True)
def build_below_tmp(monkeypatch, tmp_path):
    for module in (driver, packages):
        monkeypatch.setattr(module, "BUILD", tmp_path / "build")


def test_our_module_is_the_whole_folder():
    """Our module is built from the sources that Kbuild names and from all headers of the driver's
    folder, and from nothing else."""
    files = driver.our_inputs()
    modules = {"litepcie.o", "litepcie_virtio.o"}
    objects = set(re.findall(r"\b\w+\.o\b", files["Kbuild"].read_text())) - modules
    assert {f"{Path(name).stem}.o" for name in files if name.endswith(".c")} == objects
    assert {"card.h", "compat.h", "uapi/litepcie.h", "uapi/litepcie_capability.h"} <= set(files)


def test_our_module_needs_no_headers_of_the_gateware(kernel, tmp_path):
    """Our module is built without the gateware's header csr.h, since one binary of the driver works
    with every build of the gateware."""
    assert driver.ensure(kernel, tmp_path / "nowhere").is_file()


def test_an_unknown_driver_is_refused(kernel, headers):
    """driver.ensure() refuses an unknown driver with a list of the known ones."""
    with pytest.raises(SetupError, match="DRIVER=xdma: choose one of lanebox, stock"):
        driver.ensure(kernel, headers, "xdma")


def test_kernel_versions_are_asked_for_in_one_place():
    """Of the files of our driver only compat.h and compat_virtio.h test the kernel's version. No
    file has a register address of the gateware."""
    for name, path in driver.our_inputs().items():
        text = path.read_text()
        asks = Path(name).stem in ("compat", "compat_virtio")
        assert ("LINUX_VERSION_CODE" in text) == asks, name
        assert "CSR_" not in text, name


def test_the_stock_sources_are_litepcie_s_own(headers):
    """The sources of LitePCIe's driver are read from the installed LitePCIe package. None of them
    is a copy of ours."""
    files = driver.stock_inputs(headers)
    assert {path.parent for name, path in files.items() if name in driver.SOURCES} == {
        driver.source_directory()
    }
    assert "site-packages" in str(driver.source_directory())
    assert b"litepcie_pci_probe" in files["main.c"].read_bytes()


def test_missing_headers_say_how_to_make_them(tmp_path):
    """If the gateware's headers are missing, which LitePCIe's driver needs, the error names the
    file and the command that makes it."""
    with pytest.raises(SetupError, match=r"csr\.h is missing.*targets/sim\.py --build"):
        driver.stock_inputs(tmp_path / "nowhere")


def test_a_module_is_built_once(monkeypatch, headers, kernel):
    """driver.ensure() builds a module once for the same content. Our driver and LitePCIe's are two
    modules."""
    modules = [driver.ensure(kernel, headers, name) for name in driver.DRIVERS]
    assert all(module.is_file() for module in modules)
    assert len(set(modules)) == len(modules)
    monkeypatch.setattr(driver, "build", None)
    assert [driver.ensure(kernel, headers, name) for name in driver.DRIVERS] == modules


def test_another_register_map_is_another_module(headers, kernel):
    """Another header, kernel or compiler gives the module another hash, so that it is built
    anew."""
    files = driver.stock_inputs(headers)
    names = {driver.content_hash(files, kernel, "gcc")}
    (headers / "csr.h").write_text("/* moved */\n")
    names.add(driver.content_hash(files, kernel, "gcc"))
    other = Kernel("6.1.0-test", "2", Path(), kernel.headers, Path())
    names.add(driver.content_hash(files, other, "gcc"))
    names.add(driver.content_hash(files, kernel, "/usr/bin/gcc"))
    assert len(names) == 4


def test_a_failed_build_leaves_no_module(headers, kernel):
    """If a module's build fails, the error has the compiler's output, and no module is left. So the
    next call builds again."""
    (kernel.headers / "Makefile").write_text("modules:\n\t@echo no such register; exit 1\n")
    with pytest.raises(StepError, match="no such register"):
        driver.ensure(kernel, headers)
    assert not list((packages.BUILD / "driver").rglob("litepcie.ko"))
    assert not list((packages.BUILD / "driver").glob(".build.*"))


def test_what_the_caller_s_make_exports_does_not_reach_kbuild(monkeypatch, headers, kernel):
    """`make sim KERNEL=6.12 V=1` exports the variables KERNEL and V. They do not reach the make
    that builds the driver."""
    (kernel.headers / "Makefile").write_text(
        'modules:\n\t@test -z "$(KERNEL)$(V)" || { echo leaked; exit 1; }\n'
        "\tprintf 'int x;' | $(CC) -x c -c - -o $(M)/litepcie.ko\n"
    )
    monkeypatch.setenv("KERNEL", "6.12")
    monkeypatch.setenv("V", "1")
    assert driver.ensure(kernel, headers).is_file()
