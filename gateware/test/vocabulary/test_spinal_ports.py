# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of vocabulary/spinal_ports.py, which makes the names of ports that SpinalHDL writes."""

import pytest
from litepcie.common import msi_layout
from litex.soc.interconnect import stream
from migen import Record

from gateware.vocabulary import layouts
from gateware.vocabulary.spinal_ports import camel, record_ports, stream_ports


@pytest.mark.parametrize(
    "name, written",
    [
        ("data", "data"),
        ("first_be", "firstBe"),
        ("rcb_128", "rcb_128"),
        ("start_0", "start_0"),
        ("final_", "final_"),
        ("reads_most", "readsMost"),
    ],
)
def test_names_change_as_scala_has_them(name, written):
    """A name in snake case becomes camel case. An underscore before a digit or at the end stays."""
    assert camel(name) == written


def test_nested_fields_keep_their_path():
    """The port of a field in a record has the names of both, joined by an underscore."""
    endpoint = stream.Endpoint(layouts.rc_layout())
    ports = stream_ports("rc", endpoint, "sink")
    assert ports["i_rc_payload_fragment_end_0_dword"] is endpoint.end_0.dword
    assert ports["i_rc_payload_fragment_start_1"] is endpoint.start_1


@pytest.mark.parametrize("role, given, taken", [("sink", "i", "o"), ("source", "o", "i")])
def test_directions_are_the_components(role, given, taken):
    """Of a stream `sink`, valid and payload are inputs of the component, and ready is an output.

    For a stream `source` these directions are reversed.
    """
    ports = stream_ports("cc", stream.Endpoint(layouts.cc_layout()), role)
    assert {name.partition("_")[::2] for name in ports} == {
        (given, "cc_valid"),
        (taken, "cc_ready"),
        (given, "cc_payload_last"),
        (given, "cc_payload_fragment_data"),
        (given, "cc_payload_fragment_keep"),
    }


def test_a_stream_of_bits_has_a_payload_without_fields():
    """A stream of one field that has no packets is valid, ready and one payload."""
    endpoint = stream.Endpoint(msi_layout())
    ports = stream_ports("fenced", endpoint, "source", packets=False)
    assert ports["o_fenced_payload"] is endpoint.dat
    assert set(ports) == {"o_fenced_valid", "i_fenced_ready", "o_fenced_payload"}


def test_a_record_gives_every_field_once():
    """Each field of a record is one port, named after the record and the field."""
    record = Record(layouts.link_settings_layout())
    assert record_ports("settings", record, "i") == {
        "i_settings_maxPayload": record.max_payload,
        "i_settings_maxReadRequest": record.max_read_request,
        "i_settings_rcb_128": record.rcb_128,
        "i_settings_busMaster": record.bus_master,
    }
