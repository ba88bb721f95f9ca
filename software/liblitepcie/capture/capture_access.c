/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The functions of struct litepcie_capture_access that use the registers of the capture block, for
 * the back ends that reach registers and memory themselves (sim and vfio). This file has those for
 * memory, accounts (counts of frames), rules and the generator. capture_run.c has start and stop.
 */
#include "capture.h"

#define GENERATE	(1u << LITEPCIE_CAPTURE_GENERATOR_CONTROL_RUN_OFFSET)

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
	rc = dev->backend->memory(dev, kind + 1, NULL, CAPTURE_STATUS_BYTES, &memory,
				  &capture->line_iova);
	if (rc == 0)
		capture->line = memory->base;
	return rc;
}

/*
 * The card may write to the memory of a queue until the run of all queues has ended. If another
 * queue than 0 is closed before that, its memory is kept, and the end of the run or the close of
 * queue 0 frees it. If the card did not come to rest after the run, the memory is kept until the
 * card is seen at rest, or until the handle is closed, which switches bus mastering off first.
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
		litepcie_run_free(dev, queue);
	litepcie_unlock(dev);
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
	 * The capture block may still run for an earlier program. It would then write to the bus
	 * addresses of that program's ring, at which this program's memory is about to be mapped.
	 */
	if (!dev->run.state)
		rc = litepcie_capture_await(capture, CAPTURE_IDLE, CAPTURE_IDLE,
					    "the capture of an earlier program",
					    LITEPCIE_RESET_ADVICE);
	if (rc < 0)
		return rc;
	if (!dev->run.state) {
		litepcie_run_set_restless(dev, false);
		litepcie_run_free_left(dev);
	}
	litepcie_lock(dev);
	rc = get_memory(capture);
	litepcie_unlock(dev);
	return rc;
}

/* Counts of frames, by port and by what became of them ---------------------------------------- */

static int snapshot(struct litepcie_capture *capture)
{
	struct litepcie *dev = capture->dev;
	int rc = litepcie_writel(dev, dev->map.capture.account_control, CAPTURE_SNAPSHOT);

	return rc < 0 ? rc : litepcie_capture_await(capture, CAPTURE_ACCOUNTS_BUSY, 0,
						    "the copy of the counts",
						    LITEPCIE_RESET_ADVICE);
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
		rc = litepcie_queue_get_account(capture, registers->account_control,
				 LITEPCIE_CAPTURE_FATES * port + fate, registers->account_frames,
				 registers->account_bytes, fates[fate]);
	return rc;
}

static int accounts_by_registers(struct litepcie_capture *capture,
				 struct litepcie_capture_stats *stats)
{
	struct litepcie *dev = capture->dev;
	uint32_t net_lost = 0;
	int rc;

	pthread_mutex_lock(&dev->counting);
	rc = snapshot(capture);
	for (unsigned int port = 0; rc == 0 && port < LITEPCIE_CAPTURE_PORTS; port++)
		rc = get_port(capture, port, &stats->port[port]);
	pthread_mutex_unlock(&dev->counting);
	if (rc == 0 && dev->map.net.lost)
		rc = litepcie_readl(dev, dev->map.net.lost, &net_lost);
	stats->net_lost = net_lost;
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
		rc = litepcie_queue_get_account(capture, sorter->discard_index, n, sorter->discard_frames,
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
 * Write the rules and the table that spreads frames over queues to the card, which uses them from
 * the next start of queue 0 on. If @sorting is NULL, all frames go to queue 0 from that start on.
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
					    LITEPCIE_GENERATOR_FRAME, LITEPCIE_GENERATOR_ADVICE);
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
	int rc = litepcie_capture_status(capture, &status);

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
	.is_complete = litepcie_run_is_complete,
	.accounts = accounts_by_registers,
	.discards = discards_by_registers,
	.sort = sort_by_registers,
	.generate = generate_by_registers,
	.generated = generated_by_registers,
};
