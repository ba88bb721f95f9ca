# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Reads numbers and layouts of a plain C header, so that Python need not write them again.

The header may have enumerations whose members have values, and structures of fixed-width integers
and of structures before them. Nothing of the header is compiled.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The header with the messages of vfio-user, for the library, the simulated board and the Python
# clients.
VFIO_USER = ROOT / "software/liblitepcie/sim/vfio_user_protocol.h"
# The header with the capability table's layout, which is generated from gateware/. The simulated
# board needs it to give a card the identity of an image.
CAPABILITY = ROOT / "software/uapi/litepcie_capability.h"

COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
MEMBER = re.compile(r"\b([A-Z][A-Z0-9_]*) = (0x[0-9a-fA-F]+|\d+)\s*,")
STRUCT = re.compile(r"^struct (\w+) \{\n(.*?)^\};", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^\s*(?:(u?int\d+_t)|struct (\w+)) \w+;\s*$")
CODES = {"uint8_t": "B", "uint16_t": "H", "uint32_t": "I", "uint64_t": "Q"}


@dataclass(frozen=True)
class Header:
    """The contents of a C header: the members of all enumerations, and the structures' layouts.

    Both are dictionaries by name. A layout is little endian and has no padding. A structure inside
    another one contributes its fields.
    """

    numbers: dict[str, int]
    layouts: dict[str, struct.Struct]


def _format(name: str, body: str, known: dict[str, str]) -> str:
    found = ""
    for line in body.splitlines():
        if not line.strip():
            continue
        field = FIELD.match(line)
        inner = field and (CODES.get(field[1] or "") or known.get(field[2] or ""))
        if not inner:
            raise ValueError(f"struct {name}: `{line.strip()}` is no fixed-width integer")
        found += inner
    return found


@cache
def read(path: Path) -> Header:
    """Return the numbers and structures of a C header. Raise ValueError if a structure has a field
    that is neither a fixed-width integer nor a structure."""
    text = COMMENT.sub("", path.read_text())
    formats: dict[str, str] = {}
    for name, body in STRUCT.findall(text):
        formats[name] = _format(name, body, formats)
    layouts = {name: struct.Struct("<" + code) for name, code in formats.items()}
    return Header({name: int(value, 0) for name, value in MEMBER.findall(text)}, layouts)
