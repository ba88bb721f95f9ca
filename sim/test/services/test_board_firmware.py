# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The management CPU and its firmware on a whole card: what it does by itself, how the host talks
to it and changes its image, and what it costs. test_management.py tests the CPU alone."""

import json
import signal
import subprocess

import pytest

from gateware.card.cpu import image, layout
from sim import artefacts
from sim.test.board.board_builds import build_executable, build_gateware, register_map
from sim.test.board.board_client import wait_until
from sim.test.conftest import started_boards
from sim.test.services.card_contents import built_firmware
from tools.testing.mailbox import Mailbox, compile_alone

LOW_POWER, RESET = 2, 1
HANG = "int main(void) { for (;;); }"

pytestmark = pytest.mark.skipif(image.compiler() is None, reason="no RISC-V compiler")


class Cpu(Mailbox):
    """The management CPU of a board, which is reached by the Card `card`."""

    def __init__(self, board):
        self.board, self.card = board, board.card()
        self.read, self.write = self.card.read, self.card.write
        self.peek, self.poke = self.card.mmio_read, self.card.mmio_write

    def settle(self):
        """Wait until the CPU's clock stands. Return the CPU's state.

        One read gives both fields: a CPU that is started again is awake at one read, and being
        checked without a clock at the next.
        """

        def still():
            state, awake, *_ = self.status()
            return state != "checking" and not awake

        wait_until(still, "a still CPU")
        return self.status()[0]


@pytest.fixture
def start_cpu(tmp_path):
    """Return a function that starts boards whose gateware has the management CPU."""
    yield from started_boards(
        build_executable(card=True, firmware=True), register_map(card=True, firmware=True), tmp_path
    )


@pytest.fixture
def cpu(start_cpu):
    """Return the management CPU of a new board: it has just started and sleeps."""
    with start_cpu() as board:
        cpu = Cpu(board)
        cpu.settle()
        yield cpu


def firmware_image():
    """Return the image of the management CPU's firmware that is built into the gateware under
    test."""
    return built_firmware(build_executable(card=True, firmware=True))


def test_a_sleeping_cpu_costs_no_device_time(cpu):
    """While the management CPU sleeps with its timer armed, device time stands still."""
    assert cpu.word("sign") == layout.MAILBOX_MAGIC
    cpu.board.let_pass(1 << 20)
    before = cpu.board.stats()["cycles"]
    cpu.board.let_pass(1 << 20)
    assert cpu.board.stats()["cycles"] == before


def test_the_console_echoes_and_answers(cpu):
    """The firmware of the management CPU echoes each character that the host sends to its console,
    and answers each line. Each answer interrupts the host once."""
    cause = cpu.card.constants["management_interrupt"]
    cpu.card.write("pcie_msi_enable", 1 << cause)
    cpu.card.interrupts()
    cpu.type("hel")
    assert cpu.card.wait_interrupt() == 1
    assert cpu.printed() == "hel"
    cpu.type("p\rpeek 4\r")
    assert cpu.printed() == "p\ncommands: version, log, peek OFFSET\n> peek 4\n12345678\n> "
    cpu.type("log\r")
    assert cpu.printed() == "log\nstart\n> "


def test_heat_quiets_both_modules(cpu):
    """When the FPGA is too hot, the firmware puts the modules in both cages into reset and low
    power. When the FPGA has cooled, the modules leave the reset and stay in low power. The
    firmware's log has a line for each of the two events."""
    controls = ("module0_control", "module1_control")

    def until(value, what):
        wait_until(lambda: all(cpu.card.read(name) == value for name in controls), what)

    for name in controls:
        cpu.card.write(name, 0)
    cpu.board.set("temperature", 101)
    until(RESET | LOW_POWER, "reset and low power")
    cpu.board.set("temperature", 60)
    until(LOW_POWER, "low power alone")
    assert cpu.log() == "start\nhot: modules in reset\ncool: modules in low power\n"


