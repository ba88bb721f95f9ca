/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "vfio" back end: open.c finds the device and says which condition is missing,
 * type1.c or iommufd.c opens the device, group.c explains why VFIO cannot open it, memory.c maps
 * memory for the device, irq.c receives its interrupt messages, and backend.c maps its BARs and
 * writes registers.
 */
#ifndef LITEPCIE_VFIO_H
#define LITEPCIE_VFIO_H

#include <linux/vfio.h>

#include "dma/table/table.h"

#define VFIO_ADDRESS	16	/* room in bytes for an address like "0000:22:00.0" */
#define VFIO_DEVICES	"/sys/bus/pci/devices"
/* most interrupt causes of a card; with MSI-X each cause has a vector */
#define VFIO_MESSAGES	32u

/* One of the kernel's two interfaces that open a device and map memory for it. */
struct vfio_interface {
	/*
	 * Open the device and set vfio->device, or return -errno with a sentence. After an error,
	 * vfio_close_device() closes the descriptors that open() has opened.
	 */
	int (*open)(struct litepcie *dev);
	/*
	 * Map @size bytes of @memory for the card, which then reaches them by DMA at the address
	 * @iova. Returns 0, or -errno without a sentence.
	 */
	int (*map)(struct litepcie *dev, void *memory, size_t size, uint64_t iova);
	void (*unmap)(struct litepcie *dev, size_t size, uint64_t iova);
};

extern const struct vfio_interface vfio_type1;
extern const struct vfio_interface vfio_iommufd;

struct vfio {
	char			address[VFIO_ADDRESS];
	const struct vfio_interface *interface;	/* iommufd or type1; NULL: not chosen yet */
	int			group_number;
	/* path of the device's own file, which only iommufd uses; empty: there is none */
	char			file[64];
	/*
	 * @iommu: descriptor of the container (type1) or of the iommufd; @group: descriptor of the
	 * IOMMU group (only type1); -1: not open
	 */
	int			iommu, group;
	int			device;		/* descriptor of the VFIO device, or -1 */
	uint32_t		space;		/* ID of the address space in the iommufd */
	uint64_t		config;		/* offset of configuration space in @device */
	int			events;		/* epoll of @message and @request; -1: not open */
	/* eventfd by which the kernel asks the program to close the device; -1: not open */
	int			request;
	/*
	 * eventfd of each vector, of which MSI has one, number 0; -1: the vector is not used. Only
	 * the first @messages entries are valid.
	 */
	int			message[VFIO_MESSAGES];
	unsigned int		messages;	/* number of valid entries of @message */
	/* how the card's interrupts come: VFIO_PCI_MSIX_IRQ_INDEX or VFIO_PCI_MSI_IRQ_INDEX */
	unsigned int		delivery;
	/* host memory that is mapped for the card, one for each LITEPCIE_MEMORY_ kind, or NULL */
	struct litepcie_memory	*memory[LITEPCIE_MEMORIES];
	bool			gone;		/* true: a register read has found the card gone */
};

static inline struct vfio *vfio_of(const struct litepcie *dev)
{
	return dev->priv;
}

/*
 * Parse dev->name, check what sysfs tells about the device, and open it. Returns 0 or -errno with a
 * sentence. After an error, too, vfio_close_device() must be called.
 */
int vfio_open_device(struct litepcie *dev);
void vfio_close_device(struct litepcie *dev);

/* True if the card answers: class and revision in configuration space are not all ones. */
bool vfio_answers(const struct vfio *vfio);

/*
 * Get the last part of the target of a symbolic link in the device's sysfs folder. @name is empty
 * if there is no such link.
 */
void vfio_read_link(const char *address, const char *link, char *name, size_t size);

/*
 * Open the file @path of /dev. Returns its descriptor, or -errno with a sentence that gives advice:
 * how to get the right to open the file, which module to load, or that another program has it.
 */
int vfio_open_file(const char *path);

/*
 * Returns -EPERM with a sentence that names the devices and drivers because of which VFIO cannot
 * use the card's IOMMU group. If there are no such devices, the result is 0. @said: the kernel has
 * reported that the group is not viable, so the result is -EPERM in any case.
 */
int vfio_check_viable(struct litepcie *dev, bool said);

/*
 * Map memory of @kind for the card at *@iova: the program's memory at @place, or new memory if
 * @place is NULL. @kind is one of LITEPCIE_MEMORY_. An earlier memory of the same kind is unmapped
 * first. Returns 0, or -errno with a sentence, and then there is no memory of this kind.
 */
int vfio_memory(struct litepcie *dev, unsigned int kind, void *place, size_t bytes,
		struct litepcie_memory **memory, uint64_t *iova);
void vfio_memory_free(struct litepcie *dev, unsigned int kind);

int vfio_irq_enable(struct litepcie *dev);
void vfio_irq_disable(struct litepcie *dev);
int vfio_sleep(struct litepcie *dev, int timeout_ms);
int vfio_state(struct litepcie *dev);

#endif /* LITEPCIE_VFIO_H */
