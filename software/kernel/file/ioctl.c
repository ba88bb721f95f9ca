// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements ioctl() of the device node: LitePCIe's numbers and Lanebox's own.
 *
 * Arguments are copied from and to the user before litepcie_enter() or after
 * litepcie_exit().  A page fault of such a copy may take long, and a reset of
 * the card must not wait for it.
 */

#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/dma-buf.h>
#include <linux/eventfd.h>
#include <linux/file.h>
#include <linux/module.h>
#include <linux/uaccess.h>

#include "card.h"

/* Registers --------------------------------------------------------------- */

/*
 * Write a register of BAR0.  A register that steers the data of the DMA
 * (LITEPCIE_RIGHT_STEER) belongs to the pattern block.  That block lies between
 * the user slot and the DMA of channel 0.  So the owners of that channel's
 * directions decide whether the write is allowed.
 */
static int write_register(struct litepcie_file *file, u32 addr, u32 value,
			  enum litepcie_right right)
{
	const u32 acts_on[] = {
		[LITEPCIE_H2C] = litepcie_steered(LITEPCIE_H2C),
		[LITEPCIE_C2H] = litepcie_steered(LITEPCIE_C2H),
	};
	struct litepcie *card = file->chan->card;

	if (right == LITEPCIE_RIGHT_STEER)
		return litepcie_owner_steer(file, card->chan[0], card->bar0 + addr, value, acts_on);
	writel(value, card->bar0 + addr);
	return 0;
}

static int read_register(struct litepcie *card, struct litepcie_ioctl_reg *reg)
{
	reg->val = readl(card->bar0 + reg->addr);
	return reg->val == ~0u && litepcie_check_lost(card) ? -ENODEV : 0;
}

static int ioctl_reg(struct litepcie_file *file, struct litepcie_ioctl_reg *reg)
{
	enum litepcie_right right = LITEPCIE_RIGHT_WRITE;
	struct litepcie *card = file->chan->card;
	int err;

	if (reg->addr % sizeof(u32) || reg->addr >= card->bar0_size)
		return -EINVAL;
	if (reg->is_write)
		right = litepcie_right(card, 0, reg->addr, sizeof(u32));
	if (right != LITEPCIE_RIGHT_WRITE && capable(CAP_SYS_RAWIO))
		right = LITEPCIE_RIGHT_WRITE;
	if (right == LITEPCIE_RIGHT_NONE)
		return -EPERM;
	err = litepcie_enter(card);
	if (err)
		return err;
	if (reg->is_write)
		err = write_register(file, reg->addr, reg->val, right);
	else
		err = read_register(card, reg);
	litepcie_exit(card);
	return err;
}

/* DMA --------------------------------------------------------------------- */

static int ioctl_loopback(struct litepcie_file *file, struct litepcie_ioctl_dma *dma)
{
	static const u32 acts_on[LITEPCIE_WAYS] = { ~0u, ~0u };
	struct litepcie_chan *chan = file->chan;
	int err = litepcie_enter(chan->card);

	if (err)
		return err;
	err = litepcie_owner_steer(file, chan, chan->loopback, !!dma->loopback_enable, acts_on);
	litepcie_exit(chan->card);
	return err;
}

static int run(struct litepcie_file *file, enum litepcie_direction id, bool enable,
	       __s64 *hw_count, __s64 *sw_count)
{
	struct litepcie_way *way = &file->chan->way[id];
	int err = litepcie_enter(file->chan->card);

	if (err)
		return err;
	mutex_lock(&way->mutex);
	err = enable ? litepcie_dma_start(way, file, LITEPCIE_RUN_LOOP) :
		       litepcie_dma_end(way, file);
	mutex_unlock(&way->mutex);
	litepcie_exit(file->chan->card);
	spin_lock_irq(&way->wait.lock);
	*hw_count = way->hw_count;
	*sw_count = way->sw_count;
	spin_unlock_irq(&way->wait.lock);
	return err;
}

static int ioctl_writer(struct litepcie_file *file, struct litepcie_ioctl_dma_writer *writer)
{
	return run(file, LITEPCIE_C2H, writer->enable, &writer->hw_count, &writer->sw_count);
}

static int ioctl_reader(struct litepcie_file *file, struct litepcie_ioctl_dma_reader *reader)
{
	return run(file, LITEPCIE_H2C, reader->enable, &reader->hw_count, &reader->sw_count);
}

/*
 * Fill in the mmap() offsets and the shapes of the two rings that the file
 * would map.
 */
