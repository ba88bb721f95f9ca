# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Generates the two sides of the border between Verilog and the C++ model of the hard block.

The border is the set of pins that cross from one language to the other. The Verilog module in
pcie_usp.sv calls the model once a clock with all inputs, and gets all outputs back. Each pin, and
each used field of a tuser pin, has 32-bit words of its own. So C++ reads and writes members of a
struct, and no hand-written file has the number of a bit. Names and widths are those of
gateware/phy/pins.py.

Two files are written: pcie_usp.sv is the module, with its ports, the body from block/pcie_usp.sv.in
and the packing of inputs and outputs. pcie_border.hpp has the structs, with their sizes asserted.
Both files lie in one folder, which is named after a hash of their contents."""

from __future__ import annotations

import hashlib
import os
import shutil
import zlib
from dataclasses import dataclass
from pathlib import Path

from gateware.phy.pins import FIELDS, PINS, parts
from gateware.phy.pins_verilog import fill

ROOT = Path(__file__).resolve().parents[2]
BODY = ROOT / "sim" / "board" / "block" / "pcie_usp.sv.in"
FOLDER = ROOT / "build" / "border"
WORD = 32

# The pins that cross the border between Verilog and C++. Directions are the hard block's. The model
# also gets the hard block's reset.
INPUTS = (
    *(
        f"s_axis_{name}_t{part}"
        for name in ("rq", "cc")
        for part in ("data", "keep", "last", "valid")
    ),
    "s_axis_rq_tuser",
    "m_axis_rc_tready",
    "m_axis_cq_tready",
    "pcie_cq_np_req",
    "cfg_fc_sel",
    "cfg_flr_done",
    "cfg_power_state_change_ack",
    "cfg_interrupt_msi_int",
)
OUTPUTS = (
    *(
        f"m_axis_{name}_t{part}"
        for name in ("cq", "rc")
        for part in ("data", "keep", "last", "valid", "user")
    ),
    "pcie_cq_np_req_count",
    "pcie_rq_tag_av",
    "pcie_rq_seq_num0",
    "pcie_rq_seq_num_vld0",
    "pcie_rq_seq_num1",
    "pcie_rq_seq_num_vld1",
    "pcie_tfc_nph_av",
    "pcie_tfc_npd_av",
    *(f"cfg_fc_{name}" for name in ("ph", "nph", "cplh", "pd", "npd", "cpld")),
    "cfg_phy_link_down",
    "cfg_hot_reset_out",
    "cfg_negotiated_width",
    "cfg_current_speed",
    "cfg_max_payload",
    "cfg_max_read_req",
    "cfg_function_status",
    "cfg_function_power_state",
    "cfg_err_cor_out",
    "cfg_err_nonfatal_out",
    "cfg_err_fatal_out",
    "cfg_rcb_status",
    "cfg_power_state_change_interrupt",
    "cfg_flr_in_process",
    "cfg_interrupt_msi_enable",
    "cfg_interrupt_msi_sent",
    "cfg_interrupt_msi_fail",
    "cfg_interrupt_msix_enable",
    "cfg_interrupt_msix_mask",
)
# The model gives one bit for each of these two tready pins. The hard block's pin has four equal
# bits.
READY = ("s_axis_rq_tready", "s_axis_cc_tready")


@dataclass(frozen=True)
class Member:
    """A member of a struct that crosses the border between Verilog and C++.

    `name` is its name in C++ and `width` its bits. For an input, `verilog` is the Verilog
    expression of its value."""

    name: str
    width: int
    verilog: str = ""

    @property
    def words(self) -> int:
        """Return how many 32-bit words this struct member takes in the arrays that cross DPI."""
        return -(-self.width // WORD)


def _inputs() -> list[Member]:
    found = [Member("in_reset", 1, "user_reset | ~sys_reset")]
    for pin in INPUTS:
        if pin not in FIELDS:
            found.append(Member(pin, PINS[pin].width, pin))
            continue
        for field, pieces in FIELDS[pin].items():
            bits = [f"{pin}[{low + width - 1}:{low}]" for low, width in reversed(pieces)]
            width = sum(width for _, width in pieces)
            found.append(Member(f"{pin}_{field}", width, f"{{{', '.join(bits)}}}"))
    return found


def _outputs() -> list[Member]:
    found = [Member(pin, 1) for pin in READY]
    for pin in OUTPUTS:
        if pin not in FIELDS:
            found.append(Member(pin, PINS[pin].width))
            continue
        for field, pieces in FIELDS[pin].items():
            found.append(Member(f"{pin}_{field}", sum(width for _, width in pieces)))
    return found


def _places(members: list[Member]) -> dict[str, int]:
    """Return the position of each struct member's lowest bit in the packed vector, by its name."""
    places, at = {}, 0
    for member in members:
        places[member.name] = at * WORD
        at += member.words
    return places


