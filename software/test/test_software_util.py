# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test litepcie_util as its users call it: usage, errors, JSON, and each test command.

The card is a stand-in, with and without faults. The tests in sim/test use the real gateware.
"""

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


# Usage --------------------------------------------------------------------------------------------


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


# A card that cannot be opened ---------------------------------------------------------------------


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
    """If the peer is silent, speaks another protocol or has a faulty card, the open fails with a
    sentence.

    A silent peer fails the open after the timeout. Every other peer is given ample time, since the
    machine may be busy.
    """
    seconds = 1 if "silent" in faults else 30
    with card(**faults):
        result = util.run("-d", f"{device},timeout={seconds}", "info")
    assert result.returncode == 1
    assert sentence in result.stderr


# info, scratch_test -------------------------------------------------------------------------------


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
    """If a board reads host memory by message, the library answers.

    New host memory is all zeros.
    """
    with card(ask_memory=True) as standin:
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert standin.asked == bytes(4096)


def test_a_request_that_comes_with_an_answer_is_served_at_once(util, card, device):
    """The library answers a board's request that comes together with an answer at once.

    No later wait for the socket would find such a request.
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


# mmio_bench ---------------------------------------------------------------------------------------


def test_mmio_bench_measures_every_size_that_is_answered_rightly(util, card, device):
    """mmio_bench reports times in device time, each with a histogram, and restores the card's
    memory.
    """
    with card() as standin:
        standin.preset_memory0([0xA5A50000 + n for n in range(256)])
        status, report = util.json(device, "mmio_bench", "--count", "20")
        assert standin.memory0(256) == [0xA5A50000 + n for n in range(256)]
    assert status == 0
    rows = {row["id"]: row for row in report["rows"]}
    assert list(rows) == ["mmio_read/4", "mmio_read/8", "mmio_write/4", "mmio_write/8"]
    for row in rows.values():
        assert row["reason"] is None
        assert row["min_ns"] <= row["median_ns"] <= row["p99_ns"] <= row["max_ns"]
        assert sum(entry["count"] for entry in row["histogram"]) == row["samples"] == 20
    # An MMIO read of the stand-in takes 187 ticks of 4 ns, and its posted write takes one tick.
    assert report["clock_round_trip_ns"] == 748
    assert rows["mmio_read/4"]["value"] == 748
    assert rows["mmio_write/4"]["value"] == rows["mmio_write/4"]["mb_per_s"] == 1000
    assert rows["mmio_write/8"]["value"] == 2000


@pytest.mark.parametrize("tick_ns, limit", [(4, 7.4219), (8, 3.7647)])
def test_times_are_in_the_ticks_of_the_card(util, card, device, tick_ns, limit):
    """litepcie_util computes times and rates with the length of a tick that the card's own table
    gives.

    A card at 125 MHz does as much in a tick, which is twice as long. At MPS 512 it is not the wire
    that limits its c2h but the card's interface, which has 7.5294 GB/s at 250 MHz.
    """
    with card(tick_ns=tick_ns):
        _, info = util.json(device, "info")
        _, mmio = util.json(device, "mmio_bench", "--count", "20")
        _, dma = util.json(device, "dma_test", "--direction", "c2h", "--size", "4M")
        _, bench = util.json(device, "dma_bench", "--size", "4M")
    assert info["endpoint"]["clock_hz"] == 10**9 // tick_ns
    assert info["device_time_s"] * 1e9 == pytest.approx(info["device_time_ticks"] * tick_ns)
    assert mmio["clock_round_trip_ns"] == 187 * tick_ns
    assert dma["c2h"]["gb_per_s"] == pytest.approx(dma["c2h"]["bytes_per_cycle"] / tick_ns)
    rows = {row["id"]: row for row in bench["rows"]}
    assert rows["c2h"]["limit"] == pytest.approx(limit, abs=1e-4)


def test_mmio_bench_gives_no_number_for_a_size_that_is_answered_wrongly(util, card, device):
    """If the card answers accesses of one size wrongly, mmio_bench's row has a reason in place of a
    value.

    Stock LitePCIe so answers accesses of 8 bytes. The status is 0.
    """
    with card(wide="stock"):
        status, report = util.json(device, "mmio_bench", "--count", "3")
        text = util.run("-d", device, "mmio_bench", "--count", "3")
    assert status == text.returncode == 0
    rows = {row["id"]: row for row in report["rows"]}
    assert rows["mmio_read/4"]["value"] and rows["mmio_write/4"]["value"]
    assert rows["mmio_read/8"]["value"] is None
    assert "0xffffffffffffffff read" in rows["mmio_read/8"]["reason"]
    assert rows["mmio_write/8"]["value"] is None
    assert "stores a write of 8 bytes wrongly" in rows["mmio_write/8"]["reason"]
    assert text.stdout.count("no value:") == 2


@pytest.mark.parametrize(
    "target, valued",
    [
        ("scratch", ["mmio_read/4", "mmio_write/4"]),
        ("time", ["mmio_read/4", "mmio_read/8"]),
    ],
)
def test_mmio_bench_of_a_register_leaves_its_neighbours_alone(util, card, device, target, valued):
    """mmio_bench accesses a register only by sizes that fit it; ctrl_scratch keeps its value."""
    with card() as standin:
        status, report = util.json(device, "mmio_bench", "--count", "3", "--target", target)
        assert standin.scratch() == SCRATCH_RESET
    assert status == 0
    assert [row["id"] for row in report["rows"] if row["value"] is not None] == valued
    assert all(row["reason"] for row in report["rows"] if row["value"] is None)


