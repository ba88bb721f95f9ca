# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of captures with the Python package on a board with the capture block: frames in place,
their tables, and arrays that outlive their block."""

import re
import threading
import time

import numpy as np
import pytest

from gateware.test.capture.test_capture_file import by_bytes, by_fields
from sim import artefacts
from sim.board.process import BoardProcess
from sim.rows.measure import Conditions
from sim.test.card.test_board_capture import PORT_MASK, Generated

SMALL = {"ring": 1 << 18, "mbuf": 1 << 14, "timeout": 30.0}


@pytest.fixture(scope="module")
def running():
    built = artefacts.build("lanebox", capture=True)
    with BoardProcess(built.board, Conditions().board_options()) as board:
        board.csr_json = built.gateware / "csr.json"
        yield board


@pytest.fixture
def card(host, running):
    with host.Card(f"sim:{running.socket}") as card:
        yield card


def generate(capture, frames):
    capture.generate(
        frames.size,
        period=frames.period,
        count=frames.count,
        seed=frames.seed,
        port_mask=PORT_MASK,
    )


def test_every_frame_comes_in_place(card, tmp_path):
    """Each frame of the card's generator comes once, with its bytes, port, lengths and time. Header
    and blocks are a file in which tshark finds the same packets."""
    frames, number, last, times = Generated(100, 3000, count=1500), 0, 0, []
    file = tmp_path / "a.pcapng"
    with card.capture(snap=90, **SMALL) as capture, file.open("wb") as out:
        generate(capture, frames)
        out.write(capture.header)
        for block in capture:
            out.write(block.data)
            assert len(block) == len(block.times) == len(list(block))
            assert (block.ports == np.arange(number, number + len(block)) & PORT_MASK).all()
            assert (block.lengths == 100).all() and (block.kept == 90).all()
            assert not block.dropped.any()
            for i, frame in enumerate(block):
                assert frame.tobytes() == frames.data(number + i)[:90]
                begin = int(block.offsets[i])
                assert (block.data[begin : begin + 90] == frame).all()
            if len(block):
                assert block.times[0] >= last and (np.diff(block.times.astype(np.int64)) > 0).all()
                last = block.times[-1]
                assert (block[-1] == frame).all()
            times += block.times.tolist()
            number += len(block)
            if number == frames.count:
                capture.stop()
        stats = capture.stats
    assert number == frames.count
    assert (stats.records, stats.lost, stats.overwritten) == (number, 0, 0)
    assert [port.delivered.frames for port in stats.ports[:4]] == [375] * 4
    assert stats.ports[0].delivered.bytes == 375 * 100
    fields = list(by_fields(file))
    assert [field[0] for field in fields] == times
    assert [body for body, *_ in by_bytes(file, tmp_path / "a.pcap")] == [
        frames.data(n)[:90] for n in range(number)
    ]


def test_frames_have_the_host_s_time_if_it_is_asked_for(card):
    """Frames of a simulated card have the time since its reset. With clock="host" they have that of
    the host, and a later capture with clock="card" goes on with it. Another clock is refused."""

    def times(**options):
        with card.capture(**SMALL, **options) as capture:
            generate(capture, Generated(64, 3000, count=40))
            return capture.take().times.tolist()

    assert times()[0] < 10**9 * 3600
    begin = time.time_ns()
    host_s = times(clock="host")
    assert begin <= host_s[0] <= host_s[-1] <= time.time_ns()
    assert host_s[-1] < times(clock="card")[0] < time.time_ns()
    with pytest.raises(ValueError, match="clock: 'tai': it must be one of auto, card, host"):
        card.capture(clock="tai")


def test_an_array_that_outlives_its_block_raises(host, card):
    """If a program still holds an array of a captured frame when the ring's memory is given back to
    the card, the loop over the capture ends with BufferError. A copy of the array, and the tables
    of the block, can be kept."""
    with pytest.raises(BufferError, match=r"copy\(\) what you keep"):
        kept = []
        with card.capture(**SMALL) as capture:
            generate(capture, Generated(64, 20000, count=0))
            for block in capture:
                kept.append(block[0])
    assert kept[0].size == 64 and not kept[0].flags.writeable
    kept.clear()
    copies, tables = [], []
    with card.capture(**SMALL) as capture:
        generate(capture, Generated(64, 20000, count=0))
        for block in capture:
            copies.append(block[0].copy())
            tables.append(block.times)
            if len(copies) == 20:
                break
    assert len({copy.tobytes() for copy in copies}) == 20
    assert all(table.size for table in tables)


def test_the_generator_ends_with_its_capture(card):
    """A generator without end stops when its capture is closed, so a later capture has none of its
    frames."""
    with card.capture(**SMALL) as capture:
        generate(capture, Generated(64, 20000, count=0))
        assert len(next(iter(capture)))
    with card.capture(**SMALL) as capture:
        time.sleep(0.2)
        assert sum(port.delivered.frames for port in capture.stats.ports) == 0


def test_a_capture_that_runs_is_not_closed_by_another(host, card):
    """A second capture of a queue is refused with WayBusy while the first one runs, also if it is
    the same object. The first one goes on. When it has stopped, another one takes its place."""
    frames = Generated(64, 3000, count=40)
    with card.capture(**SMALL) as first:
        for second in (card.capture(**SMALL), first):
            with pytest.raises(host.WayBusy, match="queue 0 is captured already: stop"), second:
                pass
        generate(first, frames)
        found = []
        while len(found) < frames.count:
            found += [frame.tobytes() for frame in first.take()]
        assert found == [frames.data(number) for number in range(frames.count)]
        first.stop()
        with card.capture(**SMALL) as second:
            with pytest.raises(ValueError, match="does not run"):
                first.take()
            generate(second, frames)
            assert second.take()[0].tobytes() == frames.data(0)


def test_an_array_keeps_the_ring_after_the_capture(host, running):
    """An array that exists when capture and card are closed stays as it was. When it is gone the
    card is closed, and can be opened again."""
    frames = Generated(64, 20000, count=0)
    with host.Card(f"sim:{running.socket}") as card:
        with card.capture(**SMALL) as capture:
            generate(capture, frames)
            kept = next(iter(capture))[0]
    assert kept.tobytes() == frames.data(0)
    with pytest.raises(host.WayBusy):
        host.Card(f"sim:{running.socket}")
    del kept
    with host.Card(f"sim:{running.socket}") as card:
        assert card.info.target == "sim"


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["first first", "last first"])
def test_the_last_of_several_arrays_closes_the_card(host, running, order):
    """Arrays of several blocks keep the closed card's ring until the last of them is gone, in
    whichever order they go."""
    frames = Generated(64, 20000, count=0)
    with host.Card(f"sim:{running.socket}") as card:
        with card.capture(**SMALL) as capture:
            generate(capture, frames)
            kept = {0: capture.take()[0], 1: capture.take()[0]}
    texts = {name: array.tobytes() for name, array in kept.items()}
    assert texts[0] != texts[1]
    del kept[order[0]]
    assert kept[order[1]].tobytes() == texts[order[1]]
    with pytest.raises(host.WayBusy):
        host.Card(f"sim:{running.socket}")
    kept.clear()
    with host.Card(f"sim:{running.socket}") as card:
        assert card.info.target == "sim"


def test_a_block_that_the_card_has_written_over_is_reported(host, card):
    """With `newest`, a loop whose block the card has written over raises Overwritten when it goes
    on. Another loop goes on with newer blocks."""
    options = {"ring": 1 << 22, "mbuf": 1 << 16, "newest": True, "timeout": 30.0}
    with card.capture(**options) as capture:
        generate(capture, Generated(16000, 0, count=0))
        capture.take()
        last = capture.take()
        while capture.stats.position < last.position + options["ring"]:
            time.sleep(0.01)
        with pytest.raises(host.Overwritten, match="has written over"):
            next(iter(capture))
        assert next(iter(capture)).position > last.position


def test_a_block_that_was_given_back_says_so(card):
    """Access to the bytes of a captured block that the card may write over raises an error that
    says what to do. The block before the last one can still be used."""
    blocks = []
    with card.capture(**SMALL) as capture:
        generate(capture, Generated(64, 20000, count=0))
        for block in capture:
            blocks.append(block)
            if len(blocks) == 3:
                break
        assert blocks[1].data.size and blocks[2].data.size
        with pytest.raises(ValueError, match="was given back to the card"):
            _ = blocks[0].data
    with pytest.raises(ValueError, match="was given back"):
        blocks[2].data.tobytes()


def test_a_loop_is_a_capture(card, running):
    """Without a `with` block, a `for` loop over card.capture() starts the capture at its begin and
    ends it at its end, so another loop can follow."""
    card.registers.load(running.csr_json)

    def make_frames():
        card.registers["capture_generator_count"] = 5
        card.registers["capture_generator_control"] = 1

    for _ in range(2):
        capture = card.capture(**SMALL)
        with pytest.raises(ValueError, match="does not run"):
            generate(capture, Generated(64, 0, count=1))
        card.registers["capture_generator_control"] = 0
        loop = iter(capture)
        timer = threading.Timer(0.5, make_frames)
        timer.start()
        assert len(next(loop)) >= 1
        timer.join()
        loop.close()
        assert not card._handle.parts


def test_a_capture_without_frames_ends_in_time(host, card):
    """If no frame comes, the loop raises WaitTimeout after the capture's timeout."""
    with card.capture(timeout=0.3, ring=1 << 18) as capture:
        with pytest.raises(host.WaitTimeout, match=r"no frame came within 0\.3 s"):
            next(iter(capture))


