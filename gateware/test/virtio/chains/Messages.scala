// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.virtio.chains

import scala.collection.mutable

/** The messages that the driver has sent and that have not come back yet. */
class Messages {
  private val out   = mutable.Queue[Array[Byte]]()
  private var begun = 0 // Bytes of the first message that have come back.
  var bytes         = 0 // Bytes that have not come back.

  def size: Int = out.size
  def sent(data: Array[Byte]): Unit = {
    out += data
    bytes += data.length
  }

  /** Returns what the next receive chain gets: a chain never has parts of two messages. */
  def next(room: Int): Seq[Byte] = {
    assert(out.nonEmpty, "a receive chain is used, and no message was sent")
    val data  = out.head
    val count = room min data.length - begun
    val part  = data.slice(begun, begun + count)
    begun += count
    bytes -= count
    if (begun == data.length) {
      out.dequeue()
      begun = 0
    }
    part.toSeq
  }
}
