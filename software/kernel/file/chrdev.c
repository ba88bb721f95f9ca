// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Creates /dev/litepcieN, one device node for each DMA channel, and handles open(), close() and
 * poll() of its files.
 */

#include <linux/idr.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/slab.h>

#include "card.h"
#include "compat.h"

#define MINORS		256
/*
 * default flush time in us of read(): a partly filled c2h buffer ends after this time without more
 * data
 */
#define READ_FLUSH_US	100

static dev_t first_number;
static struct class *litepcie_class;
static DEFINE_IDA(minors);

/* Operations of an open file of a channel's node -------------------------- */

static void free_file(struct litepcie_file *file)
{
	if (file->index)
		put_page(virt_to_page(file->index));
	kfree(file);
}

/*
 * open(): the file owns no direction yet.  Returns -ENOMEM, -ENODEV if the card has gone or no
 * longer answers, or -EIO while the card is being reset, sleeps or is shut down.
 */
static int litepcie_open(struct inode *inode, struct file *filp)
{
	struct litepcie_chan *chan = container_of(inode->i_cdev, struct litepcie_chan, cdev);
	struct litepcie_file *file = kzalloc(sizeof(*file), GFP_KERNEL_ACCOUNT);
	int err = -ENOMEM;

	if (!file)
		return err;
	file->index = (void *)get_zeroed_page(GFP_KERNEL_ACCOUNT);
	if (!file->index)
		goto free_file;
	file->chan = chan;
	file->filp = filp;
	file->ends[LITEPCIE_WAY_C2H].flush_us = READ_FLUSH_US;
	filp->private_data = file;
	err = litepcie_enter(chan->card);
	if (err)
		goto free_file;
	litepcie_exit(chan->card);
	mutex_lock(&chan->card->files_lock);
	list_add(&file->node, &chan->card->files);
	mutex_unlock(&chan->card->files_lock);
	return stream_open(inode, filp);

free_file:
	free_file(file);
	return err;
}

/*
 * The last close(): wait for at most close_timeout_ms until the user's logic has taken the data of
 * an h2c stream, and then release the file's directions, rings and eventfds.  If litepcie_enter()
 * fails, as while the card is reset or when it has gone, no register is touched.
 */
static int litepcie_release(struct inode *inode, struct file *filp)
{
	struct litepcie_file *file = filp->private_data;
	struct litepcie_chan *chan = file->chan;
	bool live;

	litepcie_stream_close(file);
	live = !litepcie_enter(chan->card);
	litepcie_user_leave(file, live);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++) {
		litepcie_dma_give(&chan->way[n], file, live);
		litepcie_owner_leave(&chan->way[n], file);
	}
	if (live)
		litepcie_exit(chan->card);
	mutex_lock(&chan->card->files_lock);
	list_del(&file->node);
	mutex_unlock(&chan->card->files_lock);
	free_file(file);
	return 0;
}

/*
 * Decides poll() for a ring with the flag LITEPCIE_RING_INDEXED, by the count of buffers that the
 * program wrote to the index page.  c2h: returns true if the card has filled more buffers than that
 * count.  h2c: returns true if the ring has two or more free buffers beyond that count.
 */
static bool has_news(struct litepcie_way *way, const struct litepcie_file *file,
		     u32 id)
{
	u64 hardware = READ_ONCE(way->hw_count);
	u64 software = READ_ONCE(file->index->way[id].software);

	return id == LITEPCIE_WAY_C2H ? hardware > software :
				    software < hardware + READ_ONCE(way->count) - 1;
}

/*
 * Decides poll() in a held run (LITEPCIE_RUN_HELD), in which the card waits for buffers: returns
 * true if the ring has buffers that the program could hand over to the card.
 */
static bool has_buffers(struct litepcie_way *way)
{
	return READ_ONCE(way->held.advanced) - READ_ONCE(way->hw_count) < READ_ONCE(way->count);
}

/*
 * Decides poll() in LitePCIe's loop (LITEPCIE_RUN_LOOP), in which the card goes round the ring and
 * never waits, and for a stopped direction that has an owner: returns true if enough buffers are
 * ready.  The conditions are those of LitePCIe's own driver, since LitePCIe's programs rely on
 * them.
 */
static bool has_enough(struct litepcie_way *way, u32 id)
{
	s64 ahead = READ_ONCE(way->hw_count) - READ_ONCE(way->sw_count);

	return id == LITEPCIE_WAY_C2H ? ahead > 2 : -ahead < READ_ONCE(way->margin);
}

