// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.pcie

import spinal.core._
import spinal.lib._
import spinal.lib.fsm._

/** A port of 32-bit registers, dword by dword; `readData` comes with the next cycle. */
case class RegisterPort(addressBits: Int) extends Bundle with IMasterSlave {
  val address   = UInt(addressBits bits)
  val write     = Bool()
  val writeData = Bits(32 bits)
  val readData  = Bits(32 bits)

  override def asMaster(): Unit = {
    out(address, write, writeData)
    in(readData)
  }
}

/** MSI-X (base specification 6.1.4): table, pending bits, and messages as writes to the host.
  *
  * The table's entries come first in `registers`, the pending bits right behind them. A vector that
  * may not be sent stays pending until it may. Its message goes through a fence outside, `fence` to
  * `fenced`, so that the data it announces is ahead of it; an interrupt that comes meanwhile is
  * sent on its own, because its data may not be.
  *
  * A vector may be masked when its message is already on its way to RQ, where it may wait for long.
  * The message is then taken back and its vector is pending again (6.1.4.5), unless it stands at
  * RQ's pins: what is offered there has to stay. A message is shown to RQ no later than two cycles
  * after the write of its mask. Hence one that comes after the mask was read back stood at the pins
  * before. The answer to a read of the table does not wait for it: writes to the card behind that
  * read would wait for RQ, too, and that is forbidden (2.4.1). A message that was taken back once
  * is never sent, even if its vector is unmasked before it has left: software may have changed the
  * entry meanwhile.
  */
case class MsixTable(vectors: Int = 32) extends Component {
  require(
    isPow2(vectors) && vectors >= 2 && vectors <= 32,
    s"$vectors MSI-X vectors: must be a power of two, 2 to 32"
  )
  val indexBits = log2Up(vectors)

  val io = new Bundle {
    val enable, functionMask = in Bool ()
    val irqs                 = in Bits (vectors bits) // Pulses.
    val registers            = slave(RegisterPort(MsixTable.addressBits(vectors)))
    val fence                = master(Stream(Bits(8 bits)))
    val fenced               = slave(Stream(Bits(8 bits)))
    val message              = master(MessagePort())
    val busy                 = out Bool ()            // A message is to be sent.
  }

  val chosen  = Reg(UInt(indexBits bits))
  val chose   = RegInit(False) // It is neither at RQ nor pending again yet.
  val pending = Reg(Bits(vectors bits)) init 0

  val table = new Area {
    val bus     = io.registers
    val inTable = !bus.address.msb
    val vector  = bus.address(indexBits + 1 downto 2)
    val control = bus.address(1 downto 0) === MsixTable.VectorControl

    // A block memory: address and data of an entry are undefined until they are written.
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
    bus.readData := RegNext(inTable && !control) ? stored | other
  }

  val sender = new Area {
    val open       = RegNext(io.enable && !io.functionMask) init False
    val sendable   = RegNext(open ? (pending & ~table.masked) | B(0, vectors bits))
    val behind     = Reg(Bits(vectors bits)) init 0 // Every vector has its turn.
    val turn       = Reg(Bits(vectors bits))
    val address    = Reg(UInt(64 bits))
    val data       = Reg(Bits(32 bits))
    val set, clear = B(0, vectors bits)
    pending := (pending & ~clear) | set | io.irqs

    io.fence.valid   := False
    io.fence.payload := chosen.asBits.resized
    io.fenced.ready  := False
    // Allowed throughout, since the message passed the fence.
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

    io.busy := RegNext(sendable.orR || chose) init False

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
      val await: State = new State { // It may have been masked while it waited.
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
        whenIsActive { // `table.read` is the field before.
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
  val VectorControl = 3 // The last dword of an entry.

  /** Dword addresses: four for each vector, and as much again, where the pending bits begin. */
  def addressBits(vectors: Int): Int = log2Up(vectors) + 3
}
