# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Debian's passt is at the other end of the net device's wire: a network stack that others have
written, which speaks QEMU's framing on its socket and connects the card with this computer.

The test is skipped where passt gets no user namespace, in which it isolates itself.
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

# The messages with which passt ends if the kernel refuses a user namespace, and if the kernel gives
# one without rights, as AppArmor lets it do on Ubuntu.
NO_NAMESPACE = ("Couldn't create user namespace", "Failed to detach isolating namespaces")

OWN, GATEWAY = "10.0.2.15", "10.0.2.2"  # passt's gateway stands for this computer
HEADERS = 28  # bytes of the headers of IP and UDP
DATAGRAMS = 200


def end_without_passt(said):
    """passt has ended at its start, and has `said` why. Skip the test if it got no user namespace,
    and let it fail otherwise."""
    why = f"passt does not start: {said.strip()[-300:]}"
    if any(message in said for message in NO_NAMESPACE):
        pytest.skip(why)
    pytest.fail(why)


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
            log = tmp_path / "log"
            end_without_passt(process.stderr.read() + (log.read_text() if log.exists() else ""))
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


@pytest.mark.soak  # fetches a package
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


@pytest.mark.parametrize(
    "said, skips",
    [
        ("Couldn't create user namespace: Operation not permitted", True),
        ("Failed to detach isolating namespaces: Operation not permitted", True),
        ("UNIX socket bind: Permission denied", False),
        ("", False),
    ],
)
def test_only_missing_user_namespaces_skip_the_test(said, skips):
    """If passt ends because it gets no user namespace, the test is skipped. If it ends for another
    reason, the test fails."""
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception)) as end:
        end_without_passt(f"No routable interface for IPv6\n{said}\n")
    assert isinstance(end.value, pytest.skip.Exception) == skips
