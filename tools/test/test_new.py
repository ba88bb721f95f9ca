# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Tests of tools/new.py: `make new` writes a folder with a block, or says why it cannot."""

import os
import re
import subprocess
from pathlib import Path

import pytest

from sim import examples
from tools import new
from tools.testing.repository import ROOT

LANGUAGES = tuple(new.TEMPLATES)
each_language = pytest.mark.parametrize("language", LANGUAGES)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Set HOME to an empty folder, and return the folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def made(*words):
    """Run `make` with these words as arguments, and return the finished process."""
    return subprocess.run(["make", "-s", *words], cwd=ROOT, capture_output=True, text=True)


@each_language
def test_a_bare_name_is_a_folder_of_the_home(home, language):
    """`make new NAME=crc_32` writes ~/crc_32 with all files of the template, renamed."""
    done = made("new", "NAME=crc_32", f"LANG={language}")
    assert done.returncode == 0, done.stderr
    folder, template = home / "crc_32", ROOT / "examples" / new.TEMPLATES[language]
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    scala = {"Crc32.scala"} if language == "spinal" else set()
    assert texts.keys() == scala | {
        "README.md",
        "client.c",
        "client.py",
        "crc_32.py",
        "test_crc_32.py",
    }
    assert len(list(template.iterdir())) == len(texts)
    assert not re.search("whiten", "".join(texts.values()), re.IGNORECASE)
    assert "class Crc32(LiteXModule)" in texts["crc_32.py"]
    assert "EXAMPLE=~/crc_32" in texts["README.md"]
    assert os.access(folder / "client.py", os.X_OK)
    assert examples.find(str(folder)).user == f"{folder}/crc_32.py:Crc32"


def test_what_comes_next_is_said(home):
    """`make new` prints the commands to type next, with the path of the folder that it has made."""
    done = made("new", "NAME=crc")
    for target in ("test", "sim", "board"):
        assert f"make {target} EXAMPLE=~/crc " in done.stdout


def test_a_path_is_taken_as_it_is(home):
    """NAME may be a path, also with ~, which some shells do not expand after an equals sign."""
    (home / "work").mkdir()
    assert made("new", "NAME=~/work/crc").returncode == 0
    assert made("new", f"NAME={home}/work/mask", "LANG=spinal").returncode == 0
    assert (home / "work" / "crc" / "crc.py").exists()
    assert (home / "work" / "mask" / "Mask.scala").exists()


def test_a_slash_behind_a_bare_name_makes_it_no_path(home, monkeypatch):
    """`make new NAME=crc/` writes ~/crc, as NAME=crc does, and nothing in the current folder."""
    (home / "here").mkdir()
    monkeypatch.chdir(home / "here")
    assert new.main(["--name", "crc/"]) == 0
    assert (home / "crc" / "crc.py").exists() and not list((home / "here").iterdir())


def test_a_shell_s_locale_is_no_language(home, monkeypatch):
    """The shell's own variable LANG does not choose the language of the block."""
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    done = made("new", "NAME=crc")
    assert done.returncode == 0 and not list((home / "crc").glob("*.scala")), done.stderr


@pytest.mark.parametrize(
    ("language", "name", "sentence"),
    [
        ("migen", "", r"what is the block to be called\? make new NAME=crc"),
        ("vhdl", "crc", "LANG=vhdl is unknown: take LANG=migen or LANG=spinal"),
        ("migen", "my-block", "'my-block' cannot be the name of a block.*NAME=my_block"),
        ("migen", "8b10b", "'8b10b' cannot be.*no digit in front"),
        ("migen", "größe", "'größe' cannot be the name"),
        ("migen", "MyBlock", "the class is named after the block.*NAME=my_block$"),
        ("migen", "my__block", "NAME=my_block$"),
        ("migen", "_crc", "NAME=crc$"),
        ("migen", "yield", "'yield' is a word of Python.*NAME=my_yield"),
        ("migen", "test_crc", "would be taken for a test.*NAME=crc$"),
        ("migen", "random", "name of a Python module, which random.py would hide from client.py"),
        ("migen", "numpy", "name of a Python module.*NAME=my_numpy"),
        ("migen", "client", "name of a Python module"),
        ("migen", "replicate", "called Replicate, and something that whiten.py uses has that name"),
        ("spinal", "fragment", "called Fragment, and something that SpinalWhiten.scala uses"),
        ("spinal", "list", "called List, and a type of Scala has that name"),
        (
            "spinal",
            "tag_pool",
            "a part of Lanebox .*TagPool.scala. has that name.*NAME=my_tag_pool",
        ),
        ("migen", "a b/crc", "make cannot cope with spaces"),
        ("migen", "none/crc", "there is no folder .*/none. Make it first"),
    ],
)
def test_a_name_that_cannot_be_says_what_can(home, capsys, language, name, sentence):
    """If `make new` gets a name that cannot be a block's, its status is 2 and a sentence names the
    next step.

    No file is written.
    """
    path = str(home / name) if "/" in name else name
    assert new.main(["--name", path, "--lang", language]) == 2
    out, said = capsys.readouterr()
    assert not out and said.startswith("new: ") and said.count("\n") == 1
    assert re.search(sentence, said.rstrip()), said
    assert not list(home.iterdir())


def test_what_is_there_stays(home, capsys):
    """`make new` does not change a folder that exists, and its message says how to use that
    folder.
    """
    (home / "crc").mkdir()
    assert new.main(["--name", "crc"]) == 2
    assert "make test EXAMPLE=~/crc" in capsys.readouterr().err
    assert not list((home / "crc").iterdir())


def test_a_folder_that_may_not_be_written_is_a_sentence(home, capsys, monkeypatch):
    """If `make new` may not write the folder, it prints a sentence and no traceback."""

    def refused(*_):
        raise PermissionError(13, "Permission denied", "/there/crc")

    # The stub is removed before the test ends, since pytest makes folders itself after the test.
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", refused)
        assert new.main(["--name", "crc"]) == 2
    assert capsys.readouterr().err == "new: /there/crc: Permission denied\n"


@pytest.mark.parametrize("file", ["client.c", "client.py", "test_{}.py"])
def test_the_templates_differ_in_their_logic_alone(file):
    """Clients and tests of both languages' templates are equal, except for names."""
    texts = []
    for name in new.TEMPLATES.values():
        text = (ROOT / "examples" / name / file.format(name)).read_text()
        texts.append(new.renamed(text, name, Path("/x/block")))
    assert texts[0] == texts[1]
