/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Declares an open file of a channel's device node, and the functions of its system calls.
 *
 * Several threads may make calls of one file at the same time, and the fields below say what
 * protects them.  An open file does not own a direction at first: dma/owner.c makes a file the
 * owner of one.  Only fsync(), and read() and write() without O_NONBLOCK, may wait for the card
 * without a time limit, and a signal ends these waits.
 */
#ifndef LITEPCIE_FILE_H
#define LITEPCIE_FILE_H

#include <linux/fs.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/uio.h>

#include "dma/channel.h"

/* An open file of a channel's device node. */
struct litepcie_file {
	struct litepcie_chan	*chan;
	struct file		*filp;
	struct list_head	node;		/* this file's entry in the list card->files */
	/*
	 * the file's index page, which the program may map, and in which it writes how many buffers
	 * it is done with in each direction
	 */
	struct litepcie_index	*index;
	/*
	 * ring of LITEPCIE_GEOMETRY_DEFAULT that the driver has made for this file in each
	 * direction; NULL: not made; protected by way->mutex
	 */
	struct litepcie_ring	*ring[LITEPCIE_WAYS];
	/* the file's LITEPCIE_IOCTL_PACKETS settings of each direction; protected by way->mutex */
	struct litepcie_ends	ends[LITEPCIE_WAYS];
};

/* Returns direction @id of the file's channel, or NULL if there is no such direction. */
static inline struct litepcie_way *litepcie_find_way(struct litepcie_file *file, u32 id)
{
	if (id >= LITEPCIE_WAYS)
		return NULL;
	return &file->chan->way[array_index_nospec(id, LITEPCIE_WAYS)];
}

/*
 * Bits 40 to 63 of an mmap() offset of the device node hold the region, which is a value of enum
 * litepcie_region, or LITEPCIE_REGION_BAR + n for BAR n.
 */
#define LITEPCIE_MMAP_SHIFT	40
enum litepcie_region {
	/* LitePCIe's region: both rings, at the offsets that LITEPCIE_IOCTL_MMAP_DMA_INFO gives */
	LITEPCIE_REGION_RINGS,
	LITEPCIE_REGION_H2C,
	LITEPCIE_REGION_C2H,
	LITEPCIE_REGION_STATUS,
	LITEPCIE_REGION_INDEX,
	LITEPCIE_REGION_RECORDS,
	/* region of BAR 0; BAR n is region LITEPCIE_REGION_BAR + n */
	LITEPCIE_REGION_BAR
};

/* Functions of chrdev.c: device nodes and channels */
int litepcie_chrdev_init(void);
void litepcie_chrdev_exit(void);
struct litepcie_chan *litepcie_chan_alloc(struct litepcie *card);
int litepcie_chrdev_beside(struct device *dev, const struct litepcie_chan *chan,
			   const char *name);
int litepcie_chan_add(struct litepcie_chan *chan);
void litepcie_chan_del(struct litepcie_chan *chan);

/*
 * Functions of setup.c.  Each implements one ioctl() call: RING_SETUP, RING_MEMORY, RING_INFO,
 * EVENT, PACKETS and FEATURES, in this order.  @argument is a copy of the program's argument.  The
 * functions return 0 or -errno.  The table `calls` in ioctl.c says which of them are called between
 * litepcie_enter() and litepcie_exit().
 */
int litepcie_setup_ring(struct litepcie_file *file, void *argument);
int litepcie_setup_memory(struct litepcie_file *file, void *argument);
int litepcie_setup_info(struct litepcie_file *file, void *argument);
int litepcie_setup_event(struct litepcie_file *file, void *argument);
int litepcie_setup_packets(struct litepcie_file *file, void *argument);
int litepcie_setup_features(struct litepcie_file *file, void *argument);

/*
 * Functions of ioctl.c, rw.c and mmap.c: the node's system calls, and mapping a ring's pages.
 * sysfs.c defines litepcie_groups, the attributes of a channel in sysfs.
 */
long litepcie_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
long litepcie_compat_ioctl(struct file *file, unsigned int cmd, unsigned long arg);
ssize_t litepcie_read_iter(struct kiocb *iocb, struct iov_iter *to);
ssize_t litepcie_write_iter(struct kiocb *iocb, struct iov_iter *from);
int litepcie_fsync(struct file *filp, loff_t start, loff_t end, int datasync);
int litepcie_mmap(struct file *file, struct vm_area_struct *vma);
int litepcie_mmap_pages(struct vm_area_struct *vma, struct litepcie_ring *ring, size_t first);
extern const struct attribute_group *litepcie_groups[];

/*
 * Functions of stream.c for poll(), and of transfer.c for read() and write().  stream.h declares
 * the functions that only stream.c, packets.c, sync.c and transfer.c use.
 */
bool litepcie_stream_ready(struct litepcie_way *way);
ssize_t litepcie_stream_transfer(struct litepcie_way *way, struct litepcie_file *file,
				 struct iov_iter *iter, bool nonblock);

/* Functions of sync.c: flush time, fsync() and last close() of a stream */
void litepcie_stream_init(struct litepcie_way *way);
int litepcie_stream_sync(struct litepcie_file *file);
void litepcie_stream_close(struct litepcie_file *file);

#endif /* LITEPCIE_FILE_H */
