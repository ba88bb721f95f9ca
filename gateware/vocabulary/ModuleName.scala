// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

package lanebox.vocabulary

import spinal.core._

/** Gives a component's module the name `<Top>_<Component>_<variant>`, where `Top` is the component
  * at the top. Use it for a component of which a design has several variants, since SpinalHDL would
  * number them. The top's name is part of it, because LaneboxConfig's private namespace leaves out
  * names that are set by hand.
  */
object ModuleName {
  def apply(component: Component, variant: String): Unit = {
    val top = component.parents().headOption.map(own)
    component.setDefinitionName((top ++ Seq(own(component), variant)).mkString("_"))
  }

  private def own(component: Component): String =
    Option(component.definitionName).getOrElse(component.getClass.getSimpleName)
}
