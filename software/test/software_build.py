# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Build the user software for its tests, with sanitizers (address and undefined behaviour, or
threads) or without.
"""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.locks import locked
from tools.testing.repository import ROOT, run_sim_target

OUT = ROOT / "build" / "test-software"
# longest time in seconds for a program under test
TIMEOUT = 60


@dataclass(frozen=True)
class Built:
    """A build of the software with sanitizers: its folder, and the csr.json of the default gateware
    of targets/sim.py.
    """

    out: Path
    csr_json: Path

    @property
    def util(self):
        return self.out / "litepcie_util"

    @property
    def capture(self):
        return self.out / "lanebox-capture"


def build_software():
    """Build the user software with sanitizers, and the default gateware of targets/sim.py. Returns
    a Built.
    """
    gateware = ROOT / "build" / "sim"
    result = run_sim_target("--build")
    assert result.returncode == 0, result.stderr
    return Built(make(OUT, "SANITIZE=1"), gateware / "csr.json")


def make(out, *options):
    """Build litepcie_util, lanebox-capture and the C tests in the folder `out`.

    `options` are variables of the Makefile, such as SANITIZE=1. Returns `out`.
    """
    command = [
        "make",
        "-s",
        "-C",
        ROOT / "software",
        *options,
        f"OUT={out}",
        "litepcie_util",
        "lanebox-capture",
        "tests",
    ]
    with locked(out.with_suffix(".lock")):
        result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout + result.stderr
    return out


def build_unchecked(*options):
    """Build the user software without sanitizers, as users do, or with `options` of the Makefile.

    Returns the folder of the build. Builds with the same options share a folder, also with
    build_software(), whose option is SANITIZE=1.
    """
    if not options:
        return make(ROOT / "build" / "software" / "native")
    if options == ("SANITIZE=1",):
        return make(OUT, *options)
    name = "-".join([OUT.name, *(option.split("=")[1] for option in options)])
    return make(ROOT / "build" / name, *options)


class Util:
    """A program under test, litepcie_util or lanebox-capture, which the methods run.

    run(), report() and json() capture the program's output. If a sanitizer has reported a fault,
    these three methods fail the test. start() does not check for such a report.
    """

    def __init__(self, program):
        self.program = program

    def run(self, *arguments):
        result = subprocess.run(
            [self.program, *arguments], capture_output=True, text=True, timeout=TIMEOUT
        )
        assert "Sanitizer" not in result.stderr and "runtime error" not in result.stderr, (
            result.stderr
        )
        return result

    def report(self, *arguments):
        """Run a command of litepcie_util with --json.

        Returns the exit status and the parsed report.
        """
        result = self.run("--json", *arguments)
        return result.returncode, json.loads(result.stdout)

    def json(self, device, *arguments):
        """Run a command of litepcie_util with --json on a device. Returns what report() returns."""
        return self.report("-d", str(device), *arguments)

    def start(self, *arguments):
        return subprocess.Popen(
            [self.program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )


def run_program(program, *arguments):
    """Run a program that must end with status 0. Returns the text that it printed to stdout."""
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=TIMEOUT)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout
