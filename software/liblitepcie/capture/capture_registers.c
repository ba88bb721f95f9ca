/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Access the registers of the capture block, for the back ends that reach registers themselves.
 *
 * Some registers belong to the queue that the register `select` names. The functions whose names
 * begin with litepcie_queue_ select the queue and access such a register, both under one hold of
 * the handle's lock.
 */
#include "capture.h"

/*
 * Add the write that selects the capture's queue to a list of register writes. On a card without
 * the register `select` the list stays as it is.
 */
static struct litepcie_post *select_queue(const struct litepcie_capture *capture,
					  struct litepcie_post *post)
{
	const struct litepcie_sorter_registers *sorter = &capture->dev->map.sorter;

	if (!sorter->queues)
		return post;
	return litepcie_post_add(post, sorter->select, capture->config.queue);
}

/*
 * Write @count words from @offset on to registers of the capture's queue. The caller holds the
 * lock.
 */
static int put(struct litepcie_capture *capture, uint32_t offset, const uint32_t *words,
	       uint32_t count)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_post posts[3], *end = select_queue(capture, posts);

	for (uint32_t i = 0; i < count; i++)
		end = litepcie_post_add(end, offset + 4 * i, words[i]);
	return dev->backend->post(dev, posts, (size_t)(end - posts), LITEPCIE_POST_OWN);
}

int litepcie_queue_put_locked(struct litepcie_capture *capture, uint32_t offset, uint32_t value)
{
	return put(capture, offset, &value, 1);
}

int litepcie_queue_put(struct litepcie_capture *capture, uint32_t offset, uint32_t value)
{
	int rc;

	litepcie_lock(capture->dev);
	rc = litepcie_queue_put_locked(capture, offset, value);
	litepcie_unlock(capture->dev);
	return rc;
}

int litepcie_queue_put64(struct litepcie_capture *capture, uint32_t offset, uint64_t value)
{
	const uint32_t words[2] = { (uint32_t)(value >> 32), (uint32_t)value };
	int rc;

	litepcie_lock(capture->dev);
	rc = put(capture, offset, words, 2);
	litepcie_unlock(capture->dev);
	return rc;
}

/* True if a half of @value is all ones, as after a read that the root port has given up. */
static bool is_doubtful(uint64_t value)
{
	return (uint32_t)value == UINT32_MAX || value >> 32 == UINT32_MAX;
}

int litepcie_queue_get64(struct litepcie_capture *capture, uint32_t offset, uint64_t *value)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_post post;
	int rc = 0;

	litepcie_lock(dev);
	if (select_queue(capture, &post) > &post)
		rc = dev->backend->post(dev, &post, 1, LITEPCIE_POST_OWN);
	*value = UINT64_MAX;
	for (unsigned int n = 0; rc == 0 && n < LITEPCIE_READS && is_doubtful(*value); n++)
		rc = litepcie_get64(dev, offset, value);
	litepcie_unlock(dev);
	if (rc == 0 && is_doubtful(*value))
		return litepcie_fail(-EIO, "%s: the card does not answer: its registers read "
				     "all ones: ask `litepcie_util doctor` about its link, or "
				     "reset it", dev->name);
	return rc;
}

/*
 * Read an account: a number of frames and of their bytes. The queue is selected, then @number (that
 * of the account) is written to the register @index. The registers @frames and @bytes then have the
 * counts.
 */
int litepcie_queue_get_account(struct litepcie_capture *capture, uint32_t index, uint32_t number,
			       uint32_t frames, uint32_t bytes, struct litepcie_account *account)
{
	struct litepcie_post posts[2], *end = select_queue(capture, posts);
	struct litepcie *dev = capture->dev;
	int rc;

	end = litepcie_post_add(end, index, number);
	litepcie_lock(dev);
	rc = dev->backend->post(dev, posts, (size_t)(end - posts), LITEPCIE_POST_OWN);
	if (rc == 0)
		rc = litepcie_get_copy64(dev, frames, &account->frames);
	if (rc == 0)
		rc = litepcie_get_copy64(dev, bytes, &account->bytes);
	litepcie_unlock(dev);
	return rc;
}

/*
 * Switch off the generator, the player, the sorting of frames, the copies of the net device's
 * frames and the capture. The caller holds the lock.
 */
int litepcie_capture_quiesce(struct litepcie *dev)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	int rc;

	if (!registers->control)
		return 0;
	rc = litepcie_put(dev, registers->generator_control, 0);
	if (rc == 0 && dev->map.player.control)
		rc = litepcie_put(dev, dev->map.player.control, 0);
	if (rc == 0 && dev->map.sorter.queues)
		rc = litepcie_put(dev, dev->map.sorter.control, 0);
	if (rc == 0 && dev->map.net.control)
		rc = litepcie_put(dev, dev->map.net.control, 0);
	return rc < 0 ? rc : litepcie_put(dev, registers->control, 0);
}
