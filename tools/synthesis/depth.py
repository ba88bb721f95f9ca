# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Finds the deepest paths of a mapped netlist in LUT levels, from register to register, by clock.

Yosys' own `ltp` counts every CARRY4 as a level and follows paths through LUTRAM from a write pin to
the read data, where no signal goes. This module counts levels as primitives.py says. A path belongs
to the clock of its end. If its end is a black box or a port, it belongs to the clock of its start.
"""

import re
from collections import Counter, defaultdict
from dataclasses import dataclass

from tools.synthesis import primitives

NO_CLOCK = "-"
# Matches numbers of bits and of parts of memories in a signal's name. Paths that differ only in
# these are shown as one.
NUMBERS = re.compile(r"\[\d+\]|(\.\d+)+(?=\.)|(?<=ADDR)[A-H]\b")


@dataclass
class Driver:
    """The cell pin that drives a bit.

    `arcs` are (source bit, levels), or None if a path begins at this pin.
    """

    cell: object
    pin: str
    arcs: list


@dataclass
class Path:
    """A path of the netlist from a register or input to a register or output, in LUT levels."""

    levels: int
    start: str
    end: str
    clock: str
    # The names of the nets from the path's start to its end, as far as the nets have names.
    names: list
    # The number of paths between the same two vectors as this path, which is included.
    alike: int = 1


class LoopError(RuntimeError):
    """The netlist has logic that feeds itself without a register."""


class Timing:
    """Computes the LUT level of every bit of `netlist`, and all paths that end in it."""

    def __init__(self, netlist):
        self.netlist = netlist
        self.drivers = self._find_drivers()
        self._readers = self._find_readers()
        self.levels = {}
        self.before = {}
        for bit in self._ordered():
            self._measure(bit)

    # Levels ---------------------------------------------------------------------------------------

    def _find_drivers(self):
        drivers = {}
        for cell in self.netlist.cells:
            for pin, bits in cell.outputs.items():
                for index, bit in enumerate(bits):
                    ways = primitives.arcs(cell.kind, pin, index, cell.inputs)
                    drivers[bit] = Driver(
                        cell,
                        pin,
                        None
                        if ways is None
                        else [
                            (source, way.cost)
                            for way in ways
                            for source in cell.inputs[way.source][: way.bits]
                            if isinstance(source, int)
                        ],
                    )
        return drivers

    def _sources(self, bit):
        driver = self.drivers.get(bit)
        return driver.arcs if driver is not None and driver.arcs else []

    def _ordered(self):
        """Yield the bits that logic drives, each one after the bits that it depends on."""
        waiting = {bit: len(self._sources(bit)) for bit in self.drivers if self._sources(bit)}
        readers = defaultdict(list)
        for bit in waiting:
            for source, _ in self._sources(bit):
                readers[source].append(bit)
        ready = [source for source in readers if source not in waiting]
        done = 0
        while ready:
            for bit in readers[ready.pop()]:
                waiting[bit] -= 1
                if waiting[bit] == 0:
                    done += 1
                    ready.append(bit)
                    yield bit
        if done < len(waiting):
            loop = next(bit for bit, left in waiting.items() if left)
            raise LoopError(f"logic feeds itself without a register near {self.netlist.name(loop)}")

    def _measure(self, bit):
        self.levels[bit], self.before[bit] = max(
            (self.levels.get(source, 0) + cost, source) for source, cost in self._sources(bit)
        )

    # Paths ----------------------------------------------------------------------------------------

    def _ends(self):
        """Yield (bit, cell, pin) for each place where a path ends.

        If the place is a port, cell is None.
        """
        for cell in self.netlist.cells:
            through = any(
                self.drivers[bit].arcs is not None
                for bits in cell.outputs.values()
                for bit in bits
                if bit in self.drivers
            )
            for pin, bits in cell.inputs.items():
                if primitives.ends(cell.kind, pin, through):
                    yield from ((bit, cell, pin) for bit in bits if isinstance(bit, int))
        for name, bits in self.netlist.ports["output"].items():
            yield from ((bit, None, name) for bit in bits if isinstance(bit, int))

    def _trace(self, bit):
        """Return the bits of the deepest path that ends in `bit`, the start of the path first."""
        path = [bit]
        while path[-1] in self.before:
            path.append(self.before[path[-1]])
        return path[::-1]

    def _clock_of(self, cell, pin):
        """Return the name of the pin's clock in front of all clock buffers, or NO_CLOCK."""
        clock = cell and primitives.clock_pin(cell.kind, pin, cell.inputs)
        if not clock or not cell.inputs.get(clock):
            return NO_CLOCK
        bit = cell.inputs[clock][0]
        names = list(self.netlist.names(bit))
        while bit in self.drivers and self.drivers[bit].arcs and len(self.drivers[bit].arcs) == 1:
            bit = self.drivers[bit].arcs[0][0]
            names += self.netlist.names(bit)
        return min(names, key=lambda name: (name.count("."), len(name), name), default=NO_CLOCK)

    def _find_readers(self):
        """Return, for each bit, a cell and pin that read the bit, if the source gave the cell a
        name.
        """
        return {
            bit: f"{cell.name}.{pin}"
            for cell in self.netlist.cells
            if not cell.name.startswith("$")
            for pin, bits in cell.inputs.items()
            for bit in bits
        }

    def _register(self, bit):
        """Return the name of the register that drives the bit.

        Yosys puts nameless registers before memories. Such a register gets the memory's name.
        """
        if self.netlist.names(bit) or bit not in self._readers:
            return self.netlist.name(bit)
        return f"register before {self._readers[bit]}"

    def _end_name(self, cell, pin):
        if cell is None:
            return f"port {pin}"
        held = next((bit for bits in cell.outputs.values() for bit in bits), None)
        named = primitives.FF.match(cell.kind) and held is not None
        return f"{self._register(held) if named else cell.name}.{pin}"

    def _start_name(self, bit):
        driver = self.drivers.get(bit)
        if driver is None or primitives.FF.match(driver.cell.kind):
            return self._register(bit)
        return f"{driver.cell.name}.{driver.pin}"

    def ends_by_level(self):
        """Yield every place where a path ends, as (LUT levels, clock, bit, cell, pin)."""
        for bit, cell, pin in self._ends():
            clock = self._clock_of(cell, pin)
            if clock == NO_CLOCK:
                start = self.drivers.get(self._trace(bit)[0])
                clock = self._clock_of(start and start.cell, start and start.pin)
            yield self.levels.get(bit, 0), clock, bit, cell, pin

    def paths(self):
        """Return two dictionaries by clock: the paths, and a histogram of levels.

        The paths are sorted, deepest first, with one for each pair of vectors. The histogram has
        the number of path ends for each number of levels.
        """
        groups = defaultdict(dict)
        histogram = defaultdict(Counter)
        for levels, clock, bit, cell, pin in self.ends_by_level():
            histogram[clock][levels] += 1
            start = self._start_name(self._trace(bit)[0])
            end = self._end_name(cell, pin)
            key = tuple(NUMBERS.sub("", name) for name in (start, end))
            best = groups[clock].get(key)
            if best is None or levels > best[0]:
                groups[clock][key] = [levels, start, end, bit, 1 + (best[4] if best else 0)]
            else:
                best[4] += 1
        return {
            clock: [
                self._path(clock, *entry)
                for entry in sorted(found.values(), key=lambda entry: (-entry[0], entry[1:3]))
            ]
            for clock, found in groups.items()
        }, {clock: dict(sorted(counts.items())) for clock, counts in histogram.items()}

    def _path(self, clock, levels, start, end, bit, alike):
        between = [self.netlist.names(step) for step in self._trace(bit)[1:]]
        return Path(levels, start, end, clock, [names[0] for names in between if names], alike)