static int ioctl_mmap_info(struct litepcie_file *file, struct litepcie_ioctl_mmap_dma_info *info)
{
	struct litepcie_geometry h2c, c2h;

	h2c = litepcie_owner_geometry(&file->chan->way[LITEPCIE_H2C], file);
	c2h = litepcie_owner_geometry(&file->chan->way[LITEPCIE_C2H], file);
	info->dma_tx_buf_offset = 0;
	info->dma_tx_buf_size = h2c.size;
	info->dma_tx_buf_count = h2c.count;
	info->dma_rx_buf_offset = (u64)h2c.size * h2c.count;
	info->dma_rx_buf_size = c2h.size;
	info->dma_rx_buf_count = c2h.count;
	return 0;
}

/*
 * Take or release one direction for LITEPCIE_IOCTL_LOCK.  Returns 0 if the
 * request was refused, since the direction has an owner already.  Returns 1 if
 * the request was granted or nothing was requested.
 */
static u8 lock_way(struct litepcie_file *file, enum litepcie_direction id, bool request,
		   bool release, bool live)
{
	struct litepcie_way *way = &file->chan->way[id];
	u8 status = 1;

	if (request)
		status = !litepcie_owner_take(way, file);
	if (release)
		litepcie_owner_give(way, file, live);
	return status;
}

static int ioctl_lock(struct litepcie_file *file, struct litepcie_ioctl_lock *lock)
{
	int err = litepcie_enter(file->chan->card);

	if (err)
		return err;
	lock->dma_reader_status = lock_way(file, LITEPCIE_H2C, lock->dma_reader_request,
					   lock->dma_reader_release, true);
	lock->dma_writer_status = lock_way(file, LITEPCIE_C2H, lock->dma_writer_request,
					   lock->dma_writer_release, true);
	litepcie_exit(file->chan->card);
	return 0;
}

/*
 * Set the software count, which is the number of buffers that the program is
 * done with.  The count may go backwards, since LitePCIe's programs do that.
 * If the direction has no owner, the call does nothing, so the next owner
 * begins with 0.
 */
static int update(struct litepcie_file *file, enum litepcie_direction id, s64 sw_count)
{
	struct litepcie_way *way = &file->chan->way[id];
	int err = 0;

	if (litepcie_is_gone(file->chan->card))
		return -ENODEV;
	mutex_lock(&way->mutex);
	if (way->owner && way->owner != file)
		err = -EBUSY;
	else if (sw_count < 0)
		err = -EINVAL;
	if (!err && way->owner) {
		spin_lock_irq(&way->wait.lock);
		way->sw_count = sw_count;
		spin_unlock_irq(&way->wait.lock);
	}
	mutex_unlock(&way->mutex);
	return err;
}

static int ioctl_writer_update(struct litepcie_file *file,
			       struct litepcie_ioctl_mmap_dma_update *u)
{
	return update(file, LITEPCIE_C2H, u->sw_count);
}

static int ioctl_reader_update(struct litepcie_file *file,
			       struct litepcie_ioctl_mmap_dma_update *u)
{
	return update(file, LITEPCIE_H2C, u->sw_count);
}

/* Calls of Lanebox's own -------------------------------------------------- */

/*
 * Set the eventfd of direction @way, which accesses no register.  If @way is
 * NULL, set the eventfd of the user logic's interrupt, which switches the
 * interrupt cause on or off in the card.
 */
static int set_event(struct litepcie_file *file, struct litepcie_way *way,
		     struct eventfd_ctx *context)
{
	int err;

	if (way)
		return litepcie_is_gone(file->chan->card) ? -ENODEV :
							    litepcie_owner_event(way, file, context);
	err = litepcie_enter(file->chan->card);
	if (err)
		return err;
	err = litepcie_user_event(file, context);
	litepcie_exit(file->chan->card);
	return err;
}

static int ioctl_event(struct litepcie_file *file, struct litepcie_event *event)
{
	struct litepcie_way *way = litepcie_find_way(file, event->way);
	struct eventfd_ctx *context = NULL;
	int err;

	if ((!way && event->way != LITEPCIE_EVENT_USER) || event->fd < -1)
		return -EINVAL;
	if (event->fd >= 0)
		context = eventfd_ctx_fdget(event->fd);
	if (IS_ERR(context))
		return PTR_ERR(context);
	err = set_event(file, way, context);
	if (err && context)
		eventfd_ctx_put(context);
	return err;
}

/*
 * Returns a kernel copy of the user's array of buffer lengths for ADVANCE, or
 * NULL if the user passes none.
 */
static u32 *copy_lengths(const struct litepcie_advance *advance)
{
	if (!advance->lengths || !advance->count)
		return NULL;
	return vmemdup_user(u64_to_user_ptr(advance->lengths),
			    array_size(advance->count, sizeof(u32)));
}

