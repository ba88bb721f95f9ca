# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Find the options of a command in its --help and in its program's manual page."""

import re

# The options of a command, each by its letter and name, of which one may be empty, and whether a
# value follows: ("s", "size", True)
Options = set[tuple[str, str, bool]]

# A line of --help that begins an option: "  -s, --size BYTES", "      --json" or "  -c N"
LISTED = re.compile(r"^(?:  -(\w)(?:, --([\w-]+))?|      --([\w-]+))( [A-Z])?", re.MULTILINE)
# Options that litepcie_util and lanebox-capture explain once, for all their commands
SHARED = {("h", "help", False), ("d", "device", True), ("", "json", False)}


def options_of_help(text: str) -> Options:
    """Return the options in a command's --help, except those in SHARED."""
    listed = text.partition("\noptions:\n")[2].partition("\n\n")[0]
    found = LISTED.findall(listed)
    return {(letter, name or alone, bool(value)) for letter, name, alone, value in found} - SHARED


def options_of_page(page: str, command: str) -> Options:
    """Return the options in the section of the manual page that has `command` in its title. A
    section may be that of several commands."""
    found = set()
    for title, text in re.findall(r"^\.Ss (.*)\n((?:(?!\.S[hs]).*\n)*)", page, re.MULTILINE):
        if command in title.split(", "):
            for line in re.findall(r"^\.It (Fl .*)", text, re.MULTILINE):
                letter = re.match(r"Fl (\w)\b", line)
                name = re.search(r"Fl -([\w-]+)", line)
                value = re.search(r" (Ar|Cm) ", line)
                found.add((letter[1] if letter else "", name[1] if name else "", bool(value)))
    return found
