# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of vocabulary/spinal_instance.py and PortsFile.scala: an Instance must fit its SpinalHDL
component.
"""

import json
import re

import pytest
from migen import ClockSignal, ResetSignal, Signal

from gateware import numbers
from gateware.mmio.axi import user_axi
from gateware.mmio.bridge import card_memories
from gateware.vocabulary.spinal_instance import WrongPorts, read_ports, spinal_instance
from gateware.vocabulary.windows import default_windows
from tools.verilog.spinal_build import generate

FIND = re.MULTILINE | re.DOTALL

PORTS = [
    ("clk", "input", 1),
    ("reset", "input", 1),
    ("npMax", "input", 6),
    ("cq_ready", "output", 1),
    ("idle", "output", 1),
]


@pytest.fixture
def verilog(tmp_path):
    """Return the path of the Verilog of a component with PORTS. Only its file Taker.ports.json
    exists, not the Verilog.
    """
    rows = [dict(zip(("name", "direction", "width"), port)) for port in PORTS]
    (tmp_path / "Taker.ports.json").write_text(
        json.dumps({"component": "Taker", "ports": rows, "renamed": []})
    )
    return tmp_path / "Taker.v"


def fitting(**changes):
    """Return Instance arguments that fit PORTS, changed by
    `changes`: None takes a connection away.
    """
    ports = {"i_npMax": Signal(6), "o_cq_ready": Signal(), "o_idle": Signal(), **changes}
    return {name: value for name, value in ports.items() if value is not None}


def wrong(verilog, left_open=None, **changes):
    """Return the lines of the error message for an Instance
    whose connections have these `changes`.
    """
    with pytest.raises(WrongPorts) as error:
        spinal_instance(verilog, left_open, **fitting(**changes))
    return str(error.value).splitlines()


def test_an_instance_that_fits_has_the_component_s_ports(verilog):
    """An instance that fits has every port of its component. Clock and reset are those of its clock
    domain.
    """
    instance = spinal_instance(verilog, domain="user", **fitting())
    ports = {item.name: item.expr for item in instance.items}
    assert instance.of == "Taker" and set(ports) == {name for name, *_ in PORTS}
    assert isinstance(ports["clk"], ClockSignal) and ports["clk"].cd == "user"
    assert isinstance(ports["reset"], ResetSignal) and ports["reset"].cd == "user"


def test_a_missing_input_is_named(verilog):
    """An input of the component that is not connected is refused, since it would float."""
    assert wrong(verilog, i_npMax=None) == ["Taker: input npMax is not connected"]


def test_an_unknown_port_is_named_with_the_nearest(verilog):
    """A misspelt port is reported as an unknown port and as a missing one. Each line names the
    other.
    """
    assert wrong(verilog, i_npMax=None, i_np_max=Signal(6)) == [
        "Taker: there is no port np_max; the nearest name is npMax",
        "Taker: input npMax is not connected; the nearest name is np_max",
    ]


def test_an_unknown_port_like_no_other_is_named_alone(verilog):
    """If an unknown port's name is like no other, the error message suggests no name."""
    assert wrong(verilog, i_threshold=Signal()) == ["Taker: there is no port threshold"]


def test_a_wrong_direction_is_named(verilog):
    """A port that is connected in the wrong direction is refused: a signal would have two drivers
    or none.
    """
    assert wrong(verilog, o_cq_ready=None, i_cq_ready=Signal()) == [
        "Taker: port cq_ready is an output and is connected as an input"
    ]


@pytest.mark.parametrize("width", [5, 7])
def test_a_wrong_width_is_named_with_both(verilog, width):
    """A signal of another width than its port is refused, since bits would be lost or would
    float.
    """
    assert wrong(verilog, i_npMax=Signal(width)) == [
        f"Taker: port npMax has 6 bits and is connected to {width}"
    ]


def test_an_expression_has_the_width_of_its_result(verilog):
    """The widths of slices and expressions are checked against the component's ports, as those of
    signals are.
    """
    spinal_instance(verilog, **fitting(i_npMax=Signal(8)[2:]))
    assert wrong(verilog, i_npMax=Signal(8) & Signal(6)) == [
        "Taker: port npMax has 6 bits and is connected to 8"
    ]


def test_a_number_only_has_to_fit(verilog):
    """A constant is extended to its port's width. A constant that is too large for its port is
    refused.
    """
    spinal_instance(verilog, **fitting(i_npMax=1))
    assert wrong(verilog, i_npMax=64) == ["Taker: port npMax has 6 bits and is connected to 7"]


