# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Held runs of the driver, and the device node as a stream.

In a held run the program tells the card, by the ioctl ADVANCE, how many buffers the card may fill
or send. When these are done, the card waits. Packets are sent and received by ADVANCE, or by
write() and read(). All data comes back through the loopback of the user slot or of the DMA.
"""

import pytest

from gateware import numbers
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.guest import run
from sim.test.driver.driver_guest import CARD, TWO_CPUS, boot, kernels
from tools.testing.seeds import SHIFT

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # the tests of this file take minutes

STATE = "/sys/class/litepcie/litepcie0"  # the driver's view of the card's first DMA channel
# Commands for a guest: reset the card while the program `held` runs DMA in held mode, in which the
# card waits for the program.
RESET = [
    "held reset /dev/litepcie0 /tmp/runs >>/out/held & user=$!",
    "rm -f /tmp/runs; while [ ! -e /tmp/runs ]; do kill -0 $user; sleep 0.05; done",
    # QEMU's root port does not report the link after a hot reset, so this write may fail.
    f"echo 1 >{CARD}/reset || true; wait $user",
]
# The shell function `streamed N COMMAND` lets COMMAND write the file /tmp/in to the device node in
# pieces of any length. It fails unless the first N bytes come back from the node.
STREAM = """
run() { cat /sys/class/litepcie/litepcie0/c2h_run; }
streamed() {
	head -c $1 /dev/litepcie0 >/tmp/out & reader=$!
	while [ $(run) != stream ]; do sleep 0.02; done
	eval "$2" 2>/dev/null
	wait $reader
	head -c $1 /tmp/in | cmp - /tmp/out
	echo "$1 bytes" >>/out/streamed
}
"""
# Commands that stream /tmp/in through the device node in different pieces. The redirection behind a
# pair of parentheses keeps one file open for all programs between them.
PIECES = [
    "dd if=/dev/urandom of=/tmp/in bs=65536 count=40 2>/dev/null",
    STREAM,
    "streamed 1048576 'head -c 1048576 /tmp/in >/dev/litepcie0'",
    # The reading program is stopped for a second, so that its ring fills up. When the writer ends,
    # the card still has data that the user slot has not taken.
    "streamed 2621440 'kill -STOP $reader; cat /tmp/in >/dev/litepcie0 & writer=$!; sleep 1; "
    "kill -CONT $reader; wait $writer'",
    "streamed 65536 '(dd bs=1000 count=65; dd bs=1 count=536) </tmp/in >/dev/litepcie0'",
    "streamed 65536 'dd if=/tmp/in of=/dev/litepcie0 bs=4k count=16'",
    "streamed 8192 '(for n in 1 2 3 4; do dd bs=31 count=66; dd bs=1 count=2; done) "
    "</tmp/in >/dev/litepcie0'",
    "dd if=/dev/litepcie0 of=/tmp/out bs=512 count=48 2>/dev/null & reader=$!",
    "while [ $(run) != stream ]; do sleep 0.02; done",
    "cat /tmp/in >/dev/litepcie0; wait $reader; head -c 24576 /tmp/in | cmp - /tmp/out",
    f"[ $(cat {STATE}/h2c_unsent) = 0 ]",
]


def poured(size):
    """Return the commands that send `size` bytes through the card by cat and compare each 64-bit
    word.

    The program that compares ends when it has all bytes, while cat still waits for the card. When
    the driver supported splice, the kernel locked the pipe between the two, so that the program
    could not end.
    """
    return [
        STREAM,
        "rm -f /tmp/pipe; mkfifo /tmp/pipe; cat /dev/litepcie0 >/tmp/pipe & cat=$!",
        f"words check {size} </tmp/pipe >/out/poured & reader=$!",
        "while [ $(run) != stream ]; do sleep 0.02; done",
        f"words make {size} | cat >/dev/litepcie0; wait $reader; kill $cat; wait $cat || true",
    ]


def packets(count, seed):
    """Return the commands that run each part of the test program `packets`. Two parts send and
    compare `count` packets each, with lengths that `seed` gives: one by the ioctl ADVANCE, one by
    write() and read() on the device node."""
    return [
        "packets refuse /dev/litepcie0 >>/out/packets",
        "packets flush /dev/litepcie0 >>/out/packets",
        "packets full /dev/litepcie0 >>/out/packets",
        "packets bytes /dev/litepcie0 >>/out/packets",
        "packets places /dev/litepcie0 >>/out/packets",
        "packets late /dev/litepcie0 >>/out/packets",
        "packets ended /dev/litepcie0 >>/out/packets",
        f"packets held /dev/litepcie0 {count} {seed} >>/out/packets",
        f"packets node /dev/litepcie0 {count} {seed} >>/out/packets",
    ]


def check_packets(files):
    """Fail unless the program `packets` compared packets both ways, and printed `ok` for each of
    its other parts."""
    text = files["packets"].decode()
    print(text)
    for part in ("refuse", "flush", "full", "bytes", "places", "late", "ended"):
        assert f"{part}: ok" in text
    assert text.count("packets compared") == 2


def held(buffers, runs, seed):
    """Return the commands for held runs, in which `buffers` buffers are compared and `runs` runs
    are stopped at random."""
    return [
        "held refuse /dev/litepcie0 >>/out/held",
        "held ready /dev/litepcie0 >>/out/held",
        "held sync /dev/litepcie0 >>/out/held",
        "held epoll /dev/litepcie0 >>/out/held",
        f"held loop /dev/litepcie0 {buffers} {seed} >>/out/held",
        f"held stops /dev/litepcie0 {runs} {seed} >>/out/held",
    ]


def user_board(msix=False):
    """Return a board whose user logic interrupts for each write to its memory."""
    built = artefacts.build(DEFAULT, AXI50, msix=msix)
    return BoardProcess(built.board, ["--bar2", str(numbers.BAR2_SIZE)])


def user(rounds):
    """Return the commands for the user logic's interrupt. In `rounds` rounds two processes race for
    it, one of which closes its file each time."""
    return ["held user /dev/litepcie0", f"held race /dev/litepcie0 {rounds} >>/out/held"]


def held_whole(buffers, runs, seed):
    """Return the commands of held() for a card without records (reports of finished buffers). Such
    a card has no packets, sends only whole beats, and fills only whole buffers."""
    needs = ("held sync", "held epoll")
    return [line for line in held(buffers, runs, seed) if not line.startswith(needs)]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_a_held_direction_loses_nothing(start_board, kernel):
    """In held runs with random amounts and pauses no buffer is lost or repeated: 10,000 buffers are
    compared, and 300 runs are stopped at random."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board() as board:
        files = boot(board, held(10000, 300, seed), kernel, ["held"]).files
    check_held(files)


