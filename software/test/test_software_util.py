# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util as its users call it: usage, errors, JSON, and each test command.

The card is a stand-in, with and without faults. The tests in sim/test use the real gateware.
"""

import errno
import json
import re
import socket
import subprocess

import pytest

from software.test.card_standin import SCRATCH_RESET
from software.test.vfio_user_standin import REGION_READ, VERSION
from tools.testing.repository import ROOT

# Commands of litepcie_util that work with any card, and the arguments that each of them needs.
COMMANDS = {
    "info": [],
    "peek": ["ctrl_scratch"],
    "poke": ["ctrl_scratch", "1"],
    "dump": [],
    "scratch_test": [],
    "mmio_bench": [],
    "dma_test": [],
    "dma_bench": ["--size", "4M"],
    "doctor": ["--look"],
}
# The other commands of litepcie_util. test_util_pci.py tests those of PCI,
# sim/test/util/test_util_latency.py tests `latency`, and sim/test/services those of the card.
OTHERS = ["list", "reset", "rescan", "vfio", "latency", "flash", "reboot", "sensors", "module"]
OTHERS += ["console", "firmware"]


# Tests of usage and help texts --------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["-t", "x", "info"],
        ["-w", "40", "info"],
        ["--nonsense"],
        ["nonsense"],
        ["-d"],
        ["-c", "x", "info"],
        ["-c", "300", "info"],
        ["info", "extra"],
        ["info", "--size", "1"],
        ["scratch_test", "extra"],
        ["sensors", "extra"],
        ["module", "C"],
        ["module", "A", "B"],
        ["module", "--page", "3"],
        ["console", "extra"],
        ["flash"],
        ["flash", "erase"],
        ["flash", "info", "file"],
        ["flash", "write"],
        ["flash", "--address", "0", "write", "file"],
        ["flash", "--address", "0x100000000", "read", "file"],
        ["flash", "--bytes", "64M", "read", "file"],
        ["reboot", "a", "b"],
        ["firmware", "load"],
        ["firmware", "load", "a", "b"],
        ["firmware", "save"],
        ["firmware", "info", "extra"],
        ["mmio_bench", "--count", "0"],
        ["mmio_bench", "--count"],
        ["mmio_bench", "--target", "bar"],
        ["dma_test", "--direction", "up"],
        ["dma_test", "--size", "0"],
        ["dma_test", "--size", "-1"],
        ["dma_test", "--size", "1T"],
        ["dma_test", "--size", "99999999999G"],
        ["dma_test", "--duration", "0"],
        ["dma_test", "--duration", "nan"],
        ["dma_test", "--seed", "x"],
        ["dma_test", "--timeout", "0"],
        ["dma_test", "--size"],
        ["dma_test", "extra"],
        ["dma_bench", "--size", "1M"],
        ["dma_bench", "--direction", "up"],
        ["dma_bench", "--interval", "0"],
        ["dma_bench", "--sweep", "--interval", "1"],
        ["dma_bench", "--slot", "--sweep"],
        ["dma_bench", "--slot", "--duration", "1"],
    ],
    ids=" ".join,
)
def test_usage_errors_end_with_2_and_point_to_help(util, arguments):
    """litepcie_util refuses a wrong command line with status 2 before it opens a card.

    The message points to the help.
    """
    result = util.run(*arguments)
    assert result.returncode == 2
    assert "try: litepcie_util" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments", [["--help"], *([name, "--help"] for name in [*COMMANDS, *OTHERS])], ids=" ".join
)
def test_help_teaches_on_stdout(util, arguments):
    """--help of litepcie_util and of each command prints usage and examples to stdout, with status
    0.

    No line has more than 80 columns.
    """
    result = util.run(*arguments)
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout.startswith("usage: litepcie_util ")
    assert re.search("^examples?:$", result.stdout, re.MULTILINE)
    assert max(len(line) for line in result.stdout.splitlines()) <= 80


def test_help_names_every_command_and_the_exit_statuses(util):
    """The general help of litepcie_util lists every command and the exit statuses."""
    text = util.run("--help").stdout
    listed = text.partition("commands:")[2].partition("options:")[0]
    assert set(re.findall(r"^  (\w+) ", listed, re.MULTILINE)) == {*COMMANDS, *OTHERS}
    assert "examples:" in text and "exit status:" in text


# Tests of a card that cannot be opened ------------------------------------------------------------


def _socket_file(path):
    """Make a socket file on which no process listens, as after the end of a board process."""
    dead = socket.socket(socket.AF_UNIX)
    dead.bind(str(path))
    dead.close()


@pytest.mark.parametrize(
    "name, sentence",
    [
        ("", "has no name: it must be like /dev/litepcie0, vfio:0000:22:00.0 or sim:SOCKET"),
        ("sim:", '"sim:" has no name'),
        ("vfio:", '"vfio:" has no name'),
        ("vfio:nonsense", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:20.0", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:00.8", "the PCI address must be like vfio:0000:22:00.0"),
        ("vfio:22:00.0,channel=-1", "option channel=-1 in the device string"),
        ("vfio:22:00.0,channel=4294967297", "option channel=4294967297 in the device string"),
        ("vfio:22:00.0,iommufd" + "x" * 60, "63 characters at most"),
        ("{tmp}/none", "no such device; load the driver"),
        ("{tmp}", "Is a directory"),
        ("{tmp}/file", "not a device file"),
        ("/dev/null", "not a device of the LitePCIe driver"),
        ("sim:{tmp}/none", "start the board with --socket"),
        ("sim:{tmp}/file", "not a socket"),
        ("sim:{tmp}/dead", "is the board that made this socket still running?"),
        ("sim:" + "x" * 200, "a socket's path has at most 107 characters, this one 200"),
        ("sim:{tmp}/none,speed=9", "there are mps=, mrrs= and timeout="),
        ("sim:{tmp}/none,mps=300", "power of two from 128 to 4096"),
        ("sim:{tmp}/none,timeout=0", "a whole number of seconds"),
    ],
)
def test_a_device_that_cannot_be_opened_is_one_sentence(util, tmp_path, name, sentence):
    """If a device cannot be opened, litepcie_util ends with status 1 and one sentence, also with
    --json.
    """
    (tmp_path / "file").write_text("text")
    _socket_file(tmp_path / "dead")
    device = name.format(tmp=tmp_path)
    result = util.run("-d", device, "info")
    assert result.returncode == 1
    assert sentence in result.stderr
    assert len(result.stderr.splitlines()) == 1
    status, report = util.json(device, "info")
    assert status == 1
    assert report["ok"] is False
    assert sentence in report["failures"][0]
    assert report["conditions"] == {"mps": None, "mrrs": None, "device": device, "backend": None}


@pytest.mark.parametrize(
    "faults, sentence",
    [
        ({"silent": VERSION}, "no answer to VERSION within 1 s"),
        ({"silent": REGION_READ}, "no answer to REGION_READ within 1 s"),
        ({"garbage": b"HTTP/1.1 400 Bad Request\r\n\r\n"}, "does not speak vfio-user"),
        ({"garbage": b"\0" * 16}, "does not speak vfio-user"),
        ({"garbage": b""}, "closed the connection during VERSION"),
        ({"version": b"\1\0\0\0{}\0"}, "version 1; this library speaks version 0"),
        ({"version": b"\0\0\0"}, "the answer to VERSION has 3 bytes, not 4 or more"),
        ({"wrong_id": True}, "does not speak vfio-user"),
        ({"dead": True}, "the capability table reads all ones"),
        ({"table": (0, 0)}, "no capability table at BAR0 + 0x1f000"),
        ({"table": (1, 7 << 16)}, "capability table has version 7.0, this library understands 1.x"),
        ({"table": (2, 1 << 20)}, "the capability table claims 1048576 bytes"),
        ({"table": (4, 1000)}, "1000 blocks do not fit"),
        ({"table": (23, 4)}, "block 0 of the capability table has 4 bytes"),
        ({"table": (23, 28)}, "block 0 of the capability table has 28 bytes"),
        ({"table": (30, 99)}, "the card has no identifier"),
        ({"checksum": 1}, "the checksum of the capability table"),
        ({"tick_ns": 0}, "the card does not say how long a tick of its time is"),
        ({"missing": "msi"}, "no MSI capability"),
        ({"missing": "pcie"}, "no PCI Express capability"),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_a_peer_that_is_no_card_is_refused_at_open(util, card, device, faults, sentence):
    """If the board process is silent, speaks another protocol or has a faulty card, the open fails
    with a sentence.

    With a silent board process the open fails after the timeout of 1 s. In the other cases the
    timeout is 30 s, since the machine may be busy.
    """
    seconds = 1 if "silent" in faults else 30
    with card(**faults):
        result = util.run("-d", f"{device},timeout={seconds}", "info")
    assert result.returncode == 1
    assert sentence in result.stderr


# Tests of the commands info and scratch_test ------------------------------------------------------


def test_info_shows_what_was_negotiated(util, card, device):
    """`info` shows the card's MPS and MRRS, which are those that the device name asks for."""
    with card() as standin:
        status, report = util.json(f"{device},mps=256,mrrs=1024", "info")
    assert status == 0
    assert report["identifier"] == standin.registers.text
    assert (report["mps_bytes"], report["mrrs_bytes"]) == (256, 1024)
    assert (report["link_up"], report["link_gen"], report["link_lanes"]) == (True, 3, 8)
    assert report["msi_enabled"] is True
    assert report["conditions"]["backend"] == "sim"
    assert report["endpoint"]["clock_hz"] == 250000000
    for way, bit in standin.registers.bit.items():
        assert 1 << report["endpoint"][f"interrupt_{way}"] == bit


