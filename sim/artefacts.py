# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause
"""Builds the parts that a simulation run needs: gateware, board and litepcie_util.

Each part is built only if it is missing or its sources have changed.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from sim.board.build import build_board
from sim.board.pins import WrongPins
from sim.endpoints import DEFAULT
from sim.errors import BuildError
from sim.examples import Example, Occupant
from tools.locks import locked
from tools.progress import StepError, run

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build"
# Seconds that a build step may take before its progress is shown. Most steps end sooner, since they
# only find finished files.
PATIENCE = 3.0


@dataclass(frozen=True)
class Artefacts:
    """The paths of a gateware that was built for simulation, and of the board executable that
    simulates it.
    """

    endpoint: str
    example: Example | Occupant | None
    gateware: Path  # the folder into which targets/sim.py wrote the gateware
    board: Path

    @property
    def headers(self) -> Path:
        """Return the folder with this gateware's generated C headers csr.h, soc.h and mem.h."""
        return self.gateware / "include"


def build(
    endpoint: str,
    example: Example | Occupant | None = None,
    waves: bool = False,
    memories: dict[int, str] | None = None,
    msix: bool = False,
    completion_pool: bool = False,
    capture: int = 0,
    card: bool = False,
    virtio: bool = False,
    packed: bool = False,
    firmware: str = "none",
    port: str = "echo",
) -> Artefacts:
    """Build gateware and board for `endpoint`, with `example` in the user slot. Return their paths.

    `waves` makes a board that can record waves, `msix` gateware with MSI-X. `capture` adds the
    capture block with this many queues and its generator of frames, `card` the card services,
    `virtio` the virtio devices with the far side `port`, whose rings may be packed with `packed`,
    `firmware` the management CPU of the card services (targets/sim.py --firmware).
    `completion_pool` makes the gateware count completion headers and data in one pool.
    `memories` has the files with the contents of memory 0 and 1 (.hex, .coe, .bin; see
    mmio/memory.py).
    """
    variant = [example.name] if example else [endpoint] if endpoint != DEFAULT else []
    variant += ["msix"] if msix else []
    variant += ["pool"] if completion_pool else []
    variant += [f"capture{capture if capture > 1 else ''}"] if capture else []
    variant += ["card"] if card else []
    variant += ["virtio"] if virtio else []
    variant += ["packed"] if packed else []
    variant += [port] if port != "echo" else []
    variant += ["firmware"] if firmware != "none" else []
    gateware = BUILD / "-".join(["sim", *variant])
    command = [
        sys.executable,
        str(ROOT / "targets" / "sim.py"),
        "--build",
        "--endpoint",
        endpoint,
        "--output-dir",
        str(gateware),
    ]
    if example is not None:
        command += ["--user", example.user]
    if msix:
        command.append("--msix")
    if completion_pool:
        command.append("--completion-pool")
    if capture:
        command += ["--capture", str(int(capture))]
    if card:
        command.append("--card")
    if virtio:
        # The second pair of net queues has a control queue, whose ring is never packed.
        command += ["--virtio", "1" if packed else "2", "--port", port]
    if packed:
        command.append("--packed")
    if firmware != "none":
        command += ["--firmware", firmware]
    for number, file in (memories or {}).items():
        command += [f"--memory{number}", str(Path(file).absolute())]
    _step("gateware", command)
    try:
        board = build_board(gateware, waves)
    except WrongPins as error:
        raise WrongPins(error.pins, getattr(example, "folder", None)) from None
    return Artefacts(endpoint, example, gateware, board)


def utility(headers: Path | None = None, static: bool = False) -> Path:
    """Build litepcie_util, which every gateware uses, and return its path.

    The guest needs a program that is linked statically (`static`). The program asks the card what
    it is, so `headers` are not read.
    """
    return _software("litepcie_util", static)


def capture_tool(headers: Path | None = None, static: bool = False) -> Path:
    """Build lanebox-capture, which every gateware uses, and return its path.

    The arguments are those of utility().
    """
    return _software("lanebox-capture", static)


def library() -> Path:
    """Build the shared library liblitepcie, which every gateware uses. Return its path."""
    return _software("liblitepcie.so", static=False)


def client(example: Example, headers: Path, static: bool = False) -> Path:
    """Build the example's C client, named after the example's folder. Return its path."""
    return program(example.client, example.title, headers, static)


def program(source: Path, name: str, headers: Path, static: bool = False) -> Path:
    """Build a program called `name` from one C file and liblitepcie, and return its path.

    The program is compiled with the csr.h in `headers`, which belongs to one gateware. The library
    is the same for all of them.
    """
    library = software_folder(static)
    out = BUILD / "software" / headers.parent.name / library.name
    more = [f"OUT={out}", f"LIBRARY_OUT={library}", f"GENERATED={headers}"]
    more += [f"CLIENT={source}", f"NAME={name}"]
    _make(ROOT / "examples", library, static, name, more)
    return out / name


def stock_utility(headers: Path) -> Path:
    """Build LitePCIe's own litepcie_util, unpatched and static, for the guest.

    Return the program's path.
    """
    package = Path(importlib.util.find_spec("litepcie").submodule_search_locations[0])
    out = BUILD / "software" / headers.parent.name / "stock"
    shutil.copytree(package / "software", out, dirs_exist_ok=True)
    for header in headers.glob("*.h"):
        shutil.copy(header, out / "kernel")
    _step("stock litepcie_util", ["make", "-s", "-C", str(out / "user"), "CC=gcc -static"])
    return out / "user" / "litepcie_util"


def software_folder(static: bool) -> Path:
    """Return the folder in which library and tools are built: for a guest (`static`), or not."""
    return BUILD / "software" / ("static" if static else "native")


def _software(name: str, static: bool) -> Path:
    made = software_folder(static) / name
    _make(ROOT / "software", made.parent, static, str(made), [f"OUT={made.parent}"])
    return made


def _make(directory: Path, library: Path, static: bool, target: str, more: list[str]) -> None:
    """Run make for `target` while no other process builds in the folder `library`."""
    command = ["make", "-s", "-C", str(directory), *more, *(["STATIC=1"] if static else [])]
    with locked(library.with_suffix(".lock")):
        _step(Path(target).name, [*command, target])


def _step(what: str, command: list[str]) -> None:
    """Run a build command. Raise BuildError if it fails.

    If the command takes longer than PATIENCE, its last line of output is shown as progress: sbt may
    fetch packages for a minute.
    """
    try:
        run(command, what, cwd=ROOT, patience=PATIENCE, note=lambda line: line)
    except StepError as error:
        raise BuildError(f"{what} could not be built:\n{error}") from None
