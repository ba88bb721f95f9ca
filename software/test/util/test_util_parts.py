# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test single sources of litepcie_util by C programs of software/tools/test.

Each program includes the sources that it tests, and has a stand-in for the card if one is needed.
"""

import json

import pytest

from software.test.software_build import build_unchecked, run_program
from tools.testing.seeds import SHIFT


@pytest.fixture(scope="session")
def parts():
    """Return the folder of the C test programs, which are built with sanitizers."""
    return build_unchecked("SANITIZE=1") / "test"


@pytest.mark.parametrize("name", ["histogram", "dma_data"])
def test_random_samples_and_data_are_judged_exactly(parts, name):
    """histogram.c counts each sample in one bin, and computes the statistics of known samples
    correctly. dma_data.c reports how many dwords of a buffer are wrong, and where the first is.
    """
    run_program(parts / name, str(SHIFT + 1))


@pytest.mark.parametrize("name", ["options", "help", "util", "progress"])
def test_lines_from_and_to_the_terminal_are_as_the_manual_says(parts, name):
    """options.c stores the values of a command line, or refuses a wrong value with an error
    message. help.c prints the options of a command. util.c parses sizes, and prints the reason of a
    row that has no value. progress.c prints the amount, the rate, and the time that is left if it
    is known.
    """
    run_program(parts / name)


def test_latency_uses_the_dma_channel_of_its_handle(parts):
    """The command `latency` of litepcie_util uses registers, interrupt cause and loopback of the
    handle's DMA channel, on a card that has two channels.
    """
    run_program(parts / "latency_channel")


def test_a_run_passes_each_buffer_on_once_and_gives_a_silent_card_up(parts):
    """dma_run.c ends a run with a failure when the card has finished no buffer for the whole
    time-out. The time-out begins when the last buffer was found, also if the run did not wait for
    that buffer. Each buffer is filled or compared once, and wrong data is counted.
    """
    run_program(parts / "dma_run")


@pytest.mark.parametrize("name", ["dma_window", "dma_watch"])
def test_the_counters_are_read_when_window_and_interval_begin_and_end(parts, name):
    """dma_window.c measures a long run without its start and its end, a run without a given end to
    its end, and a short run as a whole. dma_watch.c reports each interval of a run once, but not a
    last one that is shorter than a tenth of the others.
    """
    run_program(parts / name)


def test_the_best_of_a_few_runs_is_the_rate(parts):
    """rates.c repeats a DMA run that reached no limit of card and link, up to three runs in all,
    and keeps the best. A run that fails or has a given duration is not repeated. c2h, h2c and both
    together are measured by different runs.
    """
    run_program(parts / "rates")


def test_each_way_of_access_is_proved_measured_and_undone(parts):
    """mmio_ways.c measures each kind of access with as many accesses and threads as its row of the
    output says, and waits for all threads. The card's memory is restored, also after an error.
    """
    run_program(parts / "mmio_ways")


def test_a_transfer_has_a_time_if_the_card_has_counted_its_bytes(parts):
    """latency_transfer.c takes the time from the doorbell to the last write of the card. It returns
    an error if the card has counted fewer bytes than those of the transfer, or more than those of
    the transfer, the records and the status lines. Each failure that no call of the library has
    reported has a sentence, also in latency_packet.c.
    """
    run_program(parts / "latency_transfer")


def test_a_result_is_printed_as_text_or_as_json(parts):
    """emit.c prints a result as text or as JSON. In JSON strings are escaped, and values that are
    not known are null.
    """
    assert json.loads(run_program(parts / "emit", "json")) == {
        "plain": "words",
        "escaped": '"quoted" \\ \t\x01\x7f ä',
        "absent": None,
        "largest": 2**64 - 1,
        "third": 0.333333333,
        "not_finite": None,
        "not_a_number": None,
        "yes": True,
        "no": False,
        "known": 0,
        "unknown": None,
        "null": None,
        "object": {"inner": 1},
        "no_object": None,
        "empty": [],
        "list": ["one", 2, 0.5, {"inner": 3}],
    }
    assert run_program(parts / "emit").splitlines() == [
        "plain words",
        "text alone: words",
        str(2**64 - 1),
        "2 of text alone",
        "0.333",
        "inner 1",
        "inner 3",
        "the end",
    ]
