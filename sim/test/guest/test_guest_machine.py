# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""sim/guest/machine.py: the QEMU options that a working card needs, and what is refused."""

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
    """The path of a socket that is listened on."""
    path = tmp_path / "board.sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        yield path


def arguments(machine):
    return [str(word) for word in machine.arguments(KERNEL, Path("initrd"), Path("results"))]


def after(words, option):
    """All values of an option."""
    return [words[i + 1] for i, word in enumerate(words) if word == option]


def test_the_card_sits_behind_a_root_port_with_a_long_timeout(listening):
    """The card is behind a root port, which has link registers, and has a timeout that no slow read
    reaches."""
    port, card = after(arguments(Machine(socket=listening)), "-device")[-2:]
    card = json.loads(card)
    assert port.startswith("pcie-root-port,") and f"id={card['bus']}," in port
    assert card["driver"] == "vfio-user-pci" and card["x-msg-timeout"] >= 600_000
    assert card["socket"] == {"type": "unix", "path": str(listening)}


def test_the_guest_s_memory_is_shared(listening):
    """The guest's memory is shared, since DMA would not reach a private copy; tests can ask for
    one."""
    words = arguments(Machine(socket=listening))
    assert after(words, "-object") == ["memory-backend-memfd,id=ram,size=512M,share=on"]
    assert "memory-backend=ram" in after(words, "-machine")[0]
    private = arguments(Machine(socket=listening, share=False))
    assert "share=off" in after(private, "-object")[0]


def test_a_card_may_be_at_either_of_two_nodes(listening):
    """The card's root port is below a bridge of the chosen node; both nodes' memory is shared."""
    words = arguments(Machine(socket=listening, node=1, memory=512))
    assert after(words, "-numa") == ["node,nodeid=0,cpus=0,memdev=ram", "node,nodeid=1,memdev=far"]
    assert [m.split("size=")[1] for m in after(words, "-object")] == [
        "448M,share=on", "64M,share=on"]  # fmt: skip
    bridge, port = after(words, "-device")[-3:-1]
    assert "id=bridge" in bridge and "numa_node=1" in bridge and "bus=bridge" in port


def test_tcg_unless_kvm_is_asked_for():
    """KVM is used only if asked for: a /dev/kvm that opens may still not run a kernel."""
    assert after(arguments(Machine()), "-accel") == ["tcg"]
    assert after(arguments(Machine(accel="kvm")), "-accel") == ["kvm"]


def test_the_kernel_is_told_the_sizes_and_what_a_slow_board_needs(listening):
    """The kernel's command line has mps and mrrs for init, and what a slow board needs."""
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
    """A choice that makes no sense is refused with its value and the rule."""
    with pytest.raises(SetupError, match=message):
        Machine(**choice)


def test_a_missing_socket_is_refused(tmp_path):
    """A missing socket is refused, and the message says that the board must be started first."""
    with pytest.raises(SetupError, match=r"No such file.*listening on"):
        Machine(socket=tmp_path / "none.sock")


def test_a_file_that_is_no_socket_is_refused(tmp_path):
    """A regular file, such as a log given by mistake, is refused as a socket."""
    (tmp_path / "board.log").touch()
    with pytest.raises(SetupError, match="this is no socket"):
        Machine(socket=tmp_path / "board.log")


def test_a_socket_path_that_is_too_long_is_refused(tmp_path):
    """A socket path of more than 107 bytes is refused with that limit; Linux would not name it."""
    path = tmp_path / ("é" * 60)
    with pytest.raises(SetupError, match=r"bytes, and Linux allows 107"):
        Machine(socket=path)


def test_the_board_s_one_client_is_not_used_up(listening):
    """The check of the socket does not connect, since the board takes only one client."""
    with socket.socket(socket.AF_UNIX) as server:
        path = listening.with_name("own.sock")
        server.bind(str(path))
        server.listen()
        server.settimeout(0.1)
        Machine(socket=path)
        with pytest.raises(socket.timeout):
            server.accept()


def test_a_comma_in_a_path_does_not_end_it():
    """A comma in a path is doubled, which QEMU reads as one comma."""
    words = Machine().arguments(KERNEL, Path("initrd"), Path("/a,b/results"))
    assert "file,id=results,path=/a,,b/results" in words