static int ioctl_advance(struct litepcie_file *file, struct litepcie_advance *advance)
{
	struct litepcie_way *way = litepcie_find_way(file, advance->way);
	u32 *lengths;
	int err;

	if (!way || advance->reserved || advance->flags & ~LITEPCIE_ADVANCE_NOTIFY ||
	    advance->count > way->depth || (advance->lengths && way->id == LITEPCIE_C2H))
		return -EINVAL;
	lengths = copy_lengths(advance);
	if (IS_ERR(lengths))
		return PTR_ERR(lengths);
	err = litepcie_enter(file->chan->card);
	if (!err) {
		err = litepcie_held_advance(file, advance, lengths);
		litepcie_exit(file->chan->card);
	}
	kvfree(lengths);
	return err;
}

static int ioctl_counts(struct litepcie_file *file, struct litepcie_counts *counts)
{
	struct litepcie_way *way = litepcie_find_way(file, counts->way);
	int err;

	if (!way || counts->reserved)
		return -EINVAL;
	err = litepcie_enter(file->chan->card);
	if (err)
		return err;
	litepcie_dma_ask(way);
	litepcie_exit(file->chan->card);
	spin_lock_irq(&way->wait.lock);
	*counts = (struct litepcie_counts){
		.way		= counts->way,
		.hardware	= way->hw_count,
		.advanced	= way->status->advanced,
		.position	= way->told ? way->held.position : way->status->position,
		.run		= way->run,
		.error		= way->error,
	};
	spin_unlock_irq(&way->wait.lock);
	return 0;
}

static int ioctl_bar(struct litepcie_file *file, struct litepcie_bar *bar)
{
	int err = litepcie_enter(file->chan->card);

	if (err)
		return err;
	err = litepcie_bar_info(file->chan->card, bar);
	litepcie_exit(file->chan->card);
	return err;
}

/*
 * Return the number of the dma-buf's descriptor to the user.  The descriptor is
 * installed last: once its number has been copied to the user, nothing can
 * fail.
 */
static int tell_descriptor(struct litepcie_export *export, struct litepcie_export __user *user,
			   struct file *file)
{
	export->fd = get_unused_fd_flags(export->fd_flags & O_CLOEXEC);
	if (export->fd < 0)
		return export->fd;
	if (copy_to_user(user, export, sizeof(*export))) {
		put_unused_fd(export->fd);
		return -EFAULT;
	}
	fd_install(export->fd, file);
	return 0;
}

static int ioctl_export(struct litepcie_file *file, struct litepcie_export __user *user)
{
	struct litepcie_export export;
	struct litepcie_way *way;
	struct dma_buf *dmabuf;
	int err;

	if (copy_from_user(&export, user, sizeof(export)))
		return -EFAULT;
	way = litepcie_find_way(file, export.way);
	if (!way || export.reserved)
		return -EINVAL;
	err = litepcie_enter(file->chan->card);
	if (err)
		return err;
	dmabuf = litepcie_dmabuf_export(way, file, export.fd_flags);
	litepcie_exit(file->chan->card);
	if (IS_ERR(dmabuf))
		return PTR_ERR(dmabuf);
	err = tell_descriptor(&export, user, dmabuf->file);
	if (err)
		dma_buf_put(dmabuf);
	return err;
}

/* Dispatch of the calls --------------------------------------------------- */

union argument {
	struct litepcie_ioctl_reg		reg;
	struct litepcie_ioctl_dma		dma;
	struct litepcie_ioctl_dma_writer	writer;
	struct litepcie_ioctl_dma_reader	reader;
	struct litepcie_ioctl_mmap_dma_info	info;
	struct litepcie_ioctl_lock		lock;
	struct litepcie_ioctl_mmap_dma_update	update;
	struct litepcie_ring_setup		setup;
	struct litepcie_ring_memory		memory;
	struct litepcie_ring_info		ring;
	struct litepcie_event			event;
	struct litepcie_bar			bar;
	struct litepcie_advance			advance;
	struct litepcie_counts			counts;
	struct litepcie_packets			packets;
	struct litepcie_features		features;
};

/*
 * The sizes of the ioctl() arguments are part of the ABI: compiled programs
 * rely on them.
 */
static_assert(sizeof(struct litepcie_ioctl_reg) == 12);
static_assert(sizeof(struct litepcie_ioctl_dma) == 1);
static_assert(sizeof(struct litepcie_ioctl_lock) == 6);
static_assert(sizeof(struct litepcie_ioctl_mmap_dma_info) == 48);
static_assert(sizeof(struct litepcie_ioctl_mmap_dma_update) == 8);
static_assert(sizeof(struct litepcie_ring_setup) == 32);
static_assert(sizeof(struct litepcie_ring_memory) == 48);
static_assert(sizeof(struct litepcie_ring_info) == 96);
static_assert(sizeof(struct litepcie_advance) == 32);
static_assert(sizeof(struct litepcie_counts) == 56);
static_assert(sizeof(struct litepcie_packets) == 32);
static_assert(sizeof(struct litepcie_features) == 64);
static_assert(sizeof(struct litepcie_record) == 16);
static_assert(sizeof(struct litepcie_status_way) == 128);
static_assert(sizeof(struct litepcie_event) == 8);
static_assert(sizeof(struct litepcie_bar) == 24);
static_assert(sizeof(struct litepcie_export) == 16);
static_assert(sizeof(struct litepcie_index_way) == 64);

