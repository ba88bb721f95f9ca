# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The list of flash commands that the engine sends. It refuses every other opcode.

The opcodes are those of JEDEC's serial flashes that Micron's MT25QU256 and Macronix' MX25U51245G
share. These kinds of commands are left out on purpose, so even an unlocked engine refuses them:

    writes of status, configuration and protection registers; one-time-programmable bytes
    commands that change the address mode or the extended address: the part could not boot then
    commands on two or four data lines, since the engine drives one
    deep power-down and suspend, after which the flash takes no read
"""

from dataclasses import dataclass
from enum import IntEnum

from gateware import numbers


class Data(IntEnum):
    """The bytes behind a command's address on the wire: none, or bytes in one direction."""
    NONE  = 0
    READ  = 1
    WRITE = 2

class Change(IntEnum):
    """The part of the flash that a command changes: none, the place at its address, or all."""
    NONE  = 0
    PLACE = 1
    ALL   = 2

@dataclass(frozen=True)
class Command:
    """A command of the flash. `address` is the number of its address bytes: 0, 3 or 4. `dummies` is
    the number of bytes between address and data, which mean nothing. `lines` is the number of data
    lines on which the flash sends its data: 1, or 2 for a command with a dummy byte."""
    opcode:  int
    about:   str
    address: int    = 0
    dummies: int    = 0
    data:    Data   = Data.NONE
    change:  Change = Change.NONE
    lines:   int    = 1

READ_STATUS     = numbers.FLASH_OPCODE_READ_STATUS
WRITE_ENABLE    = numbers.FLASH_OPCODE_WRITE_ENABLE
IDENTIFY        = numbers.FLASH_OPCODE_IDENTIFY
READ            = numbers.FLASH_OPCODE_READ_FAST
READ_PAIRS      = numbers.FLASH_OPCODE_READ_PAIRS
PROGRAM         = numbers.FLASH_OPCODE_PROGRAM
ERASE_SUBSECTOR = numbers.FLASH_OPCODE_ERASE_4K
ERASE_SECTOR    = numbers.FLASH_OPCODE_ERASE_64K

COMMANDS = (
    Command(numbers.FLASH_OPCODE_READ_STATUS, "read status", data=Data.READ),
    Command(numbers.FLASH_OPCODE_READ_FLAGS, "read flag status", data=Data.READ),
    Command(numbers.FLASH_OPCODE_CLEAR_FLAGS, "clear flag status"),
    Command(numbers.FLASH_OPCODE_WRITE_ENABLE, "write enable"),
    Command(numbers.FLASH_OPCODE_WRITE_DISABLE, "write disable"),
    Command(numbers.FLASH_OPCODE_IDENTIFY, "read identification", data=Data.READ),
    Command(numbers.FLASH_OPCODE_IDENTIFY_TOO, "read identification", data=Data.READ),
    Command(numbers.FLASH_OPCODE_DISCOVER, "read discovery table", 3, 1, Data.READ),
    Command(numbers.FLASH_OPCODE_READ_NONVOLATILE, "read nonvolatile configuration",
        data=Data.READ),
    Command(numbers.FLASH_OPCODE_READ_VOLATILE, "read volatile configuration", data=Data.READ),
    Command(numbers.FLASH_OPCODE_READ_EXTENDED, "read extended address", data=Data.READ),
    Command(numbers.FLASH_OPCODE_ENABLE_RESET, "enable reset"),
    Command(numbers.FLASH_OPCODE_RESET, "reset"),
    Command(numbers.FLASH_OPCODE_WAKE, "release from deep power-down"),
    Command(numbers.FLASH_OPCODE_READ_SHORT, "read", 3, 0, Data.READ),
    Command(numbers.FLASH_OPCODE_READ_FAST_SHORT, "fast read", 3, 1, Data.READ),
    Command(numbers.FLASH_OPCODE_READ, "read", 4, 0, Data.READ),
    Command(numbers.FLASH_OPCODE_READ_FAST, "fast read", 4, 1, Data.READ),
    Command(numbers.FLASH_OPCODE_READ_PAIRS, "fast read on two lines", 4, 1, Data.READ, lines=2),
    Command(numbers.FLASH_OPCODE_PROGRAM_SHORT, "program page", 3, 0, Data.WRITE, Change.PLACE),
    Command(numbers.FLASH_OPCODE_PROGRAM, "program page", 4, 0, Data.WRITE, Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_4K_SHORT, "erase 4 KiB", 3, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_32K_SHORT, "erase 32 KiB", 3, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_64K_SHORT, "erase 64 KiB", 3, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_4K, "erase 4 KiB", 4, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_32K, "erase 32 KiB", 4, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_64K, "erase 64 KiB", 4, change=Change.PLACE),
    Command(numbers.FLASH_OPCODE_ERASE_ALL, "erase all", change=Change.ALL),
    Command(numbers.FLASH_OPCODE_ERASE_ALL_TOO, "erase all", change=Change.ALL),
)

class Refusal(IntEnum):
    """Why the engine did not send a command."""
    NONE    = 0
    UNKNOWN = 1 # The opcode is not in COMMANDS.
    OUTSIDE = 2 # The address is not in the application's half of the flash, and it is locked.
    SHORT   = 3 # A change with an address of three bytes, which cannot reach the application.
    ALL     = 4 # An erase of everything would erase the golden image.
    SIZE    = 5 # The flash is too small, or did not say its size: addresses would wrap to 0.
    LENGTH  = 6 # A page has 1 to 256 bytes.
    BUSY    = 7 # Another command is still running.

STATUS_BUSY = 0 # The bit of the register `flash_status` that is 1 while a command runs.

# Last byte of the identification of flashes with 32 MiB or more. Vendors count in three ways.
LARGE = (*range(0x19, 0x1d), *range(0x20, 0x23), *range(0x39, 0x3d))
