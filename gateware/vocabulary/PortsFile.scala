// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import java.nio.file.{Files, Paths}

import scala.collection.mutable

import spinal.core._
import spinal.core.internals._

/** Writes `<Component>.ports.json` beside the Verilog: each port's name, direction and width.
  *
  * gateware/vocabulary/spinal_instance.py makes the Migen instance with this file, and raises an
  * error if a port does not fit. `renamed` in the file lists each signal and each component whose
  * Verilog name differs from its Scala name: SpinalHDL appends a number to a name that is a keyword
  * or in use already.
  * `renamedValues` lists the elements of enumerations for which that is so.
  * `unnamed` lists each register or condition that has no name in Scala, so that SpinalHDL calls it
  * `_zz_`, if it is behind a port of its own component or drives an input of a child. Components of
  * SpinalHDL's library are left out, and so are other names that SpinalHDL makes up.
  */
object PortsFile {
  private val Anonymous = "_zz_" // The prefix of names that SpinalHDL makes up for signals.

  def addTo(phases: mutable.ArrayBuffer[Phase]): Unit = {
    val names    = new Names
    val allocate = phases.indexWhere(_.isInstanceOf[PhaseAllocateNames])
    phases.insert(allocate + 1, new Write(names))
    phases.insert(allocate, names)
  }

  /** Notes the names of all declarations before SpinalHDL makes them unique. */
  private class Names extends PhaseMisc {
    val wanted  = mutable.LinkedHashMap[Nameable, String]()
    val values  = mutable.LinkedHashMap[Nameable, String]()
    val unnamed = mutable.ArrayBuffer[BaseType]()

    override def impl(pc: PhaseContext): Unit = {
      for (kind <- pc.enums.keys; node <- kind.elements if node.isNamed)
        values(node) = node.getName()
      pc.walkDeclarations {
        case node: Nameable if node.isNamed && !madeUp(node.getName()) =>
          wanted(node) = node.getName()
        case signal: BaseType if isBehindPort(signal) => unnamed += signal
        case _                                        =>
      }
      pc.walkComponents { component =>
        for (child <- component.children if child.isNamed) wanted(child) = child.getName()
        if (isOurs(component)) unnamed ++= drivingChildren(component)
      }
    }

    private def madeUp(name: String) = Seq("when_", "switch_", Anonymous).exists(name.startsWith)

    private def isOurs(component: Component) =
      !component.getClass.getName.startsWith("spinal.lib.")

    private def isBehindPort(signal: BaseType) = isOurs(signal.component) &&
      signal.component.getAllIo.exists(port => signal.getName() == Anonymous + port.getName())

    /** Returns the unnamed signals of the component that are wired to an input of a child. */
    private def drivingChildren(component: Component) = for {
      child  <- component.children
      port   <- child.getAllIo.toSeq if port.isInput && port.hasOnlyOneStatement
      signal <- sourceOf(port.head) if signal.component == component
      if signal.getName().startsWith(Anonymous) && !unnamed.contains(signal)
    } yield signal

    private def sourceOf(statement: AssignmentStatement) = statement.source match {
      case signal: BaseType => Some(signal)
      case _                => None
    }
  }

  private class Write(names: Names) extends PhaseMisc {
    override def impl(pc: PhaseContext): Unit = {
      val top = pc.topLevel
      val ports = for (port <- top.getOrdredNodeIo if port.getBitsWidth > 0) yield {
        val direction = if (port.isInput) "input" else if (port.isOutput) "output" else "inout"
        val width     = port.getBitsWidth
        s"""{"name": "${port.getName()}", "direction": "$direction", "width": $width}"""
      }
      def renamed(wanted: Iterable[(Nameable, String)]) =
        for ((node, name) <- wanted.toSeq if node.getName() != name)
          yield s"""{"scala": "$name", "verilog": "${node.getName()}"}"""
      val unnamed = for (signal <- names.unnamed.toSeq)
        yield s""""${signal.component.definitionName}.${signal.getName()}""""
      val text =
        s"""{
           |  "component": "${top.definitionName}",
           |  "ports": ${list(ports.toSeq)},
           |  "renamed": ${list(renamed(names.wanted))},
           |  "renamedValues": ${list(renamed(names.values))},
           |  "unnamed": ${list(unnamed)}
           |}
           |""".stripMargin
      val file = Paths.get(pc.config.targetDirectory, s"${top.definitionName}.ports.json")
      Files.write(file, text.getBytes("UTF-8"))
    }

    private def list(rows: Seq[String]) =
      if (rows.isEmpty) "[]" else rows.mkString("[\n    ", ",\n    ", "\n  ]")
  }
}
