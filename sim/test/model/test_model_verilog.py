# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests that at the Verilog pins of pcie_usp.sv every bit lies where PG213 has it.

model_probe.py tests the C++ side of the hard-block model alone. In these tests pins_bench.sv stands
in the gateware's place, so that the way through the DPI and pcie_usp.sv is tested.
"""

import hashlib
import subprocess
from pathlib import Path

import pytest
from test_credits import BLOCK, HOST
from test_model_straddle import delineate

from sim.board import border
from sim.board.build import BOARD, SHARED, VERILATOR_FLAGS, include_flags, model_files
from sim.test.board.board_builds import ROOT
from sim.test.model.model_probe import Beat, decode_rc

HERE = Path(__file__).parent


def build():
    """Compile pins_bench.sv with the model, once for the same sources; returns the program's
    path."""
    verilog = [HERE / "pins_bench.sv", border.files() / "pcie_usp.sv"]
    pins = [BOARD / "card", BOARD / "port"]  # what else has pins at the gateware
    sources = [HERE / "pins_bench.cpp", BOARD / "machine" / "gateware.cpp"]
    sources += [path for folder in pins for path in sorted(folder.glob("*.cpp"))]
    sources += [BOARD / "vfio_user" / "socket.cpp", *model_files(".cpp")]
    headers = [
        BOARD / "machine" / "gateware.hpp",
        *(path for folder in pins for path in sorted(folder.glob("*.hpp"))),
        *model_files(".hpp"),
        border.files() / "pcie_border.hpp",
        *SHARED,
    ]
    digest = hashlib.sha256()
    for path in [*verilog, *sources, *headers]:
        digest.update(path.read_bytes())
    directory = ROOT / "build" / "probe" / f"pins-{digest.hexdigest()[:16]}"
    if not (directory / "bench").exists():
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            [
                "verilator",
                *VERILATOR_FLAGS,
                "-Mdir",
                directory,
                "-CFLAGS",
                f"-std=c++17 -O1 {' '.join(include_flags())}",
                "-o",
                "bench",
                *verilog,
                *sources,
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        subprocess.run(
            ["make", "-s", "-C", directory, "-f", "Vlanebox.mk", "OBJCACHE=ccache"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
    return directory / "bench"


@pytest.fixture(scope="module")
def lines():
    """Return {first word of a line: [the other words of each such line]} for the lines that
    pins_bench.sv printed."""
    done = subprocess.run([build()], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        verb, *words = line.split()
        found.setdefault(verb, []).append(words)
    return found


def test_sequence_numbers_there_and_back(lines):
    """The sequence number in s_axis_rq_tuser[61:60,27:24] comes back on pcie_rq_seq_num0/1, all six
    bits."""
    assert [int(word, 16) for [word] in lines["seq"]] == [0x15, 0x2A, 0x3F]


def test_straddled_completions(lines):
    """m_axis_rc_tuser has sof in bits 33:32, eof in 37:34 and 41:38, and the byte enables in
    31:0."""
    beats = []
    for last, keep, user, data in lines["rc"]:
        user, data = int(user, 16), int(data, 16)
        dwords = tuple(data >> 32 * i & 0xFFFF_FFFF for i in range(8))
        beats.append(
            Beat(last == "1", int(keep, 16), user & 0xFFFF_FFFF, user >> 32 & 0x3FF, dwords)
        )
        assert user >> 42 == 0, "discontinue and parity must be 0"
    fields = [decode_rc(packet) for packet in delineate(beats)]
    assert [f["tag"] for f in fields] == [0, 1, 2]
    assert all(f["data"] == bytes(range(64)) for f in fields)
    assert sum(bin(beat.byte_en).count("1") for beat in beats) == 3 * 64


def test_counts_and_link(lines):
    """The pins of pcie_usp.sv for free tags, credits, link width and link speed have the right
    values while reads are in flight and after them."""
    names = ("tag_av", "nph_av", "npd_av", "np_req_count", "width", "speed")
    during, after = (dict(zip(names, map(int, words))) for words in lines["state"])
    assert during["tag_av"] == 15 and during["np_req_count"] >= 15
    assert after == {
        "tag_av": 15,
        "nph_av": 15,
        "npd_av": 15,
        "np_req_count": 32,
        "width": 2,
        "speed": 1,
    }


def test_every_selection_of_the_credit_pins(lines):
    """cfg_fc_sel reaches the model, and the six cfg_fc_* outputs show the right values for each
    selection."""
    seen = {}
    for select, *values in lines["fc"]:
        seen[int(select)] = dict(zip(("ph", "pd", "nph", "npd", "cplh", "cpld"), map(int, values)))
    nothing = dict.fromkeys(HOST, 0)
    assert [seen[i] for i in (0, 1, 2, 3)] == [BLOCK, BLOCK, nothing, BLOCK]
    assert seen[4] == HOST
    assert seen[5] == {**HOST, "nph": 131}
    assert seen[6] == {**nothing, "nph": 3}
    assert seen[7] == nothing