def test_a_firmware_that_hangs_is_given_up_after_three_starts(cpu, tmp_path):
    """A firmware without a heartbeat is started three times. Then it is kept in reset, and costs no
    device time. The host can give the CPU a good image again, and the log is still there."""
    cpu.load(compile_alone(tmp_path / "hang", HANG))
    before = cpu.board.stats()["cycles"]
    assert cpu.settle() == "given_up"
    took = cpu.board.stats()["cycles"] - before
    assert cpu.status() == ("given_up", False, layout.STARTS, 0)
    assert took > 2.5 * layout.PATIENCE and took < 4 * layout.PATIENCE
    cpu.load(firmware_image())
    assert cpu.settle() == "running"
    assert cpu.log() == "start\nstart\n"


def test_an_image_cut_short_is_not_started(cpu):
    """A firmware image whose second half is missing fails its CRC, and the management CPU stays in
    reset. It runs again when it gets the whole image."""
    raw = firmware_image()
    cpu.load(raw[: len(raw) // 8 * 4] + bytes(len(raw) - len(raw) // 8 * 4))
    assert cpu.settle() == "bad_image"
    cpu.load(raw)
    assert cpu.settle() == "running"


# litepcie_util at the management CPU --------------------------------------------------------------


def util(board, *arguments, **options):
    program = artefacts.utility(build_gateware(card=True, firmware=True) / "include")
    command = [program, "-d", f"sim:{board.socket}", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def test_the_console_passes_input_and_prints_the_answers(start_cpu):
    """`litepcie_util console` gives its standard input to the firmware, and prints what it answers,
    as text and as JSON."""
    with start_cpu() as board:
        done = util(board, "console", input="peek 4\nlog\n")
        assert done.returncode == 0, done.stderr
        assert done.stdout == "peek 4\n12345678\n> log\nstart\n> "
        done = util(board, "--json", "console", input="version\n")
        assert json.loads(done.stdout)["output"].startswith("version\nLanebox firmware ")


def test_ctrl_c_ends_the_console_cleanly(start_cpu):
    """A console without input waits, and ends by SIGINT with exit status 0."""
    program = artefacts.utility(build_gateware(card=True, firmware=True) / "include")
    with start_cpu() as board:
        command = [program, "-d", f"sim:{board.socket}", "console"]
        running = subprocess.Popen(command, stdin=-1, stdout=-1, stderr=-1, text=True)
        running.stdin.write("version\n")
        running.stdin.flush()
        assert running.stdout.readline() == "version\n"
        assert running.stdout.readline().startswith("Lanebox firmware")
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0 and errors == ""


def test_an_image_is_loaded_by_the_tool(start_cpu, tmp_path):
    """`litepcie_util firmware load` gives the CPU another image. The tool refuses a file that has
    been cut, and the card an image with a wrong CRC. Firmware that hangs is reported as such."""
    raw = firmware_image()
    (tmp_path / "good.bin").write_bytes(raw)
    (tmp_path / "cut.bin").write_bytes(raw[:-8])
    (tmp_path / "wrong.bin").write_bytes(raw[:-4] + bytes(4))
    (tmp_path / "text.bin").write_bytes(b"text" * 100)
    (tmp_path / "hang.bin").write_bytes(compile_alone(tmp_path / "hang", HANG))
    sentences = {
        "cut": "its header says",
        "text": "is no image of the management CPU",
        "wrong": "its CRC-32 is wrong",
        "hang": "gave no heartbeat",
        "none": "cannot be read",
    }
    with start_cpu() as board:
        for name, sentence in sentences.items():
            done = util(board, "firmware", "load", tmp_path / f"{name}.bin")
            assert done.returncode == 1 and sentence in done.stderr, (name, done.stderr)
        assert "given up" in util(board, "firmware").stdout
        assert "does not run (given up)" in util(board, "console").stderr
        found = util(board, "--json", "firmware", "load", tmp_path / "good.bin")
        assert found.returncode == 0, found.stderr
        values = json.loads(found.stdout)
        assert (values["state"], values["awake"], values["bytes"]) == ("running", False, len(raw))


def test_a_card_without_a_cpu_gets_a_sentence(start_board):
    """On gateware without the management CPU `litepcie_util console` and `litepcie_util firmware`
    fail with a sentence that says so."""
    with start_board() as board:
        for command in ("console", "firmware"):
            done = util(board, command)
            assert done.returncode == 1 and "no management CPU: build its" in done.stderr
