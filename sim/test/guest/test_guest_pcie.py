# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/pcie.sh, which finds and writes Device Control, on made-up configuration
spaces."""

import os
import random
import subprocess
from pathlib import Path

import pytest

from sim.guest import kernel
from tools.testing.seeds import each_seed

pytestmark = pytest.mark.guest  # nothing is booted, but the guest's busybox must be fetched

SCRIPT = Path(kernel.__file__).with_name("pcie.sh")
SIZES = [128, 256, 512, 1024, 2048, 4096]
EXPRESS, MSI, PM = 0x10, 0x05, 0x01


@pytest.fixture(scope="session")
def busybox():
    return kernel.ensure().busybox


@pytest.fixture
def call(busybox, tmp_path):
    """Return a function that runs a function of pcie.sh with the guest's own shell and tools. It
    gives (exit status, output, errors)."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("dd", "hexdump", "printf"):
        os.symlink(busybox, tools / name)

    def run(*words):
        text = f'. "{SCRIPT}"; "$@"'
        result = subprocess.run(
            [busybox, "sh", "-c", text, "sh", *map(str, words)],
            env={"PATH": str(tools)},
            capture_output=True,
            text=True,
            check=False,
        )
        return result.returncode, result.stdout.strip(), result.stderr.strip()

    return run


def space(path, capabilities, can=512, control=0, rest=0):
    """Write a configuration space whose capabilities (ID, offset) are linked in this order. Other
    bytes are `rest`. Returns the path."""
    data = bytearray([rest] * 256)
    data[0x34] = capabilities[0][1] if capabilities else 0
    for i, (identifier, at) in enumerate(capabilities):
        data[at] = identifier
        data[at + 1] = capabilities[i + 1][1] if i + 1 < len(capabilities) else 0
        if identifier == EXPRESS:
            data[at + 4] = SIZES.index(can) | 0x20
            data[at + 8 : at + 10] = control.to_bytes(2, "little")
    path.write_bytes(data)
    return path


def control_of(path, at):
    return int.from_bytes(path.read_bytes()[at + 8 : at + 10], "little")


@each_seed(3)
def test_both_sizes_are_set_and_no_other_bit(call, tmp_path, seed):
    """program_sizes writes MPS and MRRS and changes no other bit, at any offset of the PCI Express
    capability."""
    rng = random.Random(seed)
    for _ in range(5):
        offsets = rng.sample(range(0x40, 0xE8, 4), 3)
        offsets = [0x40, 0x60, 0x90] if min(_distances(offsets)) < 20 else offsets
        order = rng.sample([PM, MSI, EXPRESS], 3)
        at = offsets[order.index(EXPRESS)]
        mps, mrrs, before = rng.choice(SIZES), rng.choice(SIZES), rng.randrange(1 << 15)
        path = space(
            tmp_path / "config", list(zip(order, offsets)), 4096, before, rng.randrange(256)
        )
        old = path.read_bytes()
        assert call("program_sizes", path, mps, mrrs) == (0, "", "")
        expected = before & ~0x70E0 | SIZES.index(mps) << 5 | SIZES.index(mrrs) << 12
        assert control_of(path, at) == expected
        new = path.read_bytes()
        assert new[: at + 8] + new[at + 10 :] == old[: at + 8] + old[at + 10 :]
        assert call("sizes", path) == (0, f"{mps} {mrrs}", "")


def _distances(offsets):
    ordered = sorted(offsets)
    return [b - a for a, b in zip(ordered, ordered[1:])]


@pytest.mark.parametrize(("can", "asked", "set_to"), [(128, 512, 128), (512, 256, 256)])
def test_no_more_than_the_card_can(call, tmp_path, can, asked, set_to):
    """program_sizes limits the MPS that it sets to that in Device Capabilities. MRRS has no such
    limit."""
    path = space(tmp_path / "config", [(EXPRESS, 0x70)], can)
    assert call("program_sizes", path, asked, 4096)[0] == 0
    assert call("sizes", path)[1] == f"{set_to} 4096"


def test_a_device_without_the_capability_is_refused(call, tmp_path):
    """program_sizes refuses a device without a PCI Express capability, and writes nothing to it."""
    path = space(tmp_path / "config", [(PM, 0x40)])
    old = path.read_bytes()
    status, _, errors = call("program_sizes", path, 256, 512)
    assert status != 0 and "no PCI Express capability" in errors
    assert path.read_bytes() == old


def test_a_list_that_runs_in_a_circle_ends(call, tmp_path):
    """If a device's capability list has a loop, the functions of pcie.sh end with an error, so that
    a broken card does not hang the guest's boot."""
    path = space(tmp_path / "config", [(PM, 0x40), (MSI, 0x48)])
    data = bytearray(path.read_bytes())
    data[0x49] = 0x40
    path.write_bytes(data)
    assert call("program_sizes", path, 256, 512)[0] != 0


def test_a_device_that_is_gone_is_refused(call, tmp_path):
    """program_sizes refuses a device whose configuration space reads as all ones."""
    path = tmp_path / "config"
    path.write_bytes(b"\xff" * 256)
    assert call("program_sizes", path, 256, 512)[0] != 0


def test_an_odd_size_is_refused(call, tmp_path):
    """program_sizes refuses an MPS that is no power of two, with a message that names it."""
    path = space(tmp_path / "config", [(EXPRESS, 0x70)])
    status, _, errors = call("program_sizes", path, 300, 512)
    assert status != 0 and "300" in errors
