# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of observe/identity.py, which makes the text by which a build of the gateware is
recognised.
"""

import re
import shutil

import pytest

from gateware.observe import identity


@pytest.fixture
def folder(tmp_path):
    source = tmp_path / "source"
    (source / "sub").mkdir(parents=True)
    (source / "a.py").write_text("a")
    (source / "sub" / "b.v").write_text("b")
    return source


def digest(folder):
    return identity.source_digest(identity.source_files(folder))


def test_same_sources_same_digest_anywhere(folder, tmp_path):
    """A copy of the gateware's sources in another folder, with other time stamps, has the same
    digest.
    """
    copy = tmp_path / "elsewhere" / "copy"
    shutil.copytree(folder, copy, copy_function=shutil.copyfile)
    assert digest(copy) == digest(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "a.py").write_text("A"),
        lambda folder: (folder / "sub" / "b.v").rename(folder / "sub" / "c.v"),
        lambda folder: (folder / "sub" / "b.v").rename(folder / "b.v"),
        lambda folder: (folder / "new.scala").write_text(""),
        lambda folder: (
            (folder / "a.py").write_text("asub/b.vb"),
            (folder / "sub" / "b.v").unlink(),
        ),
    ],
    ids=["content", "name", "folder", "new", "joined"],
)
def test_any_change_changes_the_digest(folder, change):
    """If a source's contents, name or folder changes, or a source is added, the digest changes."""
    before = digest(folder)
    change(folder)
    assert digest(folder) != before


@pytest.mark.parametrize("name", ["__pycache__/a.py", "sub/target/b.v", "notes.md", "build/x.py"])
def test_what_is_no_source_does_not_count(folder, name):
    """Generated files, and files that are no sources of the gateware, do not change the digest."""
    before = digest(folder)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("x")
    assert digest(folder) == before


def test_identifier_names_project_board_and_sources():
    """The gateware's identifier is the project, the board and 12 hex digits, without a date or a
    path.
    """
    assert re.fullmatch("Lanebox ku5p [0-9a-f]{12}", identity.identifier("ku5p", []))


def test_identifier_depends_on_the_user_logic_but_not_on_its_place(folder, tmp_path):
    """Changed user logic changes the gateware's identifier. The same logic in another folder does
    not.
    """
    copy = tmp_path / "elsewhere"
    shutil.copytree(folder, copy)
    texts = [identity.identifier("sim", identity.source_files(place)) for place in (folder, copy)]
    assert texts[0] == texts[1]
    (copy / "a.py").write_text("changed")
    assert identity.identifier("sim", identity.source_files(copy)) != texts[0]
