# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Two crates that others have written. `virtio-drivers` drives the card's console: a second driver,
for other devices, which takes neither ACCESS_PLATFORM nor NOTIFICATION_DATA. `virtio-queue` is the
device's side of a queue, with which the driver's side that the SpinalHDL tests use is compared.

The tests are skipped on machines without cargo 1.85, since Debian 12 has none. cargo fetches the
crates from its registry.
"""

import mmap
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from sim import artefacts
from sim.clients.virtio import MEMORY
from sim.endpoints import DEFAULT
from sim.rows.measure import Conditions
from sim.rows.peer import Bar
from tools.testing.repository import ROOT
from tools.testing.scala_program import run_scala
from tools.testing.seeds import SHIFT

CRATE = Path(__file__).resolve().parent / "virtio_crate"
TARGET = ROOT / "build" / "virtio_crate"
RUST = (1, 85)
PAGES = 256  # pages of memory that the card and the Rust crate share
BUILD_SECONDS, SECONDS = 900, 300
CHAINS = 50_000  # that DriverQueue.scala passes to the crate
# The pattern of sizes in main.rs, which begins anew after this many messages.
ROUND, ROUND_BYTES = 8, 1 + 3 + 64 + 255 + 1024 + 1500 + 4095 + 4096


def cargo() -> tuple[int, ...]:
    """Return cargo's version, or () if there is none."""
    if not shutil.which("cargo"):
        return ()
    said = subprocess.run(["cargo", "--version"], capture_output=True, text=True).stdout
    return tuple(map(int, re.findall(r"\d+", said)[:2]))


pytestmark = [
    # The crate is fetched and compiled, which takes a minute.
    pytest.mark.soak,
    pytest.mark.skipif(cargo() < RUST, reason="cargo 1.85 is not on this machine"),
]


@pytest.fixture(scope="module")
def programs():
    """Return the folder of the two Rust programs, virtio_crate and ring_reference."""
    command = ["cargo", "build", "--locked", "--quiet", "--target-dir", TARGET]
    done = subprocess.run(command, cwd=CRATE, capture_output=True, text=True, timeout=BUILD_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    return TARGET / "debug"


def serve(bar, page, process):
    """Make the register accesses that the program asks for, until it ends. Returns its other
    lines."""
    said = []
    for line in process.stdout:
        word, *values = line.split()
        if word not in ("r", "w"):
            said.append(line.strip())
            continue
        address = page + int(values[0])
        if word == "r":
            answer = int.from_bytes(bar.client.read(0, address, 4), "little")
        else:
            answer = 0
            bar.client.write(0, address, int(values[1]).to_bytes(4, "little"))
        process.stdin.write(f"{answer}\n")
        process.stdin.flush()
    return said


@pytest.mark.parametrize("options", [(), ("--stall", "30")], ids=["plain", "stalls"])
def test_the_crate_gets_back_every_byte_it_sends(programs, options):
    """Messages of 1 to 4096 bytes come back through the crate's own queues, and the configuration
    says 80 columns and 25 rows. The card reaches no memory that is not mapped."""
    built = artefacts.build(DEFAULT, virtio=True)
    at = Conditions(seed=SHIFT + 1)
    with Bar(built.board, built.gateware / "csr.json", at, list(options)) as bar:
        descriptor = os.memfd_create("lanebox-crate")
        os.ftruncate(descriptor, PAGES * mmap.PAGESIZE)
        bar.client.map(MEMORY, PAGES * mmap.PAGESIZE, descriptor)
        process = subprocess.Popen(
            [programs / "virtio_crate", *map(str, (descriptor, PAGES, MEMORY, 3 * ROUND))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            pass_fds=[descriptor],
        )
        said = serve(bar, bar.csr["constants"]["virtio_console_base"], process)
        assert process.wait(SECONDS) == 0, process.stderr.read()[-2000:]
        os.close(descriptor)
        stats = bar.board.stats()
    assert said == ["columns 80 rows 25", f"echoed {3 * ROUND_BYTES}"]
    assert stats["unmapped"] == 0 and not any(stats["violations"].values())


@pytest.mark.spinal
def test_the_driver_of_the_spinal_tests_agrees_with_the_crate(programs, tmp_path):
    """DriverQueue.scala passes random chains to the crate virtio-queue, and takes back what it has
    used. The crate finds each buffer of each chain, and both agree on every used element,
    notification and interrupt."""
    arguments = (programs / "ring_reference", CHAINS)
    said = run_scala("lanebox.virtio.RingReference", *arguments, folder=tmp_path, seconds=SECONDS)
    print(said)
    assert int(said.split()[0]) >= CHAINS
