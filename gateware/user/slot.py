# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The user slot: the place in the gateware for the user's logic. Without user logic the loopback is
in it. This file finds the user's class, makes the logic and checks that it fits.

The occupant of the slot (the user's logic) is a LiteXModule, made by `Class(platform)`, with

    sink    stream.Endpoint(stream_layout())   i, h2c: beats from the host, 32 bytes each
    source  stream.Endpoint(stream_layout())   o, c2h: beats to the host
    irq     Signal()   o, one cycle high: one interrupt to the host
    axi     user_axi() i, optional: an AXI4 bus of which the occupant is a slave; the host sees it
                       in BAR2 (see gateware/mmio/axi.py, and user/axi_memory.py for one)
    frames  stream.Endpoint(stream_layout())   o, optional: packets that are captured as frames of
                       the last port (gateware/capture); the build then has the capture block
    commands  UserCommands()   optional: reads and writes of host memory by address (see
                       gateware/user/commands.py)
    busy    Signal()   o, optional: high while the occupant works without a stream or interrupt
                       moving, so that device time runs in simulation

and any CSRs, which software sees with the prefix `user_`. The occupant is in the clock domain
`sys`.

`last` ends a packet, `bytes` is how many bytes of that beat count (0: all 32), and `error` says
that the packet is not as it should be. h2c has these three where the host asks for packets. In c2h
`last` ends the buffer in host memory where the host wants that. Logic without packets does not
drive these fields, or has streams of plain_stream_layout(), which is LitePCIe's `dma_layout`."""

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *
from migen.fhdl.tools import list_special_ios, list_targets
from migen.fhdl.visit import NodeVisitor

from gateware.mmio.axi import axi_problem
from gateware.numbers import CSR_PAGE_WORDS, DWORD_WIDTH
from gateware.user.commands import UserCommands, add_commands
from gateware.user.mistakes import located, nearest, place, place_of_assignment
from gateware.user.monitor import SlotMonitor
from gateware.vocabulary.layouts import plain_stream_layout, stream_layout
from tools.verilog.sources import source_files

# Finding the user's logic -------------------------------------------------------------------------

def _import(module):
    if not module.endswith(".py"):
        return importlib.import_module(module)
    # The user's file may be called like an installed package, so its module has another name.
    name = f"lanebox_user_logic_{Path(module).stem}"
    spec = importlib.util.spec_from_file_location(name, module)
    code = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code

def find_occupant(text):
    """Returns the class that `text` names as MODULE:CLASS; raises ValueError if there is none."""
    module, separator, name = text.rpartition(":")
    if not (separator and module and name):
        raise ValueError(f"user logic {text!r} must be MODULE:CLASS, like "
            "gateware.user.loopback:Loopback")
    try:
        with located(Path(module).parent):
            code = _import(module)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ValueError(f"user logic {text!r}: module {module!r} cannot be loaded: {error}; "
            "give a dotted name that Python can import or the path of a .py file") from error
    if not hasattr(code, name):
        there = [each for each, value in vars(code).items()
            if inspect.isclass(value) and value.__module__ == code.__name__]
        raise ValueError(f"user logic {text!r}: {module!r} has no class {name!r}."
            f"{nearest(name, there)} The class is named after its folder: my_block has MyBlock")
    return getattr(code, name)

def occupant_sources(occupant_class):
    """Returns all files in the folder of the user's logic. A change of one makes a new build."""
    return source_files(Path(inspect.getfile(occupant_class)).parent, pattern="*")

# Checks of the user's logic -----------------------------------------------------------------------

def _fields(layout):
    return [(field[0], field[1]) for field in layout.payload_layout]

def _subject(occupant, attribute=None):
    """Returns the start of an error message about user logic: its file, line and class."""
    return f"{place(type(occupant), attribute)}: user logic {type(occupant).__name__}"

def _misspelt(occupant, attribute, kind):
    """Looks for an attribute of the occupant, an instance of `kind`, whose name is near to that of
    a missing `attribute`: it may be misspelt. Returns the name of the attribute whose line the
    error should name, and a question that proposes the right name (empty if none is near)."""
    others = [name for name, value in vars(occupant).items()
        if isinstance(value, kind) and name not in ("sink", "source", "irq", "busy")]
    question = nearest(attribute, others)
    return question.split("`")[1] if question else attribute, question

def _check_endpoint(occupant, attribute, role):
    endpoint = getattr(occupant, attribute, None)
    if not isinstance(endpoint, stream.Endpoint):
        at, question = _misspelt(occupant, attribute, stream.Endpoint)
        raise ValueError(f"{_subject(occupant, at)}: `{attribute}` ({role}) is {endpoint!r}; it "
            f"must be stream.Endpoint(stream_layout()).{question}")
    subject  = _subject(occupant, attribute)
    found    = _fields(endpoint.description)
    expected = _fields(stream_layout())
    if found not in (expected, _fields(plain_stream_layout())):
        raise ValueError(f"{subject}: `{attribute}` ({role}) has the layout {found}; it "
            f"must be {expected}, which is stream_layout()")

def _check_signal(occupant, attribute, role):
    signal = getattr(occupant, attribute, None)
    if isinstance(signal, Signal) and len(signal) == 1:
        return
    at, question = (attribute, "") if isinstance(signal, Signal) else _misspelt(
        occupant, attribute, Signal)
    raise ValueError(f"{_subject(occupant, at)}: `{attribute}` ({role}) is {signal!r}; "
        f"it must be Signal() of one bit.{question}")

def _check_axi(occupant, with_axi):
    if occupant.axi is None:
        return
    subject = _subject(occupant, "axi")
    if not with_axi:
        raise ValueError(f"{subject} has an AXI4 bus, which only Lanebox's MMIO bridge "
            "shows to the host: build it with --endpoint lanebox")
    problem = axi_problem(occupant.axi)
    if problem:
        raise ValueError(f"{subject}: `axi` (the host's AXI4 bus) {problem}; it must be "
            "user_axi() of gateware.mmio.axi")

def _check_commands(occupant, with_commands):
    if occupant.commands is None:
        return
    subject = _subject(occupant, "commands")
    if not with_commands:
        raise ValueError(f"{subject} has `commands`, which need byte enables, and LitePCIe's "
            "endpoint has none: build it with --endpoint lanebox")
    if not isinstance(occupant.commands, UserCommands):
        raise ValueError(f"{subject}: `commands` (reads and writes of host memory) is "
            f"{occupant.commands!r}; it must be UserCommands() of gateware.user.commands")

class _Narrowing(NodeVisitor):
    """Collects in `found` each assignment of a signal to a narrower one: (target, source)."""
    def __init__(self):
        self.found = []

    def visit_Assign(self, node):
        """Is called by Migen for each assignment."""
        target, source = node.l, node.r
        if isinstance(target, Signal) and isinstance(source, Signal) and len(target) < len(source):
            self.found.append((target, source))

def _name_of(occupant, signal):
    """Returns self.NAME, or self.NAME.FIELD of a stream, as the occupant's class writes it. A
    signal that is no attribute has the name that Migen gives it."""
    for attribute, value in vars(occupant).items():
        if value is signal:
            return f"self.{attribute}"
        inside = getattr(value, "__dict__", {})
        fields = [getattr(inside.get(part), "__dict__", {}) for part in ("payload", "param")]
        for name, each in [pair for group in (inside, *fields) for pair in group.items()]:
            if each is signal:
                return f"self.{attribute}.{name}"
    return signal.name_override or signal.backtrace[-1][0]

def _check_widths(occupant):
    """Raises ValueError if the occupant assigns a signal to a narrower one without a slice.

    Migen would silently drop the upper bits. Only the occupant's own statements are checked, not
    those of its submodules."""
    narrowing = _Narrowing()
    for statements in (occupant._fragment.comb, *occupant._fragment.sync.values()):
        narrowing.visit(statements)
    for target, source in narrowing.found:
        to, of  = _name_of(occupant, target), _name_of(occupant, source)
        subject = f"{place_of_assignment(type(occupant), to, of)}: user logic"
        raise ValueError(f"{subject} {type(occupant).__name__}: `{of}` has {len(source)} bits and "
            f"`{to}`, to which it is assigned, has {len(target)}: the upper bits would be lost. "
            f"Make `{to}` wider, or, if they are to be dropped, write {of}[:{len(target)}]")

def _driven(fragment):
    """Returns all signals that a statement or an instance of the Migen fragment drives."""
    statements = [fragment.comb, *fragment.sync.values()]
    found = [list_targets(group) for group in statements]
    return set().union(*found, list_special_ios(fragment, ins=False, outs=True, inouts=True))

def check_built(occupant, regions):
    """Raises ValueError if a finalized occupant would build, but then hang or hide a register.

    `regions` are the SoC's register regions by name. The occupant's region, if it has registers, is
    called `user`."""
    if occupant.sink.ready not in _driven(occupant._fragment):
        raise ValueError(f"{_subject(occupant, 'sink')}: nothing drives `sink.ready`, so h2c would "
            "hang with the first beat. Logic that wants nothing from the host takes and drops it: "
            "self.comb += self.sink.ready.eq(1)")
    registers = regions["user"].obj if "user" in regions else []
    words     = sum(-(-register.size//DWORD_WIDTH) for register in registers)
    if words > CSR_PAGE_WORDS:
        raise ValueError(f"{_subject(occupant)} has registers of {words} words of 32 bits; its "
            f"page has {CSR_PAGE_WORDS}, and those behind them would never answer. A memory on an "
            "AXI4 bus has room for more: gateware/user/axi_memory.py")
    names = [register.name for register in registers]
    for twice in sorted({each for each in names if names.count(each) > 1}):
        raise ValueError(f"{_subject(occupant, twice)}: two of its registers are called `{twice}`; "
            f"software would find one of them as user_{twice}. Give each an attribute or a name= "
            "of its own")

def _widen(occupant, *attributes):
    """Puts a stream of stream_layout() in front of each of these streams with LitePCIe's layout."""
    for attribute in attributes:
        inner = getattr(occupant, attribute)
        if _fields(inner.description) == _fields(stream_layout()):
            continue
        outer = stream.Endpoint(stream_layout())
        setattr(occupant, attribute, outer)
        occupant.comb += (outer.connect(inner, omit={"bytes", "error"}) if attribute == "sink"
            else inner.connect(outer))

def make_occupant(occupant_class, platform, with_axi=True, with_commands=True):
    """Returns new user logic of this class. If it does not fit the slot, a ValueError says why.

    `with_axi` says that the gateware has a master for an AXI4 bus of user logic. Only Lanebox's
    MMIO bridge is such a master. `with_commands` says that the endpoint can carry out commands of
    user logic. Only Lanebox's endpoint can."""
    with located(Path(inspect.getfile(occupant_class)).parent):
        occupant = occupant_class(platform)
    if not isinstance(occupant, LiteXModule):
        raise ValueError(f"{_subject(occupant)} is not a LiteXModule; derive it from LiteXModule, "
            "or its registers would not be found")
    _check_endpoint(occupant, "sink", "h2c")
    _check_endpoint(occupant, "source", "c2h")
    _check_widths(occupant)
    _widen(occupant, "sink", "source")
    _check_signal(occupant, "irq", "interrupt")
    if not hasattr(occupant, "busy"):
        occupant.busy = Signal()
    _check_signal(occupant, "busy", "works without moving a stream")
    for optional in ("axi", "frames", "commands"):
        if not hasattr(occupant, optional):
            setattr(occupant, optional, None)
    _check_axi(occupant, with_axi)
    _check_commands(occupant, with_commands)
    if occupant.frames is not None:
        _check_endpoint(occupant, "frames", "captured frames")
        _widen(occupant, "frames")
    return occupant

# The user slot in the SoC -------------------------------------------------------------------------

def add_slot(soc):
    """Adds the block for the commands of user logic and the monitor of its streams to the SoC."""
    add_commands(soc)
    soc.slot = SlotMonitor(soc.user.sink, soc.user.source, soc.pcie_counters.time_late)
