# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Run ScalaTest suites in a few Java virtual machines, and remember the suites that passed.

A suite is run again if a class that it uses, the seed or a tool has changed. The files that a suite
compiled stay in build/spinal/suites/<suite>. A simulation that several suites share is compiled
once in each JVM, so its files are in the folder of the suite that came first.
"""

import contextlib
import hashlib
import json
import os
import queue
import re
import select
import shutil
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.testing import class_files
from tools.testing.seeds import SHIFT
from tools.verilog import spinal_build

TESTS = spinal_build.PROJECT / "test"
FOLDER = spinal_build.OUTPUT / "suites"
SUITES = sorted(
    ".".join(("lanebox", *file.relative_to(TESTS).with_suffix("").parts))
    for file in TESTS.rglob("*Test.scala")
)

# A ScalaTest suite that takes more than this many seconds of processor time, or of any time, fails.
# Suites are written to take 15 s. Other load on the machine does not count as processor time.
PROCESSOR_SECONDS = 600
SECONDS = 3600
# The line with which SuiteRunner.scala ends the report of a suite.
DONE = re.compile(rb"^suite done: (true|false)\n", re.MULTILINE)
# a makefile that lets Verilator's C++ be compiled as one file, and Verilator's own limits for it
ONE_FILE = Path(__file__).with_name("one_file.mk")
VERILATOR_FLAGS = "--output-split 20000 --output-split-cfuncs 5000"
# Characters that are shown of each line of a report. If two buffers differ, ScalaTest prints both
# of them in one line.
LINE_SHOWN = 400


@dataclass
class Result:
    passed: bool
    tests: int
    seconds: float
    text: str


def environment():
    """Return the environment of a JVM that compiles and runs simulations of SpinalHDL."""
    return {
        **os.environ,
        "LANEBOX_SEED": str(SHIFT),
        "MAKEFILES": str(ONE_FILE),
        "OBJCACHE": "ccache",
        "SPINAL_VERILATOR_FLAGS": VERILATOR_FLAGS,
    }


class Machine:
    """A Java virtual machine that runs ScalaTest suites one after another.

    It runs in a new folder beside those of the suites, since another pytest may run suites at the
    same time. The folder is removed at the end.
    """

    def __init__(self, classpath):
        self.folder = Path(tempfile.mkdtemp(prefix="machine-", dir=FOLDER))
        command = ["java", "-Xmx1g", "-XX:+UseSerialGC", "-cp", classpath]
        command += ["lanebox.vocabulary.SuiteRunner", classpath.split(os.pathsep)[0]]
        self.process = subprocess.Popen(
            command,
            cwd=self.folder,
            bufsize=0,
            env=environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def run(self, suite):
        """Run a suite. Return whether it passed, and its report.

        A suite does not pass if the JVM ends, or if the suite exceeds a limit. The JVM is killed in
        the second case.
        """
        output = self.process.stdout.fileno()
        begin, used, report = time.monotonic(), self._processor_seconds(), b""
        # If the JVM ends at this moment, the loop below finds the end of its output.
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(f"{suite}\n".encode())
        while not (done := DONE.search(report)):
            new = b""
            if select.select([output], [], [], 1)[0]:
                new = os.read(output, 1 << 16)
                report += new
                if not new:
                    return False, _text(report) + f"the JVM ended with {self.process.wait()}"
            too_long = self._processor_seconds() - used > PROCESSOR_SECONDS
            if too_long or time.monotonic() - begin > SECONDS:
                self.process.kill()
                return False, _text(report) + f"not done after {time.monotonic() - begin:.0f} s"
        return done[1] == b"true", _text(report[: done.start()])

    def _processor_seconds(self):
        """Return the processor time of the JVM and of the ended programs that it has started."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, words[11:15])) / os.sysconf("SC_CLK_TCK")

    def runs(self):
        """Return whether the JVM has not ended."""
        return self.process.poll() is None

    def end(self):
        """End the JVM of the suites, and remove its folder."""
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _text(report):
    return "\n".join(line[:LINE_SHOWN] for line in report.decode(errors="replace").splitlines())


def _versions():
    """Return the versions of Verilator, Java and g++, on which the ScalaTest suites run."""
    return [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for command in (["verilator", "--version"], ["java", "--version"], ["g++", "--version"])
    ]


class Runner:
    """Run the suites of `wanted` that have no remembered result, several at a time, and hold all
    results.

    With `fresh` every suite is run.
    """

    def __init__(self, wanted, fresh):
        self.fresh = fresh
        self.classpath = spinal_build.compile_tests()
        paths = [Path(path) for path in self.classpath.split(os.pathsep)]
        self.folders = [path for path in paths if path.is_dir()]
        self.machine = [SHIFT, _versions(), [path.name for path in paths if not path.is_dir()]]
        self.idle = queue.SimpleQueue()
        for _ in range(os.cpu_count()):
            self.idle.put(None)
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.future = {suite: self.pool.submit(self._run_or_recall, suite) for suite in wanted}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)
        while not self.idle.empty():
            if machine := self.idle.get():
                machine.end()

    def result(self, suite):
        return self.future[suite].result()

    def _key(self, suite):
        """Return a hash of everything on which the suite's result depends: its classes, the seed
        and the tools.
        """
        inputs = json.dumps([class_files.digest(suite, self.folders), *self.machine])
        return hashlib.sha256(inputs.encode()).hexdigest()

    def _run_or_recall(self, suite):
        """Return the stored result if the suite has passed with the same inputs before. Otherwise
        run the suite.
        """
        stamp = FOLDER / f"{suite}.json"
        key = self._key(suite)
        if not self.fresh and stamp.exists():
            known = json.loads(stamp.read_text())
            if known["key"] == key:
                return Result(**{**known["result"], "seconds": 0})
        stamp.unlink(missing_ok=True)
        result = self._run(suite)
        if result.passed:
            stamp.write_text(json.dumps({"key": key, "result": asdict(result)}))
        return result

    def _run(self, suite):
        """Run the suite in an idle JVM. After a failure the JVM is not used again. One that has
        ended while it was idle is replaced.
        """
        folder = FOLDER / suite
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        machine = self.idle.get()
        if machine and not machine.runs():
            machine.end()
            machine = None
        machine = machine or Machine(self.classpath)
        begin = time.monotonic()
        passed = False
        try:
            passed, text = machine.run(suite)
        finally:
            if not passed:
                machine.end()
            self.idle.put(machine if passed else None)
        tests = re.search(r"^Total number of tests run: (\d+)", text, re.MULTILINE)
        return Result(
            passed=passed,
            tests=int(tests.group(1)) if tests else 0,
            seconds=time.monotonic() - begin,
            text=f"{suite}, LANEBOX_SEED={SHIFT}, in {folder}:\n{text}",
        )
