# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Test that the suites of the capture block find mistakes: each fault of planted_faults.py is
planted in a copy of gateware/, and the ScalaTest suite that it names must then fail.
"""

import os
import re
import shutil
import subprocess

import pytest

from gateware.test.capture.planted_faults import FAULTS, Fault
from gateware.test.spinal_suites import SUITES, environment
from tools.verilog import spinal_build

pytestmark = pytest.mark.spinal

SECONDS = 1800  # of any time that a suite may take before it counts as failed
CAPTURE = spinal_build.PROJECT / "capture"


class Copy:
    """A copy of gateware/ in which faults are planted, with what is compiled from it."""

    def __init__(self, folder):
        self.folder, self.gateware = folder, folder / "gateware"
        ignored = shutil.ignore_patterns("__pycache__", "target")
        shutil.copytree(spinal_build.PROJECT, self.gateware, ignore=ignored)
        self.checked = set()  # suites that have passed without a fault

    def run(self, suite):
        """Compile the copy, and run a suite. Returns whether it passed, and its report."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(spinal_build, "PROJECT", self.gateware)
            patch.setattr(spinal_build, "OUTPUT", self.folder / "spinal")
            classpath = spinal_build.compile_tests()
        runner = ["java", "-Xmx1g", "-cp", classpath, "org.scalatest.tools.Runner", "-oW"]
        done = subprocess.run(
            [*runner, "-R", classpath.split(os.pathsep)[0], "-s", f"lanebox.capture.{suite}"],
            cwd=self.folder,
            env=environment(),
            text=True,
            timeout=SECONDS,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert re.search(r"^Tests: succeeded", done.stdout, re.MULTILINE), done.stdout[-2000:]
        return done.returncode == 0, done.stdout[-2000:]

    def check_suite(self, suite):
        """Check that a suite passes without a fault. A suite is checked only once."""
        if suite not in self.checked:
            passed, report = self.run(suite)
            assert passed, f"{suite} fails without a fault: {report}"
            self.checked.add(suite)

    def plant(self, fault):
        """Run the fault's suite with the fault in its source, and restore the source. Returns what
        run() returns.
        """
        path = self.gateware / "capture" / fault.source
        text = path.read_text()
        path.write_text(planted(text, fault))
        try:
            return self.run(fault.suite)
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
    """With the fault in its source the suite fails. Without the fault it passes."""
    copy.check_suite(fault.suite)
    passed, _ = copy.plant(fault)
    assert not passed, f'{fault.suite} passes with the fault "{fault.name}"'


# Tests of the table, which compile nothing --------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS, ids=each)
def test_a_fault_can_be_planted(fault):
    """The text that a fault replaces is in its source exactly once, the new text differs, and the
    suite that must fail is there.
    """
    text = (CAPTURE / fault.source).read_text()
    assert planted(text, fault) != text
    assert f"lanebox.capture.{fault.suite}" in SUITES


def test_a_text_that_is_gone_has_a_sentence():
    """If the text that a fault replaces is not in its source, or is there twice, planted() raises
    ValueError with a sentence that says how often the text was found."""
    fault = Fault("it is on", "one/One.scala", "on := False", "on := True", "one.OneTest")
    assert planted("on := False\n", fault) == "on := True\n"
    for text, times in (("off := False", 0), ("on := False; on := False", 2)):
        with pytest.raises(ValueError, match=f'One.scala has .* "it is on" {times} times: write'):
            planted(text, fault)


def test_the_faults_have_names_of_their_own():
    """Two faults of one source have different names."""
    assert len(set(map(each, FAULTS))) == len(FAULTS)
