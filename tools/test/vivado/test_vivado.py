# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/vivado/vivado.tcl and run.py. tclsh runs the scripts with stubs for Vivado."""

import importlib
import json
import re
import shutil
from pathlib import Path

import pytest

from bringup import probe_design
from bringup.jtag.spi_proxy import CONSTRAINTS
from gateware import numbers
from targets import nets
from tools.testing.repository import ROOT
from tools.vivado import run as vivado

BOARDS = [
    importlib.import_module(f"targets.{name}_platform").BOARD
    for name in ("ku5p", "as02mc04", "rk_xcku5p")
]
KU5P = BOARDS[0]
NAMES = ROOT / "tools" / "vivado" / "names.txt"
RESET = "PF0_DEV_CAP_FUNCTION_LEVEL_RESET_CAPABLE"
STUBS = Path(__file__).with_name("vivado_stubs.tcl")


@pytest.fixture
def program(tmp_path):
    """Make a stand-in for Vivado: tclsh with the stubs, which writes the Tcl commands to the file
    `log`.
    """

    def make(slack="0.1", names=None, script=""):
        runner = tmp_path / "runner.tcl"
        runner.write_text(
            f"set names {{{names or NAMES.read_text()}}}\nset slack {slack}\nsource {STUBS}\n"
            f"rename exit leave\nproc exit {{status}} {{ leave $status }}\n"
            # The arguments after -tclargs are those of vivado.tcl. The word before -tclargs is the
            # script's name.
            "set at [lsearch $argv -tclargs]\nset script [lindex $argv [expr {$at - 1}]]\n"
            "set argv [lrange $argv [expr {$at + 1}] end]\n"
            + script
            + f"if {{[catch {{source $script}} text]}} {{ puts stderr $text; leave 1 }}\n"
            f'set out [open {tmp_path}/log w]\nputs $out [join $log "\\n"]\nclose $out\n'
        )
        path = tmp_path / "vivado"
        path.write_text(f'#!/bin/sh\nexec tclsh {runner} "$@"\n')
        path.chmod(0o755)
        return str(path)

    return make


@pytest.fixture(params=BOARDS, ids=lambda board: board.name)
def output(request, tmp_path):
    """Make the output folder of a build, with the files that vivado.tcl reads."""
    return make_output(request.param, tmp_path / "out")


def make_output(board, folder):
    (folder / "gateware").mkdir(parents=True)
    (folder / "gateware" / "sources.txt").write_text("/a/lanebox.v\n/b/Completer.v\n")
    (folder / "gateware" / f"{board.name}.xdc").write_text(nets.constraints(board, board.lanes[0]))
    (folder / "gateware" / "core.tcl").write_text(vivado.core_script(board, "lanebox", True))
    return folder


def commands(tmp_path):
    return [line.split()[0] for line in (tmp_path / "log").read_text().splitlines()]


def test_every_name_is_in_the_list(output, program, tmp_path):
    """The Vivado scripts of all boards run to their end with only the commands and properties that
    the list of Vivado's commands has.
    """
    vivado.place_and_route(program(), KU5P, output, "lanebox", "vivado")
    done = commands(tmp_path)
    order = [
        "create_ip",
        "synth_ip",
        "read_verilog",
        "read_verilog",
        "synth_design",
        "opt_design",
        "place_design",
        "route_design",
        *["write_bitstream"] * 3,
    ]
    assert [name for name in done if name in order] == order
    assert "read_edif" not in done


def test_the_netlist_of_yosys_can_be_used_instead(program, tmp_path):
    """With --synthesis yosys vivado.tcl links Yosys' netlist, and has Vivado synthesise only the
    PCIe core.
    """
    vivado.place_and_route(program(), KU5P, make_output(KU5P, tmp_path / "out"), "lanebox", "yosys")
    done = commands(tmp_path)
    assert "read_edif" in done and "link_design" in done and "synth_ip" in done
    assert "synth_design" not in done and "read_verilog" not in done


def test_a_bitstream_has_the_gateware_s_digest_as_user_id(program, tmp_path):
    """The user id of all bitstreams of a card is the first eight digits of the gateware's digest. A
    design without an identifier gets Vivado's own default.
    """
    output = make_output(KU5P, tmp_path / "out")
    assert vivado.user_id(output) == "FFFFFFFF"
    constants = {"constants": {"config_identifier": "Lanebox ku5p 0123456789ab"}}
    (output / "csr.json").write_text(json.dumps(constants))
    vivado.place_and_route(program(), KU5P, output, "lanebox", "vivado")
    log = (tmp_path / "log").read_text()
    assert "BITSTREAM.CONFIG.USERID 01234567" in log.partition("write_bitstream")[0]


