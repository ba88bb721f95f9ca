// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import org.scalatest.funsuite.AnyFunSuite

import spinal.core._

/** Tests that ModuleName names the Verilog module of each variant of a component after the top
  * component, the component and the variant.
  */
class ModuleNameTest extends AnyFunSuite {
  case class Adder(step: Int) extends Component {
    ModuleName(this, s"by$step")
    val io = new Bundle {
      val up   = in UInt (4 bits)
      val down = out UInt (4 bits)
    }
    io.down := io.up + step
  }

  case class Sums() extends Component {
    val io = new Bundle {
      val up    = in UInt (4 bits)
      val downs = out Vec (UInt(4 bits), 2)
    }
    val adders = Seq(1, 3).map(Adder(_))
    for ((adder, down) <- adders.zip(io.downs)) {
      adder.io.up := io.up
      down        := adder.io.down
    }
  }

  test("a module is named after the top, its component and its variant") {
    val top = LaneboxConfig(targetDirectory = ".").generateVerilog(Sums()).toplevel
    assert(top.adders.map(_.definitionName) == Seq("Sums_Adder_by1", "Sums_Adder_by3"))
  }
}
