# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Run ScalaTest suites, each in a Java virtual machine of its own, and remember which passed.

The files that a suite compiled and wrote stay in build/spinal/suites/<suite>.
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

from seeds import SHIFT

from lanebox import spinal_build

TESTS  = spinal_build.PROJECT/"src"/"test"/"scala"
SUITES = sorted(".".join(file.relative_to(TESTS).with_suffix("").parts)
    for file in TESTS.rglob("*Test.scala"))

TIMEOUT = 600 # s, for one suite on a busy machine; suites are written to take 15 s.
# Characters of a line that are shown: a failed comparison of two buffers prints both.
LINE_SHOWN = 400


@dataclass
class Result:
    passed:  bool
    tests:   int
    seconds: float
    text:    str


def _versions():
    """Versions of the programs that suites run on."""
    return [subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for command in (["verilator", "--version"], ["java", "--version"], ["g++", "--version"])]


class Runner:
    """The results of suites. Suites without a remembered result run side by side."""

    def __init__(self, wanted, fresh):
        self.fresh  = fresh
        self.digest, self.classpath = spinal_build.compile_tests()
        inputs      = json.dumps([self.digest, SHIFT, _versions()])
        self.key    = hashlib.sha256(inputs.encode()).hexdigest()
        self.pool   = ThreadPoolExecutor(os.cpu_count())
        self.future = {suite: self.pool.submit(self._run_or_recall, suite) for suite in wanted}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.pool.shutdown(cancel_futures=True)

    def result(self, suite):
        return self.future[suite].result()

    def _run_or_recall(self, suite):
        """The remembered result if the suite passed with the same inputs, else a new one."""
        stamp = spinal_build.OUTPUT/"suites"/f"{suite}.json"
        if not self.fresh and stamp.exists():
            known = json.loads(stamp.read_text())
            if known["key"] == self.key:
                return Result(**{**known["result"], "seconds": 0})
        stamp.unlink(missing_ok=True)
        result = self._run(suite)
        if result.passed:
            stamp.write_text(json.dumps({"key": self.key, "result": asdict(result)}))
        return result

    def _run(self, suite):
        folder = spinal_build.OUTPUT/"suites"/suite
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        # Reports without colours (W) and with short traces (S).
        command = ["java", "-Xmx1g", "-cp", self.classpath, "org.scalatest.tools.Runner", "-oWS",
            "-R", self.classpath.split(os.pathsep)[0], "-s", suite]
        begin = time.monotonic()
        try:
            done = subprocess.run(command, cwd=folder, text=True, timeout=TIMEOUT,
                env={**os.environ, "OBJCACHE": "ccache", "LANEBOX_SEED": str(SHIFT)},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        except subprocess.TimeoutExpired as expired:
            text = (expired.stdout or b"").decode(errors="replace")
            return Result(False, 0, TIMEOUT, f"{suite}: not done after {TIMEOUT} s\n{text}")
        lines = [line[:LINE_SHOWN] for line in done.stdout.splitlines()]
        tests = re.search(r"^Total number of tests run: (\d+)", done.stdout, re.MULTILINE)
        return Result(
            passed  = done.returncode == 0,
            tests   = int(tests.group(1)) if tests else 0,
            seconds = time.monotonic() - begin,
            text    = f"{suite}, LANEBOX_SEED={SHIFT}, in {folder}:\n" + "\n".join(lines),
        )
