// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.capture

import org.scalatest.funsuite.AnyFunSuite

import lanebox.vocabulary.Seed

/** Every frame is delivered whole or lost whole, and counted once with its cause, whatever host and
  * frames do. test_capture_campaign.py has the longer campaign.
  */
class CaptureCampaignTest extends AnyFunSuite {
  test(s"the loss identity holds in 10^5 random steps, seed ${Seed.value}") {
    val found = CaptureCampaign.campaign(100000)
    info(found.map { case (what, number) => s"$number $what" }.mkString(", "))
    // The campaign proves something only if every fate of a frame is frequent in it.
    for (
      what <- Seq(
        "delivered",
        "with drop count",
        "bad",
        "lost for the ring",
        "lost for the staging memory"
      )
    )
      assert(found(what) > 300, s"${found(what)} $what")
    assert(found("MBUFs") > 200, s"${found("MBUFs")} MBUFs")
  }
}
