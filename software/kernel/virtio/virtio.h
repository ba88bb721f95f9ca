/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares what litepcie.ko gives to litepcie_virtio.ko: an auxiliary device for each virtio device
 * of a card, with its register page and its interrupt causes.
 *
 * litepcie.ko removes the auxiliary device before the kernel resets or removes the card, and adds a
 * new one after a reset.  So the functions of this file may be called from the probe() of the
 * auxiliary device's driver until its remove() returns.
 */
#ifndef LITEPCIE_VIRTIO_H
#define LITEPCIE_VIRTIO_H

#include <linux/auxiliary_bus.h>
#include <linux/cpumask.h>
#include <linux/interrupt.h>
#include <linux/types.h>

/* name of the auxiliary devices; the kernel's auxiliary bus makes litepcie.virtio.N of it */
#define LITEPCIE_VIRTIO_NAME		"virtio"
/* bytes of a virtio device's register page */
#define LITEPCIE_VIRTIO_PAGE		4096
/* largest number of queues of one virtio device */
#define LITEPCIE_VIRTIO_QUEUES_MAX	8

struct litepcie;

/*
 * A virtio device of a card, and the auxiliary device that stands for it.  The parent of the
 * auxiliary device is the PCI function, which does the DMA.
 */
struct litepcie_virtio {
	struct auxiliary_device	adev;
	struct litepcie		*card;
	/*
	 * the N of the device's name litepcie.virtio.N, or -errno if no number could be allocated
	 */
	int			number;
	/* registers of virtio-mmio version 2, see <uapi/linux/virtio_mmio.h> */
	void __iomem		*page;
	/*
	 * Number of queues.  Source n of the device's interrupts is queue n, and source @queues is
	 * a change of the device's configuration.
	 */
	unsigned int		queues;
	/* number of the card's interrupt cause for source 0; source n has the number @cause + n */
	unsigned int		cause;
};

static inline struct litepcie_virtio *litepcie_virtio_of(struct auxiliary_device *adev)
{
	return container_of(adev, struct litepcie_virtio, adev);
}

int litepcie_virtio_listen(struct litepcie_virtio *virtio, unsigned int source,
			   irq_handler_t handler, const char *name, void *data);
void litepcie_virtio_ignore(struct litepcie_virtio *virtio, unsigned int source, void *data);
int litepcie_virtio_steer(struct litepcie_virtio *virtio, unsigned int source,
			  const struct cpumask *processors);
void litepcie_virtio_mute(struct litepcie_virtio *virtio, unsigned int source, bool mute);
void litepcie_virtio_synchronize(struct litepcie_virtio *virtio);
void litepcie_virtio_quiet(struct litepcie_virtio *virtio, bool quiet);
bool litepcie_virtio_check_lost(struct litepcie_virtio *virtio);

#endif /* LITEPCIE_VIRTIO_H */
