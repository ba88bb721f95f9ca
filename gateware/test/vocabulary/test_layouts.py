# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of vocabulary/layouts.py: each layout has the fields of the SpinalHDL component's port that
it stands for.
"""

from inspect import isfunction

import pytest
from litex.soc.interconnect import stream
from migen import Record

from gateware.endpoint.lanebox import msix_ports, sequence_ports
from gateware.test.vocabulary.test_spinal_instance import verilog_of
from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_instance import read_ports
from gateware.vocabulary.spinal_ports import camel, record_ports

# The component and the port of each layout that is a beat of a stream of packets.
STREAMS = {
    "stream_layout": ("user.HostCommands", "h2c"),
    "frame_layout": ("port.Echo", "sink"),
    "cq_layout": ("completer.Completer", "cq"),
    "cc_layout": ("completer.Completer", "cc"),
    "rq_layout": ("endpoint.Requester", "rq"),
    "rc_layout": ("endpoint.Requester", "rc"),
    "request_layout": ("endpoint.Requester", "clients_0"),
    "read_data_layout": ("endpoint.Requester", "returns_0"),
    "target_request_layout": ("mmio.MmioBridge", "request"),
    "target_completion_layout": ("mmio.MmioBridge", "completion"),
}


def settings_ports(settings):
    """Return the arguments for the Requester's ports of the host's settings."""
    names = [name for name, *_ in settings.layout]
    return {f"i_{camel(name).replace('_', '')}": getattr(settings, name) for name in names}


def management_ports(cfg_mgmt):
    """Return the arguments for the Requester's ports that read the configuration space."""
    names = {"address": "address", "read": "read", "data": "readData", "done": "done"}
    return {f"o_management_{names[name]}": getattr(cfg_mgmt, name) for name, *_ in cfg_mgmt.layout}


# The other layouts of the Requester's ports: a function of Records that gives the arguments of the
# Instance, and the beginnings of the names of all ports that have to be among them.
RECORDS = {
    "sequence_layout": (sequence_ports, ["sequence_"]),
    "link_settings_layout": (settings_ports, ["max", "rcb", "busMaster"]),
    "cfg_mgmt_layout": (management_ports, ["management_"]),
    "msix_layout msix_control_layout": (msix_ports, ["msix"]),
}
# Layouts that no port has, each with the reason.
NO_PORTS = {
    "plain_stream_layout": "It is LitePCIe's, for user logic in Migen.",
    "requester_layout": "It is a part of the two layouts of a target.",
}


def widths(ports):
    """Return {port: width} of an Instance's arguments, without the directions in front."""
    return {name.partition("_")[2]: len(signal) for name, signal in ports.items()}


def ports_of(component, beginnings):
    """Return {port: width} of the component's ports whose names begin so."""
    ports = read_ports(verilog_of(component))
    return {name: width for name, (_, width) in ports.items() if name.startswith(tuple(beginnings))}


@pytest.mark.parametrize("layout", STREAMS)
def test_a_stream_s_layout_is_that_of_the_component(layout):
    """A beat of a stream has the same fields in Python and in Scala, with the same widths."""
    component, port = STREAMS[layout]
    payload = stream.Endpoint(getattr(layouts, layout)()).payload
    prefix = f"{port}_payload_fragment"
    assert widths(record_ports(prefix, payload, "i")) == ports_of(component, [f"{prefix}_"])


@pytest.mark.parametrize("names", RECORDS)
def test_a_record_s_layout_is_that_of_the_requester(names):
    """A Record of the Requester's ports has the same fields in Python and in Scala, with the same
    widths.
    """
    make, beginnings = RECORDS[names]
    records = [Record(getattr(layouts, name)()) for name in names.split()]
    assert widths(make(*records)) == ports_of("endpoint.Requester", beginnings)


def test_every_layout_is_compared():
    """Every layout of layouts.py is compared with a component, or stands in NO_PORTS."""
    own = {
        name
        for name, value in vars(layouts).items()
        if isfunction(value) and value.__module__ == layouts.__name__
    }
    compared = {name for names in [*STREAMS, *RECORDS] for name in names.split()}
    assert own == compared | NO_PORTS.keys()
