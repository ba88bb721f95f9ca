/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "vfio" back end: vfio_open.c finds the device and says what is in the way,
 * vfio_type1.c or vfio_iommufd.c opens it, vfio_memory.c gives it memory, vfio_irq.c catches its
 * messages, backend_vfio.c makes accesses.
 */
#ifndef LITEPCIE_VFIO_H
#define LITEPCIE_VFIO_H

#include <linux/vfio.h>

#include "table.h"

#define VFIO_ADDRESS	16	/* bytes of an address like "0000:22:00.0", with its end */
#define VFIO_DEVICES	"/sys/bus/pci/devices"
#define VFIO_MESSAGES	32u	/* most causes of a card, each with a vector of its own */

/* One of the kernel's interfaces that hand out a device and map memory for it. */
struct vfio_interface {
	const char *name;
	/*
	 * Open the device and set vfio->device, or return an error with a sentence. close() closes
	 * whatever is open then.
	 */
	int (*open)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/* Map memory of this process for the card. Returns 0, or -errno without a sentence. */
	int (*map)(struct litepcie *dev, void *memory, size_t size, uint64_t iova);
	void (*unmap)(struct litepcie *dev, size_t size, uint64_t iova);
};

extern const struct vfio_interface vfio_type1;
extern const struct vfio_interface vfio_iommufd;

struct vfio {
	char			address[VFIO_ADDRESS];
	const struct vfio_interface *interface;	/* the kernel's interface; NULL: none chosen yet */
	int			group_number;
	/* descriptor of the container or the iommufd, or -1 */
	int			iommu;
	/* descriptor of the group, with type1 only, or -1 */
	int			group;
	int			device;		/* descriptor of the device, or -1 */
	/* number of the card's address space, with iommufd */
	uint32_t		space;
	/* offset of configuration space in the device's file */
	uint64_t		config;
	struct litepcie_window	bar[LITEPCIE_BARS];
	int			events;		/* epoll: a message came, or the kernel's request */
	/* eventfd: the kernel wants the device back; or -1 */
	int			request;
	/* eventfd of each interrupt vector, or -1 */
	int			message[VFIO_MESSAGES];
	unsigned int		messages;	/* number of interrupt vectors that are on */
	/* VFIO's index of the interrupt type: MSI-X or MSI */
	unsigned int		delivery;
	struct litepcie_memory	*memory[LITEPCIE_MEMORIES];	/* mapped memory, in whole pages */
	bool			gone;
};

static inline struct vfio *vfio_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Take dev->name apart, check what sysfs tells about the device, and open it. */
int vfio_open_device(struct litepcie *dev);
void vfio_close_device(struct litepcie *dev);

/* True if configuration space reads as something else than all ones. */
bool vfio_answers(const struct vfio *vfio);

/* For an interface: open a file of /dev. On failure the sentence says how to get at the file. */
int vfio_open_file(struct litepcie *dev, const char *path);

/* List the host's drivers that stand in the way of the card's group, separated by spaces. */
void vfio_list_others(const struct vfio *vfio, char *names, size_t size);

/*
 * Returns the number N of the device's own /dev/vfio/devices/vfioN, or -1 if this kernel has none.
 */
int vfio_device_number(const struct vfio *vfio);

/*
 * Provide memory for the card at @iova, in the program's memory at @place unless that is NULL. It
 * replaces the last memory of its kind.
 */
int vfio_memory(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova);
void vfio_memory_free(struct litepcie *dev);

int vfio_irq_enable(struct litepcie *dev);
void vfio_irq_disable(struct litepcie *dev);
int vfio_sleep(struct litepcie *dev, int timeout_ms);
int vfio_asked_back(struct litepcie *dev);

#endif /* LITEPCIE_VFIO_H */
