# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Find the error numbers that each call of liblitepcie can return, in the library's own sources.

The result has the numbers that the call's function returns or gives to another function, and those
of all functions that it uses, directly or through others. A call through a back end's table of
functions counts as a use of that function of every back end. The sources are read as text, and no
condition is evaluated, so BOUNDED names the numbers that reach only some of the callers. A number
that is assigned to a variable, and the numbers that the kernel returns in errno, are not in the
result. A test compares the result with what the headers say of each call.
"""

import errno
import re
from collections import defaultdict
from functools import cache

from tools.testing.repository import ROOT

LIBRARY = ROOT / "software" / "liblitepcie"
OTHER = ("test", "man", "compat")  # folders of liblitepcie without sources of the library itself
# name of a struct whose members are pointers to functions -> the word before "->" where the library
# calls its members
TABLES = {
    "litepcie_backend": "backend",
    "litepcie_channel": "channel",
    "litepcie_capture_access": "access",
}
ACCESSES = {"readl", "readq", "writel", "writeq", "bar_read", "bar_write", "bar_write_burst"}
QUEUE = {"capture_open", "capture_start", "capture_sort", "capture_generate"}
QUEUE |= {"capture_generate_stop"}
# (function, number) -> the public calls, without their prefix litepcie_, through which the number
# that the function returns reaches a program. All other public calls use the function so that it
# never returns the number, or do not return the number to the program.
BOUNDED = {
    # check_access() refuses an access at a wrong offset, check_width() one of a wrong size, and
    # refuse() one of a size or BAR that the driver cannot access. Only in the calls of ACCESSES
    # does the program choose the offset of an access, and only in the calls bar_* among them its
    # size and BAR.
    ("check_access", "EINVAL"): ACCESSES,
    ("check_width", "EOPNOTSUPP"): ACCESSES - {"readl", "readq", "writel", "writeq"},
    ("refuse", "EOPNOTSUPP"): ACCESSES - {"readl", "readq", "writel", "writeq"},
    # read_size() and litepcie_struct_in() return EINVAL if the program has not set struct_size, or
    # a setting is too new for the library. The first comment of liblitepcie.h tells of this error
    # for all calls, so the comments of the calls need not.
    ("read_size", "EINVAL"): set(),
    ("litepcie_struct_in", "EINVAL"): set(),
    # refill() gives EAGAIN to vfio_user_broken(), which returns -ETIMEDOUT for it
    ("refill", "EAGAIN"): set(),
    # set_device_control() refuses an MPS (mps= in the device's name, chosen when the card is
    # opened) that is larger than the simulated card supports
    ("set_device_control", "EINVAL"): {"open"},
    # take() in kernel/ring.c takes a DMA direction from the driver, which happens only at the start
    # of a stream
    ("take", "EBUSY"): {"stream_start"},
    # read_slot() reads the monitor of the user slot. litepcie_diagnose() drops the errors of
    # read_slot(), and then says nothing of the slot.
    ("read_slot", "ENOENT"): {"slot"},
    ("read_slot", "EAGAIN"): {"slot"},
    # Only the calls of QUEUE ask the driver for a capture queue, which another program may have
    # (EBUSY). Some of them give the driver the memory of a ring (EMSGSIZE).
    ("call", "EBUSY"): QUEUE,
    ("give_ring", "EMSGSIZE"): QUEUE - {"capture_open", "capture_generate_stop"},
    # litepcie_capture_next() returns when a signal has ended its sleep. Other calls that sleep in
    # litepcie_capture_nap() drop this error and go on.
    ("litepcie_capture_nap", "EINTR"): {"capture_next"},
}
FUNCTION = re.compile(r"^[a-z][\w \*]*?\b(\w+)\([^;{}]*\)\n\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
TABLE = re.compile(r"^(?:static )?const struct (\w+) \w+ = \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
# matches the name of an error number, with or without "-" before it. It does not match behind "= ",
# "! " or "case ": such a number is compared or assigned.
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
    """Return two dicts: {(path, name): body} of all functions of the library, and {(word, member):
    functions} of the structs in TABLES, whose members are pointers to functions.

    `word` is the value of the struct in TABLES. `functions` is the set of those functions to which
    the member points in any of these structs, each as a pair (path, name).
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
    """Return the key (path, name) of the function that `name` means in the file `path`, or None.

    A name that the file does not define means the function of that name in another file, if the
    name has an underscore.
    """
    bodies, _ = functions()
    if (path, name) in bodies:
        return path, name
    return next((key for key in bodies if key[1] == name and "_" in name), None)


def uses(key):
    """Return the keys (path, name) of the functions that the function with the key `key` uses."""
    bodies, members = functions()
    path, _ = key
    text = re.sub(r"\bstruct \w+", "", bodies[key])
    names = {(path, name) for name in re.findall(r"(?<![\w.>])([a-z]\w+)", text)}
    for word, member in re.findall(r"\b(backend|channel|access)->(?=(\w+))", bodies[key]):
        names |= members[word, member]
    return {found for found in (find(*name) for name in names) if found and found != key}


def reaches(function, number, call):
    """Return True if the error number that `function` returns can reach the program by `call`."""
    calls = BOUNDED.get((function, number))
    return calls is None or call.removeprefix("litepcie_") in calls


def errors(call):
    """Return {name: function} of the error numbers that are found for the public call.

    `function` is the name of a function in whose body the number was found.
    """
    bodies, _ = functions()
    seen, left, found = set(), [find(LIBRARY, call)], {}
    while left:
        key = left.pop()
        if key is None or key in seen:
            continue
        seen.add(key)
        for name in NUMBER.findall(bodies[key]):
            if hasattr(errno, name) and reaches(key[1], name, call):
                found.setdefault(name, key[1])
        left += uses(key)
    return found
