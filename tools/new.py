#!/usr/bin/env python3
# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""make new NAME=crc [LANG=migen|spinal]: a folder with a block of your own, to begin with.

NAME is a path, like ~/crc or ./crc; a bare name becomes a folder of your home. The folder has the
logic, a client in C and one in Python, tests and a README. They are the files of examples/whiten,
or of examples/spinal_whiten, with the block's name in place of theirs. Lanebox's own tests build
and run those files. Needs Python's standard library only.

Exit status: 0 written, 2 the name cannot be.
"""

from __future__ import annotations

import argparse
import keyword
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
TEMPLATES = {"migen": "whiten", "spinal": "spinal_whiten"}
LANGUAGE = "migen"
# Modules that client.py and test_NAME.py import, or that are in use with them. The block must not
# have one of these names: its NAME.py is in the same folder, and Python would find that file in
# place of the module.
IMPORTED = {"client", "cocotb", "lanebox", "lanebox_host", "litex", "migen", "numpy", "sim", "test"}
# Names of the modules of Python's standard library. sys.stdlib_module_names is new in Python 3.10.
STANDARD = set(getattr(sys, "stdlib_module_names", ()))
# Types of Scala. A block whose class has one of these names would hide the type from Lanebox's own
# Scala, which is in the same package.
SCALA = set(
    "Any AnyRef AnyVal App Array BigInt Boolean Byte Char Double Either Enumeration Exception "
    "Float Int Iterator Left List Long Map Math None Nothing Null Object Option Predef Range "
    "Right Seq Set Short Some String System Thread Unit Vector".split()
)
WORD = re.compile(r"\w+")


class BadName(ValueError):
    """The name of a new block cannot be used. The text says why, and what to do."""


def class_name(title: str) -> str:
    """Return the name of a block's class, by the rule of sim/examples.py: my_block has MyBlock."""
    return "".join(part.capitalize() for part in title.split("_"))


def place(name: str) -> Path:
    """Return the folder that NAME means. A bare name is a folder in the user's home.

    A shell completes the name of a folder with a slash at its end. That slash alone does not make
    the name a path.
    """
    path = Path(name).expanduser()
    return Path.home() / path if "/" not in name.rstrip("/") else path.absolute()


def shown(folder: Path) -> str:
    """Return the folder as a person would type it: with ~ if it is in the user's home."""
    home = Path.home()
    return f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)


def check(name: str, folder: Path, template: Path) -> None:
    """Raise BadName if a block with this folder's name could not be built, or the folder exists."""
    title = folder.name
    wanted = "Take letters, digits and '_', and no digit in front: make new NAME=my_block"
    if not (title.isidentifier() and title.isascii()):
        raise BadName(f"'{title}' cannot be the name of a block. {wanted}")
    if title.startswith("_") or title.endswith("_") or "__" in title or title != title.lower():
        raise BadName(
            f"'{title}': the class is named after the block, my_block is MyBlock. Take small "
            f"letters and single '_' between words: make new NAME={suggestion(title)}"
        )
    if keyword.iskeyword(title) or keyword.iskeyword(class_name(title)):
        raise BadName(f"'{title}' is a word of Python. Take another name: NAME=my_{title}")
    if title.startswith("test_"):
        raise BadName(
            f"'{title}': {title}.py would be taken for a test. Take another name: "
            f"NAME={title[len('test_') :]}"
        )
    if title in STANDARD | IMPORTED:
        raise BadName(
            f"'{title}' is the name of a Python module, which {title}.py would hide from "
            f"client.py. Take another name: NAME=my_{title}"
        )
    if found := taken(title, template):
        raise BadName(
            f"'{title}': the class would be called {class_name(title)}, and {found} has that name. "
            f"Take another one: NAME=my_{title}"
        )
    if re.search(r"[\s:$#'\"\\]", str(folder)):
        raise BadName(
            f"'{folder}': make cannot cope with spaces, quotes, '$', '#' and ':' in a path. Take "
            "another folder"
        )
    if folder.exists():
        raise BadName(
            f"{shown(folder)} is there already, and nothing in it was changed. Take another name, "
            f"or go on with it: make test EXAMPLE={shown(folder)}"
        )
    if not folder.parent.is_dir():
        raise BadName(f"{shown(folder)}: there is no folder {folder.parent}. Make it first")


