# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/verilog/spinal_errors.py: mistakes in a user's Scala are shown with the line."""

import re

import pytest

from tools.verilog.spinal_build import generate

pytestmark = pytest.mark.spinal

HEAD = """\
package lanebox
import spinal.core._, lanebox.vocabulary.LaneboxConfig
"""
BLOCK = """
class {name} extends Component {{
  val io = new Bundle {{ val a = in UInt (8 bits); val b = out UInt (8 bits) }}
  {line}
}}
object {name}Verilog extends App {{ LaneboxConfig(args(0)).generateVerilog(new {name}) }}
"""
# For each faulty block: the line of Scala with the mistake, and the message that the user must see.
MISTAKES = {
    "Overlap": ("io.b := 1; io.b := 2", "ASSIGNMENT OVERLAP: Signal .toplevel/io_b"),
    "NoDriver": ("val c = io.a + 1", "NO DRIVER ON .toplevel/io_b"),
    "Widths": ("io.b := io.a.resize(16 bits)", r"WIDTH MISMATCH .8 bits <- 16 bits. on"),
    "Latch": ("when(io.a === 1) { io.b := 1 }", "LATCH DETECTED .*toplevel/io_b"),
    "Rule": ('io.b := 1; require(false, "three it must be")', "three it must be"),
}
# For each faulty block: the next step with which its error message must end.
NEXT_STEPS = {
    "Overlap": "ASSIGNMENT OVERLAP: .*put the later one into a `when`",
    "NoDriver": "NO DRIVER ON: .*assign one in every case",
    "Widths": "WIDTH MISMATCH: .*`.resized`",
    "Latch": "LATCH DETECTED: .*a default before the `when`",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Make a folder with a user's SpinalHDL blocks, each of which has its mistake on its fourth
    line.
    """
    folder = tmp_path_factory.mktemp("mine")
    blocks = [BLOCK.format(name=name, line=line) for name, (line, _) in MISTAKES.items()]
    (folder / "Mistaken.scala").write_text(HEAD + "".join(blocks))
    return folder


@pytest.mark.parametrize("name", MISTAKES)
def test_spinalhdl_s_errors_have_their_place(folder, name):
    """An error of SpinalHDL is shown with its message, the user's file and the line, and few more
    lines.
    """
    file = folder / "Mistaken.scala"
    lines = file.read_text().splitlines()
    line = lines.index("  " + MISTAKES[name][0]) + 1
    with pytest.raises(RuntimeError, match=MISTAKES[name][1]) as caught:
        generate(name, folder)
    text = str(caught.value)
    assert re.search(rf"^    at {re.escape(str(file))}:({line}|{line - 1})$", text, re.MULTILINE)
    step = NEXT_STEPS.get(name)
    assert re.search(step, text.splitlines()[-1]) if step else "every case" not in text
    assert len(text.splitlines()) < 12 and "spinal.core" not in text.replace("SpinalExit", "")


def test_scala_s_errors_name_the_user_s_file(tmp_path):
    """An error of scalac names the user's file, not the copy that is compiled."""
    file = tmp_path / "Typo.scala"
    file.write_text(HEAD + "class Typo extends Komponent\n")
    with pytest.raises(RuntimeError, match=f"{file}:3:20: not found: type Komponent") as caught:
        generate("Typo", tmp_path)
    assert "build/spinal" not in str(caught.value)
