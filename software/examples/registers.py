# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Read and write registers by name, or list them all.

By the card's capability table the library knows the registers of most blocks.
With the csr.json of the card's build it knows all registers.
"""

from lanebox_host import Card

from example import options, run


def register(word: str) -> tuple:
    """Parse an argument NAME or NAME=VALUE of the command line.

    Return the register's name, and the value or None.
    """
    name, given, value = word.partition("=")
    return name, int(value, 0) if given else None


def use(args) -> None:
    with Card(args.device) as card:
        if args.c:
            card.registers.load(args.c)
        for name, value in args.words:
            if value is not None:
                card.registers[name] = value
            print(f"{name} = {card.registers[name]:#x}")
        for name in card.registers if not args.words else ():
            print(f"{card.registers.offset(name):#07x}  {name}")


if __name__ == "__main__":
    parser = options(__doc__)
    parser.add_argument(
        "-c",
        metavar="FILE",
        help="csr.json of the card's build: with it your own have names, too",
    )
    parser.add_argument(
        "words", metavar="NAME | NAME=VALUE", nargs="*", type=register
    )
    run(use, parser)
