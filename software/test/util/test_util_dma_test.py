# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test `litepcie_util dma_test` with a stand-in for the card, with and without faults."""

import os
import signal
import time

import pytest

from software.test.software_build import TIMEOUT

# number of reads of BAR0 in one reading of the card's counters: the counters of four TLP streams,
# and the time
COUNTERS = 50
KIB, MIB = 1 << 10, 1 << 20
BUFFER = 8 * KIB
DIRECTIONS = ["loopback", "c2h", "h2c", "both"]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("buffers", [1, 31, 32, 33, 255, 256, 257, 700])
def test_dma_test_compares_every_buffer_it_was_asked_for(util, card, device, direction, buffers):
    """dma_test moves, compares and counts all buffers.

    The sizes are one buffer, sizes around the number of buffers in a batch (32) and in a ring
    (256), and nearly three rounds of the ring.
    """
    size = buffers * BUFFER
    with card():
        arguments = ("--direction", direction, "--size", str(size))
        status, report = util.json(device, "dma_test", *arguments)
    assert status == 0, report["failures"]
    assert report["first_mismatch"] is None
    for way in ("c2h", "h2c"):
        if direction not in ("loopback", "both", way):
            assert report[way] is None
            continue
        assert report[way]["compared_bytes"] == report[way]["moved_bytes"] == size
        assert report[way]["gb_per_s"] > 0
    due = (buffers + 31) // 32
    assert report["interrupts_expected"] == due
    assert due <= report["interrupts"] <= 2 * due
    assert report["interrupts_missed"] == 0
    assert report["window"]["whole_run"] is (buffers < 512)


def test_dma_test_rate_is_that_of_the_steady_state(util, card, device):
    """The rate that dma_test reports for a long run leaves out the run's start and end.

    The stand-in for the card moves 8 KiB in 300 ticks.
    """
    with card():
        _, report = util.json(device, "dma_test", "--direction", "c2h", "--size", "8M")
    window = report["window"]
    assert window["skipped_buffers"] == 256
    assert report["c2h"]["window_bytes"] == window["rq"]["payload_bytes"] > 4 * MIB
    assert report["c2h"]["bytes_per_cycle"] == pytest.approx(
        report["c2h"]["window_bytes"] / window["cycles"]
    )
    assert report["c2h"]["gb_per_s"] == pytest.approx(report["c2h"]["bytes_per_cycle"] / 4)
    assert 20 < report["c2h"]["bytes_per_cycle"] <= 8192 / 300


def test_dma_test_rounds_the_size_up_to_whole_buffers(util, card, device):
    """dma_test rounds a size up to whole buffers of 8 KiB, and its report has the rounded size."""
    with card():
        _, report = util.json(device, "dma_test", "--size", "100K")
    assert report["size_bytes"] == report["c2h"]["compared_bytes"] == 13 * BUFFER


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_dma_test_ends_after_the_duration(util, card, device, direction):
    """dma_test with --duration ends when that time has passed by the host's clock, and has compared
    data.
    """
    with card():
        arguments = ("--direction", direction, "--duration", "0.5")
        status, report = util.json(device, "dma_test", *arguments)
    assert status == 0, report["failures"]
    assert 0.5 <= report["wall_s"] < 5
    for way in ("c2h", "h2c"):
        assert report[way] is None or report[way]["compared_bytes"] > 0


@pytest.mark.parametrize(
    "direction, flip, offset",
    [
        ("loopback", ("h2c", 40), 0x120),
        ("loopback", ("c2h", 0), 0x120),
        ("c2h", ("c2h", 300), 0x120),
        ("both", ("c2h", 33), 0x120),
        ("h2c", ("h2c", 299), 0x120),
        ("both", ("h2c", 5), 0x120),
    ],
)
def test_one_flipped_bit_fails_the_run_and_is_named(util, card, device, direction, flip, offset):
    """One flipped bit makes dma_test fail.

    The report has the buffer and an offset. If the host has compared the data, the offset is that
    of the wrong 32 bits, and the report has the expected and the wrong value. If the card has
    compared it, the offset is that of the wrong beat of 32 bytes.
    """
    with card(flip=flip):
        status, report = util.json(device, "dma_test", "--direction", direction, "--size", "3M")
    assert status == 1
    first = report["first_mismatch"]
    assert (first["buffer"], first["offset_bytes"]) == (flip[1], offset)
    assert f"buffer {flip[1]} at offset 0x{offset:x}" in report["failures"][0]
    if direction == "loopback" or flip[0] == "c2h":
        assert first["expected"] ^ first["got"] == 0x10 << 24
        assert report["c2h"]["wrong_dwords"] == report["c2h"]["wrong_buffers"] == 1
    else:
        assert report["h2c"]["wrong_beats"] == 1


