# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests that comments do not outgrow the Python code that they explain."""

import ast
import io
import tokenize

import pytest

from tools.graph import ROOT, is_test, tracked

# The most lines of 100 that have a comment or a docstring and no code, in each folder. Blank lines
# and tests do not count, nor does the table of facts numbers.py.
MOST = {"gateware": 20, "sim": 20, "targets": 20, "tools": 22}
FACTS = "gateware/numbers.py"
LICENCE = ("# This file is part of", "# Copyright", "# SPDX-")


def comment_lines(text):
    """Return (comment lines, all lines) of a Python source. Blank lines and the licence are left
    out. A comment line has only a comment, or is part of a docstring.
    """
    rows = text.splitlines()
    lines = {
        number
        for number, line in enumerate(rows, 1)
        if line.strip() and not line.startswith(LICENCE)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = (token.start for token in tokens if token.type == tokenize.COMMENT)
    found = {row for row, column in comments if not rows[row - 1][:column].strip()}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            found |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(found & lines), len(lines)


@pytest.mark.parametrize("folder", MOST)
def test_comments_do_not_outgrow_the_code(folder):
    """In each folder the share of lines without code is at most that of MOST."""
    sums = [
        comment_lines((ROOT / path).read_text())
        for path in tracked()
        if path.suffix == ".py" and path.parts[0] == folder
        if not is_test(path) and path.as_posix() != FACTS
    ]
    comments, lines = (sum(column) for column in zip(*sums))
    assert 100 * comments / lines <= MOST[folder]


def test_comments_of_each_kind_are_counted():
    """Own lines and docstrings count. Code, blank lines, strings and the licence do not."""
    text = (
        '# SPDX-x\n"""a\n\nb"""\n\n# c\nx = 1  # d\ny = "# no"\ndef f():\n    "e"\n    return 1\n'
    )
    assert comment_lines(text) == (4, 8)
