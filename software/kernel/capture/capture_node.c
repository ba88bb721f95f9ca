// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Creates /dev/litepcieN-capture if the card has a capture block, and handles
 * open(), close(), poll(), mmap() and ioctl() of its files.
 *
 * uapi/litepcie_capture_node.h says what each call promises.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "capture.h"
#include "compat.h"

/* Open files -------------------------------------------------------------- */

static int capture_open(struct inode *inode, struct file *filp)
{
	struct litepcie_capture *capture =
		container_of(inode->i_cdev, struct litepcie_capture, cdev);
	struct litepcie_capture_file *file;
	int err = litepcie_enter(capture->card);

	if (err)
		return err;
	litepcie_exit(capture->card);
	file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	if (!file)
		return -ENOMEM;
	mutex_init(&file->io);
	file->capture = capture;
	filp->private_data = file;
	return stream_open(inode, filp);
}

static int capture_release(struct inode *inode, struct file *filp)
{
	struct litepcie_capture_file *file = filp->private_data;

	litepcie_capture_leave(file);
	kfree(file->header);
	kfree(file);
	return 0;
}

/*
 * Returns true if read() or the ring has blocks beyond what @file knows.  For a
 * capture that belongs to nobody read() would start one.
 */
static bool has_news(const struct litepcie_capture_file *file)
{
	const struct litepcie_capture *capture = file->capture;
	const struct litepcie_capture_file *owner = READ_ONCE(capture->owner);
	u64 position = litepcie_capture_position(capture);

	if (!owner)
		return true;
	if (owner != file)
		return false;
	if (!READ_ONCE(file->header))
		return position > READ_ONCE(file->wake);
	return READ_ONCE(file->header_at) < LITEPCIE_CAPTURE_HEADER ||
	       position > READ_ONCE(file->at) ||
	       READ_ONCE(capture->run) != LITEPCIE_CAPTURE_RUN_READ;
}

/*
 * poll() asks the card to wake it, unless there is news already.  A program
 * with a ring of its own has to call WAKE before.
 */
static __poll_t capture_poll(struct file *filp, struct poll_table_struct *table)
{
	struct litepcie_capture_file *file = filp->private_data;
	struct litepcie_capture *capture = file->capture;

	poll_wait(filp, &capture->wait, table);
	if (!has_news(file) && READ_ONCE(file->header) && !litepcie_enter(capture->card)) {
		litepcie_capture_arm(capture, READ_ONCE(file->at));
		litepcie_exit(capture->card);
	}
	if (litepcie_is_gone(capture->card))
		return EPOLLHUP | EPOLLERR;
	if (READ_ONCE(capture->owner) == file && READ_ONCE(capture->error))
		return EPOLLERR;
	return has_news(file) ? EPOLLIN | EPOLLRDNORM : 0;
}

/*
 * Map the status page, which the driver and the card write.  A process can map
 * it only for reading.
 */
