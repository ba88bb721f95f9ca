# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""The build of the board: the same content is built once, a failed build leaves nothing in the
cache, and Verilog that Verilator would simulate wrongly is refused."""

import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from sim.board import build
from sim.board.build import BuildError, build_board, check_verilate_log
from sim.test.board.board_builds import ROOT

FAKE_VERILATOR = """#!/bin/sh
[ "$1" = --version ] && echo "Verilator fake" && exit
while [ "$1" != -Mdir ]; do shift; done
echo "some warning"
{verilate}
"""
FAKE_MAKE = """#!/bin/sh
while [ "$1" != -C ]; do shift; done
{make}
"""


@pytest.fixture
def fake_tools(tmp_path, monkeypatch):
    """Return a function that installs a false `verilator` and `make`, which run the given shell
    text. The test uses an empty cache of builds."""
    tools = tmp_path / "tools"
    tools.mkdir()

    def install(verilate="exit 0", make='echo "#!/bin/sh" > $2/board'):
        for name, text in (("verilator", FAKE_VERILATOR), ("make", FAKE_MAKE)):
            path = tools / name
            path.write_text(text.format(verilate=verilate, make=make))
            path.chmod(0o755)

    install()
    monkeypatch.setenv("PATH", f"{tools}:{os.environ['PATH']}")
    monkeypatch.setattr(build, "CACHE", tmp_path / "cache")
    return install


def left_over():
    """Return the names of the folders in the cache of builds. After a failed build the list must be
    empty."""
    return sorted(path.name for path in build.CACHE.glob("*"))


# The cache of built boards ---------------------------------------------------------------------


def test_the_same_content_is_built_once(gateware, executable, monkeypatch):
    """A second build of the same content finds the program of the first build and runs no
    compiler."""

    def compiled(*_):
        raise AssertionError("compiled again")

    monkeypatch.setattr(build, "_compile", compiled)
    assert build_board(gateware, quiet=True) == executable


def test_the_boards_that_nobody_asks_for_are_removed(tmp_path):
    """forget(folder, 2) keeps the two boards that were used last, and every folder whose build is
    not finished. It removes all other boards."""
    for age, name in enumerate(["old.123", "b", "a", "d", "c"]):
        (tmp_path / name).mkdir()
        (tmp_path / name / "board").touch()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    build.forget(tmp_path, 2)
    assert {path.name for path in tmp_path.iterdir()} == {"old.123", "b", "a"}


def test_what_the_build_depends_on(gateware, tmp_path):
    """A change of the compiler's flags or of a source's bytes needs a new build of the board. A
    gateware source that moves to another path does not."""
    sources = build._gateware_sources(gateware)
    flags = list(build.VERILATOR_FLAGS)
    digest = build._digest(sources, flags)
    assert build._digest(sources, [*flags, "--trace-fst"]) != digest

    copy = tmp_path / sources[0].name
    copy.write_bytes(sources[0].read_bytes())
    assert build._digest([copy, *sources[1:]], flags) == digest
    copy.write_bytes(sources[0].read_bytes() + b"\n")
    assert build._digest([copy, *sources[1:]], flags) != digest


def test_no_variable_of_others_verilog_is_public(tmp_path):
    """Comments that make variables public to C++ are left out of what Verilator gets, and nothing
    else. A source without them is taken as it is."""
    source = tmp_path / "core.v"
    source.write_text("reg [3:0] a /* verilator public */ ;\nwire b /*verilator public_flat*/;\n")
    copy = build._without_public(source)
    assert copy.name == "core.v" and copy.read_text() == "reg [3:0] a  ;\nwire b ;\n"
    assert build._without_public(copy) == copy


def test_the_boards_own_sources_count(gateware, tmp_path, monkeypatch):
    """A change in any source of sim/board needs a new build. This includes headers and Verilog leaf
    cells."""
    sources = build._gateware_sources(gateware)
    before = build._digest(sources, [])
    listed = build._board_sources()
    for suffix in (".cpp", ".hpp", ".sv", ".v"):
        source = next(p for p in listed if p.suffix == suffix)
        changed = tmp_path / source.name
        changed.write_bytes(source.read_bytes() + b"\n")
        swapped = [changed if p == source else p for p in listed]
        monkeypatch.setattr(build, "_board_sources", lambda swapped=swapped: swapped)
        assert build._digest(sources, []) != before, source


def test_a_header_that_moves_needs_a_new_build(gateware, tmp_path, monkeypatch):
    """If a header moves to another folder, the board is built anew although every byte is the same:
    the compiler might no longer find the header."""
    sources = build._gateware_sources(gateware)
    before = build._digest(sources, [])
    listed = build._board_sources()
    header = next(p for p in listed if p.suffix == ".hpp")
    moved = tmp_path / "elsewhere" / header.name
    moved.parent.mkdir()
    moved.write_bytes(header.read_bytes())
    swapped = [moved if p == header else p for p in listed]
    monkeypatch.setattr(build, "_board_sources", lambda: swapped)
    assert build._digest(sources, []) != before


def test_memory_images_are_not_compiled_in(start_board, executable, tmp_path, monkeypatch):
    """Gateware that differs only in a memory image uses the same compiled program. The board then
    has the words of the new image."""
    words = [0x01020304 * (i + 1) & 0xFFFF_FFFF for i in range(16)]
    image = tmp_path / "words.hex"
    image.write_text("".join(f"{word:08x}\n" for word in words))
    out = tmp_path / "gateware"
    command = [sys.executable, ROOT / "targets" / "sim.py", "--build", "--output-dir", out]
    subprocess.run([*command, "--memory1", image], check=True, capture_output=True)
    # From here on compiling a board fails, so build_board() must reuse the compiled program.
    monkeypatch.setattr(build, "_compile", None)
    program = build_board(out, quiet=True)
    assert program != executable and program.stat().st_ino == executable.stat().st_ino
    with start_board(program=program) as board:
        card = board.card()
        assert [card.mmio_read(0x14000 + 4 * i) for i in range(17)] == [*words, 0]
        assert card.mmio_read(0x10000) == 0


# Failures of a build ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "%Warning-ALWNEVER: lanebox.v:12:3: 'always' has no events",
        "%Error-ALWNEVER: x.v:1:1: never",
    ],
)
def test_a_block_that_is_never_run_is_fatal(line):
    """ALWNEVER, Verilator's warning that a block never runs, ends the build. The error quotes the
    warning."""
    with pytest.raises(BuildError) as error:
        check_verilate_log(f"%Warning-WIDTH: a.v:1:1: width\n{line}\n- done\n")
    assert line in str(error.value) and "tools.verilog.litex_verilog" in str(error.value)


def test_other_warnings_are_not():
    """Verilator's warnings other than ALWNEVER do not end the build, since Verilog of vendors and
    of LiteX has many harmless ones."""
    check_verilate_log(
        "%Warning-WIDTH: a.v:1:1: ALWNEVER is not this\n%Warning-STMTDLY: b.v:2:2: x\n"
    )


def test_a_fatal_warning_leaves_no_build(fake_tools, gateware):
    """If Verilator warns of ALWNEVER, the build fails although Verilator's status is 0, and a
    repeated build fails again. Nothing stays in the cache."""
    fake_tools(verilate='echo "%Warning-ALWNEVER: lanebox.v:1:1: never"')
    for _ in range(2):
        with pytest.raises(BuildError, match="ALWNEVER"):
            build_board(gateware, quiet=True)
    assert left_over() == []


@pytest.mark.parametrize("step", ["verilate", "make"])
def test_a_step_that_fails_shows_its_last_lines(fake_tools, gateware, step):
    """If verilator or make fails, the build's error has that program's name, status and last lines
    of output. Nothing stays in the cache."""
    fake_tools(**{step: 'echo "the reason"; exit 3'})
    with pytest.raises(BuildError) as error:
        build_board(gateware, quiet=True)
    program = {"verilate": "verilator", "make": "make"}[step]
    assert f"{program} failed with status 3" in str(error.value)
    assert "the reason" in str(error.value)
    assert left_over() == []


def test_gateware_that_is_missing(tmp_path):
    """If the folder has no gateware, the build's error names the missing file and the command that
    writes it."""
    with pytest.raises(BuildError) as error:
        build_board(tmp_path, quiet=True)
    assert str(tmp_path / "gateware" / "sources.txt") in str(error.value)
    assert "targets/sim.py --build" in str(error.value)


def test_the_command_line_fails_with_status_1(tmp_path):
    """If `python -m sim.board.build` fails, its status is 1 and stderr has the reason, without a
    traceback."""
    command = [sys.executable, "-m", "sim.board.build", "--gateware", str(tmp_path)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 1 and "sources.txt is missing" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_tool_that_is_missing(gateware, tmp_path, monkeypatch):
    """If Verilator is missing, the error says that `make setup` installs it."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BuildError, match="verilator is not installed; `make setup`"):
        build_board(gateware, quiet=True)


