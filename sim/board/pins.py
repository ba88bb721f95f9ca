# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Finds each Migen Instance whose ports do not fit its Verilog module, in Verilator's log."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from sim.errors import BuildError

# Matches a warning about a port's width in the Verilog that LiteX writes. Widths inside a
# module that was written by hand in Verilog are not checked. A port connected to a constant is left
# out, since a constant has the same value in any width.
WIDTH = re.compile(
    r"^%Warning-WIDTH\w*: (?P<file>[^:\n]*\b(?:lanebox|block)\.v):(?P<line>\d+):\d+: "
    r"(?P<way>\w+) port connection '(?P<port>\w+)' expects (?P<takes>\d+) bits"
    r"(?!.*connection's CONST).*? (?P<given>\d+) bits",
    re.MULTILINE,
)
MISSING = re.compile(
    r"^%Error-PINNOTFOUND: (?P<file>[^:\n]+):(?P<line>\d+):\d+: Pin not found: '(?P<port>\w+)'"
    r"(?:\n.*Suggested alternative: '(?P<near>\w+)')?",
    re.MULTILINE,
)
INSTANCE = re.compile(r"^(?P<module>\w+) (?:#\(|\w+ ?\()")


@dataclass(frozen=True)
class Pin:
    """A port of a Migen Instance that does not fit its Verilog module, with the problem as text."""

    module: str
    port: str
    problem: str

    def place(self, folder: Path | None) -> str:
        """Return `FILE:LINE: ` of the line that connects the port in a Python file of the folder.

        Returns an empty text if no such line is found.
        """
        argument = re.compile(rf"\b(?:i|o|io)_{self.port}\s*=")
        for file in sorted(folder.glob("*.py")) if folder else []:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if argument.search(line):
                    return f"{file}:{number}: "
        return ""


class WrongPins(BuildError):
    """Raised for ports of an Instance that have a wrong width or name.

    In simulation as on silicon, bits of such ports would be lost or zero.
    """

    def __init__(self, pins: list[Pin], folder: Path | None = None):
        self.pins = pins
        lines = [f'{pin.place(folder)}Instance("{pin.module}"): {pin.problem}' for pin in pins]
        super().__init__("\n".join(lines))


def check_pins(log: str) -> None:
    """Raise WrongPins if Verilator's log names a port of a wrong width, or one that is missing."""
    pins = []
    for found in WIDTH.finditer(log):
        takes, given = int(found["takes"]), int(found["given"])
        text = _output(takes, given) if found["way"] == "Output" else _input(takes, given)
        pins.append((found, f"port {found['port']} has {takes} bits and {text}"))
    for found in MISSING.finditer(log):
        near = f"; it has {found['near']}" if found["near"] else ""
        pins.append((found, f"the module has no port {found['port']}{near}"))
    if pins:
        raise WrongPins([Pin(_module(found), found["port"], text) for found, text in pins])


def _input(takes: int, given: int) -> str:
    """Return what happens if an input of `takes` bits gets a signal of `given` bits."""
    lost = f"{given - takes} bits would be lost" if given > takes else "the rest would be zeros"
    return f"is given {given}: {lost}"


def _output(drives: int, given: int) -> str:
    """Return what happens if an output of `drives` bits drives a signal of `given` bits."""
    lost = drives - given
    what = f"its upper {lost} bits would be lost" if lost > 0 else "it would not drive the rest"
    return f"drives a signal of {given}: {what}"


def _module(found: re.Match) -> str:
    """Return the name of the module whose instance has the line of Verilator's warning."""
    lines = Path(found["file"]).read_text().splitlines()
    for line in reversed(lines[: int(found["line"])]):
        if instance := INSTANCE.match(line.strip()):
            return instance["module"]
    return "?"
