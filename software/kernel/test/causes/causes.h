/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Is included in front of irq.c in a test's build of the driver, and makes the interrupt handler
 * read wrong values from the card's register of interrupt causes at each MSI message. So a test can
 * show whether the driver relies on causes to find out what the card has written to host memory.
 *
 * With a real card the causes can be wrong, too: the handler reads the causes and then clears them.
 * If one of these causes interrupts again in between, the second interrupt has a message of its
 * own, but its cause is cleared. By the time of that message other causes may be set. In this build
 * that seems to happen at each message: the causes that are set are cleared and not reported, and
 * all other enabled causes are reported.
 */
#ifndef LITEPCIE_CAUSES_H
#define LITEPCIE_CAUSES_H

#include <linux/io.h>
#include <linux/string.h>

#define IS_VECTOR(_address)	(!strcmp(#_address, "card->irq_vector"))

#undef readl
#define readl(_address)								\
({										\
	u32 _value = (readl)(_address);						\
										\
	if (IS_VECTOR(_address) && _value != ~0u) {				\
		(writel)(_value, card->irq_clear);				\
		_value = card->irq_enabled & ~_value;				\
	}									\
	_value;									\
})

#endif /* LITEPCIE_CAUSES_H */
