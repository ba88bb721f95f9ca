/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The capture block by its registers, for the back ends that reach registers and memory themselves:
 * memory, accounts (counts of frames), rules and the generator. capture_run.c starts and stops the
 * block.
 *
 * Some registers belong to the queue that the register `select` names. They are accessed by the
 * functions litepcie_queue_, which select the queue under the handle's lock.
 */
#include "capture.h"

#include <string.h>

#define STATUS_BYTES	4096u		/* bytes of memory for the card's status line: one page */
#define GENERATE	(1u << LITEPCIE_CAPTURE_GENERATOR_CONTROL_RUN_OFFSET)

/* Registers of the capture block -------------------------------------------------------------- */

/*
 * Add the write that selects the capture's queue to a list of register writes. A card with one
 * queue needs no such write.
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
	litepcie_lock(capture->dev);
	return litepcie_unlock(capture->dev, litepcie_queue_put_locked(capture, offset, value));
}

int litepcie_queue_put64(struct litepcie_capture *capture, uint32_t offset, uint64_t value)
{
	const uint32_t words[2] = { (uint32_t)(value >> 32), (uint32_t)value };

	litepcie_lock(capture->dev);
	return litepcie_unlock(capture->dev, put(capture, offset, words, 2));
}

int litepcie_queue_get64(struct litepcie_capture *capture, uint32_t offset, uint64_t *value)
{
	struct litepcie *dev = capture->dev;
	struct litepcie_post post;
	int rc = 0;

	litepcie_lock(dev);
	if (select_queue(capture, &post) > &post)
		rc = dev->backend->post(dev, &post, 1, LITEPCIE_POST_OWN);
	if (rc == 0)
		rc = litepcie_get_copy64(dev, offset, value);
	return litepcie_unlock(dev, rc);
}

/*
 * Read the register capture_status, with checks. Returns -EIO if the card does not answer, or
 * -ENODEV if the kernel wants the card back.
 */
static int get_status(struct litepcie_capture *capture, uint32_t *status)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_run_answers(capture);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.status, status);
	if (rc < 0)
		return rc;
	litepcie_lock(dev);
	return litepcie_unlock(dev, litepcie_check_wanted(dev));
}

/*
 * Memory is freed after litepcie_capture_await(), so the card must have come to rest. For this
 * reason a signal does not end the wait. Only the time-out or a lost card ends it.
 */
int litepcie_capture_await(struct litepcie_capture *capture, uint32_t mask, uint32_t value,
			   const char *what)
{
	int64_t deadline = litepcie_deadline(LITEPCIE_CAPTURE_REST_MS);
	unsigned int nap_us = 10;
	uint32_t status = 0;
	int rc = get_status(capture, &status);

	/*
	 * A register read that the root port has given up returns all ones, which is no status of
	 * the card. So the register is read again.
	 */
	while (rc == 0 && (status == UINT32_MAX || (status & mask) != value)) {
		if (!litepcie_slice(deadline))
			return litepcie_fail(-ETIMEDOUT, "%s: %s did not end within %d s",
					     capture->dev->name, what,
					     LITEPCIE_CAPTURE_REST_MS / 1000);
		litepcie_capture_nap(&nap_us);
		rc = get_status(capture, &status);
	}
	return rc;
}

/*
 * Switch off the generator, the player, the sorting of frames and the capture. The caller holds the
 * lock.
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
	return rc < 0 ? rc : litepcie_put(dev, registers->control, 0);
}

/* Memory of the ring and of the status line ------------------------------------------------- */

/* Allocate memory for the ring and the status line of a queue. The caller holds the lock. */
static int get_memory(struct litepcie_capture *capture)
{
	unsigned int kind = LITEPCIE_MEMORY_CAPTURE + 2 * capture->config.queue;
	struct litepcie *dev = capture->dev;
	struct litepcie_memory *memory = NULL;
	int rc = dev->backend->memory(dev, kind, NULL, capture->config.ring_bytes, &memory,
				      &capture->ring_iova);

	if (rc < 0)
		return rc;
	capture->ring = memory->base;
	rc = dev->backend->memory(dev, kind + 1, NULL, STATUS_BYTES, &memory, &capture->line_iova);
	if (rc == 0)
		capture->line = memory->base;
	return rc;
}

/* Free the memory of a queue's ring and status line. The caller holds the lock. */
static void free_memory(struct litepcie *dev, unsigned int queue)
{
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE + 2 * queue);
	dev->backend->memory_free(dev, LITEPCIE_MEMORY_CAPTURE_STATUS + 2 * queue);
}