def suggestion(title: str) -> str:
    """Return a valid name for a block that is similar to `title`."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", title).lower()
    return re.sub(r"_+", "_", spaced).strip("_") or "my_block"


def taken(title: str, template: Path) -> str:
    """Return a text that says what has the name of the block's class already, or "".

    That may be a word in the template's files, a type of Scala, or one of Lanebox's own blocks.
    """
    name = class_name(title)
    own = class_name(template.name)
    for file in [template / f"{template.name}.py", template / f"{own}.scala"]:
        if file.exists() and name in set(WORD.findall(file.read_text())) - {own}:
            return f"something that {file.name} uses"
    if not (template / f"{own}.scala").exists():
        return ""
    if name in SCALA:
        return "a type of Scala"
    for file in sorted((ROOT / "gateware").rglob("*.scala")):
        if re.search(rf"^\s*(?:case )?(?:class|object|trait) {name}\b", file.read_text(), re.M):
            return f"a part of Lanebox ({file.relative_to(ROOT)})"
    return ""


def renamed(text: str, template: str, folder: Path) -> str:
    """Return a template's text, or the name of its file, with the new block's name in it."""
    text = text.replace(f"EXAMPLE={template}", f"EXAMPLE={shown(folder)}")
    text = text.replace(class_name(template), class_name(folder.name))
    return re.sub(rf"(?<![a-zA-Z]){template}(?![a-z])", folder.name, text)


def write(folder: Path, template: Path) -> list[Path]:
    """Write the files of the new block into the new folder `folder`. Return their paths."""
    folder.mkdir()
    files = []
    for source in sorted(template.iterdir()):
        if source.is_file():
            files.append(folder / renamed(source.name, template.name, folder))
            files[-1].write_text(renamed(source.read_text(), template.name, folder))
            files[-1].chmod(source.stat().st_mode & 0o777 | 0o600)
    return files


def hints(folder: Path, files: list[Path]) -> str:
    """Return the text after success: the new folder's files, and the commands that come next."""
    there = "\n".join(f"  {file.name}" for file in files)
    return (
        f"{shown(folder)} has\n\n{there}\n\n"
        f"make test EXAMPLE={shown(folder)}     its tests, then its clients on a board\n"
        f"make sim EXAMPLE={shown(folder)}      its clients and the benchmarks, in a guest\n"
        f"make board EXAMPLE={shown(folder)}    a board that stays, for programs of yours\n"
    )


def main(argv: list[str] | None = None) -> int:
    """Make the folder of a new block, as the command line says. Return the exit status."""
    parser = argparse.ArgumentParser(prog="make new", description=__doc__.split("\n")[0])
    parser.add_argument("--name", default="", help="a path, or a name in your home folder")
    parser.add_argument("--lang", default=LANGUAGE, help=f"migen or spinal ({LANGUAGE})")
    args = parser.parse_args(argv)
    try:
        if not args.name:
            raise BadName("what is the block to be called? make new NAME=crc")
        if args.lang not in TEMPLATES:
            raise BadName(f"LANG={args.lang} is unknown: take LANG=migen or LANG=spinal")
        folder, template = place(args.name), EXAMPLES / TEMPLATES[args.lang]
        check(args.name, folder, template)
        files = write(folder, template)
    except BadName as problem:
        print(f"new: {problem}", file=sys.stderr)
        return 2
    except OSError as problem:
        print(f"new: {problem.filename}: {problem.strerror}", file=sys.stderr)
        return 2
    print(hints(folder, files), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
