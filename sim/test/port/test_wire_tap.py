# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/tap.py connects the net device's wire with a TAP interface, behind which is the network stack
of this computer's kernel.

The interface is in a network namespace of its own, which an ordinary user may make. The tests that
need one are skipped where the kernel does not allow that, or has no TAP.
"""

import errno
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.l2 import ARP, Ether

from gateware.numbers import VIRTIO_MAC, VIRTIO_MTU
from sim import artefacts, tap
from sim.endpoints import DEFAULT
from sim.errors import SimError
from sim.guest import wire
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards
from sim.test.port.net_driver import NetDriver
from sim.test.port.wire_ends import End
from tools.testing.seeds import SHIFT

ROOT = Path(__file__).resolve().parents[3]
HOST, CARD = "10.0.9.1", "10.0.9.2"  # addresses of the interface and of the card
PORT, PINGS, DATAGRAMS = 4000, 20, 20
HEADERS = 28  # bytes of the headers of IP and UDP
SECONDS = 60
# Namespaces of an ordinary user. All processes in them end with unshare.
NAMESPACE = ("unshare", "-Urnp", "--kill-child")
MAKE = "ip tuntap add mode tap name tap0"
# A shell function that waits until a program uses the interface, which has a carrier then.
ATTACHED = "attached() { until ip link show tap0 | grep -q LOWER_UP; do sleep 0.1; done; }"
# The messages of `unshare` and `ip` if the kernel refuses a user namespace, if it gives one without
# rights, as AppArmor lets it do on Ubuntu, and if it has no TAP or this user may not use it.
MISSING = (
    "unshare failed: Operation not permitted",
    "write failed /proc/self/uid_map: Operation not permitted",
    "ioctl(TUNSETIFF): Operation not permitted",
    "open: No such file or directory",
    "open: No such device",
    "open: Permission denied",
)
# A program beside the interface that sends datagrams to the card and checks that each comes back.
CLIENT = f"""
import random, socket
source = random.Random({SHIFT})
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as end:
    end.settimeout({SECONDS})
    end.connect(("{CARD}", {PORT}))
    for _ in range({DATAGRAMS}):
        data = source.randbytes(source.randint(1, {VIRTIO_MTU - HEADERS}))
        end.send(data)
        assert end.recv(65536) == data
"""


def end_without_tap(said):
    """No TAP interface could be made, and `said` tells why. Skip the test if this kernel does not
    let its user make one, and let it fail otherwise."""
    why = f"no TAP interface in a user namespace: {said.strip()[-300:]}"
    if any(message in said for message in MISSING):
        pytest.skip(why)
    pytest.fail(why)


@pytest.fixture(scope="module")
def tap_works():
    for program in (NAMESPACE[0], "ip"):
        if not shutil.which(program):
            pytest.skip(f"this computer has no program {program}")
    done = subprocess.run([*NAMESPACE, "sh", "-c", MAKE], capture_output=True, text=True)
    if done.returncode:
        end_without_tap(done.stderr)


@pytest.fixture
def beside(tap_works):
    """Return a function that runs shell commands in a new network namespace with the TAP interface
    tap0. It returns their process. In the commands, `$tap` is the program sim.tap, and `attached`
    waits until it uses tap0."""
    up = f"ip addr add {HOST}/24 dev tap0; ip link set tap0 up; tap='{sys.executable} -m sim.tap'"
    started = []

    def start(commands):
        words = [*NAMESPACE, "sh", "-ec", f"{ATTACHED}; {MAKE}; {up}; {commands}"]
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        environment = {**os.environ, "CLIENT": CLIENT}
        started.append(subprocess.Popen(words, cwd=ROOT, text=True, env=environment, **pipes))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture(scope="module")
def card(tap_works, tmp_path_factory):
    """Return the net device of a card whose wire waits for a peer, its board, and the wire's
    socket."""
    built = artefacts.build(DEFAULT, virtio=True, port="wire")
    csr = json.loads((built.gateware / "csr.json").read_text())
    folder = tmp_path_factory.mktemp("board")
    path = folder / "wire"
    boards = started_boards(built.board, csr, folder)
    with next(boards)("--seed", SHIFT + 1, "--wire", f"listen:{path}") as board:
        driver = NetDriver(board.card())
        yield driver, board, path
        driver.close()


def packets(card, kind):
    """Wait for frames with a packet of this kind. Yields these packets, with all inside of them."""
    while True:
        for frame in card.receive(1):
            packet = Ether(frame)
            if kind in packet:
                yield packet


def test_the_kernel_answers_the_card_s_pings(beside, card):
    """The card resolves the interface's address by ARP and sends pings of all sizes. The kernel of
    this computer answers each, with its data."""
    driver, board, path = card
    beside(f"exec $tap tap0 {path}")
    wait_until(lambda: board.stats()["wire"]["peer"] == 1, "the peer")
    own = wire.mac(VIRTIO_MAC)
    driver.send(
        bytes(Ether(dst="ff:ff:ff:ff:ff:ff", src=own) / ARP(hwsrc=own, psrc=CARD, pdst=HOST))
    )
    host = next(p for p in packets(driver, ARP) if p[ARP].psrc == HOST and p[ARP].op == 2)
    head = Ether(dst=host[ARP].hwsrc, src=own) / IP(src=CARD, dst=HOST)
    source, back = random.Random(SHIFT), packets(driver, ICMP)
    for number in range(PINGS):
        data = source.randbytes(source.randint(0, VIRTIO_MTU - HEADERS))
        driver.send(bytes(head / ICMP(id=7, seq=number) / data))
        answer = next(back)
        assert (answer[ICMP].type, answer[ICMP].seq) == (0, number)
        assert bytes(answer[ICMP].payload)[: answer[IP].len - HEADERS] == data


def test_a_program_s_datagrams_come_back_from_the_card(beside, card):
    """A program of this computer sends datagrams of all sizes up to the MTU to the card. The kernel
    asks for the card's address by ARP, the card sends each datagram back, and all come back
    unchanged."""
    driver, board, path = card
    client = beside(f'$tap tap0 {path} & attached; {sys.executable} -c "$CLIENT"; echo all')
    own, coming, answered = wire.mac(VIRTIO_MAC), packets(driver, Ether), 0
    while answered < DATAGRAMS:
        packet = next(coming)
        answer = Ether(dst=packet.src, src=own)
        if ARP in packet and packet[ARP].pdst == CARD:
            answer /= ARP(op=2, hwsrc=own, psrc=CARD, hwdst=packet.src, pdst=packet[ARP].psrc)
        elif UDP in packet and packet[UDP].dport == PORT:
            answer /= IP(src=CARD, dst=HOST) / UDP(sport=PORT, dport=packet[UDP].sport)
            answer /= bytes(packet[UDP].payload)[: packet[UDP].len - 8]
            answered += 1
        else:
            continue
        driver.send(bytes(answer))
    assert client.stdout.readline() == "all\n"


@pytest.fixture
def listener(tmp_path):
    """Return a socket on which nobody but the test listens, in a board's place, and its path."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "wire"))
        server.listen()
        server.settimeout(SECONDS)
        yield server, tmp_path / "wire"