static int capture_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct litepcie_capture_file *file = filp->private_data;
	struct litepcie_capture *capture = file->capture;
	int err;

	if (vma->vm_pgoff || vma->vm_end - vma->vm_start != PAGE_SIZE ||
	    !(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	if (vma->vm_flags & VM_WRITE)
		return -EPERM;
	err = litepcie_enter(capture->card);
	if (err)
		return err;
	vm_flags_set(vma, VM_DONTEXPAND | VM_DONTDUMP);
	vm_flags_clear(vma, VM_MAYWRITE);
	err = vm_insert_page(vma, vma->vm_start, virt_to_page(capture->status));
	litepcie_exit(capture->card);
	return err;
}

/* Calls ------------------------------------------------------------------- */

static int set_limit(struct litepcie_capture_file *file,
		     const struct litepcie_capture_limit *wanted)
{
	struct litepcie_capture *capture = file->capture;
	int err;

	if (wanted->reserved)
		return -EINVAL;
	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_owner(file);
	if (!err && capture->run != LITEPCIE_CAPTURE_RUN_RING)
		err = -EINVAL;
	if (!err && !(capture->flags & LITEPCIE_CAPTURE_NEWEST) &&
	    wanted->limit > litepcie_capture_position(capture) +
			    litepcie_ring_bytes(capture->ring))
		err = -EINVAL;
	if (!err)
		litepcie_capture_allow(capture, wanted->limit);
	mutex_unlock(&capture->mutex);
	return err;
}

static int arm(struct litepcie_capture_file *file, u64 position, struct eventfd_ctx **event)
{
	struct litepcie_capture *capture = file->capture;
	int err;

	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_owner(file);
	if (!err && file->header)
		err = -EBUSY;
	if (!err) {
		WRITE_ONCE(file->wake, position);
		spin_lock_irq(&capture->wait.lock);
		swap(capture->event, *event);
		spin_unlock_irq(&capture->wait.lock);
		litepcie_capture_arm(capture, position);
		/* a capture that has ended raises no interrupt, so wake the waiters here */
		if (!capture->run)
			litepcie_capture_news(capture);
	}
	mutex_unlock(&capture->mutex);
	return err;
}

/*
 * On success the capture keeps the reference to the new eventfd, and the
 * reference to the one before is put.
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
	struct litepcie_capture *capture = file->capture;
	int err;

	if (wanted->size > LITEPCIE_CAPTURE_MOST_FRAME ||
	    wanted->period >> LITEPCIE_CAPTURE_PERIOD_BITS ||
	    wanted->port_mask >= LITEPCIE_CAPTURE_MOST_PORTS ||
	    memchr_inv(wanted->reserved, 0, sizeof(wanted->reserved)))
		return -EINVAL;
	mutex_lock(&capture->mutex);
	err = litepcie_capture_check_owner(file);
	if (!err)
		err = litepcie_capture_generate(capture, wanted);
	mutex_unlock(&capture->mutex);
	return err;
}

static int get_info(struct litepcie_capture *capture, struct litepcie_capture_info *info)
{
	u32 ask = info->ask;
	int err;

	if (ask & ~LITEPCIE_CAPTURE_ASK_ACCOUNTS || info->reserved)
		return -EINVAL;
	memset(info, 0, sizeof(*info));
	info->ask = ask;
	mutex_lock(&capture->mutex);
	info->position = litepcie_capture_position(capture);
	info->limit = capture->limit;
	if (capture->ring) {
		info->ring_bytes = litepcie_ring_bytes(capture->ring);
		info->segment_bytes = litepcie_chunk_bytes(capture->ring);
		info->mbuf_bytes = capture->mbuf_bytes;
	}
	info->run = capture->run;
	info->error = capture->error;
	info->flags = capture->flags;
	info->snap = capture->snap;
	info->staging_bytes = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_STAGING_BYTES);
	info->most_segments = litepcie_parameter(capture->block, LITEPCIE_CAPTURE_SEGMENTS);
	err = litepcie_capture_generated(capture, info);
	if (!err && ask & LITEPCIE_CAPTURE_ASK_ACCOUNTS)
		err = litepcie_capture_accounts(capture, info);
	mutex_unlock(&capture->mutex);
	return err;
}

/* INFO is too large for the stack. */
static int ioctl_info(struct litepcie_capture *capture, void __user *user)
{
	struct litepcie_capture_info *info = kzalloc(sizeof(*info), GFP_KERNEL_ACCOUNT);
	int err;

	if (!info)
		return -ENOMEM;
	if (copy_from_user(info, user, sizeof(*info))) {
		err = -EFAULT;
		goto free;
	}
	err = litepcie_enter(capture->card);
	if (err)
		goto free;
	err = get_info(capture, info);
	litepcie_exit(capture->card);
	if (!err && copy_to_user(user, info, sizeof(*info)))
		err = -EFAULT;
free:
	kfree(info);
	return err;
}

union argument {
	struct litepcie_capture_ring		ring;
	struct litepcie_capture_start		start;
	struct litepcie_capture_stop		stop;
	struct litepcie_capture_limit		limit;
	struct litepcie_capture_wake		wake;
	struct litepcie_capture_generate	generate;
};

/* The calls that reach the card: between litepcie_enter() and litepcie_exit(). */
static int dispatch(struct litepcie_capture_file *file, unsigned int cmd, union argument *argument)
{
	switch (cmd) {
	case LITEPCIE_IOCTL_CAPTURE_START:
		return litepcie_capture_start_file(file, &argument->start);
	case LITEPCIE_IOCTL_CAPTURE_STOP:
		return litepcie_capture_stop_file(file, &argument->stop);
	case LITEPCIE_IOCTL_CAPTURE_LIMIT:
		return set_limit(file, &argument->limit);
	case LITEPCIE_IOCTL_CAPTURE_WAKE:
		return set_wake(file, &argument->wake);
	case LITEPCIE_IOCTL_CAPTURE_GENERATE:
		return generate(file, &argument->generate);
	default:
		return -ENOTTY;
	}
}

static int run_call(struct litepcie_capture_file *file, unsigned int cmd, union argument *argument)
{
	int err;

	/* RING enters the card itself, behind the pinning of memory. */
	if (cmd == LITEPCIE_IOCTL_CAPTURE_RING)
		return litepcie_capture_use_memory(file, &argument->ring);
	err = litepcie_enter(file->capture->card);
	if (err)
		return err;
	err = dispatch(file, cmd, argument);
	litepcie_exit(file->capture->card);
	return err;
}

static long capture_ioctl(struct file *filp, unsigned int cmd, unsigned long arg)
{
	struct litepcie_capture_file *file = filp->private_data;
	void __user *user = (void __user *)arg;
	union argument argument = { };
	size_t size = _IOC_SIZE(cmd);
	int err;

	if (cmd == LITEPCIE_IOCTL_CAPTURE_INFO)
		return ioctl_info(file->capture, user);
	if (_IOC_TYPE(cmd) != LITEPCIE_IOCTL || size > sizeof(argument))
		return -ENOTTY;
	if (_IOC_DIR(cmd) & _IOC_WRITE && copy_from_user(&argument, user, size))
		return -EFAULT;
	err = run_call(file, cmd, &argument);
	if (err)
		return err;
	if (_IOC_DIR(cmd) & _IOC_READ && copy_to_user(user, &argument, size))
		return -EFAULT;
	return 0;
}

/* As the node of a channel, the node offers no splice(): see chrdev.c. */
static const struct file_operations capture_fops = {
	.owner		= THIS_MODULE,
	.open		= capture_open,
	.release	= capture_release,
	.unlocked_ioctl	= capture_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.read_iter	= litepcie_capture_read_iter,
	.poll		= capture_poll,
	.mmap		= capture_mmap,
	.llseek		= noop_llseek,
};

/* The capture of a card --------------------------------------------------- */

/*
 * Free the capture.  The kernel calls this when the capture's last reference is
 * put.
 */
static void capture_free(struct device *dev)
{
	struct litepcie_capture *capture = container_of(dev, struct litepcie_capture, dev);

	litepcie_allowance_put(capture->allowance);
	put_page(virt_to_page(capture->status));
	litepcie_card_put(capture->card);
	kfree(capture);
}

static struct litepcie_capture *capture_alloc(void)
{
	struct litepcie_capture *capture = kzalloc(sizeof(*capture), GFP_KERNEL);

	if (!capture)
		return NULL;
	capture->status = (void *)get_zeroed_page(GFP_KERNEL);
	if (!capture->status)
		goto free;
	capture->allowance = litepcie_allowance_alloc();
	if (!capture->allowance)
		goto free_status;
	return capture;

free_status:
	put_page(virt_to_page(capture->status));
free:
	kfree(capture);
	return NULL;
}

/*
 * Returns true if the block has all registers that the driver uses, and an
 * interrupt.
 */
static bool is_usable(const struct litepcie_block *block)
{
	return !block->bar && block->version == 1 &&
	       block->parameters > LITEPCIE_CAPTURE_CAUSE &&
	       block->size >= SZ_256 &&
	       litepcie_parameter(block, LITEPCIE_CAPTURE_CAUSE) < LITEPCIE_CAUSES_MAX &&
	       litepcie_parameter(block, LITEPCIE_CAPTURE_SEGMENTS);
}

/*
 * Set up the capture of the card, if the card has a capture block.  The channels
 * must have been made.  An error means that the card cannot be driven.
 */
int litepcie_capture_probe(struct litepcie *card)
{
	const struct litepcie_block *block = litepcie_block_find(card, LITEPCIE_BLOCK_CAPTURE, 0);
	struct litepcie_capture *capture;
	int err;

	if (!block)
		return 0;
	if (!is_usable(block)) {
		dev_info(&card->pdev->dev, "the capture block's entry in the capability table is too old or too new for this driver: nothing can be captured\n");
		return 0;
	}
	capture = capture_alloc();
	if (!capture)
		return -ENOMEM;
	capture->card = card;
	capture->block = block;
	capture->regs = card->bar0 + block->offset;
	capture->cause = litepcie_parameter(block, LITEPCIE_CAPTURE_CAUSE);
	mutex_init(&capture->mutex);
	init_waitqueue_head(&capture->wait);
	capture->wake = U64_MAX;
	INIT_DELAYED_WORK(&capture->watchdog, litepcie_capture_watch);
	litepcie_card_get(card);
	device_initialize(&capture->dev);
	capture->dev.release = capture_free;
	cdev_init(&capture->cdev, &capture_fops);
	capture->cdev.owner = THIS_MODULE;
	err = litepcie_chrdev_beside(&capture->dev, card->chan[0], "capture");
	if (err) {
		put_device(&capture->dev);
		return err;
	}
	snprintf(capture->irq_name, sizeof(capture->irq_name), "%s", dev_name(&capture->dev));
	card->capture = capture;
	return 0;
}

void litepcie_capture_put(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;

	card->capture = NULL;
	if (capture)
		put_device(&capture->dev);
}

/*
 * Map the status page for the card.  The DMA mask must be set before this call.
 * Without the page nothing can be captured, and RING and read() say so.
 */
void litepcie_capture_map(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;
	struct device *dev = &card->pdev->dev;

	if (!capture || IS_ENABLED(CONFIG_CPU_BIG_ENDIAN))
		return;
	capture->status_dma = dma_map_page(dev, virt_to_page(capture->status), 0, PAGE_SIZE,
					   DMA_BIDIRECTIONAL);
	if (dma_mapping_error(dev, capture->status_dma))
		return;
	capture->able = !litepcie_needs_sync(dev, capture->status_dma);
	if (!capture->able)
		dma_unmap_page(dev, capture->status_dma, PAGE_SIZE, DMA_BIDIRECTIONAL);
}

int litepcie_capture_add(struct litepcie *card)
{
	struct litepcie_capture *capture = card->capture;

	return capture ? cdev_device_add(&capture->cdev, &capture->dev) : 0;
}

void litepcie_capture_del(struct litepcie *card)
{
	if (card->capture)
		cdev_device_del(&card->capture->cdev, &card->capture->dev);
}
