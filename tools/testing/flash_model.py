# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The simulated board's models of flash and configuration logic (sim/board/card), for Python.

The models are compiled once for each state of their sources.
"""

import ctypes
import hashlib
import shutil
import subprocess
import tempfile
import weakref
from functools import cache
from pathlib import Path

from sim.board.build import include_flags
from tools.testing.repository import ROOT

CARD = ROOT / "sim" / "board" / "card"
MODELS = ("flash_memory", "flash_chip", "image", "configuration")
SOURCES = [Path(__file__).with_suffix(".cpp"), *(CARD / f"{name}.cpp" for name in MODELS)]
FOLDER = ROOT / "build" / "flash"
IDCODE = 0x14A62093  # A KU5P, with its revision.


def compile_library(name, sources, flags, depends=()):
    """Compile C++ sources to a shared library, if no earlier run has. Return its path."""
    digest = hashlib.sha256("\0".join(flags).encode())
    for path in [*sources, *sorted(CARD.glob("*.hpp")), *depends]:
        digest.update(Path(path).read_bytes())
    library = FOLDER / f"{name}-{digest.hexdigest()[:16]}.so"
    if not library.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=FOLDER) as staging:
            objects = [_compile(path, flags, Path(staging)) for path in sources]
            made = Path(staging) / library.name
            subprocess.run(["g++", "-shared", "-pthread", "-o", made, *objects], check=True)
            made.replace(library)
    return library


def _compile(source, flags, folder):
    """Compile one source to an object file in `folder`. ccache remembers unchanged ones."""
    result = folder / f"{Path(source).stem}.o"
    command = [*(["ccache"] if shutil.which("ccache") else []), "g++", "-std=c++17", "-O1"]
    command += ["-fPIC", *flags, "-c", str(source), "-o", str(result)]
    subprocess.run(command, check=True)
    return result


def declare(code):
    """Give the functions of flash_model.cpp in the library `code` their types. Return `code`."""
    number, chip, signed = ctypes.c_uint64, ctypes.c_void_p, ctypes.c_int64
    for name, result, *arguments in (
        ("new", chip, ctypes.c_uint32, number, ctypes.c_int, number, number),
        ("delete", None, chip),
        ("pins", ctypes.c_int, chip, ctypes.c_int, ctypes.c_int, ctypes.c_int, number),
        (
            "transfer",
            number,
            chip,
            number,
            ctypes.c_char_p,
            number,
            ctypes.c_char_p,
            number,
        ),
        ("busy", ctypes.c_int, chip, number),
        ("write_enabled", ctypes.c_int, chip),
        ("selected", ctypes.c_int, chip),
        ("lose_power", None, chip, number),
        ("load", None, chip, number, ctypes.c_char_p, number),
        ("contents", None, chip, number, ctypes.c_char_p, number),
        ("keep_in", None, chip, ctypes.c_char_p),
        ("protect", None, chip, ctypes.c_int),
        ("broken", ctypes.c_char_p, chip, number),
        ("erased", signed, chip, number),
        ("boot", signed, chip, ctypes.c_uint32, ctypes.c_uint32 * 2),
    ):
        function = getattr(code, f"flash_{name}")
        function.restype, function.argtypes = result, arguments
    return code


@cache
def library():
    """Return the library with the flash model alone."""
    return declare(ctypes.CDLL(str(compile_library("model", SOURCES, include_flags()))))


def new_chip(identification=0x20BB19, size=1 << 25, divisor=1000, seed=1):
    """Return a flash, by default an MT25QU256, whose busy times are divided by `divisor`."""
    flag_status = identification >> 16 == 0x20
    handle = library().flash_new(identification, size, flag_status, divisor, seed)
    return Chip(library(), handle)


class Boot:
    """What a part does at power-on: the address of the image that starts (None: no image starts),
    the image's user ID, and the value of the register BOOTSTS.
    """

    def __init__(self, address, user_id, status):
        self.address = None if address < 0 else address
        self.user_id, self.status = user_id, status


class Chip:
    """A flash model of the library `code`. `handle` is its C++ object.

    If `owned` is false, the object belongs to a bench, which deletes it.
    """

    def __init__(self, code, handle, owned=True):
        self.code, self.handle = code, handle
        if owned:
            weakref.finalize(self, code.flash_delete, handle).atexit = False

    def load(self, address, data):
        """Put bytes into the flash, as if it had them when it was soldered."""
        self.code.flash_load(self.handle, address, bytes(data), len(data))

    def contents(self, address, length):
        """Return `length` bytes of the flash from `address` on."""
        buffer = ctypes.create_string_buffer(length)
        self.code.flash_contents(self.handle, address, buffer, length)
        return buffer.raw

    @property
    def broken(self):
        """Return the sentences about what was done to the flash that a real one would not take."""
        lines = (self.code.flash_broken(self.handle, n).decode() for n in range(100))
        return [line for line in lines if line]

    @property
    def erased(self):
        """Return the addresses of the sectors that were erased, in order."""
        found, n = [], 0
        while (address := self.code.flash_erased(self.handle, n)) >= 0:
            found.append(address)
            n += 1
        return found

    def pins(self, cs_n, sck, mosi, nanoseconds):
        """Set the levels of the pins at this time. Return the level of the data output."""
        return self.code.flash_pins(self.handle, bool(cs_n), bool(sck), bool(mosi), nanoseconds)

    def transfer(self, nanoseconds, out, count=0):
        """Make a transfer: send the bytes `out`, take `count` bytes. Return these, and the time at
        its end.
        """
        taken = ctypes.create_string_buffer(max(count, 1))
        end = self.code.flash_transfer(self.handle, nanoseconds, bytes(out), len(out), taken, count)
        return taken.raw[:count], end

    def busy(self, nanoseconds):
        """Return whether the flash erases or programs at this time in ns."""
        return bool(self.code.flash_busy(self.handle, nanoseconds))

    @property
    def write_enabled(self):
        """Return whether the flash has a write enable, and so would erase or program."""
        return bool(self.code.flash_write_enabled(self.handle))

    @property
    def selected(self):
        """Return whether the flash is selected: its pin CS# is low."""
        return bool(self.code.flash_selected(self.handle))

    def keep_in(self, path):
        """Take the flash's contents from the file `path`, and write each later change to it."""
        self.code.flash_keep_in(self.handle, str(path).encode())

    def protect(self, on=True):
        """Protect the flash: erases and programs take their time and change nothing."""
        self.code.flash_protect(self.handle, on)

    def lose_power(self, nanoseconds):
        """Take the flash's power away at this time in ns, and give it back."""
        self.code.flash_lose_power(self.handle, nanoseconds)

    def boot(self, idcode=IDCODE):
        """Return the Boot of a part with this IDCODE that is switched on with this flash."""
        words = (ctypes.c_uint32 * 2)()
        address = self.code.flash_boot(self.handle, idcode, words)
        return Boot(address, words[1], words[0])
