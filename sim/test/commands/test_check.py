# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""`make test EXAMPLE=FOLDER`: user logic that is wrong fails its tests, and the message says on
which line.

test_first_hour.py shows that right logic passes its tests.
"""

import re
import shutil

import pytest

from sim import check, examples
from sim.block import run
from sim.board.pins import WrongPins
from sim.differential.environment import REQUIREMENTS
from sim.test.board.board_builds import ROOT
from sim.test.board.test_board_waves import start_and_end
from tools import new

# The user logic of these tests is always written to this folder, so that earlier builds of it are
# found again.
HOME = ROOT / "build" / "test-check"

# {text: replacement}. These changes make logic that breaks the stream's rule: in every second cycle
# it withdraws the last beat of a packet, which it has offered.
WRONG = {
    "            held.source.connect(source),\n": """\
            held.source.connect(source, omit={"valid", "ready"}),
            source.valid.eq(held.source.valid & (tick | ~held.source.last)),
            held.source.ready.eq(source.ready & (tick | ~held.source.last)),
""",
    "        # # #\n": "        tick = Signal()\n        self.sync += tick.eq(~tick)\n",
}
# {text: replacement}. This change makes logic that ignores source.ready, so it offers its first
# beat for ever.
REPEATS = {"held.source.connect(source)": 'held.source.connect(source, omit={"ready"})'}
# {text: replacement}. This change makes logic that never sets `last`, so it sends one packet
# without an end.
NO_LAST = {"held.source.connect(source)": 'held.source.connect(source, omit={"last"})'}
REGISTERS = """\
import cocotb

from sim.block.bench import Bench


@cocotb.test()
async def test_write(dut):
    bench = Bench(dut)
    await bench.reset()
    await bench.write("kye", 1)


@cocotb.test()
async def test_read(dut):
    bench = Bench(dut)
    await bench.reset()
    await bench.read("zzz")
"""
TAKER = """\
module taker(input clk, input inverted, output count);
    assign count = inverted;
endmodule
"""
INSTANCE = """\
        # # #

        platform.add_source(str(Path(__file__).with_name("taker.v")))
        self.specials += Instance("taker",
            i_invertd  = self.irq,
            o_count    = Signal())
"""
WRONG_PORTS = {
    "        # # #\n": INSTANCE,
    "from litex.gen import *\n": "from pathlib import Path\n\nfrom litex.gen import *\n",
}
DEAF = {"self.irq.eq(leaves)": "self.irq.eq(0)"}


@pytest.fixture
def folder(capsys):
    """Let `make new NAME=deaf` write a user's project folder; returns the folder's path."""
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(parents=True)
    assert new.main(["--name", str(HOME / "deaf")]) == 0
    capsys.readouterr()
    return HOME / "deaf"


def wrong(folder, changes):
    file = folder / "deaf.py"
    text = file.read_text()
    for before, after in changes.items():
        assert text.count(before) == 1
        text = text.replace(before, after)
    file.write_text(text)
    return examples.find(str(folder))


def test_a_test_that_fails_is_told_with_its_line(folder, capsys, monkeypatch):
    """A test of the logic that fails is reported with its line and the values of the failed assert,
    and the tests that pass as ok. Then no client is started."""
    wrong(folder, DEAF)
    monkeypatch.setattr("sys.argv", ["check", "--example", str(folder)])
    assert check.main() == 1
    out, said = capsys.readouterr()
    assert out.count(": ok") == 2 and out.count(": failed") == 1 and "client" not in out
    assert f"1 of 3 tests of {folder} failed, with seed 1:" in said
    text = (folder / "test_deaf.py").read_text()
    line = text[: text.index("assert counted ==")].count("\n") + 1
    assert f"    {folder}/test_deaf.py:{line}: assert counted == bench.interrupts" in said
    assert "user_packets is 50, and irq was high in 0 cycles\n" in said
    assert "Traceback" not in said and "bench.py" not in said


SECOND_BENCH = """\
import cocotb

from sim.block.bench import Bench


@cocotb.test()
async def test_two(dut):
    await Bench(dut).reset()
    Bench(dut, flow=1)


@cocotb.test()
async def test_twice(dut):
    bench = Bench(dut)
    await bench.reset()
    await bench.reset()


@cocotb.test()
async def test_one(dut):
    bench = Bench(dut)
    await bench.reset()
    bench.send(b"whole")
    assert len(await bench.receive(1)) == 1
