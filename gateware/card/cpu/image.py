# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Compiles the firmware for one SoC: header with its registers' addresses, compiler, image.

The result is kept under build/firmware/ by a hash of all that it depends on. It has no date and no
path, so the same sources give the same image on every machine with the same compiler."""

import argparse
import hashlib
import shutil
import struct
import subprocess
import sys
import zlib
from dataclasses import dataclass
from pathlib import Path

from gateware import numbers
from gateware.card.cpu import layout
from tools.locks import locked

ROOT     = Path(__file__).resolve().parents[3]
DEFAULT  = ROOT/"firmware"
CACHE    = ROOT/"build"/"firmware"
PREFIX   = "riscv64-unknown-elf-"
SUFFIXES = (".c", ".S", ".h")
# Parts of the default firmware that every firmware is linked with.
STARTUP  = ("start.S", "card.h", "link.ld")
# The core has neither multiplication nor compressed instructions. VexRiscv Min is RV32I.
FLAGS    = ("-march=rv32i", "-mabi=ilp32", "-Os", "-std=c11", "-ffreestanding", "-Wall", "-Wextra",
    "-Werror", "-ffunction-sections", "-fdata-sections", "-nostartfiles",
    "--specs=picolibc.specs", "-Wl,--gc-sections", "-Wl,--build-id=none",
    "-Wl,--no-warn-rwx-segments")

@dataclass(frozen=True)
class Firmware:
    """Which firmware a build has: the folder of its sources."""
    folder: Path

    def sources(self):
        """Returns the firmware's files that are compiled, and those that they include."""
        own = sorted(p for p in self.folder.iterdir() if p.suffix in SUFFIXES)
        return [*own, *(DEFAULT/name for name in STARTUP if self.folder/name not in own)]

    def digest(self):
        """Returns the SHA-256, in hexadecimal, of the firmware's sources."""
        sha = hashlib.sha256()
        for path in self.sources():
            sha.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
        return sha.hexdigest()

    def version(self):
        """Returns the first 32 bits of the digest, by which host and firmware name the firmware."""
        return int(self.digest()[:8], 16)

def compiler():
    """Returns the path of the RISC-V compiler, or None if this machine has none."""
    return shutil.which(f"{PREFIX}gcc")

def choose_firmware(name, card):
    """Returns the Firmware that the option --firmware NAME means, or None for a build without CPU.

    `card` says whether the build has card services. Without the compiler the default firmware
    becomes none, with a sentence. Raises ValueError if the option cannot be met."""
    if name == "none":
        return None
    if not card:
        if name == "default":
            return None
        raise ValueError(f"--firmware {name}: the management CPU is one of the card services; add "
            "--card")
    if compiler() is None:
        if name != "default":
            raise ValueError(f"--firmware {name}: {PREFIX}gcc is not installed; `make setup` "
                "installs it")
        print(f"no management CPU in this build, since {PREFIX}gcc is not installed; `make setup` "
            "installs it")
        return None
    folder = DEFAULT if name == "default" else Path(name)
    if not any(folder.glob("*.c")):
        raise ValueError(f"--firmware {name}: it must be none, default, or a folder with .c files")
    return Firmware(folder.resolve())

# The C header card_numbers.h ----------------------------------------------------------------------

