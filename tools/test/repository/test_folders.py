# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of how the tree is laid out: the size of folders, the names of packages, and where tests
find their modules.
"""

import ast
import re
from collections import Counter

from tools.graph import ROOT, is_test, tracked

MOST_FILES = 25
PACKAGE = re.compile(r"^package (\S+)$", re.MULTILINE)


def edits_path(text):
    """Return the expressions of a Python file that change sys.path. Strings do not count."""
    found = []
    for node in ast.walk(ast.parse(text)):
        targets = getattr(node, "targets", [getattr(node, "target", getattr(node, "func", None))])
        words = [ast.unparse(target) for target in targets if target is not None]
        found += [word for word in words if re.match(r"sys\.path\b", word)]
    return found


def test_no_folder_is_too_large_to_read():
    """No folder of gateware/ and sim/ has more than MOST_FILES files."""
    counts = Counter(path.parent for path in tracked() if path.parts[0] in ("gateware", "sim"))
    assert {str(folder): n for folder, n in counts.items() if n > MOST_FILES} == {}


def test_no_test_edits_the_path_of_modules():
    """No test and no helper of tests changes sys.path: pytest finds the repository's modules."""
    tests = [path for path in tracked() if path.suffix == ".py" and is_test(path)]
    found = {str(path): edits_path((ROOT / path).read_text()) for path in tests}
    assert len(found) > 100 and {path: lines for path, lines in found.items() if lines} == {}


def test_edits_of_the_path_are_seen():
    """A change of sys.path is seen. Code that reads it, or a text with a change, is not."""
    text = 'sys.path.insert(0, x)\nsys.path[:1] = y\nsys.path += z\nprint(sys.path)\n"sys.path = a"'
    assert edits_path(text) == ["sys.path[:1]", "sys.path", "sys.path.insert"]


def test_a_scala_package_is_called_what_its_folder_is_called():
    """A Scala file of gateware/capture/player, and its test, are of package
    lanebox.capture.player.
    """
    files = [path for path in tracked() if path.suffix == ".scala" and path.parts[0] == "gateware"]
    expected, found = {}, {}
    for path in files:
        folders = [part for part in path.parts[1:-1] if part != "test"]
        expected[path] = [".".join(["lanebox", *folders])]
        found[path] = PACKAGE.findall((ROOT / path).read_text())
    assert len(found) > 100 and found == expected
