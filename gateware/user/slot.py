# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""The user slot: what logic must look like to be built into the gateware in place of the loopback.

An occupant is a LiteXModule, made by `Class(platform)`, with

    sink    stream.Endpoint(stream_layout())   i, h2c: beats from the host, 32 bytes each
    source  stream.Endpoint(stream_layout())   o, c2h: beats to the host
    irq     Signal()   o, one cycle high: one interrupt to the host
    axi     user_axi() i, optional: an AXI4 bus of which the occupant is a slave; the host sees it
                       in BAR2 (see gateware/mmio/axi.py, and user/axi_memory.py for one)
    busy    Signal()   o, optional: high while it works without a stream or interrupt moving, so
                       that device time runs in simulation

and any CSRs, which software sees with the prefix `user_`. It lives in the `sys` clock domain.

`last` ends a packet, `bytes` is how many bytes of that beat count (0: all of them), and `error`
says that the packet is not as it should be. h2c has them where the host asks for packets; in c2h
`last` ends the buffer in host memory where the host wants that. Logic that knows none of this
leaves them alone, or has streams of plain_stream_layout(), which is LitePCIe's `dma_layout`.
"""

import importlib
import importlib.util
import inspect
import sys
from pathlib import Path

from litex.gen import *
from litex.soc.interconnect import stream
from migen import *

from lanebox.identity import source_files
from lanebox.layouts import plain_stream_layout, stream_layout
from lanebox.mmio.axi import axi_problem

# Lookup -------------------------------------------------------------------------------------------

def _import(module):
    if not module.endswith(".py"):
        return importlib.import_module(module)
    # Under a name of its own: the file may be called like any installed package.
    name = f"lanebox_user_logic_{Path(module).stem}"
    spec = importlib.util.spec_from_file_location(name, module)
    code = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(code)
    return code

def find_occupant(text):
    """The class named by `text`: MODULE:CLASS, where MODULE is a dotted name or a .py file."""
    module, separator, name = text.rpartition(":")
    if not (separator and module and name):
        raise ValueError(f"user logic {text!r} must be MODULE:CLASS, like "
            "lanebox.user.loopback:Loopback")
    try:
        code = _import(module)
    except (ModuleNotFoundError, FileNotFoundError) as error:
        raise ValueError(f"user logic {text!r}: module {module!r} cannot be loaded: {error}; "
            "give a dotted name that Python can import or the path of a .py file") from error
    if not hasattr(code, name):
        raise ValueError(f"user logic {text!r}: {module!r} has no class {name!r}")
    return getattr(code, name)

def occupant_sources(occupant_class):
    """The source files beside the one that defines the class: a change in any is a new build."""
    return source_files(Path(inspect.getfile(occupant_class)).parent, pattern="*")

# Check --------------------------------------------------------------------------------------------

def _fields(layout):
    return [(field[0], field[1]) for field in layout.payload_layout]

def _check_endpoint(name, occupant, attribute, role):
    endpoint = getattr(occupant, attribute, None)
    if not isinstance(endpoint, stream.Endpoint):
        raise ValueError(f"user logic {name}: `{attribute}` ({role}) is {endpoint!r}; it must be "
            "stream.Endpoint(stream_layout())")
    found    = _fields(endpoint.description)
    expected = _fields(stream_layout())
    if found not in (expected, _fields(plain_stream_layout())):
        raise ValueError(f"user logic {name}: `{attribute}` ({role}) has the layout {found}; it "
            f"must be {expected}, which is stream_layout()")

def _check_signal(name, occupant, attribute, role):
    signal = getattr(occupant, attribute, None)
    if not isinstance(signal, Signal) or len(signal) != 1:
        raise ValueError(f"user logic {name}: `{attribute}` ({role}) is {signal!r}; it must be "
            "Signal() of one bit")

def _check_axi(name, occupant, with_axi):
    if occupant.axi is None:
        return
    if not with_axi:
        raise ValueError(f"user logic {name} has an AXI4 bus, which only Lanebox's MMIO bridge "
            "shows to the host: build it with --endpoint lanebox")
    problem = axi_problem(occupant.axi)
    if problem:
        raise ValueError(f"user logic {name}: `axi` (the host's AXI4 bus) {problem}; it must be "
            "user_axi() of lanebox.mmio.axi")

def _widen(occupant):
    """Give streams of LitePCIe's layout those of ours: whole beats, and no errors."""
    for attribute in ("sink", "source"):
        inner = getattr(occupant, attribute)
        if _fields(inner.description) == _fields(stream_layout()):
            continue
        outer = stream.Endpoint(stream_layout())
        setattr(occupant, attribute, outer)
        occupant.comb += (outer.connect(inner, omit={"bytes", "error"}) if attribute == "sink"
            else inner.connect(outer))

def make_occupant(occupant_class, platform, with_axi=True):
    """An occupant that is known to fit the slot, or a ValueError that says what does not.

    `with_axi`: the gateware has a master for its AXI4 bus.
    """
    name     = occupant_class.__name__
    occupant = occupant_class(platform)
    if not isinstance(occupant, LiteXModule):
        raise ValueError(f"user logic {name} is not a LiteXModule; derive it from LiteXModule, or "
            "its registers would not be found")
    _check_endpoint(name, occupant, "sink", "h2c")
    _check_endpoint(name, occupant, "source", "c2h")
    _widen(occupant)
    _check_signal(name, occupant, "irq", "interrupt")
    if not hasattr(occupant, "busy"):
        occupant.busy = Signal()
    _check_signal(name, occupant, "busy", "works without moving a stream")
    if not hasattr(occupant, "axi"):
        occupant.axi = None
    _check_axi(name, occupant, with_axi)
    return occupant