@pytest.mark.parametrize("direction", ["loopback", "c2h", "h2c"])
@pytest.mark.parametrize("lost", [1, 5, 8])
def test_one_lost_interrupt_fails_the_run(util, card, device, direction, lost):
    """If the first, a middle or the last of eight interrupts is lost, dma_test fails."""
    with card(lose_msi=[lost]):
        status, report = util.json(device, "dma_test", "--direction", direction, "--size", "2M")
    assert status == 1
    assert report["failures"] == ["1 interrupts never came: at least 8 were due, 7 did"]
    assert report["interrupts_missed"] == 1


@pytest.mark.parametrize("late", [0.1, 0.3])
@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_late_interrupt_is_not_a_lost_one(util, card, device, direction, late):
    """If dma_test finds data before the interrupt for it has come, dma_test waits for the interrupt
    and passes."""
    with card(late_msi=late):
        status, report = util.json(device, "dma_test", "--direction", direction, "--size", "512K")
    assert status == 0, report["failures"]
    assert report["interrupts"] >= report["interrupts_expected"] == 2
    assert report["interrupts_missed"] == 0


def test_without_any_interrupt_both_directions_still_finish_and_fail(util, card, device):
    """`dma_test --direction both` fails if all interrupts are lost, and still compares all data.

    The test loses all interrupts, since the loss of one might not be seen: an interrupt may be for
    both directions.
    """
    with card(lose_msi=range(1000)):
        status, report = util.json(device, "dma_test", "--direction", "both", "--size", "512K")
    assert status == 1
    assert "interrupts never came" in report["failures"][0]
    assert report["c2h"]["compared_bytes"] == 512 * KIB


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_a_card_with_records_is_not_asked_for_them(util, card, device, direction):
    """If the card writes its progress to host memory (records and status lines), dma_test finds it
    there and not by register reads.

    So a run of 8 MiB makes hardly more register reads than a run of 2 MiB, apart from those of one
    more reading of the card's counters.
    """
    reads = []
    with card(records=True) as standin:
        for size in ("2M", "8M"):
            status, report = util.json(device, "dma_test", "--direction", direction, "--size", size)
            assert status == 0, report["failures"]
            assert report["interrupts"] > 0 and report["interrupts_missed"] == 0
            reads.append(standin.card.reads)
    # The run of 8 MiB has 24 batches of 32 buffers more than that of 2 MiB. Apart from the counters
    # it may make up to 13 reads of BAR0 more.
    assert COUNTERS <= reads[1] - reads[0] < COUNTERS + 14


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ({"line_ahead": 400}, "but it was given"),
        ({"no_record": 127}, "but the last has no record"),
        ({"stall_after": 64}, "the card finished no buffer for 1 s"),
        ({"flip": ("c2h", 77)}, "buffer 77 at offset 0x120"),
    ],
    ids=str,
)
def test_a_card_with_records_that_misbehaves_is_noticed(util, card, device, fault, sentence):
    """On a card that writes its progress to host memory (records and status lines), dma_test fails
    if the card writes an impossible count, leaves out a record, stalls or flips a bit.
    """
    with card(records=True, **fault):
        arguments = ("dma_test", "--direction", "c2h", "--size", "1M", "--timeout", "1")
        result = util.run("-d", device, *arguments)
    assert result.returncode == 1
    assert sentence in result.stdout + result.stderr


def test_a_card_with_records_that_dies_is_noticed(util, card, device):
    """If a card no longer writes its progress to host memory (records and status lines), and its
    registers read as all ones, dma_test fails, and its message says that the card has lost its
    state.
    """
    with card(records=True) as standin:
        process = util.start("-d", device, "dma_test", "--duration", "20", "--timeout", "2")
        time.sleep(1)
        standin.fault["dead"], standin.fault["stall_after"] = True, standin.card.buffers
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert "it has lost its state" in errors


def test_a_board_that_leaves_ends_the_run_at_once(util, card, device):
    """If the process of a simulated board closes the connection, dma_test fails at once, and its
    message says so."""
    with card(leave_after=100):
        start = time.monotonic()
        result = util.run("-d", device, "dma_test", "--size", "64M")
    assert result.returncode == 1
    assert "the board closed the connection" in result.stderr
    assert time.monotonic() - start < 10


def test_a_card_that_stalls_ends_the_run_after_the_timeout(util, card, device):
    """If the card stalls, dma_test fails after --timeout, and says how many buffers were done."""
    with card(stall_after=64):
        result = util.run("-d", device, "dma_test", "--direction", "c2h", "--timeout", "1")
    assert result.returncode == 1
    assert "the card finished no buffer for 1 s" in result.stderr
    assert "c2h: 64 filled" in result.stderr