def test_an_output_left_open_is_named(verilog):
    """An unconnected output of a component is refused,
    unless `left_open` names it with a reason.
    """
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
    """`left_open` may name unconnected outputs only, so a reason that no longer holds is
    refused.
    """
    assert wrong(verilog, left_open) == [f"Taker: {sentence}"]


def test_left_open_needs_a_reason(verilog):
    """An output in `left_open`, the list of outputs that stay unconnected, is refused without a
    reason.
    """
    assert wrong(verilog, {"idle": ""}, o_idle=None) == [
        "Taker: left_open gives no reason for idle"
    ]


def test_verilog_without_its_ports_is_refused(tmp_path):
    """A component without its file NAME.ports.json is refused, since nothing could be checked."""
    with pytest.raises(
        WrongPorts,
        match="^Taker: SpinalHDL wrote no Taker.ports.json beside its "
        "Verilog; generate it with LaneboxConfig, which does$",
    ):
        spinal_instance(tmp_path / "Taker.v")


# The components of the gateware -------------------------------------------------------------------

MEMORIES = [memory.parameter(name) for name, memory in card_memories([[], []]).items()]

# {component: its parameters}. A second word tells builds of one component apart.
COMPONENTS = {
    "capture.Capture": {},
    "capture.CaptureUnit": {},
    "capture.CaptureUnit queues": dict(queues=4),
    "capture.CaptureUnit net": dict(fromNet="true"),
    "capture.generator.Generator": {},
    "capture.player.Player": {},
    "port.Echo": {},
    "user.HostCommands": {},
    "virtio.VirtioDevices": {},
    "virtio.VirtioDevices one": dict(pairs=1),
    "virtio.VirtioDevices packed": dict(pairs=1, packed=True),
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
    """The file NAME.ports.json has the names, directions and widths of the Verilog module's
    header.
    """
    verilog = verilog_of(component)
    assert read_ports(verilog) == header_ports(verilog)


def verilog_of(component):
    """Return the path of the Verilog of a component in COMPONENTS."""
    return generate(component.split()[0], **COMPONENTS[component])


def ports_file(component):
    """Return the content of the file NAME.ports.json of a component in COMPONENTS."""
    return json.loads(verilog_of(component).with_suffix(".ports.json").read_text())


def header_ports(verilog):
    """Return {port: (direction, width)} from the header of the Verilog module that the file is
    named after.
    """
    header = verilog.read_text().partition(f"module {verilog.stem} (")[2].partition(");")[0]
    ports = {}
    for line in filter(None, map(str.strip, header.splitlines())):
        direction, *rest = line.rstrip(",").split()
        high = next((word for word in rest if word.startswith("[")), "[0:0]")
        ports[rest[-1]] = (direction, int(high[1:].partition(":")[0]) + 1)
    return ports


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_has_every_name_as_scala_has_it(component):
    """SpinalHDL renames no signal of our components in the Verilog, as it would if a signal were
    called like a keyword.
    """
    assert ports_file(component)["renamed"] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_has_every_value_as_scala_has_it(component):
    """SpinalHDL renames no element of an enumeration of our components in the Verilog."""
    assert ports_file(component)["renamedValues"] == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_names_what_is_behind_a_port(component):
    """No register or condition behind a port of our components, or in front of a child's input, is
    called `_zz_`, which says nothing to somebody who reads a waveform.
    """
    assert ports_file(component)["unnamed"] == []
    assert not re.search(r"^ *\.\w+ *\(_zz_", verilog_of(component).read_text(), re.MULTILINE)


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_names_what_drives_a_child(component):
    """No input of a child of our components is assigned from a signal that is called `_zz_`, nor
    selected by one.
    """
    assert driven_without_a_name(verilog_of(component).read_text()) == []


@pytest.mark.parametrize("component", COMPONENTS)
def test_verilog_has_no_second_name_for_a_port(component):
    """No signal of our components is called like a port of its module, with `_1` appended.
    SpinalHDL calls an output of a child so if the child and a bundle of ports have the same name in
    Scala.
    """
    assert like_a_port(verilog_of(component).read_text()) == []


def modules(text):
    """Yield the names of the ports, in a list, and the body of each module in the Verilog text."""
    for head, body in re.findall(r"^module \w+ \((.*?)\);\n(.*?)^endmodule", text, FIND):
        yield re.findall(r"(\w+),?$", head, re.MULTILINE), body


def driven_without_a_name(text):
    """Return the children's inputs, in modules of the Verilog text, that a `_zz_` signal drives or
    selects. SpinalHDL calls the wire in front of an input `<child>_<port>`.
    """
    found = []
    for _, body in modules(text):
        drivers = dict(re.findall(r"^ *assign (\w+) = \(?(_zz_\w+(?:;| \?))", body, re.MULTILINE))
        for child, ports in re.findall(r"^  \w+ (\w+) \(\n(.*?)^  \);", body, FIND):
            wires = [f"{child}_{port}" for port in re.findall(r"\.(\w+)", ports)]
            found += [wire for wire in wires if wire in drivers]
    return found


def like_a_port(text):
    """Return the signals in modules of the Verilog text that are called `<port>_1`."""
    return [
        name
        for ports, body in modules(text)
        for name in [*ports, *re.findall(r"^  (?:wire|reg)\b.*?(\w+);$", body, re.MULTILINE)]
        if name.endswith("_1") and name[:-2] in ports
    ]


CLASHING = """
package lanebox
import spinal.core._
import lanebox.vocabulary.LaneboxConfig

case class Clashing() extends Component {
  val io = new Bundle {
    val up         = in UInt (4 bits)
    val down, late = out UInt (4 bits)
    val big        = out Bool ()
  }
  val inside = RegNext(io.up)
  io.down := inside
  io.late := RegNext(io.up + 1)
  object Size extends SpinalEnum { val small, large = newElement() }
  val child = Doubling()
  child.io.from := RegNext(io.up + 2)
  val wide = RegNext((io.up === 0) ? Size.small | Size.large)
  io.big := wide === Size.large
  val table = Doubling()
  table.io.from := Vec(io.up, io.down, io.late, child.io.from)(io.up(1 downto 0))
  val chosen = Doubling()
  chosen.io.from := RegNext(io.up(0)) ? io.up | io.down
  val pair  = new Bundle { val high = out Bool () }
  val lower = Naked().setName("pair")
  pair.high := lower.io.high
}
case class Naked() extends Component {
  val io = new Bundle { val high = out Bool () }
  noIoPrefix()
  io.high := True
}
case class Doubling() extends Component {
  val io = new Bundle {
    val from = in UInt (4 bits)
    val to   = out UInt (5 bits)
  }
  io.to := io.from << 1
}
object ClashingVerilog extends App { LaneboxConfig(args(0)).generateVerilog(Clashing()) }
"""


def test_a_keyword_as_a_name_is_found(tmp_path):
    """A signal, a component and elements of an enumeration that are called like keywords of
    SystemVerilog, `inside`, `table`, `small` and `large`, are listed in the ports file as renamed.
    """
    (tmp_path / "Clashing.scala").write_text(CLASHING)
    verilog = generate("Clashing", tmp_path)
    assert "inside_1" in verilog.read_text()
    ports = json.loads(verilog.with_suffix(".ports.json").read_text())
    assert ports["renamed"] == [
        {"scala": name, "verilog": f"{name}_1"} for name in ("inside", "table")
    ]
    assert [row["scala"] for row in ports["renamedValues"]] == ["small", "large"]


def test_a_register_without_a_name_is_found(tmp_path):
    """A register without a name of its own is listed as unnamed if it is behind an output of its
    component, or drives an input of a child.
    """
    (tmp_path / "Clashing.scala").write_text(CLASHING)
    verilog = generate("Clashing", tmp_path)
    assert re.search(r"\.io_from +\(_zz_io_from\[", verilog.read_text())
    assert json.loads(verilog.with_suffix(".ports.json").read_text())["unnamed"] == [
        "Clashing._zz_io_late",
        "Clashing._zz_io_from",
    ]


def test_a_child_s_input_without_a_named_driver_is_found(tmp_path):
    """A child's input is found if an unnamed element of a vector drives it, and if an unnamed
    condition selects what drives it.
    """
    (tmp_path / "Clashing.scala").write_text(CLASHING)
    text = generate("Clashing", tmp_path).read_text()
    assert driven_without_a_name(text) == ["table_1_io_from", "chosen_io_from"]


def test_a_child_s_output_that_is_called_like_a_port_is_found(tmp_path):
    """An output of a child is found if its name is already that of a port of the parent."""
    (tmp_path / "Clashing.scala").write_text(CLASHING)
    assert like_a_port(generate("Clashing", tmp_path).read_text()) == ["pair_high_1"]
