# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""Tests of tools/verilog/spinal_build.py, which compiles and runs the SpinalHDL generators."""

import os
import re
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tools.verilog import spinal_build


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """Set PATH to an empty folder, and a build folder for the test. Return a function that adds
    programs to the folder of PATH.
    """
    monkeypatch.setattr(spinal_build, "OUTPUT", tmp_path / "spinal")
    monkeypatch.setattr(spinal_build, "FETCHED", tmp_path / "sbt")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    (tmp_path / "bin").mkdir()

    def add(name, script="exit 0"):
        path = tmp_path / "bin" / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return add


@pytest.fixture
def scala(tmp_path):
    folder = tmp_path / "block"
    folder.mkdir()
    (folder / "Block.scala").write_text("class Block")
    return folder


def fake_tools(tools, log, folder):
    """Add stand-ins for sbt and java that log their arguments. java also writes Verilog."""
    classes = folder / "spinal" / "project" / "target" / "classes"
    tools(
        "sbt",
        f'echo "sbt $@" >> {log}\n/bin/mkdir -p {classes}\n'
        f'echo "[info] done compiling"; echo "{classes}:{folder / "bin"}"',
    )
    tools(
        "java",
        f'echo "java $@" >> {log}\nset -- "$@"\n'
        'while [ "${1%Verilog}" = "$1" ]; do shift; done\n'
        'echo "module Block; endmodule" > "$2/Block.v"',
    )


@pytest.fixture
def log(tools, tmp_path):
    """Return the path of the log of the stand-ins for sbt and java."""
    fake_tools(tools, tmp_path / "log", tmp_path)
    return tmp_path / "log"


def runs(log, tool):
    return [line for line in log.read_text().splitlines() if line.startswith(tool)]


def test_generated_once_per_state_of_the_sources(scala, log):
    """generate() makes Verilog once for unchanged Scala sources.

    For changed Scala it makes new Verilog, and the old result stays.
    """
    first = spinal_build.generate("Block", scala)
    assert first.read_text() == "module Block; endmodule\n"
    assert spinal_build.generate("Block", scala) == first
    assert len(runs(log, "java")) == 1 and "lanebox.BlockVerilog" in runs(log, "java")[0]

    (scala / "Block.scala").write_text("class Block // changed")
    second = spinal_build.generate("Block", scala)
    assert second != first and first.exists()
    assert len(runs(log, "java")) == 2 and len(runs(log, "sbt")) == 2


def test_compiled_once_for_all_parameters(scala, log):
    """Other parameters, passed as name=value, give another Verilog file without compiling again."""
    files = {spinal_build.generate("Block", scala, tags=tags, straddle=True) for tags in (32, 64)}
    assert len(files) == 2
    assert len(runs(log, "sbt")) == 1
    assert [line.split()[-2:] for line in runs(log, "java")] == [
        ["straddle=true", "tags=32"],
        ["straddle=true", "tags=64"],
    ]
    assert spinal_build.generate("Block", scala, straddle=True, tags=64) in files
    assert len(runs(log, "java")) == 2


def test_two_parameters_are_generated_side_by_side(scala, log, tools, tmp_path):
    """Two generators with different parameters run at the same time: in this test each waits until
    the other has begun. The project is compiled once for both.
    """
    spinal_build.generate("Block", scala, tags=1)
    (tmp_path / "begun").mkdir()
    tools(
        "java",
        f'/bin/touch {tmp_path}/begun/$$\nn=0\nwhile set -- "$@" && [ "$(/bin/ls {tmp_path}/begun '
        '| /usr/bin/wc -l)" -lt 2 ]; do n=$((n + 1)); [ $n -lt 200 ] || exit 1; /bin/sleep 0.05; '
        'done\nwhile [ "${1%Verilog}" = "$1" ]; do shift; done\n'
        'echo "module Block; endmodule" > "$2/Block.v"',
    )
    with ThreadPoolExecutor() as pool:
        files = pool.map(lambda tags: spinal_build.generate("Block", scala, tags=tags), (32, 64))
        assert all(file.exists() for file in files)
    assert len(runs(log, "sbt")) == 1
    assert not list(spinal_build.OUTPUT.glob("fresh*"))


def test_a_list_is_one_word_for_each_value(scala, log):
    """A parameter with a list as its value becomes one name=value word for each element."""
    spinal_build.generate("Block", scala, window=["0,b", "0,a"], axi=False)
    assert runs(log, "java")[0].split()[-3:] == ["axi=false", "window=0,b", "window=0,a"]


def test_a_parameter_that_scala_cannot_read_is_refused(scala):
    """A parameter of another type is refused: Scala could not read Python's form of it."""
    with pytest.raises(ValueError, match=r"parameter size is 1\.5"):
        spinal_build.generate("Block", scala, size=1.5)