def test_the_program_ends_with_the_interface_or_the_board(beside, listener):
    """If the interface is removed, the program says so and closes the socket. If the board closes
    the socket, the program ends. A frame is lost while the interface is down, and the program goes
    on."""
    server, path = listener
    process = beside(
        f"ip link set tap0 down; $tap tap0 {path}; ip link set tap0 up; "
        f"$tap tap0 {path} & read go; ip link del tap0; wait $!"
    )
    first = End(server.accept()[0])
    first.send(bytes(60))
    first.close()
    second = End(server.accept()[0])
    process.stdin.write("go\n")
    process.stdin.flush()
    while second.receive() is not None:
        pass
    assert process.wait(SECONDS) == 0
    assert process.stdout.read() == "tap: the interface has gone\n"


@pytest.mark.parametrize(
    "commands, sentence",
    [
        ("$tap lo {}", "lo is no TAP interface: "),
        ("$tap tap0 {} & attached; $tap tap0 {}", "tap0 is used by another program: "),
        ("ip link del tap0; $tap tap0 {}", "tap0: there is no such interface: "),
        ("$tap tap0 {}.not", ".not: No such file or directory: a board must listen there"),
    ],
)
def test_what_cannot_be_used_is_named(beside, listener, commands, sentence):
    """An interface or a socket that the kernel refuses ends the program with a sentence that names
    it, and the rule."""
    process = beside(commands.replace("{}", str(listener[1])))
    said = process.stdout.readline()
    assert said.startswith("tap: ") and sentence in said
    assert process.wait(SECONDS) == 1


@pytest.mark.parametrize(
    "error, sentence",
    [
        (errno.EPERM, "lo belongs to another user: "),
        (errno.EBUSY, "lo is used by another program: "),
        (errno.EINVAL, "lo is no TAP interface: "),
        (errno.ENOMEM, "lo cannot be used: Cannot allocate memory."),
    ],
)
def test_a_refusal_of_the_kernel_is_explained(monkeypatch, error, sentence):
    """Each error of the kernel for an interface has a sentence that names the interface."""

    def refuse(*_):
        raise OSError(error, os.strerror(error))

    monkeypatch.setattr(tap, "TUN", Path(os.devnull))
    monkeypatch.setattr(tap.fcntl, "ioctl", refuse)
    with pytest.raises(SimError, match=f"^{sentence}"):
        tap.open_tap("lo")


@pytest.mark.parametrize("name", ["", "sixteen-letters-", "ö" * 8])
def test_a_name_that_no_interface_can_have_is_refused(name):
    """A name has 1 to 15 bytes."""
    with pytest.raises(SimError, match=f"^'{name}': the name of an interface has 1 to 15 bytes"):
        tap.open_tap(name)


def test_a_kernel_without_tap_is_named(monkeypatch, tmp_path):
    """Without the device node of TAP the sentence names the file and the kernel's module."""
    monkeypatch.setattr(tap, "TUN", tmp_path / "tun")
    with pytest.raises(SimError, match="/tun: No such file or directory: .* its module tun"):
        tap.open_tap("lo")


@pytest.mark.parametrize(
    "said, skips", [*((message, True) for message in MISSING), ("ip: no such option", False)]
)
def test_only_a_kernel_without_tap_skips_the_tests(said, skips):
    """If the kernel gives no user namespace or no TAP, the tests are skipped. If the interface
    cannot be made for another reason, they fail."""
    with pytest.raises((pytest.skip.Exception, pytest.fail.Exception)) as end:
        end_without_tap(f"{said}\n")
    assert isinstance(end.value, pytest.skip.Exception) == skips