def test_a_card_without_stamps_gives_no_time_to_its_interrupt(util, card, device):
    """On a card without stamps the rows interrupt/* of latency have a reason, and the rows dma/*
    have times.
    """
    with card():
        status, report = util.json(device, "latency", "--count", "2")
    assert status == 0
    rows = {row["id"]: row for row in report["rows"]}
    for size in (64 << n for n in range(7)):
        assert rows[f"interrupt/{size}"]["value"] is None
        assert "does not stamp doorbell and interrupt" in rows[f"interrupt/{size}"]["reason"]
        assert rows[f"dma/{size}"]["value"] is not None


def test_a_board_without_write_multi_is_served_one_write_at_a_time(util, card, device):
    """The library sends a board without REGION_WRITE_MULTI one write in each message, and the
    report says so.
    """
    with card(write_multi=False):
        status, report = util.json(device, "mmio_bench", "--count", "2")
        assert util.run("-d", device, "dma_test", "--size", "1M").returncode == 0
    assert status == 0
    assert "one write in a message" in report["mmio_path"]


# dma_bench ----------------------------------------------------------------------------------------

RATE = {"id", "value", "unit", "limit", "ratio", "binds", "bytes", "cycles", "stall_cycles"}


def test_dma_bench_tells_how_it_goes_on(util, card, device):
    """dma_bench --interval reports consecutive intervals, with rates by the card's clock."""
    arguments = ("dma_bench", "--direction", "c2h", "--size", "8M", "--interval", "0.01")
    with card():
        status, report = util.json(device, *arguments)
        text = util.run("-d", device, *arguments)
    assert status == text.returncode == 0
    found = report["intervals"]
    assert len(found) > 1 and {entry["id"] for entry in found} == {"c2h"}
    assert all(set(entry) == RATE | {"from_s", "to_s"} for entry in found)
    assert found[0]["from_s"] == 0
    assert all(a["to_s"] == b["from_s"] for a, b in zip(found, found[1:]))
    for entry in found:
        assert entry["to_s"] - entry["from_s"] >= 0.001
        assert entry["value"] == pytest.approx(entry["bytes"] / (entry["cycles"] * 4))
        assert entry["ratio"] == pytest.approx(entry["value"] / entry["limit"])
        # The stand-in moves at most 8 KiB in 300 ticks of 4 ns. Register reads take device time,
        # too.
        assert 0 <= entry["value"] < 8192 / 1200 * 1.01
    assert 4 << 20 < sum(entry["bytes"] for entry in found) <= 8 << 20
    assert len(re.findall(r"^  c2h +[\d.]+-", text.stdout, re.MULTILINE)) > 1


def test_dma_bench_does_not_wait_for_logic_that_moves_nothing(util, card, device):
    """If the logic in the user slot moves no data, each row of dma_bench --slot has a reason, and
    the status is 0.
    """
    with card():
        status, report = util.json(device, "dma_bench", "--slot", "--size", "4M")
        alone = util.run("-d", device, "dma_bench", "--slot", "--direction", "c2h").stdout
    assert status == 0, report["failures"]
    assert [row["id"] for row in report["rows"]] == ["user/c2h", "user/h2c", "user/duplex"]
    assert all(row["value"] is row["binds"] is None for row in report["rows"])
    assert report["rows"][0]["reason"].startswith("c2h: 256 buffers wait. The card does not tell")
    assert report["rows"][1]["reason"].startswith("h2c: 256 buffers wait")
    assert "user/c2h            -" in alone and "user/h2c" not in alone


def test_dma_bench_sweeps_over_sizes(util, card, device):
    """On a card with records dma_bench --sweep moves and compares transfers.

    Their sizes are 64 bytes to 64 KiB.
    """
    with card(records=True):
        status, report = util.json(device, "dma_bench", "--sweep")
        assert status == 0, report["failures"]
    rows = report["rows"]
    assert [row["size_bytes"] for row in rows] == [64 << n for n in range(11)]
    for row in rows:
        assert set(row) == RATE | {"size_bytes", "transfers_per_s", "reason"}
        assert row["reason"] is None and row["limit"] > 0
        # In 300 ticks of 4 ns the stand-in for the card moves one buffer of any size in each
        # direction, both at once. Register reads take additional time.
        assert 0.2 < row["value"] / row["size_bytes"] * 1200 <= 1.01
        assert row["transfers_per_s"] == pytest.approx(row["value"] / row["size_bytes"] * 1e9)


def test_a_card_without_records_sweeps_over_whole_buffers(util, card, device):
    """On a card without records dma_bench --sweep gives a reason for sizes below 4 KiB.

    The status is 0.
    """
    with card():
        status, report = util.json(device, "dma_bench", "--sweep")
    without = [row["size_bytes"] for row in report["rows"] if row["value"] is None]
    assert status == 0 and without == [64 << n for n in range(6)]
    assert all("no records" in row["reason"] for row in report["rows"][:6])


def test_a_packet_that_comes_back_wrong_fails_the_sweep(util, card, device):
    """dma_bench --sweep compares the packets that come back: one flipped bit fails the command."""
    with card(records=True, flip=("c2h", 40)):
        status, report = util.json(device, "dma_bench", "--sweep")
    assert status == 1 and "differ" in report["failures"][0]


# JSON, output -------------------------------------------------------------------------------------


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


# Manual -------------------------------------------------------------------------------------------


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
