# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""LiteX streams and records as the flattened ports of a SpinalHDL component.

SpinalHDL writes a Stream(Fragment(T)) called `cq` as cq_valid, cq_ready, cq_payload_last and
cq_payload_fragment_<field>; fields are camelCase in Scala and snake_case here.
"""

import re

from migen import *


def camel(name):
    """`first_be` -> `firstBe`. `_` before a digit stays, as in SpinalHDL's names of the elements of
    a Vec.
    """
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name)

def _fields(record):
    """Yield (port name, signal) of each field, nested ones included."""
    for name, *_ in record.layout:
        value = getattr(record, name)
        if isinstance(value, Record):
            for inner, signal in _fields(value):
                yield f"{camel(name)}_{inner}", signal
        else:
            yield camel(name), value

def record_ports(prefix, record, direction):
    """Ports for all fields of `record`: inputs ("i") or outputs ("o") of the component."""
    return {f"{direction}_{prefix}_{name}": signal for name, signal in _fields(record)}

def stream_ports(name, endpoint, role, packets=True):
    """The ports of one stream.

    `role` is the component's: a "sink" takes from `endpoint`, a "source" gives to it. With
    `packets` the SpinalHDL type is Stream(Fragment(T)), otherwise Stream(T).
    """
    given, taken = {"sink": ("i", "o"), "source": ("o", "i")}[role]
    ports = {f"{given}_{name}_valid": endpoint.valid, f"{taken}_{name}_ready": endpoint.ready}
    if packets:
        ports[f"{given}_{name}_payload_last"] = endpoint.last
        return {**ports, **record_ports(f"{name}_payload_fragment", endpoint.payload, given)}
    fields = list(_fields(endpoint.payload))
    if len(fields) == 1: # A Stream(Bits(n bits)): its payload has no fields.
        return {**ports, f"{given}_{name}_payload": fields[0][1]}
    return {**ports, **record_ports(f"{name}_payload", endpoint.payload, given)}

def clock_ports(domain="sys"):
    return {"i_clk": ClockSignal(domain), "i_reset": ResetSignal(domain)}
