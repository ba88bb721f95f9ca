// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._
import spinal.core.sim._

/** Compiles a component for simulation, with the same SpinalHDL configuration as for the FPGA (a
  * synchronous reset).
  */
object LaneboxSim {

  /** The folder for compiled simulations. SuiteRunner changes it for each suite. */
  var workspace = "simWorkspace"

  def apply[T <: Component](component: => T): SimCompiled[T] =
    SimConfig
      .workspacePath(workspace)
      .withConfig(LaneboxConfig(targetDirectory = "tmp"))
      .compile(component)
}
