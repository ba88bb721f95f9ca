# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""spinal_instance.py, PortsFile.scala: an instance fits its component, or says why not"""

import json

import pytest
from migen import ClockSignal, ResetSignal, Signal

from gateware import numbers
from gateware.mmio.axi import user_axi
from gateware.mmio.bridge import card_memories
from gateware.vocabulary.spinal_instance import WrongPorts, read_ports, spinal_instance
from gateware.vocabulary.windows import default_windows
from tools.verilog.spinal_build import generate

PORTS = [
    ("clk", "input", 1),
    ("reset", "input", 1),
    ("npMax", "input", 6),
    ("cq_ready", "output", 1),
    ("idle", "output", 1),
]


@pytest.fixture
def verilog(tmp_path):
    """The Verilog file of a component with PORTS."""
    rows = [dict(zip(("name", "direction", "width"), port)) for port in PORTS]
    (tmp_path / "Taker.ports.json").write_text(
        json.dumps({"component": "Taker", "ports": rows, "renamed": []})
    )
    return tmp_path / "Taker.v"


def fitting(**changes):
    """Arguments that fit PORTS, with `changes`: None takes one away."""
    ports = {"i_npMax": Signal(6), "o_cq_ready": Signal(), "o_idle": Signal(), **changes}
    return {name: value for name, value in ports.items() if value is not None}


def wrong(verilog, left_open=None, **changes):
    """The lines that say what is wrong with the instance."""
    with pytest.raises(WrongPorts) as error:
        spinal_instance(verilog, left_open, **fitting(**changes))
    return str(error.value).splitlines()


def test_an_instance_that_fits_has_the_component_s_ports(verilog):
    """Every port is connected, the clock and the reset to those of the domain."""
    instance = spinal_instance(verilog, domain="user", **fitting())
    ports = {item.name: item.expr for item in instance.items}
    assert instance.of == "Taker" and set(ports) == {name for name, *_ in PORTS}
    assert isinstance(ports["clk"], ClockSignal) and ports["clk"].cd == "user"
    assert isinstance(ports["reset"], ResetSignal) and ports["reset"].cd == "user"


def test_a_missing_input_is_named(verilog):
    """An input without a signal would float."""
    assert wrong(verilog, i_npMax=None) == ["Taker: input npMax is not connected"]


def test_an_unknown_port_is_named_with_the_nearest(verilog):
    """A misspelt name is an unknown port and a missing one: each line names the other."""
    assert wrong(verilog, i_npMax=None, i_np_max=Signal(6)) == [
        "Taker: there is no port np_max; the nearest name is npMax",
        "Taker: input npMax is not connected; the nearest name is np_max",
    ]


def test_an_unknown_port_like_no_other_is_named_alone(verilog):
    """A name without a similar one comes without a guess."""
    assert wrong(verilog, i_threshold=Signal()) == ["Taker: there is no port threshold"]


def test_a_wrong_direction_is_named(verilog):
    """Two drivers for one signal, or none, would be the consequence."""
    assert wrong(verilog, o_cq_ready=None, i_cq_ready=Signal()) == [
        "Taker: port cq_ready is an output and is connected as an input"
    ]


@pytest.mark.parametrize("width", [5, 7])
def test_a_wrong_width_is_named_with_both(verilog, width):
    """Bits would be lost or would float."""
    assert wrong(verilog, i_npMax=Signal(width)) == [
        f"Taker: port npMax has 6 bits and is connected to {width}"
    ]


def test_an_expression_has_the_width_of_its_result(verilog):
    """Parts of signals and their combinations are checked like signals."""
    spinal_instance(verilog, **fitting(i_npMax=Signal(8)[2:]))
    assert wrong(verilog, i_npMax=Signal(8) & Signal(6)) == [
        "Taker: port npMax has 6 bits and is connected to 8"
    ]


def test_a_number_only_has_to_fit(verilog):
    """A constant is extended to the port's width; one that is too large is refused."""
    spinal_instance(verilog, **fitting(i_npMax=1))
    assert wrong(verilog, i_npMax=64) == ["Taker: port npMax has 6 bits and is connected to 7"]


