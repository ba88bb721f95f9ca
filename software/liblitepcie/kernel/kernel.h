/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The inside of the "kernel" back end. backend.c opens the device and accesses registers.
 * map_bars.c maps the BARs. ring.c maps the rings, channel.c runs them, and counts.c reads what the
 * card has done. capture.c captures frames into memory of pages.c. wait.c waits for the driver,
 * ioctl.c makes ioctl()s on the device file, users.c names other programs that have the device
 * open, and sysfs.c reads numbers, maps BAR0 and resets the card by sysfs.
 */
#ifndef LITEPCIE_KERNEL_H
#define LITEPCIE_KERNEL_H

#include <sys/types.h>

#include "dma/engine/engine.h"
#include "litepcie.h"

struct kernel {
	int			fd;
	/*
	 * for each BAR, an array with an element for each page: true if the page is mapped
	 * read-only; NULL: no page of the BAR is mapped read-only
	 */
	bool			*read_only[LITEPCIE_BARS];
	unsigned int		minor;
	/* mapping of the driver's status page (counts of the DMA); NULL: not mapped */
	const struct litepcie_status *status;
	/*
	 * mapping of the driver's index page for this handle, in which the library writes beyond
	 * which counts of buffers the driver's poll() wakes; NULL: not mapped
	 */
	struct litepcie_index	*index;
	int			event;		/* eventfd of litepcie_dma_fd(), or -1 */
	int			user;		/* eventfd of the user's interrupt, or -1 */
	/*
	 * for each direction (LITEPCIE_WAY_ value): the driver's count of its interrupts at the
	 * start of its run; -1: the direction does not run, or the count is not known
	 */
	int64_t			interrupts_before[2];
	/*
	 * number of the card's interrupts in those runs that have ended since the first of the two
	 * streams started
	 */
	int64_t			interrupts_ended;
};

static inline struct kernel *kernel_of(const struct litepcie *dev)
{
	return dev->priv;
}

/* Make an ioctl() on the device file. Returns 0, or -errno with a sentence that names @doing. */
int kernel_ioctl(struct litepcie *dev, unsigned long request, void *arg, const char *doing);

/* Map BAR0 of the card by the file resource0 in sysfs. On failure dev->bar_why says why. */
void sysfs_map_bar(struct litepcie *dev);

/*
 * Map the BARs that Lanebox's driver offers, or with LitePCIe's driver BAR0 by sysfs, and set
 * dev->bar_size.
 */
void kernel_map_bars(struct litepcie *dev);
void kernel_unmap_bars(struct litepcie *dev);

/* True if the page at @offset of the BAR @bar is mapped into this process for writing. */
bool kernel_bar_writable(const struct litepcie *dev, unsigned int bar, uint64_t offset);

/* Reset the card's PCI function through the kernel, which also tells the driver. */
int sysfs_reset(struct litepcie *dev);

/* Returns the number in the file @name of the device file's folder in sysfs, or -1. */
int64_t sysfs_number(unsigned int minor, const char *name);

/* Returns the driver's count of a direction's interrupts, or -1 if the driver has none. */
int64_t sysfs_interrupts(const struct litepcie_stream *stream);

/* Write to @text the version of the driver that is loaded, or an empty text if it is not known. */
void sysfs_driver_version(char *text, size_t size);

/* Write to @text a part of a sentence that names the programs that have the device open. */
void kernel_users(struct litepcie *dev, char *text, size_t size);

/*
 * Map the driver's status page and index page, and the card's records if the card writes any, and
 * set dev->able. The handle need not own a direction for that. LitePCIe's driver has none of these
 * pages, so nothing is mapped with it. Returns 0, or -errno with a sentence.
 */
int kernel_dma_map(struct litepcie *dev);
void kernel_dma_unmap(struct litepcie *dev);

/*
 * Returns 0, or -EOPNOTSUPP with a sentence if the driver, like LitePCIe's, has no held runs, in
 * which the card waits for buffers.
 */
int kernel_check_held(struct litepcie *dev);

/* Returns the driver's number of the stream's direction, a LITEPCIE_WAY_ value. */
unsigned int kernel_way(const struct litepcie_stream *stream);

/*
 * kernel_own() takes the direction of a stream and makes its ring, or releases the direction.
 * kernel_free() gives up the ring's memory in this process. kernel_export() returns a dma-buf of
 * the ring.
 */
int kernel_own(struct litepcie_stream *stream, bool on);
void kernel_free(struct litepcie_stream *stream);
int kernel_export(const struct litepcie_stream *stream);

/*
 * Returns the error of a run that has ended, with a sentence: -ENODEV if @error says that the card
 * is gone, else -EIO.
 */
int kernel_stopped_by(const struct litepcie_stream *stream, int error);

/*
 * kernel_progress(), kernel_wait(), kernel_event_fd(), kernel_user_enable() and kernel_user_poll()
 * are progress(), sleep(), event_fd(), user_enable() and user_poll() of struct litepcie_channel.
 * kernel_sleep() is sleep() of struct litepcie_backend.
 */
int kernel_progress(struct litepcie *dev, enum litepcie_ask ask);
int kernel_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);
int kernel_event_fd(struct litepcie *dev);
int kernel_user_enable(struct litepcie *dev, bool on);
int kernel_user_poll(struct litepcie *dev);
int kernel_sleep(struct litepcie *dev, int timeout_ms);

/*
 * The kinds of pages for a capture's ring, the largest first: 1 GiB and 2 MiB of hugetlbfs, and
 * pages that the kernel makes huge if it can (transparent huge pages).
 */
#define KERNEL_PAGES	3u
#define KERNEL_PAGES_1G	0u
#define KERNEL_PAGES_2M	1u

/*
 * Get at least @bytes of zeroed memory in pages of @kind, for a ring that the driver pins. The
 * memory lies on the card's NUMA node if that has room. Returns NULL if there are no such pages, or
 * if @kind is KERNEL_PAGES_1G and @bytes is less than 1 GiB.
 */
struct litepcie_memory *kernel_pages_get(struct litepcie *dev, unsigned int kind, uint64_t bytes);

extern const struct litepcie_capture_access litepcie_kernel_capture;

extern const struct litepcie_channel litepcie_kernel_channel;

#endif /* LITEPCIE_KERNEL_H */