"""


def test_waves_of_the_tests_are_written_also_if_one_fails(folder, capsys, monkeypatch):
    """The option --waves writes an FST wave file of all tests of the logic, also if one fails. A
    run without --waves removes an older wave file."""
    example = wrong(folder, DEAF)
    monkeypatch.setattr("sys.argv", ["check", "--example", str(folder), "--waves"])
    assert check.main() == 1
    file = run.waves_of(example)
    assert f": ok\nwaves of these tests: {file}\n" in capsys.readouterr().out
    start, end = start_and_end(file)
    assert start == 0 and end > 3 * 50 * 4, (
        "three tests of 50 packets take at least a beat of 4 ns each"
    )
    run.test(example, seed=1)
    assert not file.exists()


def test_waves_without_tests_are_refused(folder, capsys, monkeypatch):
    """If the folder has no test_*.py, the option --waves is a usage error (status 2), whose message
    names `make board` as the way to waves."""
    (folder / "test_deaf.py").unlink()
    monkeypatch.setattr("sys.argv", ["check", "--example", str(folder), "--waves"])
    assert check.main() == 2
    assert "has no test_*.py whose waves WAVES=1 could record. `make board" in (
        capsys.readouterr().err
    )


def test_a_second_bench_is_refused_at_once(folder):
    """A test of the logic that makes two benches, or resets its bench twice, fails with that
    reason. The next test is not affected."""
    (folder / "test_deaf.py").write_text(SECOND_BENCH)
    two, twice, one = (each.problem for each in run.test(examples.find(str(folder)), seed=1))
    file = folder / "test_deaf.py"
    sentence = "RuntimeError: this test has a bench already, and its clock and streams run. A test"
    assert f"{file}:9: Bench(dut, flow=1)\n    {sentence}" in two
    assert f"{file}:16: await bench.reset()\n    {sentence}" in twice
    assert not one


def test_a_statement_of_several_lines_is_told_by_its_first():
    """The message about a failed test shows a statement of several lines by its first line.

    Python 3.13 also prints the statement's end and marks below it. The message leaves these out.
    """
    log = [
        "Traceback (most recent call last):",
        'File "/home/me/crc/test_crc.py", line 9, in test_crc',
        "raise ValueError(",
        "~~~~~^^^",
        "...<3 lines>...",
        ")",
        "ValueError: 7 is odd",
    ]
    assert (
        run._readable(log)
        == "    /home/me/crc/test_crc.py:9: raise ValueError(\n    ValueError: 7 is odd"
    )


def test_a_register_that_does_not_exist_is_told_with_the_nearest(folder):
    """bench.write() and bench.read() fail for a register that the logic does not have. The message
    has the most similar name, or all names."""
    (folder / "test_deaf.py").write_text(REGISTERS)
    write, read = (each.problem for each in run.test(examples.find(str(folder)), seed=1))
    said = "ValueError: the logic has no register"
    file = folder / "test_deaf.py"
    assert write.splitlines() == [
        f'    {file}:10: await bench.write("kye", 1)',
        f"    {said} 'kye'; the nearest is 'key'",
    ]
    assert read.splitlines() == [
        f'    {file}:17: await bench.read("zzz")',
        f"    {said} 'zzz'; it has key, packets",
    ]


def test_a_port_that_does_not_exist_is_told_with_the_line_of_its_argument(folder):
    """If an Instance names a port that its module does not have, the error has the line of that
    argument and the most similar port. It does not have Verilator's command line."""
    (folder / "taker.v").write_text(TAKER)
    with pytest.raises(WrongPins) as caught:
        run.test(wrong(folder, WRONG_PORTS), seed=1)
    text = (folder / "deaf.py").read_text()
    line = text[: text.index("i_invertd")].count("\n") + 1
    sentence = 'Instance("taker"): the module has no port invertd; it has inverted'
    assert str(caught.value) == f"{folder}/deaf.py:{line}: {sentence}"


ENDLESS = """\
import cocotb

from sim.block.bench import Bench


@cocotb.test()
async def test_it_ends(dut):
    bench = Bench(dut, flow=1, endless=LIMIT)
    await bench.reset()
    bench.send(*[bytes(range(256)) * 32] * 100)
    await bench.receive(1)
"""


@pytest.mark.parametrize(
    "changes, limit, advice",
    [
        (REPEATS, "1 << 14", "The last two beats are the same: is source.ready connected? In a"),
        pytest.param(REPEATS, "1 << 20", "is source.ready connected?", marks=pytest.mark.soak),
        pytest.param(NO_LAST, "1 << 14", "Is source.last connected?", marks=pytest.mark.soak),
    ],
)
def test_a_packet_that_never_ends_fails_its_test(folder, changes, limit, advice):
    """bench.receive() fails after `endless` bytes without `last`. The message says which signals of
    the logic to check."""
    example = wrong(folder, changes)
    (folder / "test_deaf.py").write_text(ENDLESS.replace("LIMIT", limit))
    [ends] = run.test(example, seed=1)
    count = f"0 of 1 packets came, and then {eval(limit)} bytes without `last`. "
    assert count in ends.problem and advice in ends.problem
    assert ends.problem.endswith(". Bench(dut, endless=...) allows longer packets")


def test_the_pytest_that_shows_values_is_the_locked_one():
    """cocotb uses pytest to show the values in a failed assert. That pytest has the same version as
    the one that runs `make test`."""
    lock = (ROOT / "tools" / "requirements.lock").read_text()
    [pinned] = re.findall(r"^pytest==\S+$", REQUIREMENTS.read_text(), re.MULTILINE)
    assert f"\n{pinned} " in lock


@pytest.mark.soak
def test_a_beat_that_is_retracted_fails_whatever_the_test_looks_at(folder):
    """Logic that withdraws an offered beat fails every test, whatever the test checks. The message
    is the bench's sentence about that rule."""
    found = run.test(wrong(folder, WRONG), seed=1)
    problems = [each.problem for each in found]
    sentence = "source.valid fell before source.ready came. A beat that is offered must stay until"
    assert sentence in problems[0] and sentence in problems[1]
    assert "bench.py" not in "".join(problems) and "assert None" not in "".join(problems)


def test_a_folder_with_nothing_to_run_says_so(folder, capsys, monkeypatch):
    """`make test` fails for a folder that has neither tests nor clients. The message says which
    files `make new` writes."""
    for name in ("test_deaf.py", "client.c", "client.py"):
        (folder / name).unlink()
    monkeypatch.setattr(check, "on_the_board", lambda example: 0)
    monkeypatch.setattr("sys.argv", ["check", "--example", str(folder)])
    assert check.main() == 1
    assert "no test_*.py, client.c or client.py. `make new` writes" in capsys.readouterr().err
