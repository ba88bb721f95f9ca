# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The firmware on the host, with a card in Python: what it does at each event, and its mailbox."""

import random

import pytest

from firmware.test.fake_card import FakeCard, build
from gateware.card.cpu import layout
from tools.testing.seeds import each_seed


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("firmware"))


@pytest.fixture
def card(built):
    return FakeCard(*built)


def test_it_sleeps_at_once_and_gives_a_heartbeat(card):
    """The firmware sleeps with all events in its mask, after a heartbeat, with a tick a second."""
    card.step()
    assert card.writes[-1] == (card.at.OWN_SLEEP, card.at.EVENT_ALL)
    assert card.heartbeats == 1 and (card.at.OWN_TICK, card.at.TICK_SECOND) in card.writes
    assert card.word("sign") == layout.MAILBOX_MAGIC
    assert card.log() == "start\n"


def test_every_wake_gives_a_heartbeat(card):
    """Each turn of the loop gives a heartbeat, also one without any event."""
    card.step(*[lambda: None] * 5)
    assert card.heartbeats == 6


# Over-temperature ---------------------------------------------------------------------------------


def control(card):
    return [
        card.registers.get(card.at.CARD_MODULE0_CONTROL),
        card.registers.get(card.at.CARD_MODULE1_CONTROL),
    ]


def test_heat_puts_both_modules_into_reset_and_low_power(card):
    """At over-temperature both cages get reset and low power; when it is over, low power stays."""
    seen = []

    def heat():
        card.registers[card.at.OWN_HOT] = 1
        card.events |= card.at.EVENT_HOT

    def cool():
        seen.append(control(card))
        card.registers[card.at.OWN_HOT] = 0
        card.events |= card.at.EVENT_COOL

    card.step(heat, cool)
    assert seen == [[3, 3]] and control(card) == [2, 2]
    assert card.log() == "start\nhot: modules in reset\ncool: modules in low power\n"


def test_heat_from_before_the_start_counts(card):
    """A card that is hot when the firmware starts is treated as one that becomes hot."""
    card.registers[card.at.OWN_HOT] = 1
    card.step()
    assert control(card) == [3, 3]


def test_heat_that_came_last_wins(card):
    """If `cool` and `hot` have both come and the card is hot, the modules stay in reset."""

    def both():
        card.registers[card.at.OWN_HOT] = 1
        card.events |= card.at.EVENT_HOT | card.at.EVENT_COOL

    card.step(both)
    assert control(card) == [3, 3]


def test_a_board_without_cages_logs_the_heat(tmp_path):
    """The firmware of a board whose cages are not known compiles, and writes to no module."""
    card = FakeCard(*build(tmp_path, cages=0))
    card.registers[card.at.OWN_HOT] = 1
    card.step()
    assert card.log().endswith("hot: modules in reset\n")


# Mailbox ------------------------------------------------------------------------------------------


def talk(card, *lines):
    """Type each line after a sleep. Return all that the firmware has printed."""
    text = []
    steps = []
    for line in lines:
        steps += [lambda line=line: card.type(line), lambda: text.append(card.printed())]
    # A long answer comes in parts: the host reads, rings, and gets the next.
    steps += [lambda: text.append(card.printed())] * 12
    card.step(*steps)
    return "".join(text)


def test_the_console_echoes_and_answers(card):
    """Typed text is echoed; `version`, `peek` and `help` are answered; the host is interrupted."""
    card.registers[card.at.CARD_REGISTERS_BASE + 0x4004] = 0x12345678
    said = talk(card, "ver", "sion\r", "peek 0x4004\r", "help\r", "\r")
    assert said == (
        f"version\nLanebox firmware {card.at.FIRMWARE_VERSION:08x}\n> peek 0x4004\n12345678\n> "
        "help\ncommands: version, log, peek OFFSET\n> \n> "
    )
    assert card.rings == 5


@pytest.mark.parametrize("offset", ["10000", "4001", "", "x", "123456789", "0x", "4:", "12g"])
def test_peek_refuses_what_is_no_register(card, offset):
    """An offset beyond the registers, between two, or that is no number, is read from nowhere."""
    said = talk(card, f"peek {offset}\r")
    assert "a multiple of 4, below 00010000" in said


def test_a_line_is_edited_and_has_an_end(card):
    """Backspace takes a character back, and what a line has no room for is not echoed."""
    assert talk(card, "versionx\b\r").startswith("versionx\b \b\nLanebox")
    said = talk(card, "a" * 100 + "\r")
    assert said.startswith("a" * 39 + "\n") and said.count("a") < 50


@each_seed(4)
def test_the_log_is_told_whole_and_in_order(card, seed):
    """`log` prints the last 2 KiB, whatever the log's length is, although the ring is smaller."""
    rng = random.Random(seed)
    lines = "".join(f"{n}\n" for n in range(rng.randrange(1000)))
    place, size = layout.RINGS["log"]
    for n, byte in enumerate(lines.encode()):
        card.memory[layout.MAILBOX_BASE + place + n % size] = byte
    card.set_word("log_head", len(lines))
    card.set_word("log_sign", layout.LOG_MAGIC)
    said = talk(card, "log\r")
    assert said == "log\n" + (lines + "start\n")[-size:] + "> "


def test_the_log_outlives_a_start(card):
    """A second start goes on with the first one's log; a memory without log gets an empty one."""
    card.set_word("log_head", 12345)
    card.step()
    assert card.log() == "start\n"
    card.step()
    assert card.log() == "start\nstart\n"


def test_a_command_is_answered_once(card):
    """A command in the slot gets its value and its own word as answer; an unknown one gets ~0."""
    got = []

    def ask(number, code, argument=0):
        def ask_now():
            card.set_word("argument", argument)
            card.set_word("command", number << 16 | code)
            card.events |= card.at.EVENT_DOORBELL

        return ask_now

    def note():
        got.append((card.word("answered"), card.word("value")))

    card.registers[card.at.CARD_REGISTERS_BASE + 8] = 77
    card.registers[card.at.OWN_FAILURES] = 2
    names = layout.COMMANDS
    card.step(
        ask(1, names["version"]),
        note,
        ask(2, names["peek"], 8),
        note,
        ask(3, names["failures"]),
        note,
        ask(4, 99),
        note,
        ask(5, names["peek"], 0x10000),
        note,
    )
    assert got == [
        (1 << 16 | 1, card.at.FIRMWARE_VERSION),
        (2 << 16 | 2, 77),
        (3 << 16 | 3, 2),
        (4 << 16 | 99, layout.UNKNOWN_COMMAND),
        (5 << 16 | 2, layout.UNKNOWN_COMMAND),
    ]
    assert card.rings == 5


def test_bytes_from_before_the_start_are_not_run(card):
    """What lies in the rings and in the slot when the firmware starts is left alone."""
    card.type("version\r")
    card.set_word("command", 5 << 16 | layout.COMMANDS["version"])
    card.step(lambda: None)
    assert card.printed() == "" and card.rings == 0


def test_a_host_that_reads_nothing_holds_nothing_up(card):
    """With a full ring the firmware still sleeps, and what had no room is lost."""
    card.step(*[lambda: card.type("peek 0\r")] * 100)
    assert card.word("out_head") - card.word("out_tail") == layout.RINGS["out"][1]
    assert card.heartbeats == 101
