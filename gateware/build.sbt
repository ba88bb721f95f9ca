// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The one SpinalHDL project: sources under src/ and those of the component that is generated.
// lanebox.spinal_build copies it into build/ and runs it there; nothing is generated here.

val spinalVersion   = "1.14.2"
val scalafmtVersion = "3.7.17" // And in .scalafmt.conf, where editors look for it.

// The formatter of `make lint`, a project of its own: sbt fetches it only when it is run.
lazy val format = (project in file("format"))
  .settings(
    scalaVersion := "2.13.12",
    libraryDependencies += "org.scalameta" %% "scalafmt-cli" % scalafmtVersion
  )

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
    // SpinalHDL must not share a JVM with sbt: it keeps global state from run to run.
    fork := true
  )
