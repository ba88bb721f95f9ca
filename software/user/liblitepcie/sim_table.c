/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * DMA of the "sim" back end: LitePCIe's descriptor table in its "prog" mode, in which every
 * descriptor runs once. The card only ever has descriptors of buffers that the software has filled
 * (h2c) or emptied (c2h), so nothing is overrun, however slow the software is.
 *
 * What loop_status means in this mode (litepcie/frontend/dma.py): its index counts executed
 * descriptors modulo 2^16 and its count the wraps of the index, so the register as a whole is the
 * number of executed descriptors modulo 2^32, read at one instant. A descriptor counts as executed
 *   h2c: when the last read request for it has been issued: its data is still on the way
 *   c2h: when the last write has entered the core: up to 1.5 kB may not have reached the host
 * and its interrupt is raised at the same moment. What follows from that is in the two *_usable().
 */
#include <errno.h>

#include "registers.h"
#include "sim.h"

#define BATCH	32u	/* descriptors in one message, three writes each */

const struct litepcie_dma_registers sim_h2c_registers = LITEPCIE_H2C_REGISTERS;
const struct litepcie_dma_registers sim_c2h_registers = LITEPCIE_C2H_REGISTERS;

/* Descriptors --------------------------------------------------------------------------------- */

/* Whether buffer @number asks for an interrupt, when the last one that is posted now is @last. */
static bool asks_interrupt(const struct sim *sim, const struct sim_channel *channel,
			   uint64_t number, uint64_t last)
{
	return !channel->silent && ((number + 1) % sim->interrupt_every == 0 || number == last);
}

/*
 * Append @count descriptors to the table, in one message where the board takes it. The table has
 * one entry for each buffer and keeps that of a buffer until it is done, so it cannot overflow.
 * @last is the number of the buffer that asks for an interrupt beside the regular ones.
 */
static int post(struct litepcie *dev, struct sim_channel *channel,
		const struct litepcie_dma_registers *registers, uint64_t iova,
		uint64_t count, uint64_t last)
{
	struct sim *sim = sim_of(dev);
	struct vfio_user_write writes[3 * BATCH];
	int rc = 0;

	while (rc == 0 && count) {
		struct vfio_user_write *w = writes;
		uint64_t n = count < BATCH ? count : BATCH;

		for (uint64_t i = 0; i < n; i++, channel->posted++) {
			uint64_t slot = channel->posted % SIM_BUFFER_COUNT;
			uint64_t address = iova + slot * SIM_BUFFER_SIZE;
			bool asks = asks_interrupt(sim, channel, channel->posted, last);
			uint32_t flags = DMA_LAST_DISABLE | (asks ? 0 : DMA_IRQ_DISABLE);
			const uint32_t words[3] = {
				flags | SIM_BUFFER_SIZE, (uint32_t)address, address >> 32,
			};

			channel->asks[slot] = asks;
			*w++ = (struct vfio_user_write) { registers->value, 4, words[0] };
			*w++ = (struct vfio_user_write) { registers->value + 4, 4, words[1] };
			*w++ = (struct vfio_user_write) { registers->push, 4, words[2] };
		}
		rc = vfio_user_post(&sim->vu, writes, 3 * n);
		count -= n;
	}
	return rc;
}

/* Everything that was given back and is still below the limit of the run. */
int sim_post_c2h(struct litepcie *dev, uint64_t released)
{
	struct sim *sim = sim_of(dev);
	uint64_t end = released + SIM_BUFFER_COUNT, last = UINT64_MAX;

	if (sim->c2h_limit) {
		last = sim->c2h_limit - 1;
		if (end > sim->c2h_limit)
			end = sim->c2h_limit;
	}
	return post(dev, &sim->c2h, &sim_c2h_registers, SIM_IOVA + SIM_RING_SIZE,
		    end - sim->c2h.posted, last);
}

/* Counts -------------------------------------------------------------------------------------- */

static int read_done(struct litepcie *dev, struct sim_channel *channel,
		     const struct litepcie_dma_registers *registers)
{
	uint32_t status, advance;
	int rc = litepcie_readl(dev, registers->loop_status, &status);

	if (rc < 0)
		return rc;
	advance = status - (uint32_t)channel->done;	/* right across the wrap at 2^32 */
	if (advance > channel->posted - channel->done)
		return litepcie_fail(dev, -EIO, "the card says it has finished %u buffers more, "
				     "but it was given %llu (loop_status 0x%08x); it has lost its "
				     "state", advance,
				     (unsigned long long)(channel->posted - channel->done), status);
	for (; advance; advance--, channel->done++)
		channel->asked += channel->asks[channel->done % SIM_BUFFER_COUNT];
	return 0;
}

/*
 * h2c: the card's DMA has at most 8 KiB of reads in flight, together one buffer. What has not
 * arrived can only belong to the last buffer that is done, so all but that may be written again.
 */
static int h2c_usable(struct litepcie *dev)
{
	struct sim_channel *h2c = &sim_of(dev)->h2c;
	int rc = read_done(dev, h2c, &sim_h2c_registers);

	if (rc == 0 && h2c->done && h2c->done - 1 > dev->h2c.hw)
		dev->h2c.hw = h2c->done - 1;
	return rc;
}

/*
 * c2h: writes leave the core in order, so all but the last buffer that is done is in memory. The
 * last one too, if it was done when an earlier read was answered: the tail that was on its way then
 * has had the time of a whole round trip through the host. When everything that was posted is done
 * no further interrupt will come to look again, so the last one is settled at once.
 */
static int c2h_usable(struct litepcie *dev)
{
	struct sim_channel *c2h = &sim_of(dev)->c2h;
	uint64_t settled;
	int rc = read_done(dev, c2h, &sim_c2h_registers);

	if (rc < 0 || c2h->done == dev->c2h.hw)
		return rc;
	do {
		settled = c2h->done;
		rc = read_done(dev, c2h, &sim_c2h_registers);
	} while (rc == 0 && c2h->done > settled && c2h->done == c2h->posted);
	if (rc == 0)
		dev->c2h.hw = c2h->done > settled ? c2h->done - 1 : settled;
	return rc;
}

int sim_dma_poll(struct litepcie *dev)
{
	int rc = 0;

	if (dev->h2c.active)
		rc = h2c_usable(dev);
	if (rc == 0 && dev->c2h.active)
		rc = c2h_usable(dev);
	return rc;
}

/* Ring ---------------------------------------------------------------------------------------- */

int sim_c2h_release(struct litepcie *dev, unsigned int count)
{
	return sim_post_c2h(dev, dev->c2h.sw + count);
}

/* A short batch may be the last for a while, so its end is announced. */
int sim_h2c_submit(struct litepcie *dev, unsigned int count)
{
	struct sim *sim = sim_of(dev);
	uint64_t last = count < sim->interrupt_every ? dev->h2c.sw + count - 1 : UINT64_MAX;

	return post(dev, &sim->h2c, &sim_h2c_registers, SIM_IOVA, count, last);
}
