// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import scala.collection.mutable.ArrayBuffer

import spinal.core._

/** The SpinalHDL configuration with which Verilog is generated and tests are elaborated.
  *
  * Reset is synchronous, as in LiteX; SpinalHDL's own default is asynchronous. The header of a
  * Verilog file has neither date nor revision, so the same sources give the same bytes. The names
  * of modules inside a component begin with the component's name, since several generated files
  * meet in one design. PortsFile writes a list of the component's ports beside its Verilog.
  */
object LaneboxConfig {
  def apply(targetDirectory: String): SpinalConfig = SpinalConfig(
    targetDirectory = targetDirectory,
    defaultConfigForClockDomains = ClockDomainConfig(resetKind = SYNC),
    headerWithDate = false,
    headerWithRepoHash = false,
    privateNamespace = true,
    phasesInserters = ArrayBuffer(PortsFile.addTo(_))
  )
}