def _registers(soc):
    """Yields a name and an address of the CPU for each register of the SoC, then its fields."""
    for module, region in soc.csr.regions.items():
        if not isinstance(region.obj, list):
            continue
        place = layout.PORTAL_BASE + region.origin
        for csr in region.obj:
            name   = f"CARD_{module}_{csr.name}"
            place += layout.WORD*((csr.size + region.busword - 1)//region.busword)
            yield name, place - layout.WORD
            for field in getattr(getattr(csr, "fields", None), "fields", []):
                if field.offset + field.size <= 32:
                    yield f"{name}_{field.name}", ((1 << field.size) - 1) << field.offset

def header_values(soc, firmware):
    """Returns {name: number} for the header card_numbers.h. `soc` has addresses already."""
    values = {name: place for name, place in _registers(soc)}
    values |= {f"OWN_{name}": layout.OWN_BASE + place for name, place in layout.OWN.items()}
    values |= {f"EVENT_{name}": 1 << bit for name, bit in layout.EVENTS.items()}
    values |= {f"TICK_{name}": 1 << bit for name, (bit, _) in layout.TICKS.items()}
    values |= {f"MAILBOX_{name}": place for name, place in layout.MAILBOX.items()}
    for name, (place, size) in layout.RINGS.items():
        values |= {f"RING_{name}": place, f"RING_{name}_SIZE": size}
    values |= {f"COMMAND_{name}": code for name, code in layout.COMMANDS.items()}
    return values | {
        "EVENT_ALL":           (1 << len(layout.EVENTS)) - 1,
        "CARD_REGISTERS_BASE": layout.PORTAL_BASE + numbers.CSR_BASE,
        "CARD_REGISTERS_SIZE": numbers.CSR_SIZE,
        "MAILBOX_BASE":        layout.MAILBOX_BASE,
        "MAILBOX_MAGIC":       layout.MAILBOX_MAGIC,
        "LOG_MAGIC":           layout.LOG_MAGIC,
        "IMAGE_MAGIC":         layout.IMAGE_MAGIC,
        "UNKNOWN_COMMAND":     layout.UNKNOWN_COMMAND,
        "FIRMWARE_VERSION":    firmware.version(),
    }

def c_header(soc, firmware):
    """Returns the text of the C header card_numbers.h, from the values of header_values()."""
    lines = ["/* Generated by gateware/card/cpu/image.py: do not edit. */"]
    for name, value in header_values(soc, firmware).items():
        suffix = "" if name.startswith("IMAGE_") else "u" # The assembler knows no suffix.
        lines.append(f"#define {name.upper()} {value:#x}{suffix}")
    lines += [f'#define FIRMWARE_NAME "Lanebox firmware {firmware.digest()[:8]}"']
    return "\n".join(lines) + "\n"

# The firmware's image -----------------------------------------------------------------------------

def seal(code):
    """Returns the bytes of an image with its size and its CRC-32. `code` begins with the header."""
    code  = bytearray(code.ljust(-(-len(code)//layout.WORD)*layout.WORD, b"\0"))
    size  = len(code) + layout.WORD
    if size > numbers.CPU_IMAGE_SIZE:
        raise ValueError(f"the firmware has {size} bytes; there is room for "
            f"{numbers.CPU_IMAGE_SIZE}")
    struct.pack_into("<I", code, layout.WORD*layout.IMAGE_WORDS["bytes"], size)
    return bytes(code) + struct.pack("<I", zlib.crc32(code))

def _run(*command):
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the firmware cannot be built: {done.stderr.strip()}")
    return done.stdout

def compile_image(header, firmware):
    """Compiles `firmware` with the text `header` as card_numbers.h. Returns the image's bytes."""
    version = _run(compiler(), "--version")
    sha     = hashlib.sha256("\0".join([header, firmware.digest(), version, *FLAGS,
        (DEFAULT/"link.ld").read_text()]).encode()).hexdigest()
    folder  = CACHE/sha[:16]
    image   = folder/"image.bin"
    with locked(CACHE/".lock"):
        if not image.exists():
            folder.mkdir(parents=True, exist_ok=True)
            (folder/"card_numbers.h").write_text(header)
            sources = [path for path in firmware.sources() if path.suffix in (".c", ".S")]
            _run(compiler(), *FLAGS, f"-I{folder}", f"-I{DEFAULT}", "-T", DEFAULT/"link.ld",
                f"-Wl,--defsym=image_size={numbers.CPU_IMAGE_SIZE}",
                f"-Wl,--defsym=mailbox_base={layout.MAILBOX_BASE}",
                *sources, "-o", folder/"firmware.elf")
            _run(f"{PREFIX}objcopy", "-O", "binary", "--only-section=.text",
                "--only-section=.data", folder/"firmware.elf", folder/"code.bin")
            image.write_bytes(seal((folder/"code.bin").read_bytes()))
    return image.read_bytes()

def make_image(soc, firmware):
    """Returns the 32-bit words of the image of `firmware`, compiled for `soc`."""
    image = compile_image(c_header(soc, firmware), firmware)
    return list(struct.unpack(f"<{len(image)//layout.WORD}I", image))

def main():
    """Compile a folder to an image, as the command line says."""
    parser = argparse.ArgumentParser(description="Compile firmware for the management CPU.")
    parser.add_argument("folder", type=Path, help="folder with .c files")
    parser.add_argument("--numbers", type=Path, required=True, metavar="HEADER",
        help="card_numbers.h of the gateware, from build/firmware/")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the image")
    arguments = parser.parse_args()
    try:
        firmware = choose_firmware(str(arguments.folder), card=True)
        raw = compile_image(arguments.numbers.read_text(), firmware)
        arguments.output.write_bytes(raw)
    except (ValueError, RuntimeError, OSError) as error:
        sys.exit(f"image: {error}")
    print(f"{arguments.output}: {len(raw)} bytes")

if __name__ == "__main__":
    main()