def test_mps_defaults_to_what_the_card_advertises_and_may_not_exceed_it(util, card, device):
    """MPS is by default what the card advertises, 512 bytes for the stand-in.

    A larger MPS is refused.
    """
    with card():
        assert util.json(device, "info")[1]["mps_bytes"] == 512
        result = util.run("-d", f"{device},mps=1024", "info")
    assert result.returncode == 1
    assert "mps=1024: the board advertises 512 bytes" in result.stderr


def test_a_board_that_reads_host_memory_by_message_is_served(util, card, device):
    """If the board process reads host memory by a message, the library answers with the bytes.

    The host memory of the test is new, so all its bytes are zero.
    """
    with card(ask_memory=True) as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert standin.asked == bytes(4096)


def test_a_write_by_message_that_lacks_its_bytes_is_an_error(util, card, device):
    """If the board process writes host memory by a message that has fewer bytes than its head says,
    the library answers with EINVAL, and goes on.
    """
    with card(ask_memory="short") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert standin.error == errno.EINVAL


def test_a_request_that_leaves_the_memory_is_an_error(util, card, device):
    """If the board process reads host memory by a message that goes beyond the end of the memory,
    the library answers with EFAULT and no data, and goes on.
    """
    with card(ask_memory="beyond") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert (standin.error, standin.asked) == (errno.EFAULT, b"")


