# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""From C++ through pcie_usp.sv to the pins every bit lies where PG213 has it.

model_probe.py sees only the C++ side. Here pins_bench.sv stands in the gateware's place.
"""

import hashlib
import subprocess
from pathlib import Path

import pytest
from board_builds import ROOT
from model_probe import Beat, decode_rc
from test_model_credits import BLOCK, HOST
from test_model_straddle import delineate

from sim.board.build import BOARD, VERILATOR_FLAGS

HERE = Path(__file__).parent


def build():
    """The bench, compiled once for the same sources."""
    verilog = [HERE / "pins_bench.sv", BOARD / "pcie4" / "pcie_usp.sv"]
    sources = [HERE / "pins_bench.cpp", BOARD / "gateware.cpp", *sorted(BOARD.glob("pcie4/*.cpp"))]
    headers = [BOARD / "gateware.hpp", *sorted(BOARD.glob("pcie4/*.hpp"))]
    digest = hashlib.sha256()
    for path in [*verilog, *sources, *headers]:
        digest.update(path.read_bytes())
    directory = ROOT / "build" / "probe" / f"pins-{digest.hexdigest()[:16]}"
    if not (directory / "bench").exists():
        directory.mkdir(parents=True, exist_ok=True)
        subprocess.run(
            ["verilator", *VERILATOR_FLAGS, "-Mdir", directory, "-CFLAGS",
             f"-std=c++17 -O1 -I{BOARD}", "-o", "bench", *verilog, *sources],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        subprocess.run(
            ["make", "-s", "-C", directory, "-f", "Vlanebox.mk", "OBJCACHE=ccache"],
            check=True, stdout=subprocess.DEVNULL,
        )  # fmt: skip
    return directory / "bench"


@pytest.fixture(scope="module")
def lines():
    """The lines that the bench printed, by their first word."""
    done = subprocess.run([build()], capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        verb, *words = line.split()
        found.setdefault(verb, []).append(words)
    return found


def test_sequence_numbers_there_and_back(lines):
    """s_axis_rq_tuser[61:60,27:24] comes back on pcie_rq_seq_num0/1 with all six bits."""
    assert [int(word, 16) for [word] in lines["seq"]] == [0x15, 0x2A, 0x3F]


def test_straddled_completions(lines):
    """RC's tuser has sof at 33:32, eof at 37:34 and 41:38, and byte enables below them."""
    beats = []
    for last, keep, user, data in lines["rc"]:
        user, data = int(user, 16), int(data, 16)
        dwords = tuple(data >> 32 * i & 0xFFFF_FFFF for i in range(8))
        beats.append(
            Beat(last == "1", int(keep, 16), user & 0xFFFF_FFFF, user >> 32 & 0x3FF, dwords)
        )
        assert user >> 42 == 0, "discontinue and parity"
    fields = [decode_rc(packet) for packet in delineate(beats)]
    assert [f["tag"] for f in fields] == [0, 1, 2]
    assert all(f["data"] == bytes(range(64)) for f in fields)
    assert sum(bin(beat.byte_en).count("1") for beat in beats) == 3 * 64


def test_counts_and_link(lines):
    """The pins of tags, credits, width and speed show the right values during and after reads."""
    names = ("tag_av", "nph_av", "npd_av", "np_req_count", "width", "speed")
    during, after = (dict(zip(names, map(int, words))) for words in lines["state"])
    assert during["tag_av"] == 15 and during["np_req_count"] >= 15
    assert after == {"tag_av": 15, "nph_av": 15, "npd_av": 15, "np_req_count": 32,
                     "width": 2, "speed": 1}  # fmt: skip


def test_every_selection_of_the_credit_pins(lines):
    """cfg_fc_sel reaches the model, and each of the six outputs has its own pins."""
    seen = {}
    for select, *values in lines["fc"]:
        seen[int(select)] = dict(zip(("ph", "pd", "nph", "npd", "cplh", "cpld"), map(int, values)))
    nothing = dict.fromkeys(HOST, 0)
    assert [seen[i] for i in (0, 1, 2, 3)] == [BLOCK, BLOCK, nothing, BLOCK]
    assert seen[4] == HOST
    assert seen[5] == {**HOST, "nph": 131}
    assert seen[6] == {**nothing, "nph": 3}
    assert seen[7] == nothing
