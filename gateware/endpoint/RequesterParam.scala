// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.endpoint

import spinal.core.isPow2

import lanebox.requester.rc.ReturnParam
import lanebox.requester.rq.{ClientConfig, RequestParam}
import lanebox.vocabulary.{Arguments, Numbers}

/** The parameters of the Requester. `clients` says of each client whether it reads host memory,
  * writes it, or does both. `msixVectors` is the number of MSI-X vectors; 0 means no MSI-X.
  * ReturnParam explains `readTags`, `ringBytes` and `completionPool`, and has their defaults.
  */
case class RequesterParam(
    clients: Seq[ClientConfig],
    msixVectors: Int = 0,
    readTags: Int = RequesterParam.Returns.readTags,
    ringBytes: Int = RequesterParam.Returns.ringBytes,
    completionPool: Boolean = RequesterParam.Returns.completionPool
) {
  require(
    msixVectors == 0 || isPow2(msixVectors) && msixVectors >= 2 && msixVectors <= Numbers.MsiWidth,
    s"$msixVectors MSI-X vectors: 0, or a power of two from 2 to ${Numbers.MsiWidth}"
  )

  val requests = RequestParam(clients, messages = msixVectors > 0)
  val returns  = ReturnParam(requests.readers.size, readTags, ringBytes, completionPool)
}

object RequesterParam {
  private val Kinds   = Seq("r", "w", "rw", "ru", "rwu", "ws", "rws", "rwus")
  private val Returns = ReturnParam(clients = 1)

  /** Parses the `key=value` arguments of a build. The keys are clients (for each client r, w or rw,
    * like clients=rw,w,r, then u if the client is not fenced, then s if it is told when its writes
    * have been sent), msixVectors, readTags, ringBytes and completionPool (true or false).
    */
  def apply(words: Seq[String]): RequesterParam = {
    val arguments =
      Arguments(words, "clients", "msixVectors", "readTags", "ringBytes", "completionPool")
    val clients = kinds(arguments.text("clients", "rw"))
    val default = RequesterParam(clients)
    RequesterParam(
      clients,
      arguments.int("msixVectors", default.msixVectors),
      arguments.int("readTags", default.readTags),
      arguments.int("ringBytes", default.ringBytes),
      arguments.flag("completionPool", default.completionPool)
    )
  }

  private def kinds(list: String): Seq[ClientConfig] =
    list.split(",").toSeq.zipWithIndex.map { case (kind, i) =>
      require(Kinds.contains(kind), s"client $kind: must be one of ${Kinds.mkString(", ")}")
      ClientConfig(
        s"$kind$i",
        reads = kind.contains('r'),
        writes = kind.contains('w'),
        fenced = !kind.contains('u'),
        told = kind.contains('s')
      )
    }
}
