# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of `make sim VIRTIO=1`, `make shell VIRTIO=1` and `make bench VIRTIO=1`: Debian's
virtio_console drives the simulated card."""

import json
import os
import re
import subprocess
import sys

import pytest

from sim.errors import TestFailed
from sim.guest import kernel, run
from sim.guest import virtio as guest_virtio
from sim.rows import results
from sim.rows.virtio import guest
from sim.test.guest.guest_terminal import shell
from sim.test.virtio.virtio_card import VirtioCard
from tools.testing.repository import ROOT

SECONDS = 600


def sim(*arguments, module="sim.run"):
    """Run a Python module of sim/ as the Makefile runs it."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=SECONDS)


@pytest.mark.guest
@pytest.mark.parametrize(
    "msix",
    # The card with MSI-X must be built first, which takes minutes.
    [(), pytest.param(("--msix",), marks=pytest.mark.soak)],
    ids=["msi", "msix"],
)
def test_the_console_echoes_in_a_guest_and_the_table_follows(results_kept, msix):
    """16 KiB that a program in the guest writes to the console come back unchanged, with MSI and
    with MSI-X. iperf3 carries its bytes through card and wire. The results have these rows, and
    those that the card's clock has measured."""
    done = sim("--virtio", *msix)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert re.search(rf"virtio/console +{guest.BYTES:,} +bytes", done.stdout), done.stdout
    rows = {entry["id"]: entry for entry in results.load()}
    assert rows["virtio/console"]["violations"] == 0
    assert rows["virtio/pings"]["value"] == guest.PINGS
    for name in guest.TRANSFERS:
        assert rows[f"virtio/iperf3/{name}"]["value"] >= guest.IPERF3_BYTES // 2
    assert {"virtio/reads/split", "virtio/reads/notify", "virtio/own/64"} <= rows.keys()


@pytest.mark.guest
def test_a_net_device_is_pinged():
    """If the card has a net device beside the console, the commands of `make sim VIRTIO=1` ping it,
    and count the answers. The card of this test is VirtioCard, a program with both devices."""
    files = guest_virtio.files(kernel.ensure())
    with VirtioCard() as card:
        result = run.run_guest(card.socket, guest.COMMANDS, files, timeout=SECONDS)
    assert result.rc == 0, result.console[-3000:]
    assert int(result.files["console"]) == guest.BYTES
    assert int(result.files["pings"]) == guest.PINGS


@pytest.mark.guest
def test_a_shell_has_the_console():
    """In the guest of `make shell VIRTIO=1` a line that is sent to the card's console by the
    command virtio_console comes back."""
    keys = "echo tworoundtrips | virtio_console | tr a-z A-Z\nexit\n"
    command = [sys.executable, "-m", "sim.run", "--shell", "--virtio"]
    text = shell(command, keys, ROOT, {**os.environ}, SECONDS)
    assert "TWOROUNDTRIPS" in text and guest_virtio.HINT.split("\n")[1] in text


def test_the_bench_prints_the_seed_s_table(results_kept):
    """`make bench VIRTIO=1` prints the round trip times of virtio messages beside those of a paper:
    a line for each message size, and what differs between the two measurements. The table of rows
    has the frames at line rate, too."""
    done = sim("--echoes", "5", "--frames", "500", module="sim.virtio")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    for size in (64, 128, 256, 512, 1024):
        assert re.search(
            rf"^ *{size} +\d+\.\d\d( +\d+\.\d\d +\d+\.\d +\d+\.\d){{3}}$", done.stdout, re.M
        )
    for order in ("", "/last"):
        assert re.search(rf"^virtio/line/10g/64{order} +0 +frames lost", done.stdout, re.M)
    assert "to be looked at in build/report.html" in done.stdout
    assert "Fedora 37" in done.stdout


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--endpoint", "litepcie"], "the endpoint litepcie has no byte enables"),
        (["--driver", "stock"], "the driver stock has no transport"),
        (["--example", "scale"], "it takes no EXAMPLE"),
        (["--pcap", "x.pcapng"], "it takes no VIRTIO"),
    ],
)
def test_options_that_cannot_go_together_are_named(arguments, words):
    """An option that cannot go with VIRTIO=1 is refused with a sentence, before anything is
    built."""
    done = sim("--virtio", *arguments)
    assert done.returncode == 2 and words in done.stderr, done.stderr


def test_a_transfer_without_a_datagram_fails_with_a_sentence():
    """If iperf3 counted no datagram, transfer() raises TestFailed with the transfer's name."""
    text = json.dumps({"end": {"sum": {"bytes": 0, "packets": 0, "lost_packets": 0}}})
    with pytest.raises(TestFailed, match="iperf3 udp/h2c: no datagram was counted"):
        guest.transfer("udp/h2c", text.encode(), 0)
