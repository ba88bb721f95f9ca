# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Verilog from SpinalHDL, generated on demand and once per state of the Scala sources.

sbt compiles once for each state of the sources. The compiled generator then runs without sbt, once
for each component and set of parameters. This needs a JDK, and sbt or Maven: without sbt, Maven
fetches the sbt launcher, pinned by version and checksum. Fetched files stay in build/sbt and
generated ones in build/spinal; nothing is written to the source tree.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from lanebox.identity import source_digest, source_files
from lanebox.locks import locked
from lanebox.spinal_errors import readable

PROJECT = Path(__file__).resolve().parent/"spinal"
BUILD   = PROJECT.parent.parent/"build"
FETCHED = BUILD/"sbt"
OUTPUT  = BUILD/"spinal"

LAUNCHER        = ("org.scala-sbt", "sbt-launch", "1.12.14")
LAUNCHER_SHA256 = "1750c8fb61c2d2f82da40b2cd9014f4d8a1bd49a361402ea5b1cec061ed66578"

DIGEST_SHOWN = 12

# For programs that run for a second: most of that is the start of the JVM.
SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# Tools --------------------------------------------------------------------------------------------

def _run(what, command, sources=(), **options):
    """The output of `command`. If it fails, a RuntimeError has the output's end, with places in
    `sources`.
    """
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        **options)
    if result.returncode:
        raise RuntimeError(f"{what} failed with status {result.returncode}:\n"
            f"{readable(result.stdout, sources)}")
    return result.stdout

def _require(program, package):
    if shutil.which(program) is None:
        raise RuntimeError(f"SpinalHDL needs `{program}`, which is not installed: install the "
            f"package {package}")

def _fetch_launcher():
    """The sbt launcher, fetched once with Maven and this machine's settings for it."""
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

def _export(commands, folder, sources):
    """Runs `commands` of sbt in `folder`. Returns the classpath that sbt prints last, as a list."""
    sbt, environment = _sbt()
    output = _run("sbt", [*sbt, *commands], sources, cwd=folder, env=environment)
    paths  = [line for line in output.splitlines() if not line.startswith("[")]
    return paths[-1].split(os.pathsep)

# Compilation --------------------------------------------------------------------------------------

def _lock():
    """One sbt at a time: two would compile in the same folder."""
    return locked(OUTPUT/".lock")

def _sources(*scopes):
    """The project's build files, and its sources in `scopes`: "main", "test"."""
    definition = [PROJECT/"build.sbt", *source_files(PROJECT/"project")]
    return definition + [file for scope in scopes for file in source_files(PROJECT/"src"/scope)]

def _copy_project(name, scopes, scala=()):
    """Copies the project and adds the sources `scala`. Earlier results of sbt in the copy are kept.
    """
    copy = OUTPUT/name
    shutil.rmtree(copy/"src", ignore_errors=True)
    for file in _sources(*scopes):
        target = copy/file.relative_to(PROJECT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    for file in scala:
        shutil.copy(file, copy/"src"/"main"/"scala"/file.name)
    return copy

def _is_complete(classpath):
    return classpath.exists() and all(
        Path(entry).exists() for entry in classpath.read_text().split(os.pathsep))

def _compile(name, digest, commands, copy_project, sources=()):
    """The classpath that `commands` of sbt print, as one text. Runs sbt only if it is not kept yet.

    Classes are kept for each digest of the sources: going back to an earlier state costs nothing.
    """
    kept      = OUTPUT/f"{name}-{digest[:DIGEST_SHOWN]}"
    classpath = kept/"classpath"
    if not _is_complete(classpath):
        print(f"sbt {'; '.join(commands)} (the first time sbt fetches itself and what that needs, "
            "up to 180 MB)", file=sys.stderr, flush=True)
        project = copy_project()
        entries = _export(commands, project, sources)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for number, entry in enumerate(entries):
            if Path(entry).is_relative_to(project):
                entries[number] = str(kept/Path(entry).name)
                shutil.copytree(entry, entries[number])
        # Written last: without this file an interrupted run does not count.
        classpath.write_text(os.pathsep.join(entries))
    return classpath.read_text()

def compile_tests():
    """The digest of the project with its ScalaTest suites, and the classpath to run these with."""
    digest = source_digest(_sources("main", "test"))
    with _lock():
        return digest, _compile("test", digest, ["Test/compile", "export Test/fullClasspath"],
            lambda: _copy_project("project-test", ["main", "test"]), _sources("main", "test"))

def formatter():
    """The command that formats Scala sources: scalafmt, as build.sbt pins it."""
    with _lock():
        classpath = _compile("format", source_digest(_sources()),
            ["export format/Runtime/managedClasspath"], lambda: _copy_project("project-format", []))
    return ["java", *SHORT_RUN, "-cp", classpath, "org.scalafmt.cli.Cli",
        "--config", str(PROJECT/".scalafmt.conf"), "--non-interactive"]

# Generation ---------------------------------------------------------------------------------------

def _arguments(name, value):
    """`name=value` as Scala reads it, once for each value of a list."""
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in _arguments(name, each)]
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, (int, str)):
        raise ValueError(f"parameter {name} is {value!r}: a generator takes whole numbers, truth "
            "values, text and lists of these")
    return [f"{name}={value}"]

def generate(component, folder=None, **parameters):
    """The Verilog file of `component`. Its Scala sources are in `folder`, or in the project.

    The object lanebox.<component>Verilog writes it. That is an App whose arguments are the output
    folder and a `name=value` for each of `parameters`, in the order of their names. Files of memory
    contents that SpinalHDL writes are beside the Verilog file.
    """
    arguments = [word for item in sorted(parameters.items()) for word in _arguments(*item)]
    scala     = source_files(folder, pattern="*.scala") if folder is not None else []
    sources   = [*_sources("main"), *scala]
    digest    = source_digest(_sources("main"), scala)
    key       = hashlib.sha256("\0".join([digest, *arguments]).encode()).hexdigest()
    verilog   = OUTPUT/f"{component}-{key[:DIGEST_SHOWN]}"/f"{component}.v"
    with _lock():
        if not verilog.exists():
            classpath = _compile("main", digest, ["compile", "export Runtime/fullClasspath"],
                lambda: _copy_project("project", ["main"], scala), sources)
            _generate(component, arguments, classpath, verilog.parent, sources)
    return verilog

def _generate(component, arguments, classpath, folder, sources):
    """Runs the generator in a folder of its own first, so an interrupted run leaves no partial
    file.
    """
    _require("java", "default-jdk-headless")
    fresh = OUTPUT/"fresh"
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    _run(" ".join([f"generating {component}", *arguments]), ["java", *SHORT_RUN, "-cp", classpath,
        f"lanebox.{component}Verilog", str(fresh), *arguments], sources, cwd=fresh)
    if not (fresh/f"{component}.v").exists():
        raise RuntimeError(f"lanebox.{component}Verilog wrote no {component}.v: the names of the "
            "component and of the object must agree")
    shutil.rmtree(folder, ignore_errors=True)
    fresh.rename(folder)
