// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Creates /dev/litepcieN-capture if the card has a capture block that the driver can use, and
 * handles open(), close(), poll() and mmap() of its files, as documented in
 * uapi/litepcie_capture_node.h.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "capture.h"
#include "compat.h"

/* Operations of an open file of the node ---------------------------------- */

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
	file->queue = capture->queue;
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
 * Returns true if @file, which owns @queue, has new data.  If the file uses read(), new data are
 * bytes that read() has not returned yet.  Otherwise new data are bytes beyond the position of the
 * file's last WAKE.
 */
static bool has_bytes(const struct litepcie_capture_file *file,
		      const struct litepcie_capture_queue *queue)
{
	u64 position = litepcie_capture_position(queue);

	if (!READ_ONCE(file->header))
		return position > READ_ONCE(file->wake);
	return READ_ONCE(file->header_at) < LITEPCIE_CAPTURE_HEADER_BYTES ||
	       position > READ_ONCE(file->at);
}

/*
 * Returns true if poll() must report that @file is readable: the file has the queue, and there is
 * new data or the queue is stopped; or no file has the queue, so that read() may take the queue.
 */
static bool has_news(const struct litepcie_capture_file *file,
		     const struct litepcie_capture_queue *queue)
{
	const struct litepcie_capture_file *owner = READ_ONCE(queue->owner);
	u32 run = READ_ONCE(queue->run);

	if (!owner)
		return true;
	if (owner != file)
		return false;
	return has_bytes(file, queue) ||
	       (READ_ONCE(file->header) ? run != LITEPCIE_CAPTURE_RUN_READ : !run);
}

/* Returns the events by which poll() reports a run that has failed, or a card that has gone. */
static __poll_t events_of_error(const struct litepcie_capture_file *file,
				const struct litepcie_capture_queue *queue)
{
	__poll_t events = litepcie_is_gone(queue->capture->card) ? EPOLLHUP | EPOLLERR : 0;

	if (READ_ONCE(queue->owner) != file)
		return events;
	if (READ_ONCE(queue->error))
		events |= EPOLLERR;
	/* read() still returns the blocks that the card wrote before the error. */
	if (events && READ_ONCE(file->header) && has_bytes(file, queue))
		events |= EPOLLIN | EPOLLRDNORM;
	return events;
}

/*
 * Let poll() be woken by the file's queue.  A file that owns no queue yet may choose another one,
 * and an epoll is added only once to the queues of waiting threads.  So until the file owns a
 * queue, poll() is woken by all queues of the capture.  Returns the queue that was the file's
 * choice when the function was called.  poll() reports on that queue, even if another thread has
 * chosen another one meanwhile.
 */
static struct litepcie_capture_queue *wait_for_queues(struct file *filp,
						      struct poll_table_struct *table)
{
	struct litepcie_capture_file *file = filp->private_data;
	struct litepcie_capture_queue *queue = READ_ONCE(file->queue), *other;

	if (READ_ONCE(queue->owner) == file) {
		poll_wait(filp, &queue->wait, table);
		return queue;
	}
	for (other = queue->capture->queue; other; other = litepcie_queue_after(other))
		poll_wait(filp, &other->wait, table);
	return queue;
}

/*
 * poll() of a file that uses read() asks the card for an interrupt, unless the file is readable
 * already.  A program with its own ring has to call LITEPCIE_IOCTL_CAPTURE_WAKE before poll().
 */
static __poll_t capture_poll(struct file *filp, struct poll_table_struct *table)
{
	struct litepcie_capture_file *file = filp->private_data;
	struct litepcie_capture_queue *queue = wait_for_queues(filp, table);
	struct litepcie *card = queue->capture->card;
	__poll_t events;

	/*
	 * Until the file owns its queue, another thread may choose another queue for it.  So only
	 * the queue's owner asks the card for an interrupt.
	 */
	if (READ_ONCE(queue->owner) == file && READ_ONCE(file->header) && !has_news(file, queue) &&
	    !litepcie_enter(card)) {
		litepcie_capture_arm(queue, &file->at);
		litepcie_exit(card);
	}
	events = events_of_error(file, queue);
	return events || !has_news(file, queue) ? events : EPOLLIN | EPOLLRDNORM;
}

/*
 * Map the status page, which the driver and the card write.  A process can map this page only for
 * reading.
 */
