// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Handles ioctl() of the capture's device node, as documented in uapi/litepcie_capture_node.h.
 *
 * capture->mutex is held while a call uses the file's queue, since another thread may choose
 * another queue for the file until the file has taken one.
 */

#include <linux/slab.h>

#include "capture.h"

/* The calls of a file, each with its own argument ------------------------- */

/*
 * LITEPCIE_IOCTL_CAPTURE_LIMIT: let the card write up to a position of the run.  Returns -EINVAL
 * if a reserved field is not 0, if the queue takes no part in a run or was started by read(), or if
 * NEWEST is off and the limit is further ahead of the card's position than the ring has bytes.
 * Other errors are those of litepcie_capture_check_owner().
 */
static int set_limit(struct litepcie_capture_file *file,
		     const struct litepcie_capture_limit *wanted)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	struct litepcie_capture_queue *queue;
	int err;

	if (wanted->reserved)
		return -EINVAL;
	mutex_lock(&capture->mutex);
	queue = file->queue;
	err = litepcie_capture_check_owner(file);
	if (!err && (!queue->used || queue->run != LITEPCIE_CAPTURE_RUN_RING))
		err = -EINVAL;
	if (!err && !(capture->flags & LITEPCIE_CAPTURE_NEWEST) &&
	    wanted->limit > litepcie_capture_position(queue) + litepcie_ring_bytes(queue->ring))
		err = -EINVAL;
	if (!err)
		litepcie_capture_allow(queue, wanted->limit);
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * Exchange the queue's eventfd and *@event, and ask for a wake-up beyond @position.  Returns -EBUSY
 * if the file uses read(), or the error of litepcie_capture_check_owner().
 */
static int arm(struct litepcie_capture_file *file, u64 position, struct eventfd_ctx **event)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	struct litepcie_capture_queue *queue;
	int err;

	mutex_lock(&capture->mutex);
	queue = file->queue;
	err = litepcie_capture_check_owner(file);
	if (!err && file->header)
		err = -EBUSY;
	if (!err) {
		WRITE_ONCE(file->wake, position);
		spin_lock_irq(&queue->wait.lock);
		swap(queue->event, *event);
		spin_unlock_irq(&queue->wait.lock);
		litepcie_capture_arm(queue, &file->wake);
		/*
		 * A queue that has not been started raises no interrupt, so this call wakes the
		 * waiting threads and signals the eventfd.
		 */
		if (!queue->run)
			litepcie_queue_news(queue);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * LITEPCIE_IOCTL_CAPTURE_WAKE: set the position beyond which waiting threads are woken, and the
 * eventfd that is then signalled.  On success the queue owns the reference to the new eventfd, and
 * the reference to the previous eventfd is dropped.
 */
static int set_wake(struct litepcie_capture_file *file, const struct litepcie_capture_wake *wanted)
{
	struct eventfd_ctx *event = NULL;
	int err;

	if (wanted->reserved || wanted->fd < -1)
		return -EINVAL;
	if (wanted->fd >= 0) {
		event = eventfd_ctx_fdget(wanted->fd);
		if (IS_ERR(event))
			return PTR_ERR(event);
	}
	err = arm(file, wanted->position, &event);
	if (event)
		eventfd_ctx_put(event);
	return err;
}

static int generate(struct litepcie_capture_file *file,
		    const struct litepcie_capture_generate *wanted)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err;

	if (wanted->size > LITEPCIE_CAPTURE_FRAME_MOST ||
	    wanted->period >> LITEPCIE_CAPTURE_PERIOD_BITS ||
	    wanted->port_mask >= LITEPCIE_CAPTURE_PORTS ||
	    memchr_inv(wanted->reserved, 0, sizeof(wanted->reserved)))
		return -EINVAL;
	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_first(file);
	if (!err)
		err = litepcie_capture_generate(capture, wanted);
	mutex_unlock(&capture->mutex);
	return err;
}

