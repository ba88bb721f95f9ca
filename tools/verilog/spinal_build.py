# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Generates Verilog from SpinalHDL, on demand and once for each state of the Scala sources.

sbt compiles once for each state of the sources and of gateware/numbers.py, which becomes the object
lanebox.vocabulary.Numbers. The compiled generator then runs without sbt, once for each component
and set of parameters. A JDK is needed, and sbt or Maven: without sbt, Maven fetches the sbt
launcher, pinned by version and checksum. Fetched files stay in build/sbt and generated ones in
build/spinal; nothing is written to the source tree.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from tools import numbers
from tools.locks import locked
from tools.verilog.sources import source_digest, source_files
from tools.verilog.spinal_errors import readable

ROOT = Path(__file__).resolve().parents[2]
PROJECT = ROOT / "gateware"
BUILD = ROOT / "build"
FETCHED = BUILD / "sbt"
OUTPUT = BUILD / "spinal"

LAUNCHER = ("org.scala-sbt", "sbt-launch", "1.12.14")
LAUNCHER_SHA256 = "1750c8fb61c2d2f82da40b2cd9014f4d8a1bd49a361402ea5b1cec061ed66578"

DIGEST_SHOWN = 12

# sbt runs in a copy of the project. GIVEN, OF_SBT and NUMBERS are places in that copy.
GIVEN = "given"  # the folder for the Scala sources of a user's own block
OF_SBT = ("project", "target")  # the folders that sbt writes to
# the Scala file that is generated from gateware/numbers.py
NUMBERS = Path("vocabulary", "Numbers.scala")

# Options of the JVM for programs that run for about a second, most of which is the start of the
# JVM.
SHORT_RUN = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")

# Tools --------------------------------------------------------------------------------------------


def _run(what, command, sources=(), **options):
    """Run `command` and return its output.

    If the command fails, a RuntimeError has the end of the output, with places in the files
    `sources`.
    """
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
    )
    if result.returncode:
        raise RuntimeError(
            f"{what} failed with status {result.returncode}:\n{readable(result.stdout, sources)}"
        )
    return result.stdout


def _require(program, package):
    if shutil.which(program) is None:
        raise RuntimeError(
            f"SpinalHDL needs `{program}`, which is not installed: install the package {package}"
        )


def _fetch_launcher():
    """Return the path of the sbt launcher. Maven fetches it once, with this computer's settings."""
    jar = FETCHED / f"{LAUNCHER[1]}-{LAUNCHER[2]}.jar"
    if not jar.exists():
        _require("mvn", "maven (or sbt)")
        _run(
            "fetching the sbt launcher",
            [
                "mvn",
                "-B",
                "-q",
                "dependency:copy",
                f"-Dartifact={':'.join(LAUNCHER)}",
                f"-DoutputDirectory={FETCHED}",
                f"-Dmaven.repo.local={FETCHED / 'maven'}",
            ],
        )
    found = hashlib.sha256(jar.read_bytes()).hexdigest()
    if found != LAUNCHER_SHA256:
        jar.unlink()
        raise RuntimeError(
            f"{jar.name} has the SHA-256 {found}; it must be {LAUNCHER_SHA256}. It "
            "was removed: find out where Maven got it from before you try again"
        )
    return jar


def _sbt():
    """Return the command that starts sbt, and the environment variables for sbt."""
    _require("java", "default-jdk-headless")
    options = [
        "-Dsbt.color=false",
        "-Dsbt.supershell=false",
        "-Dsbt.server.autostart=false",
        f"-Dsbt.boot.directory={FETCHED / 'boot'}",
        f"-Dsbt.ivy.home={FETCHED / 'ivy'}",
    ]
    environment = {"COURSIER_CACHE": str(FETCHED / "coursier"), **os.environ}
    if shutil.which("sbt"):
        return ["sbt", *options], environment
    return ["java", "-Xmx2g", *options, "-jar", str(_fetch_launcher())], environment


def _export(commands, folder, sources):
    """Run sbt's `commands` in `folder`.

    The last one must print a classpath, which is returned as a list.
    """
    sbt, environment = _sbt()
    output = _run("sbt", [*sbt, *commands], sources, cwd=folder, env=environment)
    paths = [line for line in output.splitlines() if not line.startswith("[")]
    return paths[-1].split(os.pathsep)


# Compilation --------------------------------------------------------------------------------------


def _lock():
    """Return a lock that lets only one sbt run at a time: two would compile in the same folder."""
    return locked(OUTPUT / ".lock")


def _generation_lock(verilog):
    """Return the lock of one Verilog file. Other files are generated at the same time."""
    return locked(OUTPUT / ".locks" / verilog.parent.name)


def _sources(*scopes):
    """Return the sbt project's build files, and its Scala sources in `scopes`: "main", "test"."""
    folders = {"main": PROJECT, "test": PROJECT / "test"}
    definition = [PROJECT / "build.sbt", *source_files(PROJECT / "project")]
    return definition + [
        file for scope in scopes for file in source_files(folders[scope], pattern="*/**/*.scala")
    ]


def _numbers():
    return numbers.scala(PROJECT / "numbers.py")


def _digest(scopes, scala=()):
    """Return the SHA-256, in hexadecimal, over the sources that sbt compiles."""
    sources = source_digest(_sources(*scopes), scala)
    return hashlib.sha256(f"{sources}\0{_numbers()}".encode()).hexdigest()