static int dispatch(struct litepcie_file *file, unsigned int cmd, union argument *argument)
{
	switch (cmd) {
	case LITEPCIE_IOCTL_REG:
		return ioctl_reg(file, &argument->reg);
	case LITEPCIE_IOCTL_DMA:
		return ioctl_loopback(file, &argument->dma);
	case LITEPCIE_IOCTL_DMA_WRITER:
		return ioctl_writer(file, &argument->writer);
	case LITEPCIE_IOCTL_DMA_READER:
		return ioctl_reader(file, &argument->reader);
	case LITEPCIE_IOCTL_MMAP_DMA_INFO:
		return ioctl_mmap_info(file, &argument->info);
	case LITEPCIE_IOCTL_LOCK:
		return ioctl_lock(file, &argument->lock);
	case LITEPCIE_IOCTL_MMAP_DMA_WRITER_UPDATE:
		return ioctl_writer_update(file, &argument->update);
	case LITEPCIE_IOCTL_MMAP_DMA_READER_UPDATE:
		return ioctl_reader_update(file, &argument->update);
	case LITEPCIE_IOCTL_RING_SETUP:
		return litepcie_setup_ring(file, &argument->setup);
	case LITEPCIE_IOCTL_RING_MEMORY:
		return litepcie_setup_memory(file, &argument->memory);
	case LITEPCIE_IOCTL_RING_INFO:
		return litepcie_setup_info(file, &argument->ring);
	case LITEPCIE_IOCTL_EVENT:
		return ioctl_event(file, &argument->event);
	case LITEPCIE_IOCTL_ADVANCE:
		return ioctl_advance(file, &argument->advance);
	case LITEPCIE_IOCTL_COUNTS:
		return ioctl_counts(file, &argument->counts);
	case LITEPCIE_IOCTL_PACKETS:
		return litepcie_setup_packets(file, &argument->packets);
	case LITEPCIE_IOCTL_FEATURES:
		return litepcie_setup_features(file, &argument->features);
	case LITEPCIE_IOCTL_BAR:
		return ioctl_bar(file, &argument->bar);
	default:
		return -ENOTTY;
	}
}

/*
 * ioctl() of the device node.  An ioctl number includes the size of its
 * argument.  So an argument of the wrong size makes an unknown number, which
 * fails with -ENOTTY.
 */
long litepcie_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	union argument argument = { };
	size_t size = _IOC_SIZE(cmd);
	int err;

	if (cmd == LITEPCIE_IOCTL_EXPORT)
		return ioctl_export(filp->private_data, user);
	if (_IOC_TYPE(cmd) != LITEPCIE_IOCTL || size > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&argument, user, size))
		return -EFAULT;
	err = dispatch(filp->private_data, cmd, &argument);
	if (err)
		return err;
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &argument, size))
		return -EFAULT;
	return 0;
}

/* 32-bit programs -------------------------------------------------------------- */

#ifdef CONFIG_COMPAT
/*
 * The argument of numbers 21 and 22 in a 32-bit program.  LitePCIe's two
 * structures for these calls are not padded by hand.  On x86 a 32-bit program
 * aligns their counts to 4 bytes, so the size of the argument and thereby the
 * ioctl number differ.
 */
struct compat_run {
	__u8		enable;
	compat_s64	hw_count;
	compat_s64	sw_count;
};

#define COMPAT_DMA_WRITER	_IOWR(LITEPCIE_IOCTL, 21, struct compat_run)
#define COMPAT_DMA_READER	_IOWR(LITEPCIE_IOCTL, 22, struct compat_run)

static int compat_run(struct litepcie_file *file, enum litepcie_direction id,
		      struct compat_run __user *user)
{
	struct compat_run argument;
	__s64 hw_count, sw_count;
	int err;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	err = run(file, id, argument.enable, &hw_count, &sw_count);
	if (err)
		return err;
	argument.hw_count = hw_count;
	argument.sw_count = sw_count;
	return copy_to_user(user, &argument, sizeof(argument)) ? -EFAULT : 0;
}

long litepcie_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (cmd == COMPAT_DMA_WRITER)
		return compat_run(filp->private_data, LITEPCIE_C2H, compat_ptr(arg));
	if (cmd == COMPAT_DMA_READER)
		return compat_run(filp->private_data, LITEPCIE_H2C, compat_ptr(arg));
	return compat_ptr_ioctl(filp, cmd, arg);
}
#endif
