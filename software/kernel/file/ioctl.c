// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Implements ioctl() of the device node: the numbers of uapi/litepcie.h, some of which are those of
 * LitePCIe's driver.  The table `calls` has an entry for each number except that of
 * LITEPCIE_IOCTL_EXPORT.
 *
 * Arguments are copied from and to the user before litepcie_enter() or after litepcie_exit().  A
 * page fault of such a copy may take long, and a reset of the card must not wait for it.
 *
 * Every program that has the device node open may make every call.  rights.c decides to which
 * registers a program without CAP_SYS_RAWIO may write.
 */

#include <linux/capability.h>
#include <linux/compat.h>
#include <linux/dma-buf.h>
#include <linux/file.h>
#include <linux/uaccess.h>

#include "card.h"

/* LITEPCIE_IOCTL_REG, which reads or writes a register -------------------- */

/*
 * Write a register of BAR0.  LITEPCIE_RIGHT_STEER is the right of a program without CAP_SYS_RAWIO
 * to the register `control` of the pattern block, which lies between the user slot and the DMA of
 * channel 0.  With this right a write must not change what happens to a direction of channel 0 that
 * another file owns.
 */
static int write_register(struct litepcie_file *file, u32 addr, u32 value,
			  enum litepcie_right right)
{
	const u32 acts_on[] = {
		[LITEPCIE_WAY_H2C] = litepcie_steered(LITEPCIE_WAY_H2C),
		[LITEPCIE_WAY_C2H] = litepcie_steered(LITEPCIE_WAY_C2H),
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

static int ioctl_reg(struct litepcie_file *file, void *argument)
{
	struct litepcie *card = file->chan->card;
	struct litepcie_ioctl_reg *reg = argument;
	enum litepcie_right right;

	if (reg->addr % sizeof(u32) || reg->addr >= card->bar0_size)
		return -EINVAL;
	if (!reg->is_write)
		return read_register(card, reg);
	right = litepcie_right(card, 0, reg->addr, sizeof(u32));
	if (right != LITEPCIE_RIGHT_WRITE && capable(CAP_SYS_RAWIO))
		right = LITEPCIE_RIGHT_WRITE;
	if (right == LITEPCIE_RIGHT_NONE)
		return -EPERM;
	return write_register(file, reg->addr, reg->val, right);
}

/* LitePCIe's calls about the DMA ------------------------------------------ */

static int ioctl_loopback(struct litepcie_file *file, void *argument)
{
	static const u32 acts_on[LITEPCIE_WAYS] = { ~0u, ~0u };
	const struct litepcie_ioctl_dma *dma = argument;
	struct litepcie_chan *chan = file->chan;

	return litepcie_owner_steer(file, chan, chan->loopback, !!dma->loopback_enable, acts_on);
}

static int run(struct litepcie_file *file, u32 id, bool enable, __s64 *hw_count, __s64 *sw_count)
{
	struct litepcie_way *way = &file->chan->way[id];
	int err;

	mutex_lock(&way->mutex);
	err = enable ? litepcie_dma_start(way, file, LITEPCIE_RUN_LOOP) :
		       litepcie_dma_end(way, file);
	mutex_unlock(&way->mutex);
	spin_lock_irq(&way->wait.lock);
	*hw_count = way->hw_count;
	*sw_count = way->sw_count;
	spin_unlock_irq(&way->wait.lock);
	return err;
}

static int ioctl_writer(struct litepcie_file *file, void *argument)
{
	struct litepcie_ioctl_dma_writer *writer = argument;

	return run(file, LITEPCIE_WAY_C2H, writer->enable, &writer->hw_count, &writer->sw_count);
}

static int ioctl_reader(struct litepcie_file *file, void *argument)
{
	struct litepcie_ioctl_dma_reader *reader = argument;

	return run(file, LITEPCIE_WAY_H2C, reader->enable, &reader->hw_count, &reader->sw_count);
}

static int ioctl_mmap_info(struct litepcie_file *file, void *argument)
{
	struct litepcie_ioctl_mmap_dma_info *info = argument;
	struct litepcie_geometry h2c, c2h;

	h2c = litepcie_owner_geometry(&file->chan->way[LITEPCIE_WAY_H2C], file);
	c2h = litepcie_owner_geometry(&file->chan->way[LITEPCIE_WAY_C2H], file);
	info->dma_tx_buf_offset = 0;
	info->dma_tx_buf_size = h2c.size;
	info->dma_tx_buf_count = h2c.count;
	info->dma_rx_buf_offset = (u64)h2c.size * h2c.count;
	info->dma_rx_buf_size = c2h.size;
	info->dma_rx_buf_count = c2h.count;
	return 0;
}

/*
 * For LITEPCIE_IOCTL_LOCK: take one direction if @request is true, and then release the direction
 * if @release is true.  Returns 0 if the request was refused, since the direction has an owner
 * already, even if that is @file.  Returns 1 if the request was granted or nothing was requested.
 */
static u8 lock_way(struct litepcie_file *file, u32 id, bool request, bool release)
{
	struct litepcie_way *way = &file->chan->way[id];
	u8 status = !request || !litepcie_owner_take(way, file);

	if (release)
		litepcie_dma_give(way, file, true);
	return status;
}

static int ioctl_lock(struct litepcie_file *file, void *argument)
{
	struct litepcie_ioctl_lock *lock = argument;

	lock->dma_reader_status = lock_way(file, LITEPCIE_WAY_H2C, lock->dma_reader_request,
					   lock->dma_reader_release);
	lock->dma_writer_status = lock_way(file, LITEPCIE_WAY_C2H, lock->dma_writer_request,
					   lock->dma_writer_release);
	return 0;
}

/*
 * Set the direction's sw_count, which is the number of buffers that the program is done with.  The
 * count may go backwards, since LitePCIe's programs do that.  If the direction has no owner, the
 * count keeps its value 0, with which the next owner begins.
 */
static int set_sw_count(struct litepcie_file *file, u32 id,
			const struct litepcie_ioctl_mmap_dma_update *update)
{
	struct litepcie_way *way = &file->chan->way[id];
	bool back = false;
	int err = 0;

	if (litepcie_is_gone(file->chan->card))
		return -ENODEV;
	mutex_lock(&way->mutex);
	if (way->owner && way->owner != file)
		err = -EBUSY;
	else if (update->sw_count < 0)
		err = -EINVAL;
	if (!err && way->owner) {
		spin_lock_irq(&way->wait.lock);
		back = update->sw_count < way->sw_count;
		WRITE_ONCE(way->sw_count, update->sw_count);
		spin_unlock_irq(&way->wait.lock);
	}
	mutex_unlock(&way->mutex);
	/*
	 * The program has set sw_count to a smaller number.  So there may be buffers to read or
	 * write now for which a thread waits in poll().
	 */
	if (back)
		litepcie_dma_news(way);
	return err;
}

static int ioctl_writer_update(struct litepcie_file *file, void *argument)
{
	return set_sw_count(file, LITEPCIE_WAY_C2H, argument);
}

static int ioctl_reader_update(struct litepcie_file *file, void *argument)
{
	return set_sw_count(file, LITEPCIE_WAY_H2C, argument);
}

/* Lanebox's own calls ----------------------------------------------------- */

/* Returns a copy of LITEPCIE_IOCTL_ADVANCE's lengths, NULL if there are none, or an ERR_PTR(). */
static u32 *copy_lengths(const struct litepcie_advance *advance)
{
	if (!advance->lengths || !advance->count)
		return NULL;
	return vmemdup_user(u64_to_user_ptr(advance->lengths),
			    array_size(advance->count, sizeof(u32)));
}

static int ioctl_advance(struct litepcie_file *file, void *argument)
{
	struct litepcie_advance *advance = argument;
	struct litepcie_way *way = litepcie_find_way(file, advance->way);
	u32 *lengths;
	int err;

	if (!way || advance->reserved || advance->flags & ~LITEPCIE_ADVANCE_NOTIFY ||
	    advance->count > way->depth || (advance->lengths && way->id == LITEPCIE_WAY_C2H))
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

static int ioctl_counts(struct litepcie_file *file, void *argument)
{
	struct litepcie_counts *counts = argument;
	struct litepcie_way *way = litepcie_find_way(file, counts->way);

	if (!way || counts->reserved)
		return -EINVAL;
	litepcie_dma_ask(way);
	spin_lock_irq(&way->wait.lock);
	*counts = (struct litepcie_counts){
		.way		= counts->way,
		.hardware	= way->hw_count,
		.advanced	= way->status->advanced,
		.position	= way->reports ? way->held.position :
					      le64_to_cpu(way->status->position),
		.run		= way->run,
		.error		= way->error,
	};
	spin_unlock_irq(&way->wait.lock);
	return 0;
}

static int ioctl_bar(struct litepcie_file *file, void *argument)
{
	return litepcie_bar_info(file->chan->card, argument);
}

/*
 * Make a file descriptor for the dma-buf, and return its number to the program.  The descriptor is
 * installed last, when its number has been copied to the program, since an installed descriptor
 * could not be taken back.
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

/* The table of calls ------------------------------------------------------ */

/* One ioctl() number of the device node.  The number includes the size of its argument. */
struct call {
	unsigned int	number;
	/* true: @function is called between litepcie_enter() and litepcie_exit() */
	bool		live;
	/*
	 * @argument is a copy of the user's argument if the number says that the driver reads it,
	 * and zeroed otherwise.  If @function returns 0, @argument is copied to the user if the
	 * number says that the driver writes it.
	 */
	int		(*function)(struct litepcie_file *file, void *argument);
};

/* size in bytes of the largest ioctl() argument in the table @calls */
#define MOST_BYTES	sizeof(struct litepcie_ring_info)

#define CALL(_name, _live, _function)						\
	[_IOC_NR(LITEPCIE_IOCTL_##_name)] = {					\
		.number	= LITEPCIE_IOCTL_##_name +				\
			  BUILD_BUG_ON_ZERO(_IOC_SIZE(LITEPCIE_IOCTL_##_name) > MOST_BYTES), \
		.live = _live, .function = _function,				\
	}

static const struct call calls[] = {
	CALL(REG, true, ioctl_reg),
	CALL(DMA, true, ioctl_loopback),
	CALL(DMA_WRITER, true, ioctl_writer),
	CALL(DMA_READER, true, ioctl_reader),
	CALL(MMAP_DMA_INFO, false, ioctl_mmap_info),
	CALL(LOCK, true, ioctl_lock),
	CALL(MMAP_DMA_WRITER_UPDATE, false, ioctl_writer_update),
	CALL(MMAP_DMA_READER_UPDATE, false, ioctl_reader_update),
	CALL(RING_SETUP, true, litepcie_setup_ring),
	CALL(RING_INFO, false, litepcie_setup_info),
	CALL(EVENT, false, litepcie_setup_event),
	CALL(BAR, true, ioctl_bar),
	CALL(RING_MEMORY, false, litepcie_setup_memory),
	CALL(ADVANCE, false, ioctl_advance),
	CALL(COUNTS, true, ioctl_counts),
	CALL(PACKETS, false, litepcie_setup_packets),
	CALL(FEATURES, false, litepcie_setup_features),
};

/*
 * Returns the table's entry for the ioctl() number, or NULL if the number is unknown.  A known call
 * with another size of argument has another number, and so is unknown.
 */
static const struct call *find_call(unsigned int number)
{
	const struct call *call;

	if (_IOC_NR(number) >= ARRAY_SIZE(calls))
		return NULL;
	call = &calls[array_index_nospec(_IOC_NR(number), ARRAY_SIZE(calls))];
	return call->function && call->number == number ? call : NULL;
}

static int make_call(struct litepcie_file *file, const struct call *call, void *argument)
{
	int err;

	if (!call->live)
		return call->function(file, argument);
	err = litepcie_enter(file->chan->card);
	if (err)
		return err;
	err = call->function(file, argument);
	litepcie_exit(file->chan->card);
	return err;
}

long litepcie_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	const struct call *call = find_call(cmd);
	void __user *user = (void __user *)arg;
	u64 argument[MOST_BYTES / sizeof(u64)] = { };
	int err;

	if (cmd == LITEPCIE_IOCTL_EXPORT)
		return ioctl_export(filp->private_data, user);
	if (!call)
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(argument, user, _IOC_SIZE(cmd)))
		return -EFAULT;
	err = make_call(filp->private_data, call, argument);
	if (err)
		return err;
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, argument, _IOC_SIZE(cmd)))
		return -EFAULT;
	return 0;
}

/* Calls of 32-bit programs ------------------------------------------------ */

#ifdef CONFIG_COMPAT
/*
 * The argument of LITEPCIE_IOCTL_DMA_WRITER and _DMA_READER in a 32-bit program.  LitePCIe's two
 * structures for these calls are not padded by hand.  On x86 a 32-bit program aligns their counts
 * to 4 bytes, so the size of the argument and thereby the ioctl() number differ.
 */
struct compat_run {
	__u8		enable;
	compat_s64	hw_count;
	compat_s64	sw_count;
};

#define COMPAT_DMA_WRITER	_IOWR(LITEPCIE_IOCTL, 21, struct compat_run)
#define COMPAT_DMA_READER	_IOWR(LITEPCIE_IOCTL, 22, struct compat_run)

/* struct compat_run has 20 bytes on x86, and 24 where words of 64 bits are aligned to 8 bytes. */
static_assert(sizeof(struct compat_run) == 16 + __alignof__(compat_s64));

/*
 * Make LITEPCIE_IOCTL_DMA_WRITER or _DMA_READER for a 32-bit program.  The 64-bit structures of the
 * two calls are alike, so one function serves both.
 */
static int compat_run(struct litepcie_file *file, unsigned int number,
		      struct compat_run __user *user)
{
	struct litepcie_ioctl_dma_writer native = { };
	struct compat_run argument;
	int err;

	if (copy_from_user(&argument, user, sizeof(argument)))
		return -EFAULT;
	native.enable = argument.enable;
	err = make_call(file, find_call(number), &native);
	if (err)
		return err;
	argument.hw_count = native.hw_count;
	argument.sw_count = native.sw_count;
	return copy_to_user(user, &argument, sizeof(argument)) ? -EFAULT : 0;
}

long litepcie_compat_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	if (cmd == COMPAT_DMA_WRITER)
		return compat_run(filp->private_data, LITEPCIE_IOCTL_DMA_WRITER, compat_ptr(arg));
	if (cmd == COMPAT_DMA_READER)
		return compat_run(filp->private_data, LITEPCIE_IOCTL_DMA_READER, compat_ptr(arg));
	return compat_ptr_ioctl(filp, cmd, arg);
}
#endif