void litepcie_run_free_left(struct litepcie *dev)
{
	litepcie_lock(dev);
	for (unsigned int queue = 0; queue < LITEPCIE_QUEUES_MOST; queue++)
		if (dev->run.left & 1u << queue)
			free_memory(dev, queue);
	dev->run.left = 0;
	litepcie_unlock(dev, 0);
}

/*
 * The card may write to the memory of a queue until the run of all queues has ended. Closing the
 * capture of queue 0 ends that run, and the memory is freed. If the card did not come to rest, the
 * memory stays until the card is seen at rest, or until the handle is closed, which takes the
 * card's right to write away.
 */
static void close_registers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	bool restless = __atomic_load_n(&dev->run.restless, __ATOMIC_RELAXED);
	unsigned int queue = capture->config.queue;

	litepcie_lock(dev);
	if (capture->run == dev->run.number && (restless || (queue && dev->run.state)))
		dev->run.left |= 1u << queue;
	else if (!(dev->run.left & 1u << queue))
		free_memory(dev, queue);
	litepcie_unlock(dev, 0);
	if (queue)
		return;
	__atomic_store_n(&dev->run.state, 0, __ATOMIC_RELEASE);
	dev->run.sort = 0;
	if (!restless)
		litepcie_run_free_left(dev);
}

static int open_registers(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc = 0;

	if (dev->run.state && dev->run.left & 1u << capture->config.queue)
		return litepcie_fail(-EBUSY, "%s: the card may still write to the last ring of "
				     "queue %u: stop the capture of queue 0 first", dev->name,
				     capture->config.queue);
	/*
	 * The capture block may still run for an earlier program. It would then write to that
	 * program's ring addresses, which this program's memory may get now.
	 */
	if (!dev->run.state)
		rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE,
					    "the capture of an earlier program");
	if (rc < 0)
		return rc;
	if (!dev->run.state) {
		litepcie_run_set_restless(dev, false);
		litepcie_run_free_left(dev);
	}
	litepcie_lock(dev);
	return litepcie_unlock(dev, get_memory(capture));
}

/* Counts of frames, by port and by what became of them ---------------------------------------- */

/*
 * Read an account: a number of frames and of their bytes. The number of the account is written to
 * the register @index after the selection of the queue. The registers @frames and @bytes then have
 * the counts.
 */
static int get_account(struct litepcie_capture *capture, uint32_t index, uint32_t number,
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
	return litepcie_unlock(dev, rc);
}

static int snapshot(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_writel(dev, dev->map.capture.account_control, CAPTURE_SNAPSHOT);

	return rc < 0 ? rc : litepcie_capture_await(capture, CAPTURE_ACCOUNTS_BUSY, 0,
						    "the copy of the accounts");
}

static int get_port(struct litepcie_capture *capture, unsigned int port,
		    struct litepcie_port_accounts *found)
{
	const struct litepcie_capture_registers *registers = &capture->dev->map.capture;
	struct litepcie_account *const fates[LITEPCIE_CAPTURE_FATES] = {
		[LITEPCIE_CAPTURE_FATE_DELIVERED] = &found->delivered,
		[LITEPCIE_CAPTURE_FATE_BAD] = &found->bad,
		[LITEPCIE_CAPTURE_FATE_LOST_RING] = &found->lost_ring,
		[LITEPCIE_CAPTURE_FATE_LOST_STAGING] = &found->lost_staging,
	};
	int rc = 0;

	for (unsigned int fate = 0; rc == 0 && fate < LITEPCIE_CAPTURE_FATES; fate++)
		rc = get_account(capture, registers->account_control,
				 LITEPCIE_CAPTURE_FATES * port + fate, registers->account_frames,
				 registers->account_bytes, fates[fate]);
	return rc;
}

static int accounts_by_registers(struct litepcie_capture *capture,
				 struct litepcie_port_accounts *ports)
{
	int rc;

	pthread_mutex_lock(&capture->dev->counting);
	rc = snapshot(capture);
	for (unsigned int port = 0; rc == 0 && port < LITEPCIE_CAPTURE_PORTS; port++)
		rc = get_port(capture, port, &ports[port]);
	pthread_mutex_unlock(&capture->dev->counting);
	return rc;
}

static int discards_by_registers(struct litepcie_capture *capture,
				 struct litepcie_discards *discards)
{
	const struct litepcie_sorter_registers *sorter = &capture->dev->map.sorter;
	int rc;