def test_a_request_that_comes_with_an_answer_is_served_at_once(util, card, device):
    """If a request of the board process comes together with an answer, the library answers the
    request at once.

    A later wait for the socket would not end: the request has already been read from the socket.
    """
    with card(ask_memory="behind") as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert len(standin.asked) == 4096


def test_scratch_test_restores_the_reset_value(util, card, device):
    """The command scratch_test passes all patterns, and leaves the reset value in the register."""
    with card() as standin:
        status, report = util.json(device, "scratch_test")
        assert standin.scratch() == SCRATCH_RESET
    assert status == 0
    assert (report["patterns"], report["errors"], report["first_mismatch"]) == (38, 0, None)


def test_scratch_test_reports_a_stuck_bit(util, card, device):
    """A stuck bit of the scratch register makes scratch_test fail with status 1.

    The report has the value written and the value read.
    """
    with card(stuck=0x100):
        status, report = util.json(device, "scratch_test")
        text = util.run("-d", device, "scratch_test")
    assert status == 1
    assert report["first_mismatch"] == {"expected": 0, "got": 0x100}
    assert "0x00000000 written, 0x00000100 read" in text.stderr


# Tests of JSON and other output -------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_json_is_one_object_with_the_same_head(util, card, device, command):
    """With --json each command prints one object that begins with command, ok, failures and
    conditions.
    """
    with card():
        result = util.run("-d", device, "--json", command, *COMMANDS[command])
    report = json.loads(result.stdout)
    assert list(report)[:4] == ["command", "ok", "failures", "conditions"]
    assert report["command"] == command and report["ok"] is True and report["failures"] == []
    assert report["conditions"] == {"mps": 512, "mrrs": 512, "device": device, "backend": "sim"}
    assert result.stderr == ""


