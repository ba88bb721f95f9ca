# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of sim/board/pins.py, which reports ports of a Migen Instance that do not fit the Verilog
module, with the line of the port's argument in Python."""

import shutil
import subprocess

import pytest

from sim.board.build import VERILATOR_FLAGS
from sim.board.pins import WrongPins, check_pins

MODULE = """\
module taker(input clk, input [31:0] crc, input [4:0] shift, output [7:0] count);
    assign count = {crc[2:0], shift};
endmodule
"""
TOP = """\
module lanebox(input clk, input [15:0] storage, output [WIDTH-1:0] count);
taker taker(
\t.clk   (clk),
\t.crc   (CRC),
\t.shift (SHIFT),
\t.PORT (count)
);
endmodule
"""
LOGIC = """\
class Mine:
    Instance("taker",
        i_crc   = self.crc.storage,
        i_shift = self.shift.storage,
        o_PORT  = self.count.status)
"""


@pytest.fixture
def said(tmp_path):
    """Return a function that runs Verilator's lint on a top level with these arguments and returns
    Verilator's messages. It also writes mine.py, the Python file that has the Instance."""

    def run(crc="{storage, storage}", shift="storage[4:0]", port="count", width="8"):
        for name, text in (("taker.v", MODULE), ("lanebox.v", TOP), ("mine.py", LOGIC)):
            for word, value in (("CRC", crc), ("SHIFT", shift), ("PORT", port), ("WIDTH", width)):
                text = text.replace(word, value)
            (tmp_path / name).write_text(text)
        flags = [flag for flag in VERILATOR_FLAGS if flag.startswith("-W")]
        return subprocess.run(
            [
                "verilator",
                "--lint-only",
                *flags,
                "--top-module",
                "lanebox",
                tmp_path / "lanebox.v",
                tmp_path / "taker.v",
            ],
            capture_output=True,
            text=True,
        ).stderr

    assert shutil.which("verilator")
    return run


def wrong(log, folder):
    with pytest.raises(WrongPins) as caught:
        check_pins(log)
    return str(WrongPins(caught.value.pins, folder))


def test_what_fits_is_not_spoken_of(said):
    """check_pins() raises no error if each port of an Instance is given a signal of its width, nor
    if a port is given a constant 0 with fewer bits."""
    check_pins(said())
    check_pins(said(crc="1'd0"))


def test_bits_that_are_lost_or_missing_are_told(said, tmp_path):
    """If a 16-bit register is connected to an input of 32 bits or of 5 bits, check_pins() raises an
    error that says how many bits are missing or lost."""
    text = wrong(said(crc="storage", shift="storage"), tmp_path).splitlines()
    assert text == [
        f'{tmp_path}/mine.py:3: Instance("taker"): port crc has 32 bits and is given 16: the rest '
        "would be zeros",
        f'{tmp_path}/mine.py:4: Instance("taker"): port shift has 5 bits and is given 16: 11 bits '
        "would be lost",
    ]


@pytest.mark.parametrize(
    "width, lost",
    [
        ("5", "drives a signal of 5: its upper 3 bits would be lost"),
        ("12", "drives a signal of 12: it would not drive the rest"),
    ],
)
def test_an_output_loses_its_own_bits(said, tmp_path, width, lost):
    """An output that is connected to a narrower signal is an error, since its upper bits are lost.
    An output that is connected to a wider signal is an error, since it does not drive all of it."""
    text = wrong(said(width=width), tmp_path)
    assert text == f'{tmp_path}/mine.py:5: Instance("taker"): port count has 8 bits and {lost}'


def test_a_port_that_is_not_there_is_told_with_the_nearest(said, tmp_path):
    """If an Instance names a port that its module does not have, the error has the line of that
    argument in Python and the most similar port of the module."""
    text = wrong(said(port="cuont"), tmp_path)
    sentence = 'Instance("taker"): the module has no port cuont; it has count'
    assert text == f"{tmp_path}/mine.py:5: {sentence}"


def test_without_the_folder_the_instance_is_named(said):
    """If the folder of the Python file is unknown, as for Lanebox's own gateware, the error names
    the Instance instead of file and line."""
    assert wrong(said(shift="storage"), None).startswith('Instance("taker"): port shift has 5 bits')
