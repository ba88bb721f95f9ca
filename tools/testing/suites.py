# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Which suite tests a source: Scala and Python of gateware, Python of sim, targets, bringup and
software, C++ of sim.

By default it is the file of the source's own name in the mirrored folder: gateware/mmio/Foo.scala
has gateware/test/mmio/FooTest.scala, and sim/rows/foo.py has sim/test/rows/test_foo.py. Where
another test has that name already, the folder's name stands in front: test_rows_foo.py.

ELSEWHERE has the suites of every other source. Packages' __init__.py are not listed: they only say
what the package is. A suite in Scala is checked further: it must name the source, or a class whose
code names it, and so on.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

Table = dict[str, dict[str, "str | tuple[str, str]"]]
Exists = Callable[[str], bool]

SOURCES = re.compile(
    r"(gateware/.*\.(scala|py)|(sim|targets|bringup)/.*\.py|sim/board/.*\.cpp"
    r"|software/python/lanebox_host/.*\.py)$"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
DEFINED = re.compile(r"\b(?:class|object|trait)\s+(\w+)")
REST = "*"  # all other sources of the folder

# By folder, {sources: suites}. Each side is a text of one name or of several. A suite without a
# folder is in the mirrored one. The entry REST has a suite and the reason why one suite is right
# for a whole folder.
ELSEWHERE: Table = {
    "bringup": {
        "ffvb676 pin_decoder probe probe_design": "test_ku5p_probe.py",
    },
    "bringup/jtag": {
        "design spi_proxy user_register": "bringup/test/test_flash.py",
        "pin_name pin_probe": "bringup/test/test_ku5p_probe.py",
    },
    "gateware/capture": {
        "CaptureBlock": "CaptureTest.scala",
        "registers": "sim/test/card/test_board_capture.py",
        "CaptureUnitVerilog CaptureVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "CaptureQueues QueueRings": "gateware/test/capture/queues/CaptureQueuesTest.scala",
    },
    "gateware/capture/accounts": {
        "AccountTable": "AccountsTest.scala",
    },
    "gateware/capture/generator": {
        "GeneratorVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
    },
    "gateware/capture/player": {
        "PlayerVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "registers": "sim/test/util/test_capture_play.py",
        "net_registers": "sim/test/port/test_board_net_capture.py",
        "FrameCopy": "NetFramesTest.scala",
        "BlockAligner PacketReader PlayerPace PlayerParam": "PlayerTest.scala",
    },
    "gateware/capture/queues": {
        "FlowKey FrameHeaders": "FrameParserTest.scala",
        "FrameSorterVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "DiscardAccounts": "CaptureQueuesTest.scala",
        "Rule RuleTable Spread": "FrameSorterTest.scala",
    },
    "gateware/capture/record": {
        "Block BlockExpander": "RecordBuilderTest.scala",
        "PlacerTurn": "gateware/test/capture/queues/CaptureQueuesTest.scala",
        "QueueCells": "MbufPlacerTest.scala",
    },
    "gateware/capture/staging": {
        "StagingMemory": "StagingTest.scala",
    },
    "gateware/capture/vocabulary": {
        "CaptureParam": "gateware/test/capture/CaptureTest.scala",
        "QueueFlags QueueState": "gateware/test/capture/queues/CaptureQueuesTest.scala",
        "bits": "sim/test/card/test_board_capture.py",
    },
    "gateware/capture/writer": {
        "CellReader RequestFormer TransferChooser": "HostWriterTest.scala",
        "TransferAge": "gateware/test/capture/queues/CaptureQueuesTest.scala",
    },
    "gateware/card": {
        "commands": "test_gate.py",
        "flash startup": "test_engine.py",
        "services": "sim/test/services/test_board_flash.py",
        "i2c": "test_module.py",
        "upkeep": "sim/test/services/test_board_modules.py",
    },
    "gateware/card/cpu": {
        "core layout memory": "test_management.py",
    },
    "gateware/completer": {
        "CompleterVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        REST: ("CompleterTest.scala", "They are the stages of Completer, which connects them."),
    },
    "gateware/dma": {
        "bits": "test_pattern.py",
        "channel": "sim/test/dma/test_board_dma.py",
    },
    "gateware/endpoint": {
        "RequesterParam": "RequesterTest.scala",
        "RequesterVerilog SlavePortVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "SlaveCompletion SlavePortParam SlaveRequest": "SlavePortTest.scala",
    },
    "gateware/interrupt": {
        "RegisterPort": "MsixTableTest.scala",
    },
    "gateware/mmio": {
        "Histogram MmioStatistics": "MmioErrorTest.scala",
        "MmioBridgeVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "axi": "test_axi_memory.py",
        REST: ("MmioBridgeTest.scala", "They are the stages of MmioBridge, which connects them."),
    },
    "gateware/observe": {
        "bits": "test_counters.py",
    },
    "gateware/phy": {
        "pcie4_pins": "test_hard_block.py",
        "pins_verilog": "test_phy_pins.py",
    },
    "gateware/requester/rc": {
        "CompletionCredits TagPool": "gateware/test/formal/test_formal.py",
        "RcDescriptor": "RcUnpackerTest.scala",
        "ReadClock": "ReturnErrorTest.scala",
        "ReturnStatistics": "ReturnErrorTest.scala",
        "LandingReader": "ReturnRingTest.scala",
        REST: ("ReturnPathTest.scala", "They are the stages of ReturnPath, which connects them."),
    },
    "gateware/requester/rq": {
        "RequestPiece": "RequestCutterTest.scala",
        REST: ("RequestPathTest.scala", "They are the stages of RequestPath, which connects them."),
    },
    "gateware/port": {
        "EchoVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "echo": "sim/test/virtio/test_board_virtio.py",
        "wire": "sim/test/port/test_board_wire.py",
    },
    "gateware/user": {
        "axi_memory": "sim/test/mmio/test_board_axi.py",
        "command_reader commands": "sim/test/virtio/test_board_commands.py",
        "HostCommandsVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
        "CommandPlan CommandReads CommandRequests HostCommand": "HostCommandsTest.scala",
    },
    "gateware/virtio": {
        "FrameStore NetReceive NetTransmit": "VirtioDevicesTest.scala",
        "VirtioDevicesVerilog": "gateware/test/vocabulary/test_spinal_instance.py",
    },
    "gateware/virtio/steering": {
        "FlowHash": "FlowTableTest.scala",
    },
    "gateware/virtio/queue": {
        "IndexComparison Kick": "NotifiedIndexTest.scala",
        "QueueStates": "QueueRunnerTest.scala",
        "QueueContext RingAccess RingAim RingReader": (
            "gateware/test/virtio/VirtioConsoleTest.scala"
        ),
        "RingWriter": "gateware/test/virtio/VirtioEngineTest.scala",
        "Looks PackedRing": "PackedReaderTest.scala",
    },
    "gateware/virtio/vocabulary": {
        "Descriptor RingFeatures Violation": "gateware/test/virtio/VirtioHostileTest.scala",
        "EngineParam FarPort Row": "gateware/test/virtio/VirtioDevicesTest.scala",
        "HostBuffer HostRequests Moved": "gateware/test/virtio/VirtioConsoleTest.scala",
    },
    "gateware/vocabulary": {
        "EtherType": "gateware/test/capture/queues/FrameParserTest.scala",
        "ByteEnables": "gateware/test/completer/CompleterTest.scala",
        "EventCounter": "gateware/test/mmio/MmioErrorTest.scala",
        "Frames": "gateware/test/capture/record/FrameTrimTest.scala",
        "HardBlock ReadData ReadError Request": "gateware/test/endpoint/RequesterTest.scala",
        "LaneboxConfig PortsFile": "test_spinal_instance.py",
        "MessagePort": "gateware/test/interrupt/MsixTableTest.scala",
        "LargestRead ReadClaim": "gateware/test/requester/rc/ReturnPathTest.scala",
        "crc": "gateware/test/card/test_engine.py",
    },
    "gateware/vocabulary/targets": {
        REST: (
            "gateware/test/completer/CompleterTest.scala",
            "They are the fields of requests and answers that Completer exchanges with a target.",
        ),
    },
    "sim": {
        "bins": "sim/test/rows/test_report.py",
        "artefacts card errors run": "sim/test/commands/test_sim_run.py",
        "bench": "sim/test/rows/test_rows_by_client.py",
        "check": "sim/test/commands/test_check.py",
        "examples": "examples/test/test_examples.py",
        "pcap": "sim/test/commands/test_pcap.py",
        "serve": "sim/test/commands/test_serve.py",
        "tap": "sim/test/port/test_wire_tap.py",
        "util": "sim/test/util/test_software_examples.py",
        "virtio": "sim/test/commands/test_virtio.py",
    },
    "sim/block": {
        REST: ("sim/test/commands/test_check.py", "`make test EXAMPLE=` runs all of them in turn."),
    },
    "sim/board": {
        "board main": "test_board_process.py",
        "program": "sim/test/model/test_model_ideal.py",
    },
    "sim/board/block": {
        "completion_source": "sim/test/model/test_model_straddle.py",
        "completion_space": "sim/test/card/test_completion_pool.py",
        "fc_pins": "sim/test/model/test_credits.py",
        "transmit_buffer": "sim/test/link/test_root_order.py",
        REST: ("sim/test/board/test_board_pins.py", "It tests every pin of the hard block model."),
    },
    "sim/board/card": {
        "card_pins identity": "sim/test/services/test_board_flash.py",
        "configuration image": "gateware/test/card/test_reboot.py",
        "flash_chip flash_memory": "sim/test/model/test_flash_chip.py",
        "cage": "sim/test/services/test_board_modules.py",
        "sensors": "sim/test/services/test_board_sensors.py",
    },
    "sim/board/control": {
        "plan": "sim/test/model/test_plan.py",
        REST: ("sim/test/board/test_board_process.py", "It tests the control socket's commands."),
    },
    "sim/board/faults": {
        "fault_script": "sim/test/link/test_fault_script.py",
        "faults": "sim/test/link/test_board_faults.py",
    },
    "sim/board/host": {
        "completer": "sim/test/link/test_root_splits.py",
        "host_cpu read_progress": "sim/test/link/test_host_cpu.py",
        "host_link": "sim/test/link/test_root_held.py",
        "host_memory root_complex": "sim/test/link/test_root_order.py",
        "peer": "sim/test/link/test_root_peer.py",
    },
    "sim/board/ideal": {
        REST: ("sim/test/model/test_model_ideal.py", "They are one program, which this test runs."),
    },
    "sim/board/link": {
        "config_space": "sim/test/board/test_board_config.py",
        "credits": "sim/test/model/test_credits.py",
        "errors": "sim/test/card/test_board_errors.py",
        "latency": "sim/test/link/test_latency.py",
        "link": "sim/test/model/test_link.py",
        "rules": "sim/test/board/test_board_rules.py",
        "tlp wire_header": "sim/test/trace/test_trace_pcapng.py",
    },
    "sim/board/machine": {
        "function": "sim/test/board/test_board_config.py",
        "gateware": "sim/test/model/test_model_verilog.py",
        "machine": "sim/test/board/test_board_time.py",
        "msix_vectors": "sim/test/interrupt/test_board_msix.py",
        "options": "sim/test/board/test_board_process.py",
        "parts_pins": "sim/test/services/test_board_modules.py",
    },
    "sim/board/port": {
        "frame_socket": "sim/test/port/test_wire_socket.py",
        REST: ("sim/test/port/test_board_wire.py", "It sends frames over the wire of two boards."),
    },
    "sim/board/text": {
        "words": "sim/test/board/test_words.py",
    },
    "sim/board/trace": {
        REST: ("sim/test/trace/test_trace_file.py", "It writes both formats of a trace."),
    },
    "sim/board/vfio_user": {
        "eventfd": "sim/test/interrupt/test_board_msi.py",
        "guarded_copy": "sim/test/board/test_board_fuzz.py",
        "client_log guest_memory private_copy": "sim/test/dma/test_board_memory.py",
        REST: ("sim/test/board/test_board_client.py", "It tests what clients send, good and bad."),
    },
    "sim/clients": {
        "programs": "sim/test/commands/test_sim_run.py",
        "vfio": "sim/test/board/test_board_client.py",
        "resting virtio virtio_net": "sim/test/rows/virtio/test_virtio_rows.py",
    },
    "sim/clients/line": {
        "program": "sim/test/rows/virtio/test_virtio_line.py",
    },
    "sim/differential": {
        REST: ("sim/test/model/test_differential.py", "They are the parts of a single proof."),
    },
    "sim/guest": {
        "built": "sim/test/driver/test_guest_built.py",
        "driver": "sim/test/driver/test_guest_driver.py",
        "modules": "sim/test/driver/test_guest_driver_power.py",
        "wire": "sim/test/port/test_guest_wire.py",
        "virtio": "sim/test/commands/test_virtio.py",
        "run": "test_supervise.py",
    },
    "sim/report": {
        "__main__": "sim/test/rows/test_report_command.py",
        "capture": "sim/test/rows/test_report_capture.py",
        "virtio": "sim/test/rows/test_report_virtio.py",
        REST: ("sim/test/rows/test_report.py", "Each draws a part of the page, seen in a browser."),
    },
    "sim/rows": {
        "commands": "sim/test/virtio/test_board_commands.py",
        "flash": "test_flash_rows.py",
        "host_record": "test_host.py",
        "held idle_reads": "test_streams.py",
        "limits_header": "software/test/util/test_util_limits.py",
        "model": "sim/test/model/test_model_ideal.py",
        "user_slot": "test_user_rows.py",
    },
    "sim/rows/capture": {
        "queues": "test_rows_capture_queues.py",
        "rate": "test_capture_rows.py",
        "ring": "test_capture_line.py",
    },
    "sim/rows/virtio": {
        "guest": "sim/test/commands/test_virtio.py",
        "latency": "test_virtio_rows.py",
    },
    "sim/trace": {
        "__main__": "test_text.py",
        "host_memory": "test_replay.py",
        "summary tlp": "test_trace_pcapng.py",
    },
    "targets": {
        "as02mc04 ku5p rk_xcku5p": "test_targets.py",
        "as02mc04_platform ku5p_platform rk_xcku5p_platform": "test_boards.py",
        "ku5p_probe": "bringup/test/test_ku5p_probe.py",
        "sim_platform": "test_sim.py",
        "gateware_options sim_options": "test_options.py",
        "silicon_gateware": "test_boards.py",
    },
    "software/python/lanebox_host": {
        "card counters live": "sim/test/python/test_python_host.py",
        "dma errors": "sim/test/python/test_python_streams.py",
        "capture": "sim/test/python/test_python_capture.py",
    },
}


def sources(root: Path) -> list[str]:
    """Return all sources of the repository that need a suite."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True).stdout
    return [
        name
        for name in listed.splitlines()
        if SOURCES.match(name)
        and Path(name).parts[1] != "test"
        and Path(name).name != "__init__.py"
        and (root / name).exists()
    ]


def mirrored(folder: str) -> str:
    """Return the folder of tests for a folder of sources."""
    top, *inner = folder.split("/")
    return "/".join([top, "test", *inner])


def own_suites(source: str) -> list[str]:
    """Return the names that a suite of this source alone may have."""
    file = Path(source)
    if file.suffix == ".scala":
        names = [f"{file.stem}Test.scala"]
    else:
        names = [f"test_{file.stem}.py", f"test_{file.parent.name}_{file.stem}.py"]
    return [f"{mirrored(str(file.parent))}/{name}" for name in names]


def _entry(folder: dict[str, str | tuple[str, str]], source: Path) -> str | None:
    """Return the suite that a folder's entries name for a source.

    A suite in Scala for the rest of a folder does not count for its Python.
    """
    named = {name: suite for names, suite in folder.items() for name in names.split()}
    if source.stem in named:
        suite = named[source.stem]
        return suite if isinstance(suite, str) else suite[0]
    suite, _ = named.get(REST, (None, ""))
    fits = suite and (source.suffix == ".scala" or not suite.endswith(".scala"))
    return suite if fits else None


def _place(folder: str, suite: str) -> str:
    return suite if "/" in suite else f"{mirrored(folder)}/{suite}"


def suites(listed: Iterable[str], exists: Exists, elsewhere: Table) -> dict[str, list[str]]:
    """Return {source: its suites}. `exists` tells whether a file is there."""
    found: dict[str, list[str]] = {}
    for source in listed:
        own = next(filter(exists, own_suites(source)), None)
        folder = str(Path(source).parent)
        entry = _entry(elsewhere.get(folder, {}), Path(source)) or ""
        found[source] = [own] if own else [_place(folder, suite) for suite in entry.split()]
    return found


def problems(listed: Iterable[str], exists: Exists, elsewhere: Table) -> Iterator[str]:
    """Yield a sentence for each source without a suite, and for each entry that is not right."""
    listed = list(listed)
    for source, found in suites(listed, exists, elsewhere).items():
        if not found:
            yield f"{source} has no suite: write {own_suites(source)[0]}, or name one in ELSEWHERE"
    for folder, entries in elsewhere.items():
        here = [name for name in listed if str(Path(name).parent) == folder]
        needy = {Path(name).stem for name in here if not any(map(exists, own_suites(name)))}
        single = {name for names in entries if names != REST for name in names.split()}
        for names, entry in entries.items():
            text, reason = (entry, "") if isinstance(entry, str) else entry
            for suite in text.split():
                if not exists(_place(folder, suite)):
                    yield f"{folder}: the suite {suite} of {names} is not there"
            if names == REST and not reason:
                yield f"{folder}: one suite for the whole folder needs a reason"
            idle = set(names.split()) - (needy | {REST} if needy - single else needy)
            if idle:
                yield f"{folder}: nothing needs the entry of {' '.join(sorted(idle))}"


def named_by(suite: Path, folder: Path) -> set[str]:
    """Return the Scala files below `folder` that a suite names, directly or through others."""
    text = {file.stem: COMMENT.sub("", file.read_text()) for file in folder.rglob("*.scala")}
    holder = {name: stem for stem in text for name in DEFINED.findall(text[stem])}
    found, new = {suite.stem}, [suite.stem]
    while new:
        words = set(re.findall(r"\w+", text[new.pop()]))
        fresh = {holder[word] for word in words & holder.keys()} - found
        found |= fresh
        new += fresh
    return found
