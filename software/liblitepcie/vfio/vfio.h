/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "vfio" back end: open.c finds the device and says what is in the way,
 * type1.c or iommufd.c opens it, memory.c maps memory for it, irq.c receives
 * its interrupt messages, and backend.c makes accesses.
 */
#ifndef LITEPCIE_VFIO_H
#define LITEPCIE_VFIO_H

#include <linux/vfio.h>

#include "table/table.h"

#define VFIO_ADDRESS	16	/* bytes of a PCI address like "0000:22:00.0", with its zero */
#define VFIO_DEVICES	"/sys/bus/pci/devices"
/* most interrupt causes of a card; with MSI-X each cause has a vector */
#define VFIO_MESSAGES	32u

/*
 * One of the two interfaces of the kernel (type1 or iommufd) that open a device and map memory for
 * it.
 */
struct vfio_interface {
	const char *name;
	/*
	 * Open the device and set vfio->device, or return -errno with a sentence. close() closes
	 * what is open at that moment.
	 */
	int (*open)(struct litepcie *dev);
	void (*close)(struct litepcie *dev);
	/*
	 * Map memory of this process for DMA of the card. Returns 0, or -errno without a sentence.
	 */
	int (*map)(struct litepcie *dev, void *memory, size_t size, uint64_t iova);
	void (*unmap)(struct litepcie *dev, size_t size, uint64_t iova);
};

extern const struct vfio_interface vfio_type1;
extern const struct vfio_interface vfio_iommufd;

struct vfio {
	char			address[VFIO_ADDRESS];
	/*
	 * the kernel interface (VFIO type1 or iommufd) by which the device was opened; NULL: none
	 * is chosen yet
	 */
	const struct vfio_interface *interface;
	int			group_number;
	/* descriptor of the VFIO container (type1) or the iommufd, or -1 */
	int			iommu;
	/* descriptor of the card's IOMMU group, with type1 only; -1: not open */
	int			group;
	int			device;		/* descriptor of the VFIO device, or -1 */
	/* number of the card's I/O address space in the iommufd */
	uint32_t		space;
	/* offset of configuration space in the VFIO device's file */
	uint64_t		config;
	struct litepcie_window	bar[LITEPCIE_BARS];
	/*
	 * descriptor of an epoll on the card's interrupts and on the kernel's request for the
	 * device
	 */
	int			events;
	/* eventfd by which the kernel asks the program to close the device; -1: not open */
	int			request;
	/* eventfd of each interrupt vector of the card; -1: not used */
	int			message[VFIO_MESSAGES];
	/* number of interrupt vectors that have an entry in @message */
	unsigned int		messages;
	/* VFIO's index of the kind of interrupt that the card uses: MSI-X or MSI */
	unsigned int		delivery;
	/* memory mapped for the card, of each LITEPCIE_MEMORY_ kind, in whole pages */
	struct litepcie_memory	*memory[LITEPCIE_MEMORIES];
	bool			gone;
};

static inline struct vfio *vfio_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Parse dev->name, check what sysfs tells about the device, and open it. */
int vfio_open_device(struct litepcie *dev);
void vfio_close_device(struct litepcie *dev);

/* True if the card answers: its configuration space does not read as all ones. */
bool vfio_answers(const struct vfio *vfio);

/*
 * Open a file of /dev for an interface. On failure the sentence says how to get the right to open
 * it.
 */
int vfio_open_file(struct litepcie *dev, const char *path);

/*
 * List in @names the host's drivers that stand in the way of the card's IOMMU group, separated by
 * spaces.
 */
void vfio_list_others(const struct vfio *vfio, char *names, size_t size);

/*
 * Returns the number N of the device's own file /dev/vfio/devices/vfioN, or -1 if this kernel has
 * none.
 */
int vfio_device_number(const struct vfio *vfio);

/*
 * Map memory of @kind for the card at *@iova: the program's memory at @place, or new memory if
 * @place is NULL. It replaces the last memory of its kind.
 */
int vfio_memory(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova);
void vfio_memory_free(struct litepcie *dev, unsigned int kind);
void vfio_memory_free_all(struct litepcie *dev);

int vfio_irq_enable(struct litepcie *dev);
void vfio_irq_disable(struct litepcie *dev);
int vfio_sleep(struct litepcie *dev, int timeout_ms);
int vfio_asked_back(struct litepcie *dev);

#endif /* LITEPCIE_VFIO_H */