def test_each_image_has_its_watchdog(program, tmp_path):
    """The bitstream for JTAG has no watchdog. That of the application has a user watchdog of 50 to
    60 s even if its clock is 15 % off. That of the golden image has only the watchdog of its search
    for the application.
    """
    output = make_output(KU5P, tmp_path / "out")
    vivado.place_and_route(program(), KU5P, output, "lanebox", "vivado")
    jtag, application, golden, _ = (tmp_path / "log").read_text().split("write_bitstream -force")
    assert "TIMER" not in jtag
    (value,) = re.findall(r"BITSTREAM.CONFIG.TIMER_USR (0x\w+)", application)
    assert 50 < int(value, 16) * 256 / 50e6 / 1.15 < 60 and "TIMER_CFG" not in application
    values = re.findall(r"TIMER_(\w+) (0x\w+)", golden)
    assert values == [("USR", "0x00000000"), ("CFG", "0x00100000")]
    assert (output / "vivado" / "lanebox_application.bit").exists()


def test_the_golden_image_goes_on_to_the_application(program, tmp_path):
    """vivado.tcl writes the bitstream of the golden image last.

    Only that bitstream has NEXT_CONFIG_ADDR, and its fallback is enabled.
    """
    output = make_output(KU5P, tmp_path / "out")
    vivado.place_and_route(program(), KU5P, output, "lanebox", "vivado")
    log = (tmp_path / "log").read_text()
    before, _, after = log.rpartition("write_bitstream -force")[0].rpartition("write_bitstream")
    assert "NEXT_CONFIG_ADDR" not in before
    assert f"NEXT_CONFIG_ADDR {vivado.APPLICATION:#010x}" in after
    assert "CONFIGFALLBACK ENABLE" in log
    assert (output / "vivado" / "lanebox_golden.bit").exists()


@pytest.mark.parametrize("synthesis", ["vivado", "yosys"])
@pytest.mark.parametrize(
    "constraints", [CONSTRAINTS, probe_design.constraints(KU5P, 0)], ids=["proxy", "probe"]
)
def test_a_design_without_the_core_needs_none(program, tmp_path, constraints, synthesis):
    """The designs of the SPI proxy and of the pin probe are built without the PCIe core and without
    boot settings.
    """
    folder = tmp_path / "spi_proxy"
    (folder / "gateware").mkdir(parents=True)
    (folder / "gateware" / "sources.txt").write_text("/a/spi_proxy.v\n")
    (folder / "gateware" / "spi_proxy.xdc").write_text(constraints)
    bitstream = vivado.place_and_route(program(), KU5P, folder, "spi_proxy", synthesis)
    assert bitstream == folder / "vivado" / "spi_proxy.bit" and bitstream.exists()
    log = (tmp_path / "log").read_text()
    assert "create_ip" not in log and "SPI_BUSWIDTH" not in log
    assert "-top spi_proxy" in log and "create_clock" in log


def test_a_core_without_a_hoped_for_property_is_built_without_it(program, tmp_path, capfd):
    """vivado.tcl sets an optional property of the PCIe core if the core has it.

    Otherwise a message says that it stays unset.
    """
    vivado.place_and_route(program(), KU5P, make_output(KU5P, tmp_path / "a"), "lanebox", "vivado")
    assert f"CONFIG.{RESET} true" in (tmp_path / "log").read_text()
    assert capfd.readouterr().err == ""
    strange = program(script=f"set strange CONFIG.{RESET}\n")
    vivado.place_and_route(strange, KU5P, make_output(KU5P, tmp_path / "b"), "lanebox", "vivado")
    assert RESET not in (tmp_path / "log").read_text()
    assert f"core has no property CONFIG.{RESET}, which stays unset" in capfd.readouterr().err


def test_negative_slack_leaves_no_bitstream(program, tmp_path):
    """If the timing has a negative slack, vivado.tcl ends with an error that gives the slack, and
    writes no bitstream.
    """
    output = make_output(KU5P, tmp_path / "out")
    with pytest.raises(RuntimeError, match="timing is not met: -setup slack is -0.02 ns"):
        vivado.place_and_route(program(slack="-0.02"), KU5P, output, "lanebox", "vivado")
    assert not (output / "vivado" / "lanebox.bit").exists()


