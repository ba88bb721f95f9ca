// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The sbt project with all SpinalHDL of the gateware. Its sources are in the folders of the stages,
// beside the Migen sources, and its tests are in test/. tools.verilog.spinal_build copies them into
// build/ and runs sbt there. A user's own SpinalHDL sources are put into the folder "given" there.

val spinalVersion   = "1.14.2"
val scalafmtVersion = "3.7.17" // The same as in .scalafmt.conf, where editors look for it.

// The formatter that `make lint` uses. It is a project of its own, so that sbt fetches it only when
// it is run.
lazy val format = (project in file("format"))
  .settings(
    scalaVersion := "2.13.12",
    libraryDependencies += "org.scalameta" %% "scalafmt-cli" % scalafmtVersion
  )

// Folders beside this file that hold no SpinalHDL sources of the gateware.
val notStages = Set("project", "format", "target", "test")

lazy val lanebox = (project in file("."))
  .settings(
    name         := "lanebox",
    scalaVersion := "2.13.12",
    scalacOptions ++= Seq("-deprecation", "-feature"),
    libraryDependencies ++= Seq(
      "com.github.spinalhdl" %% "spinalhdl-core" % spinalVersion,
      "com.github.spinalhdl" %% "spinalhdl-lib"  % spinalVersion,
      "org.scalatest" %% "scalatest" % "3.2.19" % Test,
      compilerPlugin("com.github.spinalhdl" %% "spinalhdl-idsl-plugin" % spinalVersion)
    ),
    Compile / unmanagedSourceDirectories :=
      (baseDirectory.value * DirectoryFilter).get().filterNot(folder => notStages(folder.getName)),
    Test / unmanagedSourceDirectories := Seq(baseDirectory.value / "test"),
    // SpinalHDL must not share a JVM with sbt: it keeps global state from run to run.
    fork := true
  )
