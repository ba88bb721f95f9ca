# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find the error numbers that each call of liblitepcie can return, in the library's own sources.

The result has the numbers that the call's function returns or gives to a function, and those of all
functions that it uses. The tables of functions of the back ends count as uses of each back end's
function. A number may be in the result although the call never returns it: the sources are read as
text, and no condition is evaluated. A number that is assigned to a variable, and the numbers that
the kernel returns in errno, are not in the result.
"""

import errno
import re
from collections import defaultdict
from functools import cache
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
OTHER = ("test", "man", "compat")  # folders without sources of the library itself
# For each struct that is a table of functions: the word before "->" where its members are called
TABLES = {
    "litepcie_backend": "backend",
    "litepcie_channel": "channel",
    "litepcie_capture_access": "access",
}
FUNCTION = re.compile(r"^[a-z][\w \*]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^(?:static )?const struct (\w+) \w+ = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
# matches an error number that is returned or given to a function, but none that is compared or
# assigned
NUMBER = re.compile(r"(?<![=!] )(?<![=!] -)(?<!case )\b(E[A-Z0-9]+)\b")
COMMENT_OR_TEXT = re.compile(r'/\*.*?\*/|"(?:[^"\\]|\\.)*"', re.DOTALL)


def sources():
    """Return the text of each source of the library, without comments and strings, by its path."""
    paths = [
        path
        for path in sorted(LIBRARY.rglob("*.[ch]"))
        if path.relative_to(LIBRARY).parts[0] not in OTHER
    ]
    return {path: COMMENT_OR_TEXT.sub("", path.read_text()) for path in paths}


@cache
def functions():
    """Return {(path, name): body} of all functions, and {(word, member): functions} of the tables.

    Each of these functions is a pair of its file's path and its name.
    """
    bodies, members = {}, defaultdict(set)
    for path, text in sources().items():
        for name, body in FUNCTION.findall(text):
            bodies[path, name] = body
        for kind, body in TABLE.findall(text):
            for member, name in re.findall(r"\.(\w+) = (\w+)", body):
                members[TABLES.get(kind), member].add((path, name))
    return bodies, members


def find(path, name):
    """Return the key of the function that `name` means in the file `path`, or None.

    A name that the file does not define means the function of that name in another file, if the
    name has an underscore.
    """
    bodies, _ = functions()
    if (path, name) in bodies:
        return path, name
    return next((key for key in bodies if key[1] == name and "_" in name), None)


def uses(key):
    """Return the keys of the functions that the function with this key uses."""
    bodies, members = functions()
    path, _ = key
    names = {(path, name) for name in re.findall(r"(?<![\w.>])([a-z]\w+)", bodies[key])}
    for word, member in re.findall(r"\b(backend|channel|access)->(?=(\w+))", bodies[key]):
        names |= members[word, member]
    return {found for found in (find(*name) for name in names) if found and found != key}


def meanings():
    """Return {name: text} of the errors for which litepcie_strerror() has a text of its own."""
    text = (LIBRARY / "error.c").read_text()
    return dict(re.findall(r'\[(E\w+)\] = "([^"]*)",', text))


def errors(call):
    """Return the sorted names of the error numbers that are found for the public call."""
    bodies, _ = functions()
    seen, left, found = set(), [find(LIBRARY, call)], set()
    while left:
        key = left.pop()
        if key is None or key in seen:
            continue
        seen.add(key)
        found |= set(NUMBER.findall(bodies[key]))
        left += uses(key)
    return sorted(name for name in found if hasattr(errno, name))
