/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The "vfio" back end: it reaches a card behind an IOMMU through vfio-pci, so that no kernel module
 * of Lanebox is needed.
 *
 * The kernel has enumerated the card and set its BAR addresses, MPS and MRRS. This back end maps
 * the BARs and DMA memory, and receives the interrupts. VFIO maps every BAR uncached, also a BAR
 * with memory: a store is a TLP of its own and a load waits for its completion. So accesses to card
 * memory through VFIO are slow, and data should go by DMA.
 */
#include <linux/pci_regs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vfio.h"

/* Opening and closing the card ---------------------------------------------------------------- */

/*
 * Map the card's BARs. A BAR that VFIO does not offer to map, such as an I/O BAR or one that is
 * smaller than a page, cannot be reached through this back end. If that is BAR0, or if there is no
 * BAR0, the function returns -EPROTO.
 */
static int map_bars(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	for (unsigned int n = 0; n < LITEPCIE_BARS; n++) {
		struct vfio_region_info bar = { .argsz = sizeof(bar), .index = n };
		void *base;

		if (ioctl(vfio->device, VFIO_DEVICE_GET_REGION_INFO, &bar) < 0 || !bar.size ||
		    !(bar.flags & VFIO_REGION_INFO_FLAG_MMAP))
			continue;
		base = mmap(NULL, bar.size, PROT_READ | PROT_WRITE, MAP_SHARED, vfio->device,
			    (off_t)bar.offset);
		if (base == MAP_FAILED)
			return litepcie_fail_errno(errno, "%s: BAR%u cannot be mapped",
						   vfio->address, n);
		dev->bar[n] = (struct litepcie_window) { .base = base, .size = bar.size };
		dev->bar_size[n] = bar.size;
	}
	if (!dev->bar_size[0])
		return litepcie_fail(-EPROTO, "%s has no BAR0 that can be mapped: it is not a "
				     "Lanebox card", vfio->address);
	return 0;
}

static int set_command(struct litepcie *dev, uint16_t set, uint16_t clear)
{
	struct vfio *vfio = vfio_of(dev);
	off_t place = (off_t)vfio->config + PCI_COMMAND;
	uint16_t command;

	if (pread(vfio->device, &command, sizeof(command), place) != sizeof(command))
		return litepcie_fail(-EIO, "%s: its command register cannot be read",
				     vfio->address);
	command = (uint16_t)((command & ~clear) | set);
	if (pwrite(vfio->device, &command, sizeof(command), place) != sizeof(command))
		return litepcie_fail(-EIO, "%s: its command register cannot be written",
				     vfio->address);
	return 0;
}

static void vfio_close(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio->device >= 0)
		set_command(dev, 0, PCI_COMMAND_MASTER);
	vfio_irq_disable(dev);
	for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++)
		vfio_memory_free(dev, kind);
	litepcie_bars_unmap(dev);
	vfio_close_device(dev);
	free(vfio);
}

static int vfio_open(struct litepcie *dev)
{
	struct vfio *vfio = calloc(1, sizeof(*vfio));
	int rc;

	if (!vfio)
		return -ENOMEM;
	dev->priv = vfio;
	dev->mmio_path = "bar";
	dev->able |= LITEPCIE_HAS_BAR_MAP;
	vfio->iommu = vfio->group = vfio->device = vfio->events = vfio->request = -1;
	rc = vfio_open_device(dev) ?:
	     set_command(dev, PCI_COMMAND_MEMORY, PCI_COMMAND_MASTER) ?: map_bars(dev);
	if (rc < 0)
		vfio_close(dev);
	return rc;
}

/*
 * Stop DMA that an earlier program may have left running, switch the interrupt messages on, and
 * then bus mastering.
 */
static int vfio_attach(struct litepcie *dev)
{
	int rc = litepcie_table_quiesce(dev) ?: vfio_irq_enable(dev);

	dev->interrupt = vfio_of(dev)->events;
	return rc < 0 ? rc : set_command(dev, PCI_COMMAND_MASTER, 0);
}

/*
 * Reset the card through VFIO. The kernel restores BAR addresses and the rest of configuration
 * space. Bus mastering is off afterwards, until the caller calls vfio_attach(). Returns -EOPNOTSUPP
 * if the kernel has no reset for this card, or another -errno if the reset fails.
 */
static int vfio_reset(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (ioctl(vfio->device, VFIO_DEVICE_RESET) < 0)
		return litepcie_fail(errno == ENOTTY ? -EOPNOTSUPP : -errno, "%s: the kernel "
				     "cannot reset it: %s", vfio->address, strerror(errno));
	return set_command(dev, PCI_COMMAND_MEMORY, PCI_COMMAND_MASTER);
}

/* Register and BAR accesses ------------------------------------------------------------------- */

/* Returns 0, or -ENODEV with a sentence if the VFIO device has gone. */
static int check_gone(struct litepcie *dev)
{
	struct vfio *vfio = vfio_of(dev);

	if (vfio_answers(vfio))
		return 0;
	vfio->gone = true;
	return litepcie_fail(-ENODEV, "%s is gone: it was unplugged, removed or unbound",
			     vfio->address);
}

/*
 * Read words of BAR0. A card that is gone reads as all ones, but a register may have this value,
 * too. So after a word of all ones check_gone() looks at configuration space, and the function
 * returns -ENODEV if the card is gone.
 */
static int vfio_read_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count)
{
	const uint8_t *from = litepcie_bar_place(dev, 0, offset);
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < count; i++) {
		rc = litepcie_load(from + 4 * i, &words[i], sizeof(words[i]));
		if (rc == 0 && words[i] == UINT32_MAX)
			rc = check_gone(dev);
	}
	return rc;
}

/*
 * Write registers of BAR0 in order. The fence makes sure that the program's data in memory is
 * written before the registers that let the card read it.
 */
static int vfio_post(struct litepcie *dev, const struct litepcie_post *posts, size_t count,
		     enum litepcie_post_by by)
{
	int rc = 0;

	(void)by;
	atomic_thread_fence(memory_order_seq_cst);
	for (size_t i = 0; rc == 0 && i < count; i++)
		rc = litepcie_store(litepcie_bar_place(dev, 0, posts[i].offset), &posts[i].value,
				    posts[i].size);
	return rc;
}

const struct litepcie_backend litepcie_vfio_backend = {
	.name = "vfio",
	.channel = &litepcie_table_channel,
	.open = vfio_open,
	.attach = vfio_attach,
	.close = vfio_close,
	.reset = vfio_reset,
	.read_words = vfio_read_words,
	.post = vfio_post,
	.memory = vfio_memory,
	.memory_free = vfio_memory_free,
	.sleep = vfio_sleep,
	.merges = true,
	.state = vfio_state,
};