static __always_inline bool is_ready(struct litepcie_way *way, const struct litepcie_file *file,
				     u32 id)
{
	if (READ_ONCE(way->indexed))
		return has_news(way, file, id);
	switch (READ_ONCE(way->run)) {
	case LITEPCIE_RUN_HELD:
		return has_buffers(way);
	case LITEPCIE_RUN_STREAM:
		return litepcie_stream_ready(way);
	case LITEPCIE_RUN_REST:
		/*
		 * read() and write() start a direction that has no owner, so poll() reports such a
		 * direction as ready, whatever its counts are.
		 */
		return !READ_ONCE(way->owner) || has_enough(way, id);
	case LITEPCIE_RUN_LOOP:
		return has_enough(way, id);
	}
	return false;
}

/*
 * Returns what poll() reports for one direction.  A thread that sleeps in poll() is woken by
 * start_locked() when the direction starts, by tell_pollers() when the direction makes progress,
 * fails, stops or loses its owner, and by card.c when the card's state changes.
 */
static __always_inline __poll_t poll_way(struct litepcie_file *file, u32 id)
{
	struct litepcie_way *way = &file->chan->way[id];

	if (READ_ONCE(way->error))
		return EPOLLERR;
	if (!is_ready(way, file, id))
		return 0;
	return id == LITEPCIE_WAY_C2H ? EPOLLIN | EPOLLRDNORM : EPOLLOUT | EPOLLWRNORM;
}

/* Returns the events of poll() for a program that waits for neither direction: errors only. */
static __poll_t errors(struct litepcie_chan *chan)
{
	bool failed = READ_ONCE(chan->way[LITEPCIE_WAY_C2H].error) ||
		      READ_ONCE(chan->way[LITEPCIE_WAY_H2C].error);

	return failed ? EPOLLERR : 0;
}

/*
 * poll() of a channel's node.  Progress of a direction wakes only poll() for that direction.  Every
 * poll() of the channel wakes when one of its directions fails, and when the card is reset or
 * removed.  For a card that has gone, poll() returns POLLHUP and POLLERR.
 */
static __poll_t litepcie_poll(struct file *filp, struct poll_table_struct *table)
{
	struct litepcie_file *file = filp->private_data;
	__poll_t wanted = poll_requested_events(table);
	__poll_t mask = 0;

	poll_wait(filp, &file->chan->pollers, table);
	if (wanted & (EPOLLIN | EPOLLRDNORM))
		mask |= poll_way(file, LITEPCIE_WAY_C2H);
	if (wanted & (EPOLLOUT | EPOLLWRNORM))
		mask |= poll_way(file, LITEPCIE_WAY_H2C);
	if (!(wanted & (EPOLLIN | EPOLLRDNORM | EPOLLOUT | EPOLLWRNORM)))
		mask |= errors(file->chan);
	return litepcie_is_gone(file->chan->card) ? EPOLLHUP | EPOLLERR : mask;
}

/*
 * The file operations of a device node.  The driver offers no splice(), because the kernel calls a
 * driver's splice functions with the pipe locked.  While such a function waited for the card, the
 * program at the other end of the pipe could neither read the data that is already in the pipe nor
 * exit.  Programs that try splice() first, such as pv, then use read() and write().
 */
static const struct file_operations litepcie_fops = {
	.owner		= THIS_MODULE,
	.open		= litepcie_open,
	.release	= litepcie_release,
	.unlocked_ioctl	= litepcie_ioctl,
#ifdef CONFIG_COMPAT
	.compat_ioctl	= litepcie_compat_ioctl,
#endif
	.read_iter	= litepcie_read_iter,
	.write_iter	= litepcie_write_iter,
	.fsync		= litepcie_fsync,
	.poll		= litepcie_poll,
	.mmap		= litepcie_mmap,
	.llseek		= noop_llseek,
};

/* Allocating channels, and their device nodes ----------------------------- */

static void put_allowances(struct litepcie_chan *chan)
{
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		if (chan->way[n].allowance)
			litepcie_allowance_put(chan->way[n].allowance);
}

static int make_allowances(struct litepcie_chan *chan)
{
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++) {
		chan->way[n].allowance = litepcie_allowance_alloc();
		if (!chan->way[n].allowance)
			return -ENOMEM;
	}
	return 0;
}

static void chan_release(struct device *dev)
{
	struct litepcie_chan *chan = container_of(dev, struct litepcie_chan, dev);

	put_allowances(chan);
	litepcie_notices_free(chan);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		cancel_delayed_work_sync(&chan->way[n].flusher);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		kvfree(chan->way[n].held.end);
	if (chan->status)
		put_page(virt_to_page(chan->status));
	if (dev->devt)
		ida_free(&minors, MINOR(dev->devt));
	litepcie_card_put(chan->card);
	kfree(chan);
}

