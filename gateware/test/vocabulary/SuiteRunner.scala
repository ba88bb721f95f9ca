// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import org.scalatest.tools.Runner
import scala.io.StdIn

/** Runs ScalaTest suites one after another in one JVM. Only the first suite then waits for
  * SpinalHDL to be loaded and compiled by the JVM.
  *
  * The argument is the folder of the suites' classes. Each line of the standard input is the name
  * of a suite. Its report goes to the standard output. The line that ends the report is [[Done]]
  * and `true` if all tests passed, or `false`. gateware/test/spinal_suites.py writes the names and
  * reads the reports.
  *
  * What a suite compiles for simulation goes to the folder ../SUITE/simWorkspace.
  */
object SuiteRunner {
  val Done = "suite done:"

  def main(arguments: Array[String]): Unit = {
    for (suite <- Iterator.continually(StdIn.readLine()).takeWhile(_ != null)) {
      LaneboxSim.workspace = s"../$suite/simWorkspace"
      // ScalaTest's options W and S: reports without colours and with short stack traces.
      val passed = Runner.run(Array("-oWS", "-R", arguments(0), "-s", suite))
      println(s"\n$Done $passed")
      Console.out.flush()
    }
    sys.exit(0) // A thread that a suite left running does not keep the JVM alive.
  }
}
