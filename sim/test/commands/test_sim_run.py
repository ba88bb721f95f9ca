# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`make sim VM=0`, which runs without a guest: from the sources to the table of results. Faults
that a test injects make the run fail."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gateware.phy.pins import PINS
from sim.report.page import REPORT
from sim.rows import results

ROOT = Path(__file__).resolve().parents[3]
LAYOUT = ROOT / "sim" / "board" / "waves.gtkw"
# ids of the result rows that `make sim VM=0` measures
SHORT_SET = {
    "mmio_read/4",
    "mmio_read/8",
    "mmio_write/4",
    "mmio_write/8",
    "c2h/mps256",
    "h2c/cpl256",
    "duplex/mps256",
    "sim/wall",
}


def sim(*arguments, **more):
    """Run `python -m sim.run --vm 0` with further arguments; returns the finished process with its
    output."""
    command = [sys.executable, "-m", "sim.run", "--vm", "0", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, **more)


pytestmark = pytest.mark.usefixtures("results_kept")


def test_the_short_set_ends_in_the_table_and_in_the_file():
    """Every row of SHORT_SET is printed in the table and recorded in the results, with its limit,
    ratio and conditions. The report shows the rows, too."""
    done = sim()
    assert done.returncode == 0, done.stderr
    recorded = {entry["id"]: entry for entry in results.load()}
    assert set(recorded) == SHORT_SET
    assert all(name in done.stdout for name in SHORT_SET)
    c2h = recorded["c2h/mps256"]
    assert c2h["ratio"] == pytest.approx(c2h["value"] / c2h["limit"])
    assert c2h["ratio"] >= 0.98
    assert c2h["conditions"]["compared_bytes"] >= 16 << 20
    assert all(recorded[name]["violations"] == 0 for name in SHORT_SET - {"sim/wall"})
    assert "build/report.html" in done.stdout
    shown = REPORT.read_text()
    assert all(name in shown for name in SHORT_SET) and "One DMA transfer" in shown


def test_the_stock_endpoint_has_rows_of_its_own():
    """`make sim` with LitePCIe's endpoint records the same benchmark rows, with names that begin
    with "stock/". A row that LitePCIe's endpoint cannot have gets a reason instead of a value."""
    done = sim("--endpoint", "litepcie")
    assert done.returncode == 0, done.stderr
    recorded = {entry["id"]: entry for entry in results.load()}
    assert set(recorded) == {f"stock/{name}" for name in SHORT_SET - {"sim/wall"}} | {"sim/wall"}
    assert recorded["stock/mmio_read/8"]["value"] is None
    assert "8 bytes" in recorded["stock/mmio_read/8"]["reason"]


@pytest.mark.parametrize(
    "fault, words",
    [
        # The fault hits a TLP of the c2h measurement, after its first buffers.
        ("flip-c2h:9000", "c2h"),
        ("flip-h2c:4000", "h2c"),
        ("lose-msi:3", "interrupt"),
        ("c2h-be:9000", "c2h"),
    ],
)
def test_a_planted_fault_fails_the_run(fault, words):
    """A flipped bit in c2h or h2c, a lost MSI or a wrong byte enable, injected by --fault, makes
    the run end with status 1."""
    done = sim("--fault", fault)
    assert done.returncode == 1, done.stdout
    assert words in done.stdout + done.stderr


@pytest.mark.parametrize(
    "example", ["scale", pytest.param("spinal_scale", marks=pytest.mark.spinal)]
)
def test_an_example_runs_in_the_user_slot(example):
    """With an example in the user slot, the example's own client sends data through the logic and
    compares what comes back. The rows user/* are recorded, too."""
    done = sim("--example", example)
    assert done.returncode == 0, done.stderr
    assert "shift 31: 16 buffers right" in done.stdout
    recorded = {entry["id"]: entry for entry in results.load()}
    assert set(recorded) == SHORT_SET | {"user/c2h", "user/h2c", "user/duplex"}
    for name, binds in (("user/h2c", "wire"), ("user/duplex", "interface")):
        assert recorded[name]["ratio"] > 0.98 and recorded[name]["binds"] == binds
        assert recorded[name]["conditions"]["user"] == example
    assert "user/c2h: the logic sends nothing by itself" in done.stdout


def test_waves_are_written_with_their_layout():
    """`make sim` with --waves writes a wave file, and beside it a copy of the layout for
    GTKWave."""
    waves = ROOT / "build" / "waves.fst"
    waves.unlink(missing_ok=True)
    done = sim("--waves", "--waves-to", "100000")
    assert done.returncode == 0, done.stderr
    assert waves.stat().st_size > 10_000
    assert waves.with_suffix(".gtkw").read_text() == LAYOUT.read_text()


def test_the_wave_layout_names_pins_that_exist():
    """Each signal in the layout for GTKWave is a port of the hard block's model, or the gateware's
    output `busy`."""
    names = re.findall(r"^TOP\.lanebox\.(\S+)$", LAYOUT.read_text(), re.MULTILINE)
    assert len(names) > 20
    for path in names:
        scope, _, name = path.rpartition(".")
        name = name.partition("[")[0]
        assert (scope, name) == ("", "busy") or scope == "pcie_usp_i"
        assert name == "busy" or name in PINS, path


@pytest.mark.parametrize(
    "arguments, status, words",
    [
        (["--mps", "300"], 2, "invalid choice"),
        (["--example", "nonesuch"], 2, "there are"),
        (["--fault", "nonesuch"], 1, "there are flip-c2h"),
        (["--endpoint", "nonesuch"], 2, "invalid choice"),
    ],
)
def test_bad_arguments_name_what_there_is(arguments, status, words):
    """A wrong value of an option ends `make sim` with an error that lists the right values."""
    done = sim(*arguments)
    assert done.returncode == status
    assert words in done.stderr


def boards(session: int) -> set[str]:
    """Return the process ID and socket of each simulated board that was started from this session
    of processes. Boards of other runs on the machine are left out."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            line = entry.read_bytes().split(b"\0")
            if line[0].endswith(b"/board") and os.getsid(int(entry.parent.name)) == session:
                found.add(f"{entry.parent.name} {line[2].decode(errors='replace')}")
        except OSError:  # the process has ended since /proc was listed
            continue
    return found


def test_an_interrupt_leaves_no_board_behind():
    """Ctrl-C during `make sim` ends it with status 130, and no board is left running."""
    command = [sys.executable, "-m", "sim.run", "--vm", "0"]
    process = subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while not boards(process.pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert boards(process.pid), "no board was seen within a minute"
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"interrupted" in errors
    assert not boards(process.pid)


def test_results_json_has_the_stated_shape():
    """Each result row in results.json has all keys of the schema, also if the row has no value."""
    done = sim()
    assert done.returncode == 0, done.stderr
    document = json.loads(results.RESULTS.read_text())
    assert document["schema"] == 1
    keys = {"id", "value", "unit", "limit", "ratio", "binds", "violations", "bytes", "cycles"}
    for entry in document["results"]:
        assert keys | {"conditions", "commit"} <= set(entry)


def test_a_wrong_memory_file_is_named_with_its_rule(tmp_path):
    """A file with the contents of the card's memory that has a wrong value ends `make sim` with
    status 1. The error has the file's name and the value."""
    wrong = tmp_path / "wrong.hex"
    wrong.write_text("cafef00d\nno number\n")
    done = sim("--memory0", str(wrong))
    assert done.returncode == 1
    assert "wrong.hex" in done.stderr and "no number" in done.stderr
