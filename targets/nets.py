# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Define how a board's nets are listed: what is known about each net, how surely, and from where.

The same table gives a build its pins and constraints, and targets/README.md its list of nets. This
module needs only Python's standard library, so --help and the table work without the build
environment."""

from dataclasses import dataclass

from gateware import numbers
from tools.words import pair

# The pin is sure: a published design worked with it, or the package leaves no choice.
HIGH     = "high"
# One owner of the card has published the pin, and nobody else has confirmed it.
REPORTED = "reported"
INFERRED = "inferred" # The pin follows from other facts, but nobody has said that it works.
# The net's pin is not known, so the net must not be used. `advice` says what is known and how to
# find out.
UNKNOWN  = "unknown"

# The QSFP cages that a board may have, and the low-speed signals of each, by the names of SFF-8679.
CAGES        = ("a", "b")
CAGE_SIGNALS = ("modsel_n", "reset_n", "scl", "sda", "modprs_n", "int_n", "lpmode")

CONFIDENCES = (HIGH, REPORTED, INFERRED, UNKNOWN)

@dataclass(frozen=True)
class Net:
    """One row of a board's table: a net, or several nets that belong together.

    `pins` lists package pins separated by spaces. For a bus, lane or bit 0 comes first."""
    name:       str
    pins:       str
    standard:   str
    confidence: str
    source:     str
    advice:     str  = ""
    # False if the pin is a dedicated one, for which no design can have a port.
    fabric:     bool = True

@dataclass(frozen=True)
class Board:
    """Describe one board: its FPGA part, its PCIe link and its nets."""
    name:   str # Name of the board. Its target is the script targets/<name>.py.
    title:  str
    device: str
    # The numbers of PCIe lanes for which the board can be built. The first is the default.
    lanes:  tuple
    # Frequency in Hz of the PCIe core's user clock, with 256 bits and the default number of lanes.
    clock:  float
    block:  str # Location in the FPGA of the PCIe hard block that the board uses.
    quad:   str # Name of the quad of transceivers that has PCIe lane 0.
    nets:   tuple

    @property
    def part(self):
        """Return the name of the board's FPGA part without package and speed grade."""
        return self.device.partition("-")[0]

    def net(self, name):
        """Return the net called `name`.

        Raise LookupError if the board has no such net, or if a design must not use it. The message
        then says what is known about the net."""
        found = {net.name: net for net in self.nets}
        if name not in found:
            raise LookupError(f"{self.title} has no net {name!r}: there are {', '.join(found)}")
        net = found[name]
        if net.confidence == UNKNOWN or not net.fabric:
            raise LookupError(f"{self.title}: {name} cannot be used. {net.advice}")
        return net

    def lane_pins(self, name, lanes):
        """Return the pins of the first `lanes` lanes of pcie.<name>.

        Lane 0, which a published design has used, comes first."""
        if lanes not in self.lanes:
            raise LookupError(f"{self.title} has no {lanes} lanes: choose "
                f"{' or '.join(map(str, self.lanes))}")
        found = " ".join(net.pins for net in self.nets if net.name.startswith(f"pcie.{name}["))
        return found.split()[:lanes]

    def cages(self):
        """Return the names of the QSFP cages, "a" or "b", all of whose low-speed pins are known."""
        wanted = {name: [f"qsfp_{name}.{signal}" for signal in CAGE_SIGNALS] for name in CAGES}
        known  = {net.name for net in self.nets if net.confidence != UNKNOWN}
        return tuple(name for name, nets in wanted.items() if known.issuperset(nets))

    def resources(self, lanes, cages=()):
        """Return a list of (port, pins, I/O standard) for a build with `lanes` PCIe lanes and these
        cages on this board.
        """
        name  = f"pcie_x{lanes}"
        ports = [(f"{name}.{pin}", self.net(f"pcie.{pin}").pins.split(),
            self.net(f"pcie.{pin}").standard) for pin in ("rst_n", "clk_p", "clk_n")]
        ports += [(f"{name}.{pin}", self.lane_pins(pin, lanes), "")
            for pin in ("rx_p", "rx_n", "tx_p", "tx_n")]
        ports += [(name, [self.net(name).pins], self.net(name).standard)
            for cage in cages for name in (f"qsfp_{cage}.{signal}" for signal in CAGE_SIGNALS)]
        leds = [net for net in self.nets if net.name.startswith("user_led") and net.fabric]
        return ports + [(net.name, [net.pins], net.standard) for net in leds
            if net.confidence == HIGH]

def markdown(board):
    """Return the table of the board's nets as Markdown for targets/README.md."""
    lines = ["| net | pins | standard | confidence | source |", "|---|---|---|---|---|"]
    for net in board.nets:
        said = f"{net.source}. {net.advice}" if net.advice else net.source
        lines.append(f"| `{net.name}` | {net.pins or '-'} | {net.standard or '-'} "
            f"| {net.confidence} | {said} |")
    return "\n".join(lines)

# Constraints of a board's pins --------------------------------------------------------------------

def _port_names(port, pins):
    name = port.replace(".", "_")
    return [name] if len(pins) == 1 else [f"{name}[{n}]" for n in range(len(pins))]

def constraints(board, lanes, cages=()):
    """Return the constraints of a build as text: pins, I/O standards and the 100 MHz PCIe reference
    clock.

    Every synthesis tool for this part can read this form (XDC)."""
    lines = []
    for port, pins, standard in board.resources(lanes, cages):
        level, *properties = standard.split() or [""]
        for name, pin in zip(_port_names(port, pins), pins):
            lines.append(f"set_property PACKAGE_PIN {pin} [get_ports {{{name}}}]")
            if level:
                lines.append(f"set_property IOSTANDARD {level} [get_ports {{{name}}}]")
            for text in properties:
                key, value = pair(text)
                lines.append(f"set_property {key} {value} [get_ports {{{name}}}]")
    clock, period = f"pcie_x{lanes}_clk_p", 1e9/numbers.REFCLK_FREQ # period in ns
    lines.append(f"create_clock -name pcie_refclk -period {period:.3f} [get_ports {clock}]")
    lines.append(f"set_false_path -from [get_ports pcie_x{lanes}_rst_n]")
    return "\n".join(lines) + "\n"
