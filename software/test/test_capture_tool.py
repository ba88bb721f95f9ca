# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test lanebox-capture without a card: its help, its manual page, and `check` on files that others
wrote.

sim/test/util/test_capture_record.py has recordings of the simulated card.
"""

import json
import re
import struct
import subprocess

import pytest

from software.test.software_build import Util, build_software
from tools.testing.repository import ROOT

USER = ROOT / "software" / "user"
COMMANDS = ("record", "check", "info")


@pytest.fixture(scope="module")
def tool():
    return Util(build_software().capture)


def block(order, kind, body):
    """Return a pcapng block in the byte order `order`, "<" or ">"."""
    body += bytes(-len(body) % 4)
    length = struct.pack(order + "I", len(body) + 12)
    return struct.pack(order + "I", kind) + length + body + length


def option(order, code, data):
    return struct.pack(order + "HH", code, len(data)) + data + bytes(-len(data) % 4)


def section(order):
    return block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order, resolution=None):
    options = b"" if resolution is None else option(order, 9, bytes([resolution]))
    return block(order, 1, struct.pack(order + "HHI", 1, 0, 0) + options)


def packet(order, time, data, number=0, options=b""):
    head = struct.pack(order + "5I", number, time >> 32, time & 0xFFFF_FFFF, len(data), len(data))
    return block(order, 6, head + data + bytes(-len(data) % 4) + options)


def check(tool, *files):
    """Return the exit status of `check` and what it says about each file."""
    done = tool.run("check", "--json", *files)
    return done.returncode, json.loads(done.stdout)["files"]


# check --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
@pytest.mark.parametrize(
    "resolution, time, ns",
    [
        (None, 1_700_000_000_000_001, 1_700_000_000_000_001_000),
        (9, 1_700_000_000_000_000_001, 1_700_000_000_000_000_001),
        (0x80 | 10, 3 << 9, 1_500_000_000),
    ],
    ids=["us", "ns", "2^-10"],
)
def test_any_pcapng_is_walked_through(tool, tmp_path, order, resolution, time, ns):
    """Packets, bytes, times and drop counts are found in pcapng of either byte order and with any
    resolution of time, and other blocks are passed over. Times need not be in order, since others
    may write them so.
    """
    file = tmp_path / "a.pcapng"
    drops = option(order, 4, struct.pack(order + "Q", 5)) + option(order, 0, b"")
    text = section(order) + interface(order, resolution) + block(order, 4, bytes(8))
    text += packet(order, time, b"first") + packet(order, time - 1, b"then", options=drops)
    file.write_bytes(text + block(order, 3, struct.pack(order + "I", 6) + b"simple"))
    status, (found,) = check(tool, file)
    assert (status, found["rule"]) == (0, None)
    assert (found["packets"], found["bytes"], found["lost"]) == (3, 15, 5)
    assert (found["first_ns"], found["ordered"], found["interfaces"]) == (ns, False, 1)
    assert (found["recording"], found["mbufs"]) == (False, None)


def test_sections_have_interfaces_and_byte_orders_of_their_own(tool, tmp_path):
    """A file may have several sections. A packet must be of an interface of its own section."""
    whole = section("<") + 2 * interface("<") + packet("<", 1, b"a", number=1)
    whole += section(">") + interface(">") + packet(">", 2, b"b")
    file = tmp_path / "a.pcapng"
    file.write_bytes(whole)
    status, (found,) = check(tool, file)
    assert (status, found["packets"], found["interfaces"]) == (0, 2, 3)
    file.write_bytes(whole + packet(">", 3, b"c", number=1))
    status, (found,) = check(tool, file)
    assert (status, found["offset_bytes"], found["packets"]) == (1, len(whole), 2)
    assert found["rule"] == "the packet is of interface 1, but the section has 1"


def test_a_file_that_is_no_pcapng_is_told(tool, tmp_path):
    """Each file that is not right gives status 1 and a sentence with its offset, and the other
    files are checked all the same.
    """
    names = {"pcap": struct.pack("<6I", 0xA1B2C3D4, 0, 0, 0, 0, 1), "empty": b"", "cut": None}
    names["cut"] = (section("<") + interface("<") + packet("<", 1, b"data"))[:-4]
    for name, data in names.items():
        (tmp_path / name).write_bytes(data)
    done = tool.run("check", *(tmp_path / name for name in names), tmp_path / "none", tmp_path)
    assert done.returncode == 1
    assert f"{tmp_path}/pcap: offset 0: the file begins with 0xa1b2c3d4, a pcapng" in done.stderr
    assert f"{tmp_path}/empty: offset 0: the file is empty" in done.stderr
    assert f"{tmp_path}/cut: offset 48: the block has 36 bytes, but the file ends" in done.stderr
    assert f"{tmp_path}/none: No such file or directory" in done.stderr
    assert f"{tmp_path}: it is no file" in done.stderr
    assert done.stdout.count("result       broken") == 3


# The command line ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [[], ["records"], ["-x"], ["check"], ["check", "-x"], ["record"], ["info", "more"], ["-d"]],
    ids=" ".join,
)
def test_usage_errors_end_with_2_and_point_to_help(tool, arguments):
    """A wrong command line gives status 2 and points to the help, before any card is opened."""
    done = tool.run(*arguments)
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("lanebox-capture: ") and "try: lanebox-capture" in done.stderr


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)], ids=" ".join)
def test_help_teaches_on_stdout(tool, command):
    """--help prints usage and examples, in at most 80 columns, with status 0. If it cannot be
    written, the status is 1.
    """
    done = tool.run(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: lanebox-capture ")
    assert re.search("^examples?:$", done.stdout, re.MULTILINE)
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    with open("/dev/full", "w") as full:
        done = subprocess.run([tool.program, *command, "--help"], stdout=full, stderr=-1, text=True)
    assert done.returncode == 1 and "could not be written" in done.stderr


def test_a_card_behind_the_kernel_driver_is_no_silent_failure(tool):
    """A device that cannot be opened gives status 1 and one sentence."""
    done = tool.run("record", "-d", "/dev/litepcie-none", "a.pcapng")
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "/dev/litepcie-none" in done.stderr


# Manual -------------------------------------------------------------------------------------------


def test_the_manual_page_knows_every_option_and_every_key(tool):
    """The manual page has every option of the help texts and every key of the JSON output."""
    words = set(re.findall(r"[\w-]+", (USER / "lanebox-capture.1").read_text()))
    texts = [tool.run(*name, "--help").stdout for name in ([], *zip(COMMANDS))]
    options = set(re.findall(r"--([a-z-]+)", " ".join(texts))) - {"help"}
    assert len(options) > 10 and all(f"-{option}" in words for option in options)
    sources = (USER / "lanebox_capture").glob("*.c")
    keys = set().union(
        *(re.findall(r'json_\w+\(&?json, "(\w+)"', path.read_text()) for path in sources)
    )
    assert len(keys) > 20 and keys - words == set()


def test_the_manual_page_is_well_formed():
    """groff reports no warning for the manual page."""
    command = ["groff", "-mdoc", "-Tutf8", "-ww", USER / "lanebox-capture.1"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
