// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

/** Values of the field EtherType of an Ethernet frame, which says what comes behind it. */
object EtherType {
  val Ipv4  = 0x0800
  val Arp   = 0x0806
  val Ipv6  = 0x86dd
  val Local = 0x88b5 // IEEE 802 reserves this value for local experiments.

  /** In place of an EtherType each of these begins a VLAN tag: that of IEEE 802.1Q, that of 802.1ad
    * for providers, and the one that providers had before.
    */
  val Tags = Seq(0x8100, 0x88a8, 0x9100)
}