static int get_info(struct litepcie_capture_file *file, struct litepcie_capture_info *info)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	struct litepcie_capture_queue *queue;
	u32 ask = info->ask;
	int err;

	if (ask & ~LITEPCIE_CAPTURE_ASK_ACCOUNTS || info->reserved)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->ask = ask;
	mutex_lock(&capture->mutex);
	queue = file->queue;
	info->position = litepcie_capture_position(queue);
	info->limit = queue->limit;
	if (queue->owner && queue->ring) {
		info->ring_bytes = litepcie_ring_bytes(queue->ring);
		info->segment_bytes = litepcie_chunk_bytes(queue->ring);
		info->mbuf_bytes = capture->mbuf_bytes;
	}
	info->run = queue->run;
	info->error = queue->error;
	info->flags = capture->flags;
	info->snap = capture->snap;
	info->queue = queue->number;
	info->queues = capture->queues;
	info->staging_bytes = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_STAGING_BYTES);
	info->most_segments = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_SEGMENTS);
	info->start_flags = CAPTURE_START_FLAGS;
	if (capture->net)
		info->net_lost = litepcie_capture_net_lost(capture);
	err = litepcie_capture_generated(capture, info);
	if (!err && ask & LITEPCIE_CAPTURE_ASK_ACCOUNTS)
		err = litepcie_capture_accounts(queue, info);
	mutex_unlock(&capture->mutex);
	return err;
}

static int set_sort(struct litepcie_capture_file *file, const struct litepcie_capture_sort *wanted)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err;

	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_first(file);
	if (!err)
		err = litepcie_capture_sort(capture, wanted);
	mutex_unlock(&capture->mutex);
	return err;
}

static int get_discards(struct litepcie_capture_file *file,
			struct litepcie_capture_discards *discards)
{
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
	int err;

	mutex_lock(&capture->mutex);
	err = litepcie_capture_discards(capture, discards);
	mutex_unlock(&capture->mutex);
	return err;
}

/* Copying arguments from and to the program ------------------------------- */

/*
 * Returns true if the ioctl() number @cmd is one of the capture's calls.  A known number also fixes
 * the size of the argument, so the size needs no check of its own.
 */
static bool is_call(unsigned int cmd)
{
	switch (cmd) {
	case LITEPCIE_IOCTL_CAPTURE_RING:
	case LITEPCIE_IOCTL_CAPTURE_START:
	case LITEPCIE_IOCTL_CAPTURE_STOP:
	case LITEPCIE_IOCTL_CAPTURE_LIMIT:
	case LITEPCIE_IOCTL_CAPTURE_WAKE:
	case LITEPCIE_IOCTL_CAPTURE_INFO:
	case LITEPCIE_IOCTL_CAPTURE_GENERATE:
	case LITEPCIE_IOCTL_CAPTURE_QUEUE:
	case LITEPCIE_IOCTL_CAPTURE_SORT:
	case LITEPCIE_IOCTL_CAPTURE_DISCARDS:
		return true;
	default:
		return false;
	}
}

/*
 * Make any call but LITEPCIE_IOCTL_CAPTURE_RING.  The caller is between litepcie_enter() and
 * litepcie_exit().
 */
static int dispatch(struct litepcie_capture_file *file, unsigned int cmd, void *argument)
{
	switch (cmd) {
	case LITEPCIE_IOCTL_CAPTURE_START:
		return litepcie_capture_start_file(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_STOP:
		return litepcie_capture_stop_file(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_LIMIT:
		return set_limit(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_WAKE:
		return set_wake(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_INFO:
		return get_info(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_GENERATE:
		return generate(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_QUEUE:
		return litepcie_capture_choose(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_SORT:
		return set_sort(file, argument);
	case LITEPCIE_IOCTL_CAPTURE_DISCARDS:
		return get_discards(file, argument);
	default:
		return -ENOTTY;
	}
}

static int run_call(struct litepcie_capture_file *file, unsigned int cmd, void *argument)
{
	struct litepcie *card = READ_ONCE(file->queue)->capture->card;
	int err;

	/* litepcie_capture_use_memory() calls litepcie_enter() itself, after pinning the memory. */
	if (cmd == LITEPCIE_IOCTL_CAPTURE_RING)
		return litepcie_capture_use_memory(file, argument);
	err = litepcie_enter(card);
	if (err)
		return err;
	err = dispatch(file, cmd, argument);
	litepcie_exit(card);
	return err;
}

/*
 * ioctl() of the capture's node.  Arguments of at most 48 bytes are copied to the stack, among them
 * those of LIMIT and WAKE, which a program calls often.
 */
long litepcie_capture_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	void __user *user = (void __user *)arg;
	size_t size = _IOC_SIZE(cmd);
	u64 small[6] = { };
	void *argument = small;
	int err;

	if (!is_call(cmd))
		return -ENOTTY;
	if (size > sizeof(small))
		argument = kzalloc(size, GFP_KERNEL_ACCOUNT);
	if (!argument)
		return -ENOMEM;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(argument, user, size))
		err = -EFAULT;
	else
		err = run_call(filp->private_data, cmd, argument);
	if (!err && _IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, argument, size))
		err = -EFAULT;
	if (argument != small)
		kfree(argument);
	return err;
}