def _copy_project(name, scopes, scala=()):
    """Copy the sbt project to build/, and add Numbers.scala and the sources `scala`.

    Earlier results of sbt in the copy are kept. Returns the copy's folder.
    """
    copy = OUTPUT / name
    for kept in copy.glob("*"):
        if kept.is_dir() and kept.name not in OF_SBT:
            shutil.rmtree(kept)
    for file in _sources(*scopes):
        target = copy / file.relative_to(PROJECT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, target)
    if scopes:
        (copy / NUMBERS).write_text(_numbers())
    for file in scala:
        (copy / GIVEN).mkdir(exist_ok=True)
        shutil.copy(file, copy / GIVEN / file.name)
    return copy


def _is_complete(classpath):
    return classpath.exists() and all(
        Path(entry).exists() for entry in classpath.read_text().split(os.pathsep)
    )


def _compile(name, digest, commands, copy_project, sources=()):
    """Return the classpath that sbt's `commands` print, as one text.

    sbt runs only if there is no result for this digest yet. Classes are kept for each digest of the
    sources, so going back to an earlier state of the sources costs nothing.
    """
    kept = OUTPUT / f"{name}-{digest[:DIGEST_SHOWN]}"
    classpath = kept / "classpath"
    if not _is_complete(classpath):
        print(
            f"sbt {'; '.join(commands)} (the first time sbt fetches itself and what that needs, "
            "up to 180 MB)",
            file=sys.stderr,
            flush=True,
        )
        project = copy_project()
        entries = _export(commands, project, sources)
        shutil.rmtree(kept, ignore_errors=True)
        kept.mkdir()
        for number, entry in enumerate(entries):
            if Path(entry).is_relative_to(project):
                entries[number] = str(kept / Path(entry).name)
                shutil.copytree(entry, entries[number])
        # The file `classpath` is written last, so that the result of an interrupted run lacks the
        # file and does not count.
        classpath.write_text(os.pathsep.join(entries))
    return classpath.read_text()


def compile_tests():
    """Compile the project's ScalaTest suites. Return the classpath with which they run."""
    with _lock():
        return _compile(
            "test",
            _digest(["main", "test"]),
            ["Test/compile", "export Test/fullClasspath"],
            lambda: _copy_project("project-test", ["main", "test"]),
            _sources("main", "test"),
        )


def formatter():
    """Return the command that formats Scala sources: scalafmt in build.sbt's version."""
    with _lock():
        classpath = _compile(
            "format",
            source_digest(_sources()),
            ["export format/Runtime/managedClasspath"],
            lambda: _copy_project("project-format", []),
        )
    return [
        "java",
        *SHORT_RUN,
        "-cp",
        classpath,
        "org.scalafmt.cli.Cli",
        "--config",
        str(PROJECT / ".scalafmt.conf"),
        "--non-interactive",
    ]


# Generation ---------------------------------------------------------------------------------------


def _arguments(name, value):
    """Return a parameter as `name=value` words, which Arguments.scala reads.

    A list gives a word for each of its values.
    """
    if isinstance(value, (list, tuple)):
        return [word for each in value for word in _arguments(name, each)]
    if isinstance(value, bool):
        value = str(value).lower()
    if not isinstance(value, (int, str)):
        raise ValueError(
            f"parameter {name} is {value!r}: a generator takes whole numbers, truth "
            "values, text and lists of these"
        )
    return [f"{name}={value}"]


def generate(component, folder=None, **parameters):
    """Generate a component's Verilog file and return its path.

    The component's Scala sources are in `folder`, or, with None, in the project. `component` is the
    component's name in the package lanebox, like "Crc" or "completer.Completer". The part after the
    last dot is the name of the module.

    The object lanebox.<component>Verilog writes the file. It must be an App whose arguments are the
    output folder and a `name=value` for each of `parameters`, in the order of their names. Files
    with memory contents that SpinalHDL writes are put beside the Verilog file.
    """
    module = component.rpartition(".")[2]
    arguments = [word for item in sorted(parameters.items()) for word in _arguments(*item)]
    scala = source_files(folder, pattern="*.scala") if folder is not None else []
    sources = [*_sources("main"), *scala]
    digest = _digest(["main"], scala)
    key = hashlib.sha256("\0".join([digest, *arguments]).encode()).hexdigest()
    verilog = OUTPUT / f"{module}-{key[:DIGEST_SHOWN]}" / f"{module}.v"
    with _generation_lock(verilog):
        if not verilog.exists():
            with _lock():
                classpath = _compile(
                    "main",
                    digest,
                    ["compile", "export Runtime/fullClasspath"],
                    lambda: _copy_project("project", ["main"], scala),
                    sources,
                )
            _generate(component, arguments, classpath, verilog, sources)
    return verilog


def _generate(component, arguments, classpath, verilog, sources):
    """Run the generator in a fresh folder, which is then moved to its place.

    So an interrupted run leaves no partial file in that place.
    """
    _require("java", "default-jdk-headless")
    fresh = verilog.parent.with_name(f"fresh-{verilog.parent.name}")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    program = [f"lanebox.{component}Verilog", str(fresh), *arguments]
    try:
        _run(
            " ".join([f"generating {component}", *arguments]),
            ["java", *SHORT_RUN, "-cp", classpath, *program],
            sources,
            cwd=fresh,
        )
        if not (fresh / verilog.name).exists():
            raise RuntimeError(
                f"lanebox.{component}Verilog wrote no {verilog.name}: the names of the "
                "component and of the object must agree"
            )
        shutil.rmtree(verilog.parent, ignore_errors=True)
        fresh.rename(verilog.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
