// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.interrupt

import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

import lanebox.vocabulary.{MessagePort, Numbers}

/** Implements MSI-X (base specification 6.1.4): the table, the pending bits, and the messages,
  * which are writes to the host.
  *
  * In `registers` the table's entries come first and the pending bits right behind them. A vector
  * whose message may not be sent stays pending until the message may be sent. A message first waits
  * at a fence outside this component (`fence` to `fenced`), so that the data that the message
  * announces is ahead of it on RQ. If the same vector is raised again meanwhile, a second message
  * follows, since the data of the second interrupt may be behind the first message.
  *
  * Software may mask a vector while its message waits for RQ, which may take long. The message is
  * then withdrawn and the vector is pending again (6.1.4.5). Only a message that is already offered
  * at RQ's pins cannot be withdrawn. In the two cycles after the mask was written, a message can
  * still reach the pins. So if a message arrives after software has read the mask back, it was at
  * the pins before. A read of the table does not wait until such a message has gone: writes to the
  * card behind that read would then wait for RQ, too, and that is forbidden (2.4.1).
  *
  * A message that was withdrawn is never sent, even if its vector is unmasked before the message
  * is gone: software may have changed the table's entry meanwhile.
  */
case class MsixTable(vectors: Int = Numbers.MsiWidth) extends Component {
  require(
    isPow2(vectors) && vectors >= 2 && vectors <= Numbers.MsiWidth,
    s"$vectors MSI-X vectors: must be a power of two, 2 to ${Numbers.MsiWidth}"
  )
  val indexBits = log2Up(vectors)

  val io = new Bundle {
    val enable, functionMask = in Bool ()
    // A pulse in bit i raises the interrupt of vector i.
    val irqs      = in Bits (vectors bits)
    val registers = slave(RegisterPort(MsixTable.addressBits(vectors)))
    val fence     = master(Stream(Bits(8 bits)))
    val fenced    = slave(Stream(Bits(8 bits)))
    val message   = master(MessagePort())
    // `busy` says that an MSI-X message which may be sent waits, or is on its way to RQ.
    val busy = out Bool ()
  }

  val chosen = Reg(UInt(indexBits bits))
  // The vector `chosen` is no longer pending, and its message is neither at RQ's pins nor withdrawn
  // yet.
  val chose   = RegInit(False)
  val pending = Reg(Bits(vectors bits)) init 0

  val table = new Area {
    val bus     = io.registers
    val inTable = !bus.address.msb
    val vector  = bus.address(indexBits + 1 downto 2)
    val control = bus.address(1 downto 0) === MsixTable.VectorControl

    // The MSI-X table is a block memory, so address and data of an entry are undefined until
    // software writes them.
    val memory = Mem(Bits(32 bits), vectors * 4)
    memory.addAttribute("ram_style", "block")
    val writes = bus.write && inTable
    val stored = memory.readWriteSync(bus.address.resized, bus.writeData, True, writes)
    val field  = Reg(UInt(2 bits))
    val read   = memory.readSync(chosen @@ field)

    val masked = Reg(Bits(vectors bits)) init B(vectors bits, default -> True)
    when(writes && control)(masked(vector) := bus.writeData(0))

    val shown = pending | (chose ? UIntToOh(chosen, vectors) | B(0, vectors bits))
    val other = RegNext(
      inTable ? masked(vector).asBits.resize(32 bits) |
        ((bus.address.resize(indexBits + 2) === 0) ? shown.resize(32 bits) | B(0, 32 bits))
    )
    val shows = RegNext(inTable && !control)
    bus.readData := shows ? stored | other
  }

  val sender = new Area {
    val open     = RegNext(io.enable && !io.functionMask) init False
    val sendable = RegNext(open ? (pending & ~table.masked) | B(0, vectors bits))
    // Vectors above the one that was chosen last go first, so that every vector gets a turn.
    val behind     = Reg(Bits(vectors bits)) init 0
    val turn       = Reg(Bits(vectors bits))
    val address    = Reg(UInt(64 bits))
    val data       = Reg(Bits(32 bits))
    val set, clear = B(0, vectors bits)
    pending := (pending & ~clear) | set | io.irqs

    // No stream operator fits: the states of the machine offer to `fence` and to `message`, and
    // take from `fenced`. An offered message may also be withdrawn, which a stream does not allow.
    val number = chosen.asBits
    io.fence.valid   := False
    io.fence.payload := number.resized
    io.fenced.ready  := False
    // `revoked`: since the message passed the fence, its vector was masked or MSI-X was off at some
    // time. The message must then be withdrawn.
    val allowed = RegNext(open && !table.masked(chosen)) init False
    val fell    = Reg(Bool())
    val revoked = fell || !allowed
    fell := revoked

    io.message.offer.valid   := False
    io.message.offer.address := address
    io.message.offer.data    := data
    io.message.withdraw      := revoked

    def putBack(): Unit = {
      set   := UIntToOh(chosen, vectors)
      chose := False
    }

    val busy = RegNext(sendable.orR || chose) init False
    io.busy := busy

    val machine = new StateMachine {
      val choose: State = new State with EntryPoint {
        whenIsActive {
          val preferred = sendable & behind
          turn := OHMasking.first(preferred.orR ? preferred | sendable)
          when(sendable.orR)(goto(take))
        }
      }
      val take: State = new State {
        whenIsActive {
          behind := ~(turn.asUInt | (turn.asUInt - 1)).asBits
          chosen := OHToUInt(turn)
          chose  := True
          clear  := turn
          goto(ask)
        }
      }
      val ask: State = new State {
        whenIsActive {
          io.fence.valid := True
          table.field    := 0
          when(io.fence.ready)(goto(await))
        }
      }
      // If software masks the vector and unmasks it again while the message waits at the fence, the
      // message is not revoked: `fell` is kept cleared until the message passes.
      val await: State = new State {
        whenIsActive {
          fell := False
          when(io.fenced.valid) {
            io.fenced.ready := True
            table.field     := 1
            goto(read)
          }
        }
      }
      val read: State = new State {
        // `table.read` has the field that `table.field` chose in the cycle before.
        whenIsActive {
          table.field := table.field + 1
          switch(table.field) {
            is(1)(address(31 downto 0)  := table.read(31 downto 2).asUInt @@ U"00")
            is(2)(address(63 downto 32) := table.read.asUInt)
            default(data                := table.read)
          }
          when(table.field === MsixTable.VectorControl)(goto(send))
        }
      }
      val send: State = new State {
        whenIsActive {
          io.message.offer.valid := !revoked
          when(revoked) {
            putBack()
            goto(choose)
          } elsewhen (io.message.offer.ready) {
            goto(leave)
          }
        }
      }
      val leave: State = new State {
        whenIsActive {
          when(io.message.shown) {
            chose := False
            goto(choose)
          } elsewhen (io.message.dropped) {
            putBack()
            goto(choose)
          }
        }
      }
    }
  }
}

object MsixTable {
  val VectorControl = 3 // Number of the dword Vector Control in a table entry: the last one.

  /** Returns the number of bits of a dword address in `registers`. The table has four dwords for
    * each vector. The pending bits begin with the upper half of the addresses.
    */
  def addressBits(vectors: Int): Int = log2Up(vectors) + 3
}
