# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/graph.py: the tree has no circle and no forbidden use, and one would be found."""

import re
import subprocess
import sys

import pytest

from tools import graph
from tools.testing.repository import ROOT


def test_no_part_of_the_tree_uses_one_above_it():
    """tools/graph.py accepts this repository, and prints the stages of the gateware."""
    command = [sys.executable, "-m", "tools.graph"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "gateware/endpoint  <-  gateware/completer, " in done.stdout
    assert "sim/board/block  <-  sim/board/host, " in done.stdout
    assert "  gateware/numbers.py\n" in done.stdout.partition("level 1")[0]


# Mistakes in the tree: the file, the text that is added to it, and the message of tools/graph.py.
MISTAKES = {
    "Python": ("gateware/dma/cut.py", "from gateware import soc\n", "a circle.*gateware/dma"),
    "late": ("gateware/dma/cut.py", "def f():\n    from gateware.soc import x\n", "a circle"),
    "Scala": ("gateware/completer/Cut.scala", "import lanebox.endpoint.Requester\n", "a circle"),
    "stage": (
        "gateware/capture/record/Seal.scala",
        "import lanebox.capture.writer.Ring\n",
        "a circle.*gateware/capture/record",
    ),
    "include": ("sim/board/link/tlp.hpp", '#include "block/pins.hpp"\n', "a circle.*board/link"),
    "rule": ("gateware/dma/cut.py", "import sim.board\n", "gateware/dma may not use sim/board:"),
    "test": ("sim/run.py", "from sim.test.card import stamped\n", "sim/run.py may not use test:"),
}
TREE = {
    "gateware/__init__.py": "",
    "gateware/soc.py": "from gateware.dma import cut\n",
    "gateware/dma/__init__.py": "",
    "gateware/dma/cut.py": "",
    "gateware/completer/Cut.scala": "package lanebox.completer\n",
    "gateware/endpoint/Requester.scala": "import lanebox.completer.Cut\n",
    "gateware/capture/record/Seal.scala": "package lanebox.capture.record\n",
    "gateware/capture/writer/Ring.scala": "import lanebox.capture.record.Seal\n",
    "sim/__init__.py": "",
    "sim/board/__init__.py": "",
    "sim/run.py": "import sim.board\n",
    "sim/board/link/tlp.hpp": "",
    "sim/board/block/pins.hpp": '#include "link/tlp.hpp"\n',
    "sim/test/card/stamped.py": "",
    "sim/test/card/test_it.py": "import sim.run\n",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    """Make a small repository without a mistake, which tools/graph.py examines in place of this
    one.
    """
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setattr(graph, "ROOT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["graph.py"])
    return tmp_path


def test_a_tree_without_a_mistake_passes(tree, capsys):
    """tools/graph.py accepts a tree in which tests use everything and no other part breaks
    RULES.
    """
    assert graph.main() == 0
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_seen(tree, name, capsys):
    """A forbidden import or include, in each language and also inside a function, is an error of
    tools/graph.py that names it.
    """
    file, more, message = MISTAKES[name]
    (tree / file).write_text((tree / file).read_text() + more)
    assert graph.main() == 1
    found = capsys.readouterr().err
    assert re.search(message, found), found
