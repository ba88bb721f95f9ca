/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "vfio" back end: vfio_open.c finds the device and says what is in the way,
 * vfio_type1.c or vfio_iommufd.c gets hold of it, vfio_memory.c gives it memory, vfio_irq.c catches
 * its messages, backend_vfio.c makes accesses.
 */
#ifndef LITEPCIE_VFIO_H
#define LITEPCIE_VFIO_H

#include <linux/vfio.h>

#include "table.h"

#define VFIO_ADDRESS	16	/* "0000:22:00.0" and its end */
#define VFIO_DEVICES	"/sys/bus/pci/devices"
#define VFIO_MESSAGES	32u	/* causes of a card, each with a vector of its own */

/* How a kernel hands out a device, and memory to it. */
struct vfio_interface {
	const char *name;
	/* Leave vfio->device open, or a sentence; whatever is open then is closed by close(). */
	int (*open)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* Memory of this process for the card; -errno without a sentence. */
	int (*map)(struct litepcie *dev, void *memory, size_t size, uint64_t iova);
	void (*unmap)(struct litepcie *dev, size_t size, uint64_t iova);
};

extern const struct vfio_interface vfio_type1;
extern const struct vfio_interface vfio_iommufd;

struct vfio {
	char			address[VFIO_ADDRESS];
	const struct vfio_interface *interface;	/* NULL: none chosen yet */
	int			group_number;
	int			iommu;		/* container or iommufd, a descriptor, or -1 */
	int			group;		/* with type1 only, or -1 */
	int			device;		/* or -1 */
	uint32_t		space;		/* addresses of the card, with iommufd */
	uint64_t		config;		/* configuration space, in the device's file */
	struct litepcie_window	bar[LITEPCIE_BARS];
	int			events;		/* epoll: a message came, or the request */
	int			request;	/* eventfd: the kernel wants the device back; or -1 */
	int			message[VFIO_MESSAGES];	/* eventfd of each vector, or -1 */
	unsigned int		messages;	/* vectors that are on */
	unsigned int		delivery;	/* VFIO's index of MSI-X or MSI */
	struct litepcie_memory	*memory[LITEPCIE_MEMORIES];	/* whole pages */
	bool			gone;
};

static inline struct vfio *vfio_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Take dev->name apart, check what sysfs tells, and get hold of the device. */
int vfio_open_device(struct litepcie *dev);
void vfio_close_device(struct litepcie *dev);

/* Whether configuration space has something else than all ones. */
bool vfio_answers(const struct vfio *vfio);

/* For an interface: a file of /dev, or a sentence that says how to come by it. */
int vfio_open_file(struct litepcie *dev, const char *path);

/* The drivers of the host that stand in the way of the card's group, separated by spaces. */
void vfio_list_others(const struct vfio *vfio, char *names, size_t size);

/* The number N of the device's own /dev/vfio/devices/vfioN, or -1: this kernel has none. */
int vfio_device_number(const struct vfio *vfio);

/* Memory for the card at @iova, @place or NULL; it replaces the last of its kind. */
int vfio_memory(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova);
void vfio_memory_free(struct litepcie *dev);

int vfio_irq_enable(struct litepcie *dev);
void vfio_irq_disable(struct litepcie *dev);
int vfio_sleep(struct litepcie *dev, int timeout_ms);
int vfio_asked_back(struct litepcie *dev);

#endif /* LITEPCIE_VFIO_H */
