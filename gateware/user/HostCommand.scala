// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.user

import spinal.core._

import lanebox.vocabulary.{HardBlock, Numbers}

/** A command of user logic: the card reads or writes `bytes` bytes of host memory, from any byte
  * address on. These bytes must lie in 1 to 1024 dwords.
  */
case class HostCommand() extends Bundle {
  val write   = Bool()
  val address = UInt(64 bits)
  val bytes   = UInt(Numbers.CommandBytesBits bits)
  val context = Bits(Numbers.CommandContextBits bits) // Chosen by the user logic; returned in Done.
}

object HostCommand {

  /** A beat of a command's data. The command's byte 0 is in lane 0 of its first beat.
    *
    * `bytes` and `error` are valid with `last`, and only in the data of reads. `bytes` says how
    * many bytes of the beat are valid; 0 means all 32. `error` says that data is missing.
    */
  case class Beat() extends Bundle {
    val data  = Bits(HardBlock.DataWidth bits)
    val bytes = UInt(Numbers.StreamBytes bits)
    val error = Bool()
  }

  /** The end of a command. `error` is a ReadError, or Numbers.CommandRefused if the command was not
    * carried out. A write that was carried out has no error: the host does not answer writes.
    */
  case class Done() extends Bundle {
    val write   = Bool()
    val context = Bits(Numbers.CommandContextBits bits)
    val error   = UInt(3 bits)
  }

  /** The number of beats of a command's data, 0 to 256. More than 128 are refused. */
  def Beats(): UInt = UInt(Numbers.CommandBytesBits - 4 bits)
}
