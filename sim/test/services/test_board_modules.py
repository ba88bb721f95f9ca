# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""QSFP modules in the cages of a whole card, as `litepcie_util module` prints them.

The two-wire bus takes its real time, some milliseconds for each module, so each test takes seconds.
"""

import json
import struct
import subprocess

import pytest

from sim import artefacts
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards
from sim.test.services.card_contents import RECEIVE, TEXT, TRANSMIT, qsfp28


def cmis():
    """Return the memory of a module by CMIS, lower memory and upper page 00."""
    lower, upper = bytearray(128), bytearray(128)
    lower[0] = 0x1E
    lower[9] = 0x02  # bit of a module's flags: the temperature is too low
    struct.pack_into(">h", lower, 14, int(-3.25 * 256))
    struct.pack_into(">H", lower, 16, 33010)
    for offset, text in ((129, "CMIS VENDOR"), (148, "PART"), (166, "S1")):
        upper[offset - 128 : offset - 128 + TEXT] = text.ljust(TEXT).encode()
    return bytes(lower + upper)


@pytest.fixture
def start_card(tmp_path):
    """Return a function that starts boards, as the fixture start_board does, with gateware that has
    the card services."""
    yield from started_boards(build_executable(card=True), register_map(card=True), tmp_path)


@pytest.fixture
def image(tmp_path):
    """Return a function that writes a module's memory to a file and returns its path."""

    def write(memory, name="module.bin"):
        (tmp_path / name).write_bytes(memory)
        return tmp_path / name

    return write


def module(board, *arguments, json=False):
    util = artefacts.utility(build_gateware(card=True) / "include")
    options = ["--json"] if json else []
    return subprocess.run(
        [util, "-d", f"sim:{board.socket}", *options, "module", *arguments],
        capture_output=True,
        text=True,
        timeout=900,
    )


def test_a_module_says_what_its_memory_holds(start_card, image):
    """`litepcie_util module` prints a QSFP28 module's vendor, part, serial number, temperature,
    supply, powers and flags as JSON, with the raw bytes. It reports that cage B is empty."""
    with start_card("--module-a", image(qsfp28(hot=True))) as board:
        done = module(board, json=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["cage_b"] == {"present": False}
    a = found["cage_a"]
    assert (a["form"], a["memory_by"]) == ("QSFP28", "SFF-8636")
    texts = ("LANEBOX OPTICS", "LB-100G-SR4", "SN0012345")
    assert (a["vendor"], a["part"], a["serial"]) == texts
    assert (a["temperature_c"], a["supply_v"]) == (41.5, 3.295)
    assert a["receive_mw"] == pytest.approx(RECEIVE)
    assert a["transmit_mw"] == pytest.approx(TRANSMIT)
    assert (a["receive_loss"], a["transmit_loss"], a["too_hot"]) == (1, 2, True)
    raw = bytearray.fromhex(a["lower"] + a["upper00"])
    raw[2] = 0  # The module sets bits of this byte itself: it pulls IntL.
    # The card selects the module's page by byte 127.
    assert raw == qsfp28(hot=True)


def test_text_of_a_module_with_a_stretched_clock_and_cmis(start_card, image):
    """`litepcie_util module` prints a CMIS module in cage B as text. The module stretches the
    two-wire clock after each byte."""
    options = ("--module-b", image(cmis()), "--module-b-fault", "stretch:3")
    with start_card(*options) as board:
        done = module(board, "B")
    assert done.returncode == 0, done.stderr
    for line in (
        "form         QSFP+ or later with CMIS, memory by CMIS",
        "vendor       CMIS VENDOR",
        "part         PART",
        "temperature  -3.2 C",
        "supply       3.301 V",
        "flag         the module is too cold",
    ):
        assert line in done.stdout, done.stdout
    assert "cage A" not in done.stdout


@pytest.mark.parametrize(
    "fault, sentence",
    [
        ("silent", "the module in cage A does not answer on its bus"),
        ("clock-held", "the clock line of cage A's bus was held low for more than a millisecond"),
        ("stuck:1000", "the data line of cage A's bus is held low, and nine clocks did not free"),
    ],
)
def test_a_broken_module_gets_a_sentence(start_card, image, fault, sentence):
    """If a QSFP module has a fault, `litepcie_util module` fails with a sentence that names the
    cage and the fault."""
    with start_card("--module-a", image(qsfp28()), "--module-a-fault", fault) as board:
        done = module(board, "A")
    assert done.returncode == 1
    assert sentence in done.stderr


def test_a_stuck_bus_is_freed(start_card, image):
    """If a module holds SDA low for seven clocks of SCL, the card clocks the two-wire bus until the
    module lets go, and then reads the module."""
    with start_card("--module-a", image(qsfp28()), "--module-a-fault", "stuck:7") as board:
        done = module(board, "A")
    assert done.returncode == 0, done.stderr
    assert "serial       SN0012345" in done.stdout


def test_heat_puts_the_modules_to_rest(start_card, image):
    """While the FPGA is at its limit of temperature, the card holds the modules in reset and low
    power by itself: the status says so, and the module does not answer."""
    with start_card("--module-a", image(qsfp28()), "--temperature", "101") as board:
        card = board.card()
        wait_until(lambda: card.read("module0_status") & 1 << 3, "the card's own reset of modules")
        assert card.read("module1_status") & 1 << 3
        card.write("module0_read", 1 << 8)
        wait_until(lambda: not card.read("module0_status") & 1, "the end of a transfer")
        # The error code 2 is `silent`: the module does not answer.
        assert card.read("module0_status") >> 4 & 7 == 2
        board.set("temperature", 60)
        wait_until(lambda: not card.read("module0_status") & 1 << 3, "the end of the reset")


@pytest.mark.parametrize(
    "option, value, rule",
    [
        ("module-a", "/no/such/file", "cannot be read"),
        ("module-b", __file__, "must have 128 bytes of lower memory and 1 to 256 upper pages"),
        ("module-a-fault", "stuck", "must be none, silent, clock-held, stuck:CLOCKS or stretch:US"),
        ("module-b-fault", "stretch:1000001", "at most 1000000"),
    ],
)
def test_a_wrong_module_is_refused_with_its_rule(start_card, option, value, rule):
    """The board's command `set` refuses a file that is no memory of a QSFP module, and a fault of a
    module that does not exist."""
    with start_card() as board:
        with pytest.raises(Exception, match=rule):
            board.set(option, value)


def test_a_card_without_cages_gets_a_sentence(start_board):
    """On gateware without the card services `litepcie_util module` fails with a sentence that says
    so."""
    with start_board() as board:
        done = module(board)
    assert done.returncode == 1
    assert "this card's gateware has no blocks for modules" in done.stderr