static void way_init(struct litepcie_chan *chan, u32 id)
{
	struct litepcie_way *way = &chan->way[id];

	way->chan = chan;
	way->id = id;
	mutex_init(&way->io);
	mutex_init(&way->mutex);
	init_waitqueue_head(&way->wait);
	/*
	 * poll() uses way->margin even before the direction has a ring.  The first ring has
	 * LITEPCIE_GEOMETRY_DEFAULT as a rule, so the margin begins with half of the buffers of
	 * such a ring.
	 */
	way->margin = LITEPCIE_GEOMETRY_DEFAULT.count / 2;
	litepcie_dma_init(way);
	litepcie_stream_init(way);
}

/*
 * Set the name litepcieN-NAME and the device number of an additional device node of channel @chan.
 * A channel has at most one such node, whose minor number is the channel's plus MINORS.  Returns 0
 * or -ENOMEM.
 */
int litepcie_chrdev_beside(struct device *dev, const struct litepcie_chan *chan, const char *name)
{
	dev->class = litepcie_class;
	dev->parent = &chan->card->pdev->dev;
	dev->devt = MKDEV(MAJOR(first_number), MINORS + MINOR(chan->dev.devt));
	return dev_set_name(dev, "%s-%s", dev_name(&chan->dev), name);
}

/* Allocate a channel's allowances, status page and minor number.  chan_release() frees them. */
static int fill_channel(struct litepcie_chan *chan)
{
	int minor, err = make_allowances(chan);

	if (err)
		return err;
	chan->status = (void *)get_zeroed_page(GFP_KERNEL);
	if (!chan->status)
		return -ENOMEM;
	minor = ida_alloc_max(&minors, MINORS - 1, GFP_KERNEL);
	if (minor < 0)
		return minor;
	chan->dev.devt = MKDEV(MAJOR(first_number), minor);
	err = dev_set_name(&chan->dev, LITEPCIE_NAME "%d", minor);
	if (err)
		return err;
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++) {
		struct litepcie_way *way = &chan->way[n];

		way->status = &chan->status->way[n];
		snprintf(way->irq_name, sizeof(way->irq_name), "%s-%s", dev_name(&chan->dev),
			 litepcie_way_name(way));
	}
	return 0;
}

/*
 * Allocate a channel of the card, with a reference to the card.  Returns -ENOMEM, or -ENOSPC if all
 * MINORS channel numbers are in use.  The caller frees the channel with put_device(&chan->dev).
 */
struct litepcie_chan *litepcie_chan_alloc(struct litepcie *card)
{
	struct litepcie_chan *chan = kzalloc(sizeof(*chan), GFP_KERNEL);
	int err;

	if (!chan)
		return ERR_PTR(-ENOMEM);
	litepcie_card_get(card);
	chan->card = card;
	mutex_init(&chan->notices.lock);
	init_waitqueue_head(&chan->pollers);
	for (unsigned int n = 0; n < LITEPCIE_WAYS; n++)
		way_init(chan, n);
	device_initialize(&chan->dev);
	chan->dev.class = litepcie_class;
	chan->dev.parent = &card->pdev->dev;
	chan->dev.release = chan_release;
	chan->dev.groups = litepcie_groups;
	dev_set_drvdata(&chan->dev, chan);
	cdev_init(&chan->cdev, &litepcie_fops);
	chan->cdev.owner = THIS_MODULE;
	err = fill_channel(chan);
	if (err) {
		put_device(&chan->dev);
		return ERR_PTR(err);
	}
	return chan;
}

int litepcie_chan_add(struct litepcie_chan *chan)
{
	return cdev_device_add(&chan->cdev, &chan->dev);
}

/* Remove the channel's device node.  Files that are open stay open and keep the channel. */
void litepcie_chan_del(struct litepcie_chan *chan)
{
	cdev_device_del(&chan->cdev, &chan->dev);
}

/*
 * Called when the module is loaded: reserve the device numbers of all channels and of their
 * additional nodes, and make the class litepcie.  Returns 0, or -errno with nothing left reserved.
 */
int litepcie_chrdev_init(void)
{
	int err = alloc_chrdev_region(&first_number, 0, 2 * MINORS, LITEPCIE_NAME);

	if (err)
		return err;
	litepcie_class = litepcie_class_create(LITEPCIE_NAME);
	err = PTR_ERR_OR_ZERO(litepcie_class);
	if (err)
		litepcie_chrdev_exit();
	return err;
}

/* Undo litepcie_chrdev_init().  class_destroy() ignores a class that could not be made. */
void litepcie_chrdev_exit(void)
{
	class_destroy(litepcie_class);
	unregister_chrdev_region(first_number, 2 * MINORS);
}
