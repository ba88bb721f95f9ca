# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test that the C programs that test the software find mistakes: each fault of planted_faults.py is
planted in a copy of software/, and the C program that it names must then fail.
"""

import shutil
import subprocess

import pytest

from sim.test.driver.driver_guest import compile_program
from software.test.library.planted_faults import ARGUMENTS, FAULTS, Fault
from tools.testing.repository import ROOT

TIMEOUT = 90  # seconds that a program may take before it counts as failed
SOFTWARE = ROOT / "software"


class Copy:
    """A copy of software/ in which faults are planted, with the programs that are built from it."""

    def __init__(self, folder):
        self.folder, self.software, self.out = folder, folder / "software", folder / "out"
        shutil.copytree(SOFTWARE, self.software, ignore=shutil.ignore_patterns("__pycache__"))
        # programs that have passed without a fault: (whether it tests the driver, name)
        self.checked = set()

    def build(self, fault):
        """Build the fault's program. Returns its path."""
        if fault.is_of_the_driver:
            return compile_program(fault.program, self.software, self.out)
        program = self.out / "test" / fault.program
        command = ["make", "-s", "-C", self.software, "SANITIZE=1", f"OUT={self.out}", program]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return program

    def run(self, fault):
        """Build and run the fault's program. Returns how it ended, as subprocess.run() does, with
        status None if it did not end within TIMEOUT.
        """
        scratch = self.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        arguments = [word.format(tmp=scratch) for word in ARGUMENTS.get(fault.program, [])]
        command = [self.build(fault), *(arguments if not fault.is_of_the_driver else [])]
        try:
            return subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
        except subprocess.TimeoutExpired:
            return subprocess.CompletedProcess(command, None, "", "it did not end")

    def check_program(self, fault):
        """Check that the fault's program passes without a fault. A program is checked only once."""
        key = (fault.is_of_the_driver, fault.program)
        if key not in self.checked:
            done = self.run(fault)
            assert done.returncode == 0, f"{fault.program} fails without a fault: {done.stderr}"
            self.checked.add(key)

    def plant(self, fault):
        """Build and run the fault's program with the fault in its source, and restore the source.
        Returns what run() returns.
        """
        path = self.software / fault.source
        text = path.read_text()
        path.write_text(planted(text, fault))
        try:
            return self.run(fault)
        finally:
            path.write_text(text)


def planted(text, fault):
    """Return a source's text with the fault in it.

    Raises ValueError if the text to replace is not there, or more than once.
    """
    times = text.count(fault.old)
    if times != 1:
        raise ValueError(
            f'{fault.source} has the text of the fault "{fault.name}" {times} times: write the '
            f"fault anew in planted_faults.py\n{fault.old}"
        )
    return text.replace(fault.old, fault.new)


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    return Copy(tmp_path_factory.mktemp("planted"))


def each(fault):
    return f"{fault.source.rpartition('/')[2]}: {fault.name}"


@pytest.mark.soak
@pytest.mark.parametrize("fault", FAULTS, ids=each)
def test_a_planted_fault_is_found(copy, fault):
    """With the fault in its source the program fails. Without the fault it passes."""
    copy.check_program(fault)
    done = copy.plant(fault)
    assert done.returncode != 0, f'{fault.program} passes with the fault "{fault.name}"'


# Tests of the table, which compile nothing --------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS, ids=each)
def test_a_fault_can_be_planted(fault):
    """The text that a fault replaces is in its source exactly once, and the new text differs. A C
    source has the name of the program that must fail, or a name that begins with it.
    """
    text = (SOFTWARE / fault.source).read_text()
    assert planted(text, fault) != text
    folders = ["kernel/test"] if fault.is_of_the_driver else ["liblitepcie/test", "tools/test"]
    found = [
        path for folder in folders for path in (SOFTWARE / folder).rglob(f"{fault.program}*.c")
    ]
    assert found, f"there is no program {fault.program}"


def test_a_text_that_is_gone_has_a_sentence():
    """If the text that a fault replaces is not in its source, or is there twice, planted() raises
    ValueError with a sentence that says how often the text was found."""
    fault = Fault("it is on", "kernel/one.c", "on = 0;", "on = 1;", "one")
    assert planted("on = 0;\n", fault) == "on = 1;\n"
    for text, times in (("off = 0;", 0), ("on = 0; on = 0;", 2)):
        with pytest.raises(
            ValueError, match=f'kernel/one.c has .* "it is on" {times} times: write'
        ):
            planted(text, fault)


def test_the_faults_are_of_all_parts_and_have_names_of_their_own():
    """The table FAULTS has at least ten faults of the driver, ten of the library and ten of the
    tools. Two faults whose sources have the same file name have different names. Each program in
    the dict ARGUMENTS is that of a fault."""
    parts = [fault.source.partition("/")[0] for fault in FAULTS]
    assert all(parts.count(part) >= 10 for part in ("kernel", "liblitepcie", "tools"))
    assert len(set(map(each, FAULTS))) == len(FAULTS)
    assert ARGUMENTS.keys() <= {fault.program for fault in FAULTS}