HELD = {
    "slot_state": 0b0001,
    "slot_time": 9000,
    "slot_h2c_since": 7975,
    "slot_h2c_beats": 1000,
    "slot_h2c_packets": 0,
    "slot_h2c_stalls": 1026,
    "slot_c2h_since": 0,
    "slot_c2h_beats": 990,
    "slot_c2h_packets": 0,
    "slot_c2h_stalls": 0,
}


def test_a_stall_in_the_user_slot_is_named(util, card, device):
    """If the logic in the user slot stalls a run of `dma_test -e`, the message has the signals
    that the slot holds low, for how long it has done so, and the number of waiting buffers.
    """
    with card(slot=HELD):
        result = util.run("-d", device, "-e", "dma_test", "--size", "1M", "--timeout", "1")
    assert result.returncode == 1
    held = "h2c: the user slot has held sink.ready low for 4.1 us (1000 beats so far); "
    assert held + "128 buffers wait" in result.stderr
    assert "c2h: the user slot has held source.valid low for 36.0 us (990 beats" in result.stderr


@pytest.mark.parametrize("direction", ["loopback", "c2h"])
def test_what_does_not_reach_the_user_slot_does_not_speak_of_it(util, card, device, direction):
    """If a run of dma_test stalls that does not go through the user slot, but uses the DMA's
    loopback or the card's pattern, the message does not mention the user slot.
    """
    with card(slot=HELD, stall_after=64):
        result = util.run("-d", device, "dma_test", "--direction", direction, "--timeout", "1")
    assert "finished no buffer for 1 s" in result.stderr and "slot" not in result.stderr


@pytest.mark.parametrize(
    "slot, held",
    [
        (HELD, True),
        ({**HELD, "slot_state": 0b0011}, False),
        ({**HELD, "slot_state": 0b0100}, False),
        (None, False),
    ],
)
def test_doctor_says_what_the_user_slot_does(util, card, device, slot, held):
    """doctor --look prints the counts of the user slot's monitor, if the card has one. It has a
    finding if h2c data waits at the slot and the slot's logic does not take it.
    """
    with card(slot=slot):
        status, report = util.json(device, "doctor", "--look")
        text = util.run("-d", device, "doctor", "--look").stdout
    assert status == 0
    assert ("slot" in report) is (slot is not None) is ("user slot: took 1000 beats" in text)
    found = [entry for entry in report["findings"] if entry["key"] == "slot"]
    assert bool(found) is held
    if held:
        line = " ".join(text.split())
        assert "holds sink.ready low for 4.1 us of the card's time, after 1000 beats" in line
        assert report["slot"]["h2c"] == {
            "valid": True,
            "ready": False,
            "beats": 1000,
            "packets": 0,
            "stall_cycles": 1026,
        }


def test_a_card_that_dies_while_it_runs_is_noticed(util, card, device):
    """If the card's registers read as all ones during a run, dma_test fails, and its message says
    that the card has lost its state. It does not take a count of all ones for progress.
    """
    with card() as standin:
        process = util.start("-d", device, "dma_test", "--duration", "20", "--timeout", "2")
        time.sleep(1)
        standin.fault["dead"] = True
        _, errors = process.communicate(timeout=TIMEOUT)
    assert process.returncode == 1
    assert "it has lost its state" in errors


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_the_card_quiet(util, card, device, number):
    """After Ctrl-C or SIGTERM dma_test ends with status 1. DMA, interrupts and bus mastering of the
    card are then off, and the next run of dma_test passes.
    """
    with card() as standin:
        process = util.start("-d", device, "dma_test", "--duration", "60")
        time.sleep(1)
        process.send_signal(number)
        _, errors = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 1
        assert "interrupted after" in errors
        assert standin.quiet()
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0


def test_what_a_killed_client_left_running_is_stopped_by_the_next(util, card, device):
    """A run of dma_test first stops the DMA that an earlier, killed run left running, and passes.

    The stand-in for the card keeps its registers between the two runs, as a real card does.
    """
    with card(keep_state=True) as standin:
        process = util.start("-d", device, "dma_test", "--duration", "60")
        time.sleep(1)
        process.kill()
        process.wait()
        assert not standin.quiet()
        status, report = util.json(device, "dma_test", "--size", "1M")
    assert status == 0, report["failures"]


def test_the_seed_decides_the_data(util, card, device):
    """dma_test sends the same bytes for the same --seed, and other bytes for another seed."""
    sent = []
    for seed in ("7", "7", "8"):
        with card() as standin:
            arguments = ("dma_test", "--size", "8K", "--seed", seed)
            assert util.run("-d", device, *arguments).returncode == 0
            sent.append(standin.card.first_buffer)
        os.unlink(device.partition(":")[2])
    assert sent[0] == sent[1] != sent[2]
    # Most of the 256 possible values of a byte occur in 8 KiB of random data.
    assert len(set(sent[0])) > 200