def _bits(members: list[Member]) -> int:
    return sum(member.words for member in members) * WORD


def layout() -> int:
    """Return a number that changes if the name, width or order of any struct member changes.

    Verilog passes it to C++, which refuses a struct of another layout."""
    members = [f"{member.name}:{member.width}" for member in (*_inputs(), *_outputs())]
    # Verilog's `int` has a sign. The shift keeps the checksum positive in Verilog, too.
    return zlib.crc32(" ".join(members).encode()) >> 1


# The Verilog module pcie_usp.sv -------------------------------------------------------------------


def _packed(members: list[Member]) -> str:
    """Return the Verilog expression that packs all members into one vector.

    The last member has the highest bits."""
    lines = []
    for member in reversed(members):
        fill = member.words * WORD - member.width
        zeros = f"{fill}'d0, " if fill else ""
        lines.append(f"            {zeros}{member.verilog}")
    return "{\n" + ",\n".join(lines) + "}"


def _tuser(pin: str, places: dict[str, int]) -> str:
    """Return the Verilog expression of a tuser pin, made from the words of its fields.

    Bits that belong to no field are 0."""
    pieces, at = [], 0
    for low, width, field, inside in parts(pin):
        if low > at:
            pieces.append(f"{low - at}'d0")
        pieces.append(f"outputs[{places[f'{pin}_{field}'] + inside} +: {width}]")
        at = low + width
    if PINS[pin].width > at:
        pieces.append(f"{PINS[pin].width - at}'d0")
    return "{" + ", ".join(reversed(pieces)) + "}"


def verilog() -> str:
    """Return the text of pcie_usp.sv, the Verilog module that stands for the hard block."""
    inputs, outputs = _inputs(), _outputs()
    places = _places(outputs)
    shown = []
    for pin in OUTPUTS:
        value = (
            _tuser(pin, places) if pin in FIELDS else f"outputs[{places[pin]} +: {PINS[pin].width}]"
        )
        shown.append(f"        {pin} <= {value};")
    shown += [f"        {pin} <= {{{PINS[pin].width}{{outputs[{places[pin]}]}}}};" for pin in READY]
    text = BODY.read_text()
    for mark, made in (
        ("//: declared outputs", f"    bit [{_bits(outputs) - 1}:0] outputs;"),
        ("//: shown outputs", "\n".join(shown)),
    ):
        if text.count(f"{mark}\n") != 1:
            raise ValueError(f"{BODY} must have one line `{mark}`")
        text = text.replace(f"{mark}\n", f"{made}\n")
    for word, value in (
        ("PACKED_INPUTS", _packed(inputs)),
        ("LAYOUT", str(layout())),
        ("INPUT_BITS", str(_bits(inputs))),
        ("OUTPUT_BITS", str(_bits(outputs))),
    ):
        text = text.replace(word, value)
    return fill(text)


# The C++ header pcie_border.hpp -------------------------------------------------------------------


def _struct(name: str, members: list[Member]) -> str:
    lines = [f"struct {name} {{"]
    for member in members:
        count = f"[{member.words}]" if member.words > 1 else ""
        lines.append(f"    uint32_t {member.name}{count};")
    lines.append("};")
    lines.append(f"static_assert(sizeof({name}) * 8 == {_bits(members)});")
    return "\n".join(lines)


def header() -> str:
    """Return the text of pcie_border.hpp, the two structs that cross the border.

    C++ gets BorderInputs from Verilog, and gives BorderOutputs back."""
    return "\n".join(
        [
            "// Written by sim/board/border.py from gateware/phy/pins.py.",
            "#pragma once",
            "#include <cstdint>",
            "namespace lanebox {",
            _struct("BorderInputs", _inputs()),
            _struct("BorderOutputs", _outputs()),
            f"constexpr int kBorderLayout = {layout()};",
            "}  // namespace lanebox",
            "",
        ]
    )


# The folder with both files -----------------------------------------------------------------------


def files() -> Path:
    """Return the folder with pcie_usp.sv and pcie_border.hpp. Write both if they are not there."""
    texts = {"pcie_usp.sv": verilog(), "pcie_border.hpp": header()}
    digest = hashlib.sha256("\0".join(texts.values()).encode()).hexdigest()[:16]
    folder = FOLDER / digest
    if not folder.exists():
        staging = folder.with_name(f"{digest}.{os.getpid()}")
        staging.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (staging / name).write_text(text)
        try:
            staging.rename(folder)
        # Another process has made the same folder first, so this one's copy is removed.
        except OSError:
            shutil.rmtree(staging)
    return folder
