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


def test_files_of_one_folder_have_arrows():
    """Uses between files are found. In C they are calls and tables of functions, in Python imports
    of one file of a folder by another.
    """
    found = graph.c_arrows()
    assert "litepcie_cause_enable" in found["software/kernel/user.c", "software/kernel/cause.c"]
    library = "software/liblitepcie"
    table = found[f"{library}/litepcie.c", f"{library}/kernel/backend.c"]
    assert table == {"litepcie_kernel_backend"}
    header = "gateware/observe/capability_header.py"
    assert (header, "gateware/observe/capability.py") in graph.file_arrows()


# Mistakes in the tree: the file, the text that is added to it, and the message of tools/graph.py.
MISTAKES = {
    "Python": ("gateware/dma/cut.py", "from gateware import soc\n", "a circle.*gateware/dma"),
    "Python file": (
        "gateware/dma/cut.py",
        "def f():\n    from gateware.dma.join import x\n",
        "a circle: gateware/dma/cut.py uses gateware/dma/join.py: import\n",
    ),
    "late": ("gateware/dma/cut.py", "def f():\n    from gateware.soc import x\n", "a circle"),
    "Scala": ("gateware/completer/Cut.scala", "import lanebox.endpoint.Requester\n", "a circle"),
    "stage": (
        "gateware/capture/record/Seal.scala",
        "import lanebox.capture.writer.Ring\n",
        "a circle.*gateware/capture/record",
    ),
    "include": ("sim/board/link/tlp.hpp", '#include "block/pins.hpp"\n', "a circle.*board/link"),
    "C": (
        "software/liblitepcie/low.c",
        "int lower(void)\n{\n\treturn high(0);\n}\n",
        "liblitepcie/low.c uses software/liblitepcie/middle/high.c: high\n",
    ),
    "C table": (
        "software/liblitepcie/low.c",
        "extern const int table[];\nstatic const int *name(void)\n{\n\treturn table;\n}\n",
        "a circle: software/liblitepcie/low.c uses software/liblitepcie/middle/high.c: table\n",
    ),
    "header": (
        "software/liblitepcie/one.h",
        '#include "two.h"\n',
        "a circle: software/liblitepcie/one.h uses software/liblitepcie/two.h: #include\n",
    ),
    "rule": ("gateware/dma/cut.py", "import sim.board\n", "gateware/dma may not use sim/board:"),
    "test": ("sim/run.py", "from sim.test.card import stamped\n", "sim/run.py may not use test:"),
}
TREE = {
    "gateware/__init__.py": "",
    "gateware/soc.py": "from gateware.dma import cut\n",
    "gateware/dma/__init__.py": "",
    "gateware/dma/cut.py": "",
    "gateware/dma/join.py": "from gateware.dma import cut\n",
    "gateware/completer/Cut.scala": "package lanebox.completer\n",
    "gateware/endpoint/Requester.scala": "import lanebox.completer.Cut\n",
    "gateware/capture/record/Seal.scala": "package lanebox.capture.record\n",
    "gateware/capture/writer/Ring.scala": "import lanebox.capture.record.Seal\n",
    # Comments, texts, members, tags, and the functions of another program are no uses.
    "software/liblitepcie/low.c": (
        "/* high() calls low(). */\nint low(struct high *to)\n{\n\tstatic const char said[] = "
        '"high";\n\n\treturn to->high == said[0];\n}\n\nstatic int table2;\n'
    ),
    "software/liblitepcie/middle/high.c": (
        "const int table[] = { 1 };\n\nint high(struct high *to)\n{\n\treturn low(to);\n}\n"
    ),
    "software/liblitepcie/test/low.c": "int far(void)\n{\n\treturn high(0);\n}\n",
    "software/kernel/low.c": "int low(void)\n{\n\treturn high();\n}\n",
    "software/liblitepcie/one.h": '#include "types.h"\n',
    "software/liblitepcie/two.h": '#include "one.h"\n',
    "software/uapi/types.h": "",
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