def test_an_output_left_open_is_named(verilog):
    """An output that nothing reads is a mistake unless it is named with its reason."""
    assert wrong(verilog, o_idle=None) == [
        "Taker: output idle is left open: connect it, or name it in left_open with the reason"
    ]
    spinal_instance(verilog, {"idle": "the test never stops it"}, **fitting(o_idle=None))


@pytest.mark.parametrize(
    "left_open, sentence",
    [
        ({"npMax": "not needed"}, "left_open names npMax, which is no output"),
        (
            {"cq_redy": "not needed"},
            "left_open names cq_redy, which is no output; the nearest name is cq_ready",
        ),
        ({"cq_ready": "not needed"}, "output cq_ready is connected, and left_open names it"),
    ],
)
def test_left_open_names_unconnected_outputs_only(verilog, left_open, sentence):
    """A reason that has become wrong does not stay."""
    assert wrong(verilog, left_open) == [f"Taker: {sentence}"]


def test_left_open_needs_a_reason(verilog):
    """A name alone does not say why the output may stay open."""
    assert wrong(verilog, {"idle": ""}, o_idle=None) == [
        "Taker: left_open gives no reason for idle"
    ]


def test_verilog_without_its_ports_is_refused(tmp_path):
    """Without the file nothing could be checked."""
    with pytest.raises(
        WrongPorts,
        match="^Taker: SpinalHDL wrote no Taker.ports.json beside its "
        "Verilog; generate it with LaneboxConfig, which does$",
    ):
        spinal_instance(tmp_path / "Taker.v")


# The components of the gateware -------------------------------------------------------------------

MEMORIES = [memory.parameter(name) for name, memory in card_memories([[], []]).items()]

COMPONENTS = {
    "completer.Completer": {},
    "endpoint.Requester": dict(clients="rw,w,r", msixVectors=numbers.MSI_WIDTH),
    "endpoint.SlavePort": {},
    "mmio.MmioBridge": dict(
        memories=MEMORIES,
        axi=True,
        axiAddressWidth=user_axi().address_width,
        windows=[window.argument() for window in default_windows(user_axi())],
    ),
}


@pytest.mark.parametrize("component", COMPONENTS)
def test_the_file_has_the_ports_of_the_verilog(component):
    """Names, directions and widths are those of the module's header."""
    verilog = generate(component, **COMPONENTS[component])
    assert read_ports(verilog) == header_ports(verilog)


def header_ports(verilog):
    """(direction, width) of each port in the header of the module of the file's name."""
    header = verilog.read_text().partition(f"module {verilog.stem} (")[2].partition(");")[0]
    ports = {}
    for line in filter(None, map(str.strip, header.splitlines())):
        direction, *rest = line.rstrip(",").split()
        high = next((word for word in rest if word.startswith("[")), "[0:0]")
        ports[rest[-1]] = (direction, int(high[1:].partition(":")[0]) + 1)
    return ports


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_has_every_name_as_scala_has_it(component):
    """No signal's name is a keyword or is taken already: SpinalHDL would make inside_1 of it."""
    verilog = generate(component, **COMPONENTS[component])
    assert json.loads(verilog.with_suffix(".ports.json").read_text())["renamed"] == []


CLASHING = """
package lanebox
import spinal.core._
import lanebox.vocabulary.LaneboxConfig

case class Clashing() extends Component {
  val io = new Bundle { val up = in UInt (4 bits); val down = out UInt (4 bits) }
  val inside = RegNext(io.up)
  io.down := inside
}
object ClashingVerilog extends App { LaneboxConfig(args(0)).generateVerilog(Clashing()) }
"""


def test_a_keyword_as_a_name_is_found(tmp_path):
    """`inside` is a keyword of SystemVerilog."""
    (tmp_path / "Clashing.scala").write_text(CLASHING)
    verilog = generate("Clashing", tmp_path)
    assert "inside_1" in verilog.read_text()
    assert json.loads(verilog.with_suffix(".ports.json").read_text())["renamed"] == [
        {"scala": "inside", "verilog": "inside_1"}
    ]
