# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Run the ScalaTest suites in gateware/test: each suite is one pytest test.

A suite that passed is not run again until its sources, the seed or the tools change. With `--fresh`
every suite is run.
"""

import re

import pytest

from gateware.test.spinal_suites import SUITES, TESTS, Runner

pytestmark = pytest.mark.spinal


@pytest.fixture(scope="module")
def runner(request):
    """Compile all suites once, then run the selected ones, as many at a time as there are
    processors.
    """
    wanted = [
        item.callspec.params["suite"]
        for item in request.session.items
        if item.module is request.module and "suite" in getattr(item, "fixturenames", ())
    ]
    with Runner(wanted, fresh=request.config.getoption("fresh")) as runner:
        yield runner


@pytest.mark.parametrize("suite", SUITES)
def test_suite(suite, runner, record_property):
    """Every ScalaTest test of the suite `suite` passes, and the suite has at least one test."""
    result = runner.result(suite)
    record_property("duration", result.seconds)
    assert result.passed, result.text
    assert result.tests > 0, f"{suite} has no test"


def test_every_suite_is_found_by_its_name():
    """Each Scala class with tests is alone in a file of its name and is listed in SUITES."""
    for file in TESTS.rglob("*.scala"):
        text = file.read_text()
        suites = re.findall(r"(?<!abstract )class (\w+)[^{]* extends Any\w*Suite", text)
        assert suites in ([], [file.stem]), file
        if suites:
            package = re.search(r"^package (.*)$", text, re.MULTILINE).group(1)
            assert f"{package}.{file.stem}" in SUITES


def test_a_jvm_that_ended_while_it_was_idle_is_replaced():
    """A suite passes although the idle JVM that should run it has been killed. Each JVM has a
    folder of its own, and none is left at the end.
    """
    suite = "lanebox.completer.CompleterParamTest"
    with Runner([], fresh=True) as runner:
        machines = []
        for _ in range(2):
            result = runner._run(suite)
            assert result.passed, result.text
            while not (machine := runner.idle.get()):
                pass
            machine.process.kill()
            machine.process.wait()
            machines.append(machine)
            runner.idle.put(machine)
            assert machine.folder.exists()
    assert machines[0].folder != machines[1].folder
    assert not any(machine.folder.exists() for machine in machines)