	pthread_mutex_lock(&capture->dev->counting);
	rc = snapshot(capture);
	for (unsigned int n = 0; rc == 0 && n < LITEPCIE_CAPTURE_RULES + LITEPCIE_CAPTURE_PORTS; n++)
		rc = get_account(capture, sorter->discard_index, n, sorter->discard_frames,
				 sorter->discard_bytes, n < LITEPCIE_CAPTURE_RULES ?
				 &discards->rule[n] : &discards->port[n - LITEPCIE_CAPTURE_RULES]);
	pthread_mutex_unlock(&capture->dev->counting);
	return rc;
}

/* Rules and spread, by which frames get to queues --------------------------------------------- */

static int put_rules(struct litepcie *dev, const struct litepcie_sorting *sorting)
{
	const struct litepcie_sorter_registers *sorter = &dev->map.sorter;
	int rc = 0;

	for (uint32_t n = 0; rc == 0 && n < sorting->rules * LITEPCIE_RULE_WORDS; n++) {
		rc = litepcie_writel(dev, sorter->rule_data, (&sorting->rule[0][0])[n]);
		if (rc == 0)
			rc = litepcie_writel(dev, sorter->rule_index, n);
	}
	for (uint32_t n = 0; rc == 0 && n < LITEPCIE_CAPTURE_SPREAD; n++)
		rc = litepcie_writel(dev, sorter->spread,
				     n | (uint32_t)sorting->spread[n] <<
						 LITEPCIE_CAPTURE_QUEUES_QUEUE_PLACE);
	return rc;
}

/*
 * Write the rules and the table that spreads frames to the card, which uses them from its next
 * start on.
 */
static int sort_by_registers(struct litepcie_capture *capture,
			     const struct litepcie_sorting *sorting)
{
	struct litepcie *dev = capture->dev;
	int rc = sorting ? put_rules(dev, sorting) : 0;

	dev->run.sort = rc < 0 || !sorting ? 0 :
			LITEPCIE_CAPTURE_QUEUES_BIT_SORT |
			(sorting->by_port ? LITEPCIE_CAPTURE_QUEUES_BIT_BY_PORT : 0) |
			sorting->rules << LITEPCIE_CAPTURE_QUEUES_RULES_PLACE;
	return rc;
}

/* Generator of test frames -------------------------------------------------------------------- */

static int run_generator(struct litepcie *dev, const struct litepcie_generator *generator)
{
	const struct litepcie_capture_registers *registers = &dev->map.capture;
	const struct {
		uint32_t offset, value;
	} words[] = {
		{ registers->generator_size, generator->size },
		{ registers->generator_period, generator->period },
		{ registers->generator_count, generator->count },
		{ registers->generator_seed, generator->seed },
		{ registers->generator_port_mask, generator->port_mask },
		{ registers->generator_control, GENERATE },
	};
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < sizeof(words) / sizeof(words[0]); i++)
		rc = litepcie_writel(dev, words[i].offset, words[i].value);
	return rc;
}

static int generate_by_registers(struct litepcie_capture *capture,
				 const struct litepcie_generator *generator)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_writel(dev, dev->map.capture.generator_control, 0);

	if (rc == 0 && generator) {
		rc = litepcie_capture_await(capture, CAPTURE_GENERATOR_IDLE, CAPTURE_GENERATOR_IDLE,
					    "the generator's last frame");
		if (rc == 0)
			rc = run_generator(dev, generator);
	}
	return rc;
}

/*
 * The generator's count of frames is read after its state. So if the state says that the generator
 * is idle, the count includes its last frame.
 */
static int generated_by_registers(struct litepcie_capture *capture, uint32_t *made)
{
	struct litepcie *dev = capture->dev;
	uint32_t status = 0;
	int rc = get_status(capture, &status);

	if (rc == 0)
		rc = litepcie_readl(dev, dev->map.capture.generator_made, made);
	return rc < 0 ? rc : litepcie_says(status, CAPTURE_GENERATOR_IDLE);
}

const struct litepcie_capture_access litepcie_capture_by_registers = {
	.open = open_registers,
	.close = close_registers,
	.start = litepcie_run_start,
	.stop = litepcie_run_stop,
	.allow = litepcie_run_allow,
	.answers = litepcie_run_answers,
	.accounts = accounts_by_registers,
	.discards = discards_by_registers,
	.sort = sort_by_registers,
	.generate = generate_by_registers,
	.generated = generated_by_registers,
};
