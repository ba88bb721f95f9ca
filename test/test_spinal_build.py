# This file is part of Lanebox.
# Copyright (c) 2026 Lanebox contributors
# SPDX-License-Identifier: BSD-2-Clause

"""spinal_build.py"""

import os
import stat

import pytest

from lanebox import spinal_build


@pytest.fixture
def tools(monkeypatch, tmp_path):
    """An empty PATH to put programs into, and a build folder of the test's own."""
    monkeypatch.setattr(spinal_build, "OUTPUT", tmp_path/"spinal")
    monkeypatch.setattr(spinal_build, "FETCHED", tmp_path/"sbt")
    monkeypatch.setenv("PATH", str(tmp_path/"bin"))
    (tmp_path/"bin").mkdir()

    def add(name, script="exit 0"):
        path = tmp_path/"bin"/name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)

    return add


@pytest.fixture
def scala(tmp_path):
    folder = tmp_path/"block"
    folder.mkdir()
    (folder/"Block.scala").write_text("class Block")
    return folder


def fake_sbt(tools, log):
    """An sbt that notes its arguments and writes the component that it is asked for."""
    tools("java")
    tools("sbt", f'echo "$@" >> {log}\nfor last; do :; done\n'
        'echo "module Block; endmodule" > "${last##* }/Block.v"')


def test_generated_once_per_state_of_the_sources(tools, scala, tmp_path):
    """The same Scala is generated once; changed Scala again, and the old result stays valid."""
    log = tmp_path/"log"
    fake_sbt(tools, log)
    first = spinal_build.generate("Block", scala)
    assert first.read_text() == "module Block; endmodule\n"
    assert spinal_build.generate("Block", scala) == first
    assert log.read_text().count("runMain lanebox.BlockVerilog") == 1

    (scala/"Block.scala").write_text("class Block // changed")
    second = spinal_build.generate("Block", scala)
    assert second != first and first.exists()
    assert log.read_text().count("runMain") == 2


def test_the_project_gets_the_sources_of_the_block_alone(tools, scala, tmp_path):
    """The copy that is compiled has the project and this block, not the block before it."""
    fake_sbt(tools, tmp_path/"log")
    spinal_build.generate("Block", scala)
    (scala/"Block.scala").rename(scala/"Other.scala")
    spinal_build.generate("Block", scala)
    main = spinal_build.OUTPUT/"project"/"src"/"main"/"scala"
    assert {path.name for path in main.rglob("*.scala")} == {"Other.scala", "LaneboxConfig.scala"}
    assert (spinal_build.OUTPUT/"project"/"build.sbt").exists()


@pytest.mark.parametrize("present, missing, package", [
    ([],       "java", "default-jdk-headless"),
    (["java"], "mvn",  "maven"),
])
def test_a_missing_tool_is_named_with_its_package(tools, scala, present, missing, package):
    """Without the tools the error says what to install."""
    for name in present:
        tools(name)
    with pytest.raises(RuntimeError, match=f"`{missing}`.* install the package {package}"):
        spinal_build.generate("Block", scala)


def test_a_failed_run_shows_its_end_and_leaves_nothing(tools, scala):
    """The error has sbt's last lines; the next call tries again."""
    tools("java")
    tools("sbt", "echo '[error] no such thing'; exit 3")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="status 3(.|\n)*no such thing"):
            spinal_build.generate("Block", scala)


def test_a_wrong_launcher_is_refused_and_removed(tools, scala, tmp_path):
    """What Maven brings is run only if it is the pinned file."""
    tools("java", f"echo run > {tmp_path}/ran")
    mkdir, jar = "/bin/mkdir", f"{tmp_path}/sbt/sbt-launch-1.12.14.jar"
    tools("mvn", f"{mkdir} -p {tmp_path}/sbt; echo evil > {jar}")
    with pytest.raises(RuntimeError, match="has the SHA-256 .*; it must be 1750c8fb"):
        spinal_build.generate("Block", scala)
    assert not os.path.exists(jar) and not (tmp_path/"ran").exists()
