# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Held directions: the card has what it was handed over, and waits. Streams by read() and write().

Packets by both. What goes out comes back through the loopback of the user slot, or that of the DMA.
"""

import pytest
from driver_guest import CARD, boot, kernels
from seeds import SHIFT

from lanebox import layouts
from sim import artefacts
from sim.board.process import BoardProcess
from sim.endpoints import DEFAULT
from sim.examples import AXI50
from sim.guest import run

pytestmark = [pytest.mark.guest, pytest.mark.soak]  # minutes, all together

RESET = [
    "held reset /dev/litepcie0 /tmp/runs >>/out/held & user=$!",
    "rm -f /tmp/runs; while [ ! -e /tmp/runs ]; do kill -0 $user; sleep 0.05; done",
    # QEMU's root port does not report the link after a hot reset, and the kernel says so.
    f"echo 1 >{CARD}/reset || true; wait $user",
]
# `streamed N COMMAND`: the first N bytes of /tmp/in come back, whatever pieces the command writes.
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
# One file is open over all of a pair of parentheses, whatever its writers are.
PIECES = [
    "dd if=/dev/urandom of=/tmp/in bs=65536 count=40 2>/dev/null",
    STREAM,
    "streamed 1048576 'head -c 1048576 /tmp/in >/dev/litepcie0'",
    # The reader's ring is full, so that the card has data which its logic has not taken at the end.
    "streamed 2621440 'kill -STOP $reader; cat /tmp/in >/dev/litepcie0 & writer=$!; sleep 1; "
    "kill -CONT $reader; wait $writer'",
    "streamed 65536 '(dd bs=1000 count=65; dd bs=1 count=536) </tmp/in >/dev/litepcie0'",
    "streamed 65536 'dd if=/tmp/in of=/dev/litepcie0 bs=4k count=16'",
    "streamed 8192 '(for n in 1 2 3 4; do dd bs=31 count=66; dd bs=1 count=2; done) "
    "</tmp/in >/dev/litepcie0'",
    "dd if=/dev/litepcie0 of=/tmp/out bs=512 count=48 2>/dev/null & reader=$!",
    "while [ $(run) != stream ]; do sleep 0.02; done",
    "cat /tmp/in >/dev/litepcie0; wait $reader; head -c 24576 /tmp/in | cmp - /tmp/out",
    "[ $(cat /sys/class/litepcie/litepcie0/h2c_unsent) = 0 ]",
]


def packets(count, seed):
    """The commands: so many packets compared, by ADVANCE and by the node."""
    return [
        "packets refuse /dev/litepcie0 >>/out/packets",
        "packets flush /dev/litepcie0 >>/out/packets",
        "packets full /dev/litepcie0 >>/out/packets",
        f"packets held /dev/litepcie0 {count} {seed} >>/out/packets",
        f"packets node /dev/litepcie0 {count} {seed} >>/out/packets",
    ]


def check_packets(files):
    """Both ways were compared, and the rest was as it should be."""
    text = files["packets"].decode()
    print(text)
    assert all(f"{part}: ok" in text for part in ("refuse", "flush", "full"))
    assert text.count("packets compared") == 2


def held(buffers, runs, seed):
    """The commands: so many buffers compared, and so many runs that are stopped at random."""
    return [
        "held refuse /dev/litepcie0 >>/out/held",
        "held ready /dev/litepcie0 >>/out/held",
        "held sync /dev/litepcie0 >>/out/held",
        f"held loop /dev/litepcie0 {buffers} {seed} >>/out/held",
        f"held stops /dev/litepcie0 {runs} {seed} >>/out/held",
    ]


def held_whole(buffers, runs, seed):
    """The same on a card without records, which knows no packets and no bytes below a beat."""
    return [line for line in held(buffers, runs, seed) if "held sync" not in line]


@pytest.fixture(autouse=True)
def place_below_tmp(monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PLACE", tmp_path / "guest")


@pytest.mark.parametrize("kernel", kernels())
def test_a_held_direction_loses_nothing(start_board, kernel):
    """10,000 buffers of random amounts, lengths and pauses, and 300 runs: none lost or repeated."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board() as board:
        files = boot(board, held(10000, 300, seed), kernel, ["held"]).files
    check_held(files)


def check_held(files):
    """All of it was done, and some buffers were compared."""
    check_held_whole(files)
    assert "sync: ok" in files["held"].decode()


def check_held_whole(files):
    """All but the end of a beat."""
    text = files["held"].decode()
    print(text)
    assert all(f"{part}: ok" in text for part in ("refuse", "ready"))
    assert text.count("buffers compared") == 2


@pytest.mark.parametrize("kernel", kernels())
def test_a_node_is_a_stream_of_bytes(start_board, kernel):
    """Pieces of any length, by cat, dd and head: the bytes come back as they went."""
    with start_board() as board:
        check_streamed(boot(board, PIECES, kernel, []).files)


def check_streamed(files):
    """Each transfer was compared."""
    lengths = [int(line.split()[0]) for line in files["streamed"].decode().splitlines()]
    assert lengths == [1048576, 2621440, 65536, 65536, 8192]


@pytest.mark.parametrize("kernel", kernels())
def test_packets_keep_their_bytes_and_their_ends(start_board, kernel):
    """5,000 of 1 byte to three buffers, by ADVANCE and records, and by write() and read()."""
    seed = 1 + SHIFT
    print(f"seed {seed}")
    with start_board() as board:
        check_packets(boot(board, packets(5000, seed), kernel, ["packets"]).files)


@pytest.mark.parametrize("msix", [False, True], ids=["msi", "msix"])
def test_the_user_s_interrupt_is_an_event(msix):
    """One for each write to the logic's memory; for one file, and for none that is closed."""
    built = artefacts.build(DEFAULT, AXI50, msix=msix)
    with BoardProcess(built.board, ["--bar2", str(layouts.BAR2_SIZE)]) as board:
        boot(board, ["held user /dev/litepcie0"], None, ["held"])


def test_a_reset_ends_a_held_run_with_an_error(start_board):
    """Until it is stopped its owner hears of it; then it runs again from the beginning."""
    with start_board() as board:
        assert "reset: ok" in boot(board, RESET, None, ["held"]).files["held"].decode()