static int capture_mmap(struct file *filp, struct vm_area_struct *vma)
{
	struct litepcie_capture_file *file = filp->private_data;
	struct litepcie_capture *capture = READ_ONCE(file->queue)->capture;
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

/*
 * The operations have no splice(), for the reason that the comment at litepcie_fops in chrdev.c
 * gives.
 */
static const struct file_operations capture_fops = {
	.owner		= THIS_MODULE,
	.open		= capture_open,
	.release	= capture_release,
	.unlocked_ioctl	= litepcie_capture_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.read_iter	= litepcie_capture_read_iter,
	.poll		= capture_poll,
	.mmap		= capture_mmap,
	.llseek		= noop_llseek,
};

/* Setting up the capture of a card ---------------------------------------- */

/* Free a capture whose last reference was put, and all resources allocated for it so far. */
static void capture_free(struct device *dev)
{
	struct litepcie_capture *capture = container_of(dev, struct litepcie_capture, dev);

	if (capture->allowance)
		litepcie_allowance_put(capture->allowance);
	if (capture->status)
		put_page(virt_to_page(capture->status));
	litepcie_card_put(capture->card);
	kfree(capture);
}

/* Allocate a capture's status page, allowance and device number.  capture_free() frees them. */
static int fill_capture(struct litepcie_capture *capture)
{
	capture->status = (void *)get_zeroed_page(GFP_KERNEL);
	if (!capture->status)
		return -ENOMEM;
	capture->allowance = litepcie_allowance_alloc();
	if (!capture->allowance)
		return -ENOMEM;
	return litepcie_chrdev_beside(&capture->dev, capture->card->chan[0], "capture");
}

/* Allocate the card's capture.  The caller frees the capture with put_device(&capture->dev). */
static struct litepcie_capture *capture_alloc(struct litepcie *card)
{
	struct litepcie_capture *capture = kzalloc(sizeof(*capture), GFP_KERNEL);
	int err;

	if (!capture)
		return ERR_PTR(-ENOMEM);
	litepcie_card_get(card);
	capture->card = card;
	device_initialize(&capture->dev);
	capture->dev.release = capture_free;
	cdev_init(&capture->cdev, &capture_fops);
	capture->cdev.owner = THIS_MODULE;
	err = fill_capture(capture);
	if (err) {
		put_device(&capture->dev);
		return ERR_PTR(err);
	}
	return capture;
}

static void set_up_queues(struct litepcie_capture *capture)
{
	struct litepcie_capture_queue *queue;

	capture->sorter = litepcie_capture_find_sorter(capture->card);
	capture->queues = 1;
	if (capture->sorter) {
		capture->sorter_regs = capture->card->bar0 + capture->sorter->offset;
		capture->queues = litepcie_parameter(capture->sorter,
						     LITEPCIE_CAPTURE_QUEUES_QUEUES);
	}
	capture->net = litepcie_capture_find_net(capture->card);
	if (capture->net)
		capture->net_regs = capture->card->bar0 + capture->net->offset;
	for (unsigned int n = 0; n < capture->queues; n++) {
		queue = &capture->queue[n];
		queue->capture = capture;
		queue->number = n;
		queue->status = capture->status + n;
		init_waitqueue_head(&queue->wait);
		queue->wake = U64_MAX;
	}
}

/*
 * Set up the capture of the card, if the card has a capture block.  The channels and the virtio
 * devices must have been found before: a capture whose interrupt cause is also theirs is not used.
 * An error means that the card cannot be driven.
 */
int litepcie_capture_probe(struct litepcie *card)
{
	const struct litepcie_block *block = litepcie_block_find(card, LITEPCIE_BLOCK_CAPTURE, 0);
	struct litepcie_capture *capture;
	u32 cause;

	if (!block)
		return 0;
	if (!litepcie_capture_is_usable(block)) {
		dev_info(&card->pdev->dev, "the capture block's entry in the capability table is too old or too new for this driver: nothing can be captured\n");
		return 0;
	}
	cause = litepcie_parameter(block, LITEPCIE_CAPTURE_CAUSE);
	if (card->cause[cause] || card->virtio_causes & BIT(cause)) {
		dev_warn(&card->pdev->dev, "the capture block's interrupt cause %u is also that of another block: nothing can be captured\n",
			 cause);
		return 0;
	}
	capture = capture_alloc(card);
	if (IS_ERR(capture))
		return PTR_ERR(capture);
	capture->block = block;
	capture->regs = card->bar0 + block->offset;
	capture->cause = cause;
	mutex_init(&capture->mutex);
	spin_lock_init(&capture->select_lock);
	set_up_queues(capture);
	INIT_DELAYED_WORK(&capture->watchdog, litepcie_capture_watch);
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
 * Map the status page for the card.  The DMA mask must be set before this call.  If the page cannot
 * be mapped, if the card needs bounce buffers, or if the host is big-endian, nothing can be
 * captured: LITEPCIE_IOCTL_CAPTURE_RING and read() fail with -EOPNOTSUPP.
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

/* Make the capture's device node, if the card has a capture.  Returns 0 or -errno. */
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
