// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio

import spinal.core._
import spinal.lib._

import lanebox.interrupt.RegisterPort
import lanebox.virtio.queue.{Kick, QueueContext}
import lanebox.virtio.vocabulary.{RingFeatures, Violation, VirtioParam}
import lanebox.vocabulary.{ModuleName, Numbers}

/** The page of registers of a virtio device: those of virtio-mmio version 2 (VirtIO 1.2, 4.2.2),
  * and two registers of Lanebox behind them.
  *
  * A status of 0 starts a reset. `drain` then asks the queues to come to rest, and `drained` says
  * that they have, and that everything that they wrote is in host memory. Until then `status` reads
  * its old value, QueueReady reads 0, and all writes to the page are ignored. A violation sets
  * NEEDS_RESET: no queue is `live` any more.
  *
  * A driver that has accepted RING_RESET may reset a queue alone. Then only this queue has to come
  * to rest, and until then QueueReset reads 1, and the queue can neither be set up nor be made
  * ready. If the driver resets another queue meanwhile, both resets end together.
  */
case class VirtioRegisters(p: VirtioParam) extends Component {
  ModuleName(this, s"device${p.id}")
  import VirtioRegisters._

  val io = new Bundle {
    val registers = slave(RegisterPort(AddressBits))
    val contexts  = out(Vec(QueueContext(p.sizeWidth), p.queues))
    val running   = out Bool ()                // The driver runs the device.
    val live      = out Bits (p.queues bits)   // Bit n: queue n may be served.
    val features  = out(RingFeatures(p.packed))
    val kicks     = out(Vec(Kick(p.pairs), 2)) // For receive queues and for transmit queues.
    val control   = out Bool ()                // The control queue, the last one, is notified.
    val drain     = out Bits (p.queues bits)   // Bit n: queue n is being reset.
    val drained   = in Bits (p.queues bits)
    // A pulse at the end of a reset: all state of the device is cleared.
    val clear     = out Bool ()
    val violation = slave(Flow(Violation()))
    // A pulse in bit n: the driver wants to know of new used entries of queue n.
    val announced = in Bits (p.queues bits)
    val dropped   = in UInt (32 bits)
    val link      = in Bool () // The net device's link is up.
    // Interrupt causes: one for each queue, and one for a change of the configuration.
    val causes = out Bits (p.queues + 1 bits)
  }
  val bus     = io.registers
  val address = bus.address @@ U"00"

  val status                     = Reg(Bits(8 bits)) init 0
  val resetting                  = RegInit(False)
  val write                      = bus.write && !resetting
  val data                       = bus.writeData
  val interrupts                 = Reg(Bits(2 bits)) init 0
  val reason                     = Reg(Violation()) init Violation.none
  def written(offset: Int): Bool = write && address === offset

  val onFeatures = new Area {
    val deviceUpper = Reg(Bool()) init False
    val driverUpper = Reg(Bool()) init False
    val low, high   = Reg(Bits(32 bits)) init 0
    // Feature words beyond the second one do not exist: they read 0, and writes are ignored.
    val deviceBeyond, driverBeyond = Reg(Bool()) init False
    val frozen                     = status(FeaturesOk)
    when(written(DeviceFeaturesSel)) {
      deviceUpper  := data(0)
      deviceBeyond := data(31 downto 1).orR
    }
    when(written(DriverFeaturesSel)) {
      driverUpper  := data(0)
      driverBeyond := data(31 downto 1).orR
    }
    when(written(DriverFeatures) && !frozen && !driverBeyond) {
      when(driverUpper)(high := data) otherwise (low := data)
    }
    private def word(n: Int) = B(p.features >> (32 * n) & 0xffffffffL, 32 bits)
    val offered              = (deviceUpper ? word(1) | word(0)).andMask(!deviceBeyond)
    val accepted             = high ## low
    val unknown              = (accepted & ~(word(1) ## word(0))).orR
    val lacking              = (~accepted & B(VirtioParam.Required, 64 bits)).orR
    val fit                  = !unknown && !lacking

    io.features.indirect             := accepted(VirtioParam.Indirect)
    io.features.eventIndex           := accepted(VirtioParam.EventIndex)
    io.features.merge                := (if (p.merges) accepted(VirtioParam.NetMerge) else False)
    if (p.packed) io.features.packed := accepted(VirtioParam.Packed)
  }

  val onQueues = new Area {
    val selected = Reg(UInt(log2Up(p.queues) bits)) init 0
    val exists   = Reg(Bool()) init True // The device has a queue with the selected number.
    val ready    = Reg(Bits(p.queues bits)) init 0
    val stopping = Reg(Bits(p.queues bits)) init 0 // Queues that are being reset.
    val fresh = RegInit(False) // In the cycle before, the driver wrote 1 to QueueReady.

    /** VirtIO 1.2, 5.1.2: the control queue is the one behind the first pair if the driver has
      * accepted CTRL_VQ and not MQ. It then has the cause of that number.
      */
    val lone = if (p.control) {
      import VirtioParam.{NetControl, NetPairs}
      onFeatures.accepted(NetControl) && !onFeatures.accepted(NetPairs)
    } else False
    when(written(QueueSel)) {
      selected := data.asUInt.resized
      exists   := data.asUInt < p.queues
      when(lone && data.asUInt === LoneControl) { selected := p.queues - 1 }
    }
    val contexts = Vec(Reg(QueueContext(p.sizeWidth)), p.queues)
    // The faults of each queue are noted when its registers are written. So a queue that is made
    // ready selects a few bits, and no addresses.
    val faults = Vec(Reg(Faults()), p.queues)
    for ((context, n) <- contexts.zipWithIndex) {
      val mine = exists && selected === n && !ready(n) && !stopping(n)
      def half(offset: Int, field: UInt): Unit = {
        when(written(offset) && mine)(field(31 downto 0)      := data.asUInt)
        when(written(offset + 4) && mine)(field(63 downto 32) := data.asUInt)
      }
      when(written(QueueDesc) && mine)(faults(n).descriptors := data(3 downto 0) =/= 0)
      when(written(QueueDriver) && mine) {
        faults(n).available := data(0)
        faults(n).half      := data(1)
      }
      when(written(QueueDevice) && mine)(faults(n).used := data(1 downto 0) =/= 0)
      half(QueueDesc, context.descriptors)
      half(QueueDriver, context.available)
      half(QueueDevice, context.used)
      context.size init 0
      faults(n).size init True
      // A size that does not fit becomes 0, which is refused when the queue is made ready.
      when(written(QueueNum) && mine) {
        context.size := (data.asUInt <= p.queueSize) ? data.asUInt.resize(p.sizeWidth) | U(
          0,
          p.sizeWidth bits
        )
        faults(n).size := data.asUInt > p.queueSize || CountOne(data.resize(p.sizeWidth)) =/= 1
      }
    }
    val its = faults(selected)
    // The event structures of a packed ring have a dword each.
    val half = if (p.packed) io.features.packed && its.half else False
    fresh := written(QueueReady) && exists && data(0) && !ready(selected) && !stopping(selected)
    val wrong = fresh && (its.size || its.descriptors || its.available || its.used || half)
    when(written(QueueReady) && exists && !data(0)) { ready(selected) := False }
    when(fresh && !wrong) { ready(selected) := True }
    val stops = written(QueueReset) && exists && data(0) &&
      onFeatures.accepted(VirtioParam.RingReset)

    io.contexts := contexts
    io.running := !resetting && status(DriverOk) && status(FeaturesOk) &&
      !status(NeedsReset) && !status(Failed)
    io.live := ready.andMask(io.running)

    val notified = written(QueueNotify)
    val queue    = data(15 downto 0).asUInt
    val last     = lone ? U(LoneControl, 16 bits) | U(p.queues - 1, 16 bits)
    io.control := (if (p.control) notified && queue === last else False)
    for ((kick, direction) <- io.kicks.zipWithIndex) {
      for (n <- 0 until p.pairs) kick.pairs(n) := notified && queue === 2 * n + direction
      kick.hinted := onFeatures.accepted(VirtioParam.NotificationData)
      kick.index  := data(31 downto 16).asUInt
    }
  }

  val onStatus = new Area {
    val asked = written(Status)
    when(asked) {
      when(data(7 downto 0) === 0) {
        resetting := True
      } otherwise {
        status             := data(7 downto 0)
        status(FeaturesOk) := data(FeaturesOk) && (status(FeaturesOk) || onFeatures.fit)
        status(NeedsReset) := status(NeedsReset)
      }
    }
    val broken     = io.violation.valid || onQueues.wrong
    val linked     = RegNext(io.link) init True
    val changes    = if (p.frames) linked =/= io.link else False
    val fault      = onQueues.wrong.mux(True -> Violation.setup(), False -> io.violation.payload)
    val tells      = broken && !status(NeedsReset)
    val configured = RegNext((tells || changes) && status(DriverOk)) init False
    when(tells) {
      status(NeedsReset) := True
      reason             := fault
    }

    /** The end of the resets that are under way: that of the device, or of some of its queues. */
    val end = new Area {
      import onQueues.{contexts, faults, ready, selected, stopping, stops}
      val drained = (io.drained | ~stopping).andR
      // The pipelines behind the queues are empty some cycles after the queues are at rest.
      val rests = Reg(UInt(4 bits)) init 0
      val comes = rests.andR
      rests    := (stopping.orR && drained) ? (rests + 1) | U(0, 4 bits)
      io.drain := stopping
      io.clear := comes && resetting
      for (n <- 0 until p.queues) when(comes && stopping(n)) {
        stopping(n)      := False
        ready(n)         := False
        contexts(n).size := 0
        faults(n).size   := True
      }
      when(io.clear) {
        resetting       := False
        status          := 0
        interrupts      := 0
        reason          := Violation.none
        onFeatures.low  := 0
        onFeatures.high := 0
      }
      // A reset that begins now has all its cycles, even if other resets end now.
      val begins = asked && data(7 downto 0) === 0
      when(stops) {
        ready(selected)    := False
        stopping(selected) := True
      }
      when(begins) {
        stopping.setAll()
        ready.clearAll()
      }
      when(stops || begins) { rests := 0 }
    }
  }

  val onInterrupts = new Area {
    val set     = onStatus.configured ## io.announced.orR
    val cleared = data(1 downto 0).andMask(written(InterruptAck))
    when(!io.clear) { interrupts := (interrupts & ~cleared) | set }
    // By the number that the driver has of each queue.
    val announced = CombInit(io.announced)
    if (p.control) when(onQueues.lone) {
      announced(LoneControl)  := io.announced.msb
      announced(p.queues - 1) := False
    }
    val causes = RegNext(onStatus.configured ## announced) init 0
    io.causes := causes
  }

  val onRead = new Area {
    val words = p.config.zipWithIndex.map { case (word, n) =>
      (Config + 4 * n) -> B(word, 32 bits)
    }
    // The state of the net device's link is bit 16 of the configuration's second word.
    val state = if (p.frames) Seq((Config + 4) -> (io.link ## B(0, 16 bits)).resize(32)) else Seq()
    val fixed = Seq(
      MagicValue   -> B(Numbers.VirtioMagic, 32 bits),
      Version      -> B(2, 32 bits),
      DeviceId     -> B(p.id, 32 bits),
      VendorId     -> B(Numbers.VirtioVendor, 32 bits),
      ShmLength    -> B(BigInt(0xffffffffL), 32 bits), // No shared memory (VirtIO 1.2, 4.2.2).
      ShmLengthTop -> B(BigInt(0xffffffffL), 32 bits)
    )
    val varying = Seq(
      DeviceFeatures -> onFeatures.offered,
      QueueNumMax    -> B(p.queueSize, 32 bits).andMask(onQueues.exists),
      QueueReady     -> (onQueues.ready(onQueues.selected) && onQueues.exists).asBits.resize(32),
      QueueReset     -> (onQueues.stopping(onQueues.selected) && onQueues.exists).asBits.resize(32),
      InterruptStatus -> interrupts.resize(32),
      Status          -> status.resize(32),
      Reason          -> reason.asBits.resize(32),
      Dropped         -> io.dropped.asBits
    ) ++ state
    // Two selections side by side are less deep than one. An address is in one of them only, and
    // the other one gives 0.
    def select(words: Seq[(Int, Bits)]): Bits = {
      val value = B(0, 32 bits)
      switch(address) {
        for ((offset, word) <- words) is(offset)(value := word)
      }
      RegNext(value)
    }
    val constant = select(fixed ++ words)
    val variable = select(varying)
    bus.readData := constant | variable
  }
}

object VirtioRegisters {

  /** The faults of a queue's registers: its size is no power of two, or too large. An area is not at a
    * multiple of 16, 2 or 4. `half` says that the driver's area is not at a multiple of 4.
    */
  case class Faults() extends Bundle {
    val size, descriptors, available, used, half = Bool()
  }

  val AddressBits = log2Up(Numbers.PageBytes / 4)

  /** The number of the control queue to a driver that uses one pair of queues. */
  val LoneControl = 2

  // Byte offsets in the page.
  val MagicValue        = 0x000
  val Version           = 0x004
  val DeviceId          = 0x008
  val VendorId          = 0x00c
  val DeviceFeatures    = 0x010
  val DeviceFeaturesSel = 0x014
  val DriverFeatures    = 0x020
  val DriverFeaturesSel = 0x024
  val QueueSel          = 0x030
  val QueueNumMax       = 0x034
  val QueueNum          = 0x038
  val QueueReady        = 0x044
  val QueueNotify       = 0x050
  val InterruptStatus   = 0x060
  val InterruptAck      = 0x064
  val Status            = 0x070
  val QueueDesc         = 0x080
  val QueueDriver       = 0x090
  val QueueDevice       = 0x0a0
  val QueueReset        = 0x0c0
  val ShmLength         = 0x0b0
  val ShmLengthTop      = 0x0b4
  val Config            = 0x100
  val Reason            = Numbers.VirtioReason
  val Dropped           = Numbers.VirtioDropped

  // Bits of the device status (VirtIO 1.2, 2.1).
  val DriverOk   = 2
  val FeaturesOk = 3
  val NeedsReset = 6
  val Failed     = 7
}
