# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests that comments do not outgrow the Python code that they explain."""

import ast
import io
import tokenize

import pytest

from tools.graph import ROOT, is_test, tracked

# The most comment lines of 100 that are not blank, in each folder. Tests do not count, nor does the
# table of facts numbers.py. The aim for
# gateware/ is 25.
MOST = {"gateware": 28, "sim": 23, "targets": 24, "tools": 23}
FACTS = "gateware/numbers.py"
LICENCE = ("# This file is part of", "# Copyright", "# SPDX-")


def comment_lines(text):
    """Return (comment lines, all lines) of a Python source. Blank lines and the licence are left
    out. A line with code and a comment is a comment line, and so is each line of a docstring.
    """
    lines = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.startswith(LICENCE)
    }
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    found = {token.start[0] for token in tokens if token.type == tokenize.COMMENT}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            found |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return len(found & lines), len(lines)


@pytest.mark.parametrize("folder", MOST)
def test_comments_do_not_outgrow_the_code(folder):
    """In each folder the share of comment lines is at most that of MOST."""
    sums = [
        comment_lines((ROOT / path).read_text())
        for path in tracked()
        if path.suffix == ".py" and path.parts[0] == folder
        if not is_test(path) and path.as_posix() != FACTS
    ]
    comments, lines = (sum(column) for column in zip(*sums))
    assert 100 * comments / lines <= MOST[folder]


def test_comments_of_each_kind_are_counted():
    """Own lines, trailing comments and docstrings count. Blank lines, strings, licence do not."""
    text = (
        '# SPDX-x\n"""a\n\nb"""\n\n# c\nx = 1  # d\ny = "# no"\ndef f():\n    "e"\n    return 1\n'
    )
    assert comment_lines(text) == (5, 8)
