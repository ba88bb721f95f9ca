# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The FPGA's sensors on a whole card: `litepcie_util sensors` prints what the board was told to
measure, and the alarms follow their limits."""

import json
import subprocess

import pytest

from sim import artefacts
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards

HALF_STEP_C = 0.3  # degrees: half a step of the temperature's 10 bits, and a little more
HALF_STEP_V = 0.003  # V: half a step of a voltage's 10 bits, and a little more


@pytest.fixture
def start_card(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with gateware that has
    the card services."""
    yield from started_boards(build_executable(card=True), register_map(card=True), tmp_path)


def sensors(board, *options):
    util = artefacts.utility(build_gateware(card=True) / "include")
    return subprocess.run(
        [util, "-d", f"sim:{board.socket}", *options, "sensors"],
        capture_output=True,
        text=True,
        timeout=300,
    )


def values(board):
    done = sensors(board, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    return {name: found[name] for name in found if name.endswith(("_c", "_v"))} | {
        "alarms": found["alarms"],
        "since": found["alarms_since_reset"],
    }


def test_the_command_prints_what_the_board_measures(start_card):
    """Temperature and voltages of the board's options come out of `litepcie_util sensors`, as text
    and as JSON, and no alarm is on."""
    with start_card("--temperature", "62.5", "--vccaux", "1.79") as board:
        found = values(board)
        text = sensors(board).stdout
    # LiteX keeps the upper bits of a code, so a value is at most one step too low.
    assert 62.5 - 2 * HALF_STEP_C < found["temperature_c"] <= 62.5 + HALF_STEP_C / 10
    assert found["vccint_v"] == pytest.approx(0.85 - HALF_STEP_V / 2, abs=HALF_STEP_V)
    assert found["vccaux_v"] == pytest.approx(1.79 - HALF_STEP_V / 2, abs=HALF_STEP_V)
    assert found["vccbram_v"] == pytest.approx(0.85 - HALF_STEP_V / 2, abs=HALF_STEP_V)
    assert (found["alarms"], found["since"]) == ([], [])
    assert f"temperature    {found['temperature_c']:.1f} C" in text
    assert "alarms         none since the card's reset" in text


def measured(card):
    """Wait until the FPGA's sensors have measured all channels anew. Return the registers
    sensors_alarms and sensors_seen."""
    begun = card.read("sensors_sequences")
    wait_until(lambda: card.read("sensors_sequences") >= begun + 2, "two sequences of measurements")
    return card.read("sensors_alarms"), card.read("sensors_seen")


def test_alarms_follow_their_limits(start_card):
    """A hot FPGA raises the alarm of the temperature, and a hotter one also the alarm for the
    temperature's limit. A supply outside its limits raises its own alarm. The register sensors_seen
    keeps each alarm until software clears it."""
    hottest, hot, vccbram = 1 << 0, 1 << 1, 1 << 4
    with start_card() as board:
        card = board.card()
        assert measured(card) == (0, 0)
        board.set("temperature", 90)
        assert measured(card) == (hot, hot)
        board.set("temperature", 101)
        board.set("vccbram", 0.9)
        every = hottest | hot | vccbram
        assert measured(card) == (every, every)
        # The alarm of the temperature ends below 80 degrees, that of its limit below 85.
        board.set("temperature", 82)
        board.set("vccbram", 0.85)
        assert measured(card) == (hot, every)
        card.write("sensors_clear", hottest)
        board.set("temperature", 40)
        assert measured(card) == (0, hot | vccbram)


def test_an_alarm_is_printed_as_a_sentence(start_card):
    """`litepcie_util sensors` prints an alarm that is on, as text and as JSON, and still ends with
    status 0."""
    with start_card("--temperature", "90") as board:
        assert values(board)["alarms"] == ["temperature"]
        assert "alarm          the FPGA is hot" in sensors(board).stdout


def test_a_card_without_sensors_gets_a_sentence(start_board):
    """On gateware without the card services `litepcie_util sensors` fails with a sentence that says
    so."""
    with start_board() as board:
        done = sensors(board)
    assert done.returncode == 1
    assert "this card's gateware has no sensors; they are built by --card" in done.stderr


@pytest.mark.parametrize("value", ["hot", "-41", "151", "40x", ""])
def test_a_wrong_temperature_is_refused_with_its_rule(start_card, value):
    """The board's command `set temperature` refuses a value that is no temperature of the FPGA. The
    error has the value and the limits."""
    with start_card() as board:
        with pytest.raises(Exception, match="must be a number from -40 to 150"):
            board.set("temperature", value)
