# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's passt is at the other end of the net device's wire: a network stack that others have
written, which speaks QEMU's framing on its socket and connects the card with this computer.

The test is skipped where passt does not start: it needs user namespaces.
"""

import json
import random
import socket
import subprocess
import threading
from pathlib import Path

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import ARP, Ether

from gateware.numbers import VIRTIO_MAC, VIRTIO_MTU
from sim import artefacts
from sim.endpoints import DEFAULT
from sim.guest import mirror, packages, wire
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards
from sim.test.port.net_driver import NetDriver
from tools.testing.seeds import SHIFT

pytestmark = pytest.mark.soak  # fetches a package

OWN, GATEWAY = "10.0.2.15", "10.0.2.2"  # passt's gateway stands for this computer
HEADERS = 28  # bytes of the headers of IP and UDP
DATAGRAMS = 200


@pytest.fixture
def passt(tmp_path):
    """Start passt. Returns the path of its socket."""
    directory = packages.BUILD / "passt" / mirror.suite()
    if not packages.manifest(directory):
        packages.unpack(
            directory, "passt", mirror.sources(), lambda archive: archive.plan_exact(["passt"])
        )
    path = Path("/tmp") / f"lanebox-passt-{random.SystemRandom().randrange(1 << 32):x}"
    program = directory / "root" / "usr" / "bin" / "passt"
    options = ["-f", "-4", "-a", OWN, "-n", "24", "-g", GATEWAY, "-s", path, "-l", tmp_path / "log"]
    process = subprocess.Popen([program, *options], stderr=subprocess.PIPE, text=True)
    try:
        wait_until(lambda: path.exists() or process.poll() is not None, "passt")
        if process.poll() is not None:
            pytest.skip(f"passt does not start: {process.stderr.read().strip()[-300:]}")
        yield path
    finally:
        process.kill()
        process.wait()
        path.unlink(missing_ok=True)


@pytest.fixture
def echo():
    """Start a server on this computer that sends each datagram back. Returns its port."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))

        def serve():
            while True:
                data, sender = server.recvfrom(65536)
                if not data:
                    return
                server.sendto(data, sender)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
            end.sendto(b"", server.getsockname())
        thread.join()


@pytest.fixture
def card(passt, tmp_path):
    """Return the net device of a card whose wire is connected with passt."""
    built = artefacts.build(DEFAULT, virtio=True, port="wire")
    csr = json.loads((built.gateware / "csr.json").read_text())
    boards = started_boards(built.board, csr, tmp_path)
    with next(boards)("--seed", SHIFT + 1, "--wire", f"connect:{passt}") as board:
        wait_until(lambda: board.stats()["wire"]["peer"] == 1, "the peer")
        driver = NetDriver(board.card())
        yield driver
        driver.close()


def answers(card, kind):
    """Wait for frames with a packet of this kind. Yields these packets, with all inside of them."""
    while True:
        for frame in card.receive(1):
            packet = Ether(frame)
            if kind in packet:
                yield packet


def test_datagrams_pass_the_wire_to_this_computer_and_back(card, echo):
    """The gateway's address is resolved by ARP. Datagrams of all sizes up to the MTU go from the
    card through passt to a server on this computer, and each comes back unchanged."""
    own = wire.mac(VIRTIO_MAC)
    card.send(
        bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=own) / ARP(hwsrc=own, psrc=OWN, pdst=GATEWAY))
    )
    found = next(answers(card, ARP))
    assert found[ARP].psrc == GATEWAY and found[ARP].hwdst == own
    source = random.Random(SHIFT)
    head = (
        Ether(dst=found[ARP].hwsrc, src=own)
        / IP(src=OWN, dst=GATEWAY)
        / UDP(sport=4000, dport=echo)
    )
    back = answers(card, UDP)
    for _ in range(DATAGRAMS):
        data = source.randbytes(source.randint(1, VIRTIO_MTU - HEADERS))
        card.send(bytes(head / data))
        answer = next(back)[UDP]
        assert (answer.sport, answer.dport) == (echo, 4000)
        assert bytes(answer.payload)[: answer.len - 8] == data
