# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of sim/guest/machine.py: QEMU gets the options that a working card needs, and choices that
make no sense are refused."""

import json
import socket
from pathlib import Path

import pytest

from sim.guest import SetupError
from sim.guest.kernel import Kernel
from sim.guest.machine import Machine

KERNEL = Kernel("6.1", "1", Path("vmlinuz"), Path("headers"), Path("busybox"))


@pytest.fixture
def listening(tmp_path):
    """Yield the path of a UNIX socket on which a server listens, as a board does."""
    path = tmp_path / "board.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


def arguments(machine):
    return [str(word) for word in machine.arguments(KERNEL, Path("initrd"), Path("results"))]


def after(words, option):
    """Return all values that follow the option `option` in QEMU's arguments `words`."""
    return [words[i + 1] for i, word in enumerate(words) if word == option]


def test_the_card_sits_behind_a_root_port_with_a_long_timeout(listening):
    """The card is behind a root port, since only there it has link registers. QEMU waits for an
    answer of the card for at least 600 s, longer than any slow read takes."""
    port, card = after(arguments(Machine(socket=listening)), "-device")[-2:]
    card = json.loads(card)
    assert port.startswith("pcie-root-port,") and f"id={card['bus']}," in port
    assert card["driver"] == "vfio-user-pci" and card["x-msg-timeout"] >= 600_000
    assert card["socket"] == {"type": "unix", "path": str(listening)}


def test_the_guest_s_memory_is_shared(listening):
    """The guest's memory is shared, since the card's DMA would not reach a private copy. A test can
    ask for a private one."""
    words = arguments(Machine(socket=listening))
    assert after(words, "-object") == ["memory-backend-memfd,id=ram,size=512M,share=on"]
    assert "memory-backend=ram" in after(words, "-machine")[0]
    private = arguments(Machine(socket=listening, share=False))
    assert "share=off" in after(private, "-object")[0]


def test_a_card_may_be_at_either_of_two_nodes(listening):
    """With two NUMA nodes, the card's root port is below a bridge of the chosen node, and the
    memory of both nodes is shared."""
    words = arguments(Machine(socket=listening, node=1, memory=512))
    assert after(words, "-numa") == ["node,nodeid=0,cpus=0,memdev=ram", "node,nodeid=1,memdev=far"]
    assert [m.split("size=")[1] for m in after(words, "-object")] == [
        "448M,share=on",
        "64M,share=on",
    ]
    bridge, port = after(words, "-device")[-3:-1]
    assert "id=bridge" in bridge and "numa_node=1" in bridge and "bus=bridge" in port


def test_tcg_unless_kvm_is_asked_for():
    """QEMU runs with TCG unless KVM is asked for. KVM is no default because a /dev/kvm that can be
    opened may still not run a kernel."""
    assert after(arguments(Machine()), "-accel") == ["tcg"]
    assert after(arguments(Machine(accel="kvm")), "-accel") == ["kvm"]


def test_the_kernel_is_told_the_sizes_and_what_a_slow_board_needs(listening):
    """The kernel's command line has mps and mrrs for the guest's init, and the options that a slow
    board needs."""
    words = after(arguments(Machine(socket=listening, mps=128, mrrs=256)), "-append")[0].split()
    assert {"mps=128", "mrrs=256"} <= set(words)
    assert {"iomem=relaxed", "pci=pcie_bus_tune_off", "panic=-1", "nowatchdog"} <= set(words)
    assert "mps" not in after(arguments(Machine()), "-append")[0]


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"mps": 64}, r"mps=64.*128, 256"),
        ({"mrrs": 513}, r"mrrs=513"),
        ({"node": 2}, r"node=2.*two NUMA nodes"),
        ({"accel": "xen"}, r"accel=xen.*tcg or kvm"),
        ({"accel": "kvm", "icount": 2}, r"icount=2"),
    ],
)
def test_choices_that_mean_nothing_are_refused(choice, message):
    """Machine refuses choices for QEMU that make no sense. Its message has the value and the
    rule."""
    with pytest.raises(SetupError, match=message):
        Machine(**choice)


def test_a_missing_socket_is_refused(tmp_path):
    """A missing board socket is refused; the message says that a board must be listening on it."""
    with pytest.raises(SetupError, match=r"No such file.*listening on"):
        Machine(socket=tmp_path / "none.sock")


def test_a_file_that_is_no_socket_is_refused(tmp_path):
    """A regular file in place of the board's socket, such as a log given by mistake, is refused."""
    (tmp_path / "board.log").touch()
    with pytest.raises(SetupError, match="this is no socket"):
        Machine(socket=tmp_path / "board.log")


def test_a_socket_path_that_is_too_long_is_refused(tmp_path):
    """A socket path of more than Linux' 107 bytes is refused with that limit."""
    path = tmp_path / ("é" * 60)
    with pytest.raises(SetupError, match=r"bytes, and Linux allows 107"):
        Machine(socket=path)


def test_the_board_s_one_client_is_not_used_up(listening):
    """The check of the board's socket does not connect to it, since the board takes only one
    client."""
    with socket.socket(socket.AF_UNIX) as server:
        path = listening.with_name("own.sock")
        server.bind(str(path))
        server.listen()
        server.settimeout(0.1)
        Machine(socket=path)
        with pytest.raises(socket.timeout):
            server.accept()


def test_a_comma_in_a_path_does_not_end_it():
    """A comma in a path is doubled for QEMU, which would take a single one for the end of the
    value."""
    words = Machine().arguments(KERNEL, Path("initrd"), Path("/a,b/results"))
    assert "file,id=results,path=/a,,b/results" in words
