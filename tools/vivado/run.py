# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds Vivado, computes the properties of its PCIe core, and runs vivado.tcl.

Nobody of this project has run Vivado. So a test parses the scripts and checks that every command,
option and property in them is in names.txt.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from gateware.numbers import FLASH_LAYOUT

SCRIPT = Path(__file__).with_name("vivado.tcl")

# LitePCIe's identifiers for Gen3 x8 on UltraScale+, which its driver knows. The vendor's driver
# xdma.ko claims these identifiers, too, and checks nothing else. The subsystem identifier tells
# this card from one with xdma's gateware.
VENDOR, DEVICE, SUBSYSTEM = 0x10EE, 0x9038, 0x4C42

# Address in the flash of the application, which the golden image starts (see programming.py).
APPLICATION = FLASH_LAYOUT["application"]
# The first minute of an application, in periods of 5.12 us of the part's watchdog. The clock of the
# watchdog differs by up to 15 percent from part to part (UG570).
WATCH = round(60 / 5.12e-6)
TIMER_VALUE = (1 << 30) - 1  # the bits of the register TIMER that count
# The user id of a bitstream without an identifier, which is also Vivado's default.
NO_USER_ID = "FFFFFFFF"
CLASS_CODE = 0x058000  # PCI class of the card: a memory controller of no special kind

# vivado.tcl's own warnings begin with this text. Those of Vivado are in capitals.
WARNING = "warning: "
KILOBYTE = 1 << 10
MEGABYTE = 1 << 20


def find_vivado():
    """Return the path of Vivado's program, or None.

    The program is looked for in the folder LITEX_ENV_VIVADO and then in PATH.
    """
    named = os.environ.get("LITEX_ENV_VIVADO")
    place = Path(named) / "bin" / "vivado" if named else None
    if place and place.exists():
        return str(place)
    return shutil.which("vivado")


# Core ---------------------------------------------------------------------------------------------


