/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "vfio" back end: vfio_open.c gets hold of the device and says what is in the
 * way, vfio_dma.c gives it memory and interrupts, backend_vfio.c makes accesses.
 */
#ifndef LITEPCIE_VFIO_H
#define LITEPCIE_VFIO_H

#include <linux/vfio.h>

#include "table.h"

#define VFIO_ADDRESS	16	/* "0000:22:00.0" and its end */

struct vfio {
	char			address[VFIO_ADDRESS];
	int			group_number;
	int			container, group, device;	/* descriptors, or -1 */
	uint64_t		config;		/* configuration space, in the device's file */
	struct litepcie_window	bar[LITEPCIE_BARS];
	int			irq;		/* eventfd */
	bool			irq_set;
	uint8_t			*memory;	/* both rings: h2c, then c2h */
	size_t			memory_size;	/* rounded up to whole pages */
	bool			gone;
};

static inline struct vfio *vfio_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Take dev->name apart, check what sysfs tells, open container, group and device. */
int vfio_open_device(struct litepcie *dev);
void vfio_close_device(struct litepcie *dev);

/* Memory for the card at vfio->iova; it replaces the last. */
int vfio_memory(struct litepcie *dev, size_t bytes, uint8_t **base, uint64_t *iova);
void vfio_memory_free(struct litepcie *dev);

int vfio_irq_enable(struct litepcie *dev);
void vfio_irq_disable(struct litepcie *dev);
int vfio_sleep(struct litepcie *dev, int timeout_ms);

#endif /* LITEPCIE_VFIO_H */
