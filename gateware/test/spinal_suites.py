# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Run ScalaTest suites, each in a Java virtual machine of its own, and remember those that passed.

A suite is run again if a class that it uses, the seed or a tool has changed. The files that a suite
compiled and wrote stay in build/spinal/suites/<suite>.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from tools.testing import class_files
from tools.testing.seeds import SHIFT
from tools.verilog import spinal_build

TESTS = spinal_build.PROJECT / "test"
SUITES = sorted(
    ".".join(("lanebox", *file.relative_to(TESTS).with_suffix("").parts))
    for file in TESTS.rglob("*Test.scala")
)

# A ScalaTest suite that takes more than this many seconds fails. Suites are written to take 15 s,
# but the machine may be busy.
TIMEOUT = 600
# Characters that are shown of each line of a report. If two buffers differ, ScalaTest prints both
# of them in one line.
LINE_SHOWN = 400


@dataclass
class Result:
    passed: bool
    tests: int
    seconds: float
    text: str


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
        self.pool = ThreadPoolExecutor(os.cpu_count())
        self.future = {suite: self.pool.submit(self._run_or_recall, suite) for suite in wanted}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)

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
        stamp = spinal_build.OUTPUT / "suites" / f"{suite}.json"
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
        folder = spinal_build.OUTPUT / "suites" / suite
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # ScalaTest's options W and S: reports without colours and with short stack traces.
        command = [
            "java",
            "-Xmx1g",
            "-cp",
            self.classpath,
            "org.scalatest.tools.Runner",
            "-oWS",
            "-R",
            self.classpath.split(os.pathsep)[0],
            "-s",
            suite,
        ]
        begin = time.monotonic()
        try:
            done = subprocess.run(
                command,
                cwd=folder,
                text=True,
                timeout=TIMEOUT,
                env={**os.environ, "OBJCACHE": "ccache", "LANEBOX_SEED": str(SHIFT)},
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
            )
        except subprocess.TimeoutExpired as expired:
            text = (expired.stdout or b"").decode(errors="replace")
            return Result(False, 0, TIMEOUT, f"{suite}: not done after {TIMEOUT} s\n{text}")
        lines = [line[:LINE_SHOWN] for line in done.stdout.splitlines()]
        tests = re.search(r"^Total number of tests run: (\d+)", done.stdout, re.MULTILINE)
        return Result(
            passed=done.returncode == 0,
            tests=int(tests.group(1)) if tests else 0,
            seconds=time.monotonic() - begin,
            text=f"{suite}, LANEBOX_SEED={SHIFT}, in {folder}:\n" + "\n".join(lines),
        )