def test_tests_of_the_project_do_not_generate_again(log, monkeypatch, tmp_path):
    """After a new source of the project generate() makes each component again, but not after a new
    test of the project.
    """
    project = tmp_path / "own"
    shutil.copytree(spinal_build.PROJECT, project)
    monkeypatch.setattr(spinal_build, "PROJECT", project)
    first = spinal_build.generate("Block")
    suite = project / "test" / "mmio" / "NewTest.scala"
    suite.parent.mkdir(parents=True, exist_ok=True)
    suite.write_text("class NewTest")
    assert spinal_build.generate("Block") == first
    (project / "mmio" / "New.scala").write_text("class New")
    assert spinal_build.generate("Block") != first
    assert not (spinal_build.OUTPUT / "project" / "test").exists()


def test_classes_that_went_missing_are_compiled_again(scala, log):
    """If compiled classes are missing, the project is compiled again."""
    spinal_build.generate("Block", scala)
    for folder in spinal_build.OUTPUT.glob("main-*"):
        shutil.rmtree(folder / "classes")
    spinal_build.generate("Block", scala, other=1)
    assert len(runs(log, "sbt")) == 2


def test_what_was_generated_needs_no_tools(scala, log, monkeypatch, tmp_path):
    """generate() needs no Java for Verilog that it has made before."""
    first = spinal_build.generate("Block", scala)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    assert spinal_build.generate("Block", scala) == first


def test_a_component_under_another_name_is_refused(scala, log):
    """If a generator writes no file with the component's name, generate() raises an error."""
    with pytest.raises(RuntimeError, match="OtherVerilog wrote no Other.v"):
        spinal_build.generate("Other", scala)


def test_the_project_gets_the_sources_of_the_block_alone(scala, log):
    """The copy of the project that sbt compiles has Lanebox's sources and those of this user's
    block.

    It has no file of a block that was built before.
    """
    spinal_build.generate("Block", scala)
    (scala / "Block.scala").rename(scala / "Neighbour.scala")
    spinal_build.generate("Block", scala)
    copy = spinal_build.OUTPUT / "project"
    assert {path.name for path in (copy / spinal_build.GIVEN).glob("*.scala")} == {
        "Neighbour.scala"
    }
    assert (copy / "vocabulary" / "LaneboxConfig.scala").exists()
    assert (spinal_build.OUTPUT / "project" / "build.sbt").exists()


@pytest.mark.parametrize(
    "present, missing, package",
    [
        ([], "java", "default-jdk-headless"),
        (["java"], "mvn", "maven"),
    ],
)
def test_a_missing_tool_is_named_with_its_package(tools, scala, present, missing, package):
    """If a tool is missing, the error of generate() names the tool, and the package that has it."""
    for name in present:
        tools(name)
    with pytest.raises(RuntimeError, match=f"`{missing}`.* install the package {package}"):
        spinal_build.generate("Block", scala)


def test_a_failed_compilation_shows_its_end_and_leaves_nothing(tools, scala):
    """The error of a failed compilation has sbt's last lines, and the next call compiles again."""
    tools("java")
    tools("sbt", "echo '[error] no such thing'; exit 3")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="status 3(.|\n)*no such thing"):
            spinal_build.generate("Block", scala)


def test_a_broken_rule_is_shown_without_the_stack(tools, scala, log):
    """The error of generate() has the message of a failed Scala `require`, even if a long stack
    trace follows it.
    """
    tools(
        "java",
        "echo 'requirement failed: 3 tags'\n"
        "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf '\\tat f\\n[error]  at g\\n'; done; exit 1",
    )
    for _ in range(2):
        with pytest.raises(RuntimeError, match="generating Block tags=3(.|\n)*failed: 3 tags$"):
            spinal_build.generate("Block", scala, tags=3)


def test_a_wrong_launcher_is_refused_and_removed(tools, scala, tmp_path):
    """A sbt launcher from Maven with another SHA-256 than the pinned one is removed and not run."""
    tools("java", f"echo run > {tmp_path}/ran")
    mkdir, jar = "/bin/mkdir", f"{tmp_path}/sbt/sbt-launch-1.12.14.jar"
    tools("mvn", f"{mkdir} -p {tmp_path}/sbt; echo evil > {jar}")
    with pytest.raises(RuntimeError, match="has the SHA-256 .*; it must be 1750c8fb"):
        spinal_build.generate("Block", scala)
    assert not os.path.exists(jar) and not (tmp_path / "ran").exists()


def test_editors_and_make_lint_use_the_same_formatter():
    """build.sbt, which fetches scalafmt, and .scalafmt.conf name the same version."""
    project = spinal_build.PROJECT
    fetched = re.search(r'scalafmtVersion = "(.*?)"', (project / "build.sbt").read_text())
    said = re.search(r"version = (.*)", (project / ".scalafmt.conf").read_text())
    assert fetched.group(1) == said.group(1)