def test_two_builds_at_once(fake_tools, gateware):
    """Two processes that build the same content at the same time both succeed, and share one entry
    of the cache."""
    fake_tools(make='sleep 0.2; echo "#!/bin/sh" > $2/board')
    processes = multiprocessing.get_context("fork")
    results = processes.Queue()
    builders = [
        processes.Process(target=lambda: results.put(build_board(gateware, quiet=True)))
        for _ in range(2)
    ]
    for builder in builders:
        builder.start()
    built = [results.get(timeout=10) for _ in builders]
    for builder in builders:
        builder.join()
    assert built[0] == built[1] and built[0].exists()
    assert len(left_over()) == 1


def test_two_boards_are_built_side_by_side(fake_tools, gateware, tmp_path, monkeypatch):
    """Boards of different content are compiled at the same time: each compiler waits until the
    other has begun, and both boards are kept."""
    begun = tmp_path / "begun"
    begun.mkdir()
    fake_tools(
        make=f"touch {begun}/$$\nfor n in $(seq 200); do\n"
        f'[ "$(ls {begun} | wc -l)" = 2 ] && touch $2/board && exit 0\nsleep 0.05\ndone\nexit 1'
    )
    # The first digits of both digests differ, so the boards have different locks.
    monkeypatch.setattr(
        build, "_digest", lambda sources, flags: ("a" if "--trace-fst" in flags else "b") * 16
    )
    with ThreadPoolExecutor() as pool:
        built = list(pool.map(lambda waves: build_board(gateware, waves, True), (False, True)))
    assert built[0] != built[1]
    assert left_over() == ["a" * 16, "b" * 16]
