# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Reads the initial contents of the card's block memories from a file. Its suffix says its format:

    .hex  one 32-bit word of 1 to 8 hexadecimal digits per line; // and # start a comment
    .coe  Xilinx coefficient file: memory_initialization_radix (2, 10 or 16), then
          memory_initialization_vector, words separated by commas or white space; ; ends each, and
          starts a comment at the start of a line
    .bin  raw bytes, a whole number of little-endian 32-bit words

The file fills the memory from its start, and the words behind the file's last one are zero. If
anything in the file is doubtful, a ValueError names the file and the rule, and where it can the
line and the value. A memory is never filled with a guess."""

import re
import struct
from pathlib import Path

from gateware.numbers import MEMORY_SIZE

WORD_BYTES = 4
WORD_MAX   = 2**(8*WORD_BYTES) - 1
COE_RADIX  = "memory_initialization_radix"
COE_VECTOR = "memory_initialization_vector"

# A memory without a file is written with zeros, so that simulation and silicon start alike.
BLANK_IMAGE = [0]*(MEMORY_SIZE//WORD_BYTES)

def read_image(filename, size=MEMORY_SIZE):
    """Returns the 32-bit words of a memory of `size` bytes, read from the file `filename`, whose
    suffix says its format. Words behind the file's last one are 0."""
    path = Path(filename)
    if path.suffix not in READERS:
        raise ValueError(f"{path}: suffix {path.suffix!r} is unknown; a memory is initialised "
            f"from {', '.join(READERS)}")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{path}: cannot be read: {error.strerror}; give the name of a file "
            f"ending in {', '.join(READERS)}") from error
    words = READERS[path.suffix](path, content)
    if not words:
        raise ValueError(f"{path}: holds 0 words; give at least one, or leave the memory blank by "
            "naming no file")
    room = size//WORD_BYTES
    if len(words) > room:
        raise ValueError(f"{path}: holds {len(words)} words; the memory of {size} bytes has room "
            f"for {room}")
    return words + [0]*(room - len(words))

# Words in a text file -----------------------------------------------------------------------------

DIGITS = {2: "[01]+", 10: "[0-9]+", 16: "[0-9a-fA-F]+"}

def _text(path, content):
    try:
        return content.decode("ascii")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(f"{path}:{line}: byte 0x{content[error.start]:02x} is not ASCII; a "
            f"{path.suffix} file is plain text") from error

def _word(path, line, text, radix):
    if not re.fullmatch(DIGITS[radix], text):
        raise ValueError(f"{path}:{line}: {text!r} is not a word of radix-{radix} digits")
    value = int(text, radix)
    if value > WORD_MAX:
        raise ValueError(f"{path}:{line}: {text!r} does not fit a word of {8*WORD_BYTES} bits")
    return value

# Files with the suffix .hex -----------------------------------------------------------------------

def _read_hex(path, content):
    words = []
    for number, line in enumerate(_text(path, content).splitlines(), start=1):
        tokens = re.split("//|#", line)[0].split()
        if len(tokens) > 1:
            raise ValueError(f"{path}:{number}: {line.strip()!r} has {len(tokens)} words; write "
                "one word per line")
        words += [_word(path, number, token, radix=16) for token in tokens]
    return words

# Files with the suffix .coe -----------------------------------------------------------------------

def _coe_statements(path, text):
    """Yields (name, [(line number, word), ...]) for each statement `name = word, word, ... ;` of a
    .coe file. Raises ValueError if a statement has another form."""
    tokens, start = [], 1
    for number, line in enumerate(text.splitlines(), start=1):
        if line.lstrip().startswith(";"):
            continue
        for part in re.findall(r"[;=]|[^\s,;=]+", line):
            if not tokens:
                start = number
            if part != ";":
                tokens.append((number, part))
                continue
            if len(tokens) < 2 or tokens[1][1] != "=":
                raise ValueError(f"{path}:{start}: statement before {part!r} is not "
                    "`name = value;`")
            yield tokens[0][1].lower(), tokens[2:]
            tokens = []
    if tokens:
        raise ValueError(f"{path}:{start}: statement {tokens[0][1]!r} has no end; close it with ;")

def _coe_radix(path, values):
    line, text = values[0] if values else (1, "")
    if len(values) != 1 or text not in [str(radix) for radix in DIGITS]:
        raise ValueError(f"{path}:{line}: {COE_RADIX} is {text!r}; it must be 2, 10 or 16")
    return int(text)

def _read_coe(path, content):
    radix, words = None, None
    for name, values in _coe_statements(path, _text(path, content)):
        if name == COE_RADIX:
            radix = _coe_radix(path, values)
        elif name == COE_VECTOR:
            if radix is None:
                raise ValueError(f"{path}: {COE_RADIX} is missing; it must stand before "
                    f"{COE_VECTOR}")
            words = [_word(path, line, text, radix) for line, text in values]
        else:
            raise ValueError(f"{path}: {name!r} is unknown; a .coe file has {COE_RADIX} and "
                f"{COE_VECTOR}")
    if words is None:
        raise ValueError(f"{path}: {COE_VECTOR} is missing; a .coe file must have one")
    return words

# Files with the suffix .bin -----------------------------------------------------------------------

def _read_bin(path, content):
    if len(content) % WORD_BYTES:
        raise ValueError(f"{path}: holds {len(content)} bytes; it must be a multiple of "
            f"{WORD_BYTES}, whole words")
    return list(struct.unpack(f"<{len(content)//WORD_BYTES}I", content))

READERS = {".hex": _read_hex, ".coe": _read_coe, ".bin": _read_bin}
