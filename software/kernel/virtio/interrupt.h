/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * The part of the interrupt handler of MSI that serves virtio devices.  Each frame costs a call, so
 * the function is inlined into the handler.
 */
#ifndef LITEPCIE_VIRTIO_INTERRUPT_H
#define LITEPCIE_VIRTIO_INTERRUPT_H

/* Call the handlers of @causes, a mask of interrupt causes of virtio devices. */
static __always_inline void litepcie_virtio_interrupt(struct litepcie *card, int irq, u32 causes)
{
	while (causes) {
		struct litepcie_listener *listener = &card->listener[__ffs(causes)];
		irq_handler_t handler;

		/* litepcie_virtio_listen() has stored @data before @handler. */
		handler = smp_load_acquire(&listener->handler);
		causes &= causes - 1;
		if (handler)
			handler(irq, listener->data);
	}
}

#endif /* LITEPCIE_VIRTIO_INTERRUPT_H */
