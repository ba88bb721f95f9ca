# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Verilog from SpinalHDL, generated on demand and once per state of the Scala sources.

Needs a JDK, and sbt or Maven: without sbt its launcher is fetched by its Maven coordinates, pinned
by version and checksum. What is fetched stays in build/sbt, what is generated in build/spinal; the
source tree is not touched.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from lanebox.identity import source_digest, source_files

PROJECT = Path(__file__).resolve().parent/"spinal"
BUILD   = PROJECT.parent.parent/"build"
FETCHED = BUILD/"sbt"
OUTPUT  = BUILD/"spinal"

LAUNCHER        = ("org.scala-sbt", "sbt-launch", "1.12.14")
LAUNCHER_SHA256 = "1750c8fb61c2d2f82da40b2cd9014f4d8a1bd49a361402ea5b1cec061ed66578"

# Tools --------------------------------------------------------------------------------------------

def _run(what, command, **options):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        **options)
    if result.returncode:
        end = "\n".join(result.stdout.splitlines()[-20:])
        raise RuntimeError(f"{what} failed with status {result.returncode}:\n{end}")

def _require(program, package):
    if shutil.which(program) is None:
        raise RuntimeError(f"SpinalHDL needs `{program}`, which is not installed: install the "
            f"package {package}")

def _fetch_launcher():
    """The sbt launcher, fetched once through Maven as this machine has it configured."""
    jar = FETCHED/f"{LAUNCHER[1]}-{LAUNCHER[2]}.jar"
    if not jar.exists():
        _require("mvn", "maven (or sbt)")
        _run("fetching the sbt launcher", ["mvn", "-B", "-q", "dependency:copy",
            f"-Dartifact={':'.join(LAUNCHER)}", f"-DoutputDirectory={FETCHED}",
            f"-Dmaven.repo.local={FETCHED/'maven'}"])
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != LAUNCHER_SHA256:
        jar.unlink()
        raise RuntimeError(f"{jar.name} has the SHA-256 {found}; it must be {LAUNCHER_SHA256}. It "
            "was removed: find out where Maven got it from before you try again")
    return jar

def _sbt():
    """The command that starts sbt, and its environment."""
    _require("java", "default-jdk-headless")
    options = ["-Dsbt.color=false", "-Dsbt.supershell=false", "-Dsbt.server.autostart=false",
        f"-Dsbt.boot.directory={FETCHED/'boot'}", f"-Dsbt.ivy.home={FETCHED/'ivy'}"]
    environment = {"COURSIER_CACHE": str(FETCHED/"coursier"), **os.environ}
    if shutil.which("sbt"):
        return ["sbt", *options], environment
    return ["java", "-Xmx2g", *options, "-jar", str(_fetch_launcher())], environment

# Generation ---------------------------------------------------------------------------------------

@contextmanager
def _lock():
    """One sbt at a time: two would compile into the same folder."""
    OUTPUT.mkdir(parents=True, exist_ok=True)
    with open(OUTPUT/".lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

def _copy_project(scala):
    """The project with the sources `scala` beside its own; sbt's earlier results stay there."""
    copy = OUTPUT/"project"
    shutil.rmtree(copy/"src", ignore_errors=True)
    shutil.copytree(PROJECT, copy, dirs_exist_ok=True)
    for file in scala:
        shutil.copy(file, copy/"src"/"main"/"scala"/file.name)
    return copy

def generate(component, folder):
    """The Verilog file of `component`, whose Scala sources are in `folder`.

    The object lanebox.<component>Verilog writes it: an App with the output folder as argument.
    """
    scala   = source_files(folder, pattern="*.scala")
    digest  = source_digest(source_files(PROJECT), scala)
    verilog = OUTPUT/f"{component}-{digest[:12]}"/f"{component}.v"
    with _lock():
        if not verilog.exists():
            print(f"SpinalHDL: generating {component} (the first time sbt fetches itself and "
                "SpinalHDL, about 180 MB)", file=sys.stderr, flush=True)
            command, environment = _sbt()
            # Into a folder of its own first: an interrupted run leaves no half a file behind.
            fresh = OUTPUT/"fresh"
            shutil.rmtree(fresh, ignore_errors=True)
            fresh.mkdir()
            _run(f"generating {component}",
                [*command, f"runMain lanebox.{component}Verilog {fresh}"],
                cwd=_copy_project(scala), env=environment)
            shutil.rmtree(verilog.parent, ignore_errors=True)
            fresh.rename(verilog.parent)
    return verilog