@pytest.mark.parametrize(
    "command",
    [
        ["info"],
        ["scratch_test"],
        ["mmio_bench", "--count", "2"],
        ["mmio_bench", "--all"],
        ["dma_test"],
        ["dma_bench"],
        ["dma_bench", "--size", "4M", "--interval", "0.01"],
        ["dma_bench", "--sweep"],
        ["latency", "--count", "2"],
        ["doctor"],
    ],
    ids=" ".join,
)
def test_a_default_terminal_shows_a_result_whole(util, card, device, command):
    """Each result of litepcie_util fits into 80 columns, if the name of the device is short."""
    with card():
        result = util.run("-d", device, *command)
    assert result.returncode == 0, result.stderr
    lines = [line.replace(device, "sim:build/board.sock") for line in result.stdout.splitlines()]
    assert [line for line in lines if len(line) > 80] == []


def test_a_result_that_cannot_be_written_fails(util, card, device):
    """If stdout cannot be written, litepcie_util ends with status 1 and says so."""
    with card(), open("/dev/full", "w") as full:
        result = subprocess.run(
            [util.program, "-d", device, "--json", "info"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )
    assert result.returncode == 1
    assert "could not be written" in result.stderr
    for name in ([], ["info"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run(
                [util.program, *name, "--help"],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                timeout=60,
            )
        assert result.returncode == 1 and "could not be written" in result.stderr


# Tests of the manual pages ------------------------------------------------------------------------


def test_the_manual_page_knows_every_option_and_every_key(util, card, device):
    """litepcie_util's manual page has every option of the help texts and every key of the JSON
    output.
    """
    page = (ROOT / "software" / "tools" / "litepcie_util.1").read_text()
    words = set(re.findall(r"[\w-]+", page))
    texts = [util.run(*name, "--help").stdout for name in ([], *zip([*COMMANDS, *OTHERS]))]
    options = set(re.findall(r"--([a-z]+)", " ".join(texts)))
    assert options and all(f"-{option}" in words for option in options)
    with card():
        keys = set()
        for command, more in COMMANDS.items():
            keys |= _keys(util.json(device, command, *more)[1])
    # The JSON keys of commands that need a machine or real gateware are read from the C sources.
    sources = sorted((ROOT / "software" / "tools" / "litepcie_util").rglob("*.c"))
    keyed = r"(?:json_\w+\(&?json|emit_\w+\(out), \"(\w+)\""
    named = [re.findall(keyed, path.read_text()) for path in sources]
    assert len(keys) < len(keys.union(*named)) and keys.union(*named) - words == set()


def _keys(value):
    """Return all keys of a JSON report as a set, at every depth of nesting."""
    if isinstance(value, list):
        return set().union(*(_keys(entry) for entry in value)) if value else set()
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(_keys(entry) for entry in value.values()))


def test_the_manual_page_is_well_formed():
    """groff reports no warning for litepcie_util's manual page."""
    page = ROOT / "software" / "tools" / "litepcie_util.1"
    command = ["groff", "-mdoc", "-Tutf8", "-ww", page]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0
    assert result.stderr == ""