def test_another_thread_may_close_the_card(host, running):
    """If another thread closes the card while a loop over a capture waits, the loop ends with
    ValueError. The card can then be opened again."""
    card = host.Card(f"sim:{running.socket}")
    begun = time.monotonic()
    closer = threading.Timer(0.3, card.close)
    with pytest.raises(ValueError, match="closed|does not run"), card.capture(**SMALL) as capture:
        closer.start()
        for _ in capture:
            pass
    assert time.monotonic() - begun < 10
    capture.close()
    closer.join()
    with host.Card(f"sim:{running.socket}") as again:
        assert again.info.target == "sim"


@pytest.mark.parametrize(
    "options, said",
    [
        ({"ring": 100}, "100"),
        ({"mbuf": 3 << 12}, str(3 << 12)),
        ({"newest": True, "ring": 1 << 16}, "newest|staging"),
        ({"ring": -1}, "ring_bytes: -1 does not fit into 64 bits"),
        ({"snap": (1 << 32) + 64}, "snap: 4294967360 does not fit into 32 bits"),
        ({"wait": -1}, "wait: -1 is no time in seconds"),
        ({"wait": 5}, "wait: 5 s is too long: it must be below 4.29"),
        ({"wait": 1}, "1000000000 ns"),
        ({"queue": 1 << 32}, "queue: 4294967296 does not fit into 32 bits"),
    ],
    ids=str,
)
def test_a_bad_option_gets_a_sentence(host, card, options, said):
    """card.capture() refuses a setting that is not possible, with a sentence that has the setting's
    value."""
    with (
        pytest.raises((host.LaneboxError, ValueError)) as caught,
        card.capture(**options),
    ):
        pass
    assert re.search(said, str(caught.value)), caught.value


def test_a_card_without_the_block_gets_a_sentence(host):
    """On a card without the capture block, a loop over card.capture() raises CardGone, whose text
    has the option that builds the block."""
    built = artefacts.build("lanebox")
    with (
        BoardProcess(built.board, Conditions().board_options()) as board,
        host.Card(f"sim:{board.socket}") as card,
        pytest.raises(host.CardGone, match="--capture"),
    ):
        next(iter(card.capture()))