def _bar(number, size):
    """Return the two properties of the core that give a BAR its size in bytes.

    Raises ValueError if the core cannot have a BAR of this size.
    """
    unit, scale = (MEGABYTE, "Megabytes") if size >= MEGABYTE else (KILOBYTE, "Kilobytes")
    if size % unit:
        raise ValueError(f"BAR{number} of {size} bytes: the core counts in whole {scale}")
    return {f"pf0_bar{number}_scale": scale, f"pf0_bar{number}_size": size // unit}


def _msix_properties(numbers):
    """Return the core's properties of MSI-X.

    The gateware has the MSI-X table and sends the messages; the core has only the capability.
    """
    return {
        "MSI_X_OPTIONS": "MSI-X_External",
        "pf0_msix_enabled": "true",
        "PF0_MSIX_CAP_TABLE_SIZE": f"{numbers.MSI_WIDTH - 1:03X}",
        "PF0_MSIX_CAP_TABLE_BIR": "BAR_0",
        "PF0_MSIX_CAP_TABLE_OFFSET": f"{numbers.MSIX_BASE:08X}",
        "PF0_MSIX_CAP_PBA_BIR": "BAR_0",
        "PF0_MSIX_CAP_PBA_OFFSET": f"{numbers.MSIX_PENDING:08X}",
    }


def core_properties(board, endpoint, msix=False):
    """Return the settings of the core pcie4_uscale_plus for this gateware.

    They are the same as those of the simulator's model.
    """
    from gateware import numbers
    from gateware.phy.hard_block import HARD_BLOCK

    lanebox = endpoint == "lanebox"
    options = {name: str(bool(value)).lower() for name, value in HARD_BLOCK[endpoint].items()}
    properties = {
        "mode_selection": "Advanced",
        "pcie_blk_locn": board.block,
        "en_gt_selection": "true",
        "select_quad": board.quad,
        "PL_LINK_CAP_MAX_LINK_SPEED": "8.0_GT/s",
        "PL_LINK_CAP_MAX_LINK_WIDTH": f"X{max(board.lanes)}",
        "axisten_if_width": f"{numbers.DATA_WIDTH}_bit",
        "axisten_freq": int(board.clock / 1e6),
        "AXISTEN_IF_RC_STRADDLE": options["PCIE_RC_STRADDLE"],
        "axisten_if_enable_client_tag": "true",
        "extended_tag_field": "true",
        "pf0_dev_cap_max_payload": "512_bytes",
        "vendor_id": f"{VENDOR:04x}",
        "PF0_DEVICE_ID": f"{DEVICE:04x}",
        "PF0_SUBSYSTEM_VENDOR_ID": f"{VENDOR:04x}",
        "PF0_SUBSYSTEM_ID": f"{SUBSYSTEM:04x}",
        "PF0_Use_Class_Code_Lookup_Assistant": "false",
        "PF0_CLASS_CODE": f"{CLASS_CODE:06x}",
        "PF0_INTERRUPT_PIN": "NONE",
        "pf0_msi_enabled": "true",
        "pf0_bar0_64bit": "false",
        "pf0_bar0_prefetchable": "false",
        **_bar(0, numbers.BAR0_SIZE),
    }
    if lanebox:
        properties.update(
            {
                "pf0_bar2_enabled": "true",
                "pf0_bar2_type": "Memory",
                "pf0_bar2_64bit": "true",
                "pf0_bar2_prefetchable": "true",
                **_bar(2, numbers.BAR2_SIZE),
            }
        )
    return {**properties, **(_msix_properties(numbers) if msix else {})}


def core_hopes(endpoint):
    """Return properties that this version of the core may not have.

    A build goes on without them, with a warning.
    """
    from gateware.phy.hard_block import HARD_BLOCK

    offered = bool(HARD_BLOCK[endpoint]["PCIE_FLR"])
    return {"PF0_DEV_CAP_FUNCTION_LEVEL_RESET_CAPABLE": str(offered).lower()}


def core_script(board, endpoint, msix=False):
    """Return the text of core.tcl, which sets the core's `core_properties` and `core_hopes`."""

    def as_list(name, properties):
        lines = [f"    CONFIG.{key} {{{value}}} \\" for key, value in properties.items()]
        return "\n".join([f"set {name} [list \\", *lines, "]"]) + "\n"

    return as_list("core_properties", core_properties(board, endpoint, msix)) + as_list(
        "core_hopes", core_hopes(endpoint)
    )


# Run ----------------------------------------------------------------------------------------------


def user_id(output):
    """Return the user id of a build's bitstream: eight hexadecimal digits of the gateware's digest.

    They are the first digits of the identifier's last word. A design without one has no user id.
    """
    described = output / "csr.json"
    if not described.exists():
        return NO_USER_ID
    identifier = json.loads(described.read_text())["constants"]["config_identifier"]
    return identifier.split()[-1][:8].upper()


def place_and_route(vivado, board, output, top, synthesis):
    """Make the bitstream of the module `top` and return its path.

    If Vivado writes no bitstream, a RuntimeError has the end of its log.
    """
    from gateware.card.reboot import SEARCH

    command = [
        vivado,
        "-mode",
        "batch",
        "-nojournal",
        "-log",
        str(output / "vivado.log"),
        "-source",
        str(SCRIPT),
        "-tclargs",
        board.device,
        str(output),
        top,
        synthesis,
        f"{APPLICATION:#010x}",
        user_id(output),
        f"{WATCH:#010x}",
        f"{SEARCH & TIMER_VALUE:#010x}",
    ]
    done = subprocess.run(
        command,
        cwd=output / "gateware",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    bitstream = output / "vivado" / f"{top}.bit"
    if done.returncode or not bitstream.exists():
        end = "\n".join(done.stdout.splitlines()[-20:])
        raise RuntimeError(
            f"Vivado failed with status {done.returncode}, see {output}/vivado.log:\n{end}"
        )
    for line in done.stdout.splitlines():
        if line.startswith(WARNING):
            print(line, file=sys.stderr)
    return bitstream