@pytest.mark.parametrize(
    "missing, words",
    [
        ("property CONFIG.axisten_freq", "property CONFIG.axisten_freq is not in the list"),
        ("place_design", 'invalid command name "place_design"'),
        ("property PACKAGE_PIN", "property PACKAGE_PIN is not in the list"),
    ],
)
def test_a_name_without_a_source_is_found(program, tmp_path, missing, words):
    """If the line of a command or property is removed from the list of Vivado's commands, its use
    is refused.
    """
    names = "\n".join(
        line for line in NAMES.read_text().splitlines() if not line.startswith(missing)
    )
    with pytest.raises(RuntimeError, match=words):
        vivado.place_and_route(
            program(names=names), KU5P, make_output(KU5P, tmp_path / "out"), "lanebox", "vivado"
        )


def test_every_line_of_the_list_has_a_source_and_is_used():
    """Every name in the list of Vivado's commands has a source, and is used by a script."""
    scripts = (
        vivado.SCRIPT.read_text()
        + CONSTRAINTS
        + probe_design.constraints(KU5P, 1)
        + "".join(
            vivado.core_script(board, "lanebox", True) + nets.constraints(board, board.lanes[0])
            for board in BOARDS
        )
    )
    for line in NAMES.read_text().splitlines():
        if line and not line.startswith("#"):
            words, bar, source = line.partition("|")
            assert bar and source.strip(), line
            for name in words.replace("property", "").split():
                assert name in scripts, name


def test_the_core_is_like_the_simulated_one():
    """The PCIe core that vivado.tcl makes has the width, clock, BARs and identifiers of the
    simulator's model.

    Straddle is on for Lanebox's endpoint only.
    """
    core = vivado.core_properties(KU5P, "lanebox")
    assert (core["pf0_bar0_size"], core["pf0_bar0_scale"]) == (128, "Kilobytes")
    assert core["axisten_if_width"] == "256_bit" and core["axisten_freq"] == 250
    assert core["AXISTEN_IF_RC_STRADDLE"] == "true"
    assert vivado.core_hopes("lanebox") == {RESET: "true"}
    model = (ROOT / "sim" / "board" / "link" / "config_space.cpp").read_text()
    assert f"0x{vivado.DEVICE:04x}{vivado.VENDOR:04x}" in model
    assert f"0x{vivado.SUBSYSTEM:04x}{vivado.VENDOR:04x}" in model
    stock = vivado.core_properties(KU5P, "litepcie")
    assert vivado.core_hopes("litepcie") == {RESET: "false"}
    assert stock["AXISTEN_IF_RC_STRADDLE"] == "false" and "pf0_bar2_size" not in stock
    assert vivado.core_properties(BOARDS[2], "lanebox")["axisten_freq"] == 125


def test_msix_is_where_the_gateware_has_it():
    """With --msix the PCIe core has the gateware's MSI-X offsets. Without it the core has no
    MSI-X.
    """
    core = vivado.core_properties(KU5P, "lanebox", msix=True)
    assert core["MSI_X_OPTIONS"] == "MSI-X_External" and core["pf0_msi_enabled"] == "true"
    assert int(core["PF0_MSIX_CAP_TABLE_SIZE"], 16) == numbers.MSI_WIDTH - 1
    assert int(core["PF0_MSIX_CAP_TABLE_OFFSET"], 16) == numbers.MSIX_BASE
    assert int(core["PF0_MSIX_CAP_PBA_OFFSET"], 16) == numbers.MSIX_PENDING
    assert not any("MSIX" in name.upper() for name in vivado.core_properties(KU5P, "lanebox"))


def test_vivado_is_found_by_path_or_by_litexs_variable(monkeypatch, tmp_path):
    """find_vivado() takes Vivado from the folder that LITEX_ENV_VIVADO names, as LiteX does, or
    from PATH.
    """
    monkeypatch.delenv("LITEX_ENV_VIVADO", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert vivado.find_vivado() is None
    program = tmp_path / "2023.1" / "bin" / "vivado"
    program.parent.mkdir(parents=True)
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    monkeypatch.setenv("LITEX_ENV_VIVADO", str(program.parent.parent))
    assert vivado.find_vivado() == str(program)
    monkeypatch.delenv("LITEX_ENV_VIVADO")
    monkeypatch.setenv("PATH", str(program.parent))
    assert vivado.find_vivado() == shutil.which("vivado") == str(program)
