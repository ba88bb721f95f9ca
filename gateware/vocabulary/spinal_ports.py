# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Connects LiteX streams and records to the flattened ports of a SpinalHDL component.

SpinalHDL writes a Stream(Fragment(T)) called `cq` as the Verilog ports cq_valid, cq_ready,
cq_payload_last and cq_payload_fragment_<field>. Fields are camelCase in Scala and snake_case in
Python."""

import re

from migen import *


def camel(name):
    """Returns the Scala name of a Python name: `first_be` becomes `firstBe`. A `_` before a digit
    stays, because SpinalHDL puts one into the names of a Vec's elements."""
    return re.sub(r"_([a-z])", lambda match: match.group(1).upper(), name)

def _fields(record):
    """Yields (port name, signal) of each field of the record, fields of nested records included."""
    for name, *_ in record.layout:
        value = getattr(record, name)
        if isinstance(value, Record):
            for inner, signal in _fields(value):
                yield f"{camel(name)}_{inner}", signal
        else:
            yield camel(name), value

def record_ports(prefix, record, direction):
    """Returns the Instance arguments for all fields of `record`: inputs ("i") or outputs ("o")."""
    return {f"{direction}_{prefix}_{name}": signal for name, signal in _fields(record)}

def stream_ports(name, endpoint, role, packets=True):
    """Returns the Instance arguments that connect the stream `name` of a SpinalHDL component to
    `endpoint`.

    `role` is the component's: a "sink" takes beats from `endpoint`, a "source" gives beats to it.
    With `packets` the SpinalHDL type is Stream(Fragment(T)), otherwise Stream(T)."""
    given, taken = {"sink": ("i", "o"), "source": ("o", "i")}[role]
    ready = {f"{taken}_{name}_ready": endpoint.ready}
    return {**flow_ports(name, endpoint, role, packets), **ready}

def flow_ports(name, endpoint, role, packets=True):
    """Returns the Instance arguments as stream_ports() does, for a SpinalHDL Flow. A Flow cannot
    wait, so it has no port `ready`."""
    given = {"sink": "i", "source": "o"}[role]
    ports = {f"{given}_{name}_valid": endpoint.valid}
    if packets:
        ports[f"{given}_{name}_payload_last"] = endpoint.last
        return {**ports, **record_ports(f"{name}_payload_fragment", endpoint.payload, given)}
    fields = list(_fields(endpoint.payload))
    # The payload of a Stream(Bits(n bits)) is a single port without field names.
    if len(fields) == 1:
        return {**ports, f"{given}_{name}_payload": fields[0][1]}
    return {**ports, **record_ports(f"{name}_payload", endpoint.payload, given)}