def check_held(files):
    """Fail unless check_held_whole() succeeds and the parts `sync` and `epoll` of the program
    `held` printed `ok`. These two parts need a card with records (reports of finished buffers)."""
    check_held_whole(files)
    assert all(f"{part}: ok" in files["held"].decode() for part in ("sync", "epoll"))


def check_held_whole(files):
    """Fail unless the program `held` compared buffers both ways, and printed `ok` for the parts
    that need no records."""
    text = files["held"].decode()
    print(text)
    assert all(f"{part}: ok" in text for part in ("refuse", "ready"))
    assert text.count("buffers compared") == 2


@pytest.mark.parametrize("kernel", kernels())
def test_a_node_is_a_stream_of_bytes(start_board, kernel):
    """Bytes that cat, dd and head write to the device node in pieces of any length come back from
    it in order."""
    with start_board() as board:
        check_streamed(boot(board, PIECES, kernel, []).files)


def check_streamed(files):
    """Fail unless every transfer of PIECES (commands that stream through the device node) was
    compared in its full length."""
    lengths = [int(line.split()[0]) for line in files["streamed"].decode().splitlines()]
    assert lengths == [1048576, 2621440, 65536, 65536, 8192]


@pytest.mark.parametrize("kernel", kernels())
def test_packets_keep_their_bytes_and_their_ends(start_board, kernel):
    """5,000 packets, each from 1 byte to three buffers long, come back unchanged by ADVANCE, and as
    many by write() and read()."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board() as board:
        check_packets(boot(board, packets(5000, seed), kernel, ["packets"]).files)


@pytest.mark.parametrize("msix", [False, True], ids=["msi", "msix"])
def test_the_user_s_interrupt_is_an_event(msix):
    """The user logic interrupts for each write to its memory. The file that asked for these
    interrupts gets one event for each. Closing that file ends the events."""
    with user_board(msix) as board:
        boot(board, user(2000), None, ["held"], devices=TWO_CPUS)


def test_a_reset_ends_a_held_run_with_an_error(start_board):
    """After a reset of the card, calls of a held run fail until its owner stops the run. Then the
    owner can start a new run."""
    with start_board() as board:
        assert "reset: ok" in boot(board, RESET, None, ["held"]).files["held"].decode()
