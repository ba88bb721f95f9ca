// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Includes those files of the driver that run an h2c stream, which is a run in which write() gives
 * the card its data. Has stand-ins for the kernel, for the driver's other files, and for a card
 * with one h2c direction. sync_tests.c has the tests.
 */
#include "sync.h"

#include "file/stream.h"

struct made made;
char said[256];
unsigned long jiffies;
unsigned int rings, mapped;
int entry_error;
static struct task task;
struct task *const current = &task;
static struct mutex live = { RANK_LIVE };
static bool held[RANKS];
static unsigned int reads;	/* number of the driver's register reads in this tick */

/* Stand-ins for the kernel's locks and waits -------------------------------------------------- */

void lock_take(struct mutex *lock)
{
	for (int rank = lock->rank; rank < RANKS; rank++)
		need(!held[rank], "a lock is taken within itself, or within one of a later rank");
	held[lock->rank] = true;
}

bool lock_try(struct mutex *lock)
{
	if (held[lock->rank])
		return false;
	lock_take(lock);
	return true;
}

void lock_leave(struct mutex *lock)
{
	need(held[lock->rank], "a lock is left that is not held");
	held[lock->rank] = false;
}

void must_be_held(int rank, const char *name)
{
	need(held[rank], name);
}

int litepcie_enter(struct litepcie *ours)
{
	if (entry_error || ours->lost)
		return ours->lost ? -ENODEV : entry_error;
	lock_take(&live);
	return 0;
}

void litepcie_exit(struct litepcie *ours)
{
	(void)ours;
	lock_leave(&live);
	if (made.leaving)
		made.leaving();
}

/* Let one tick pass, while the driver sleeps with no lock but way->io. The made-up card goes on. */
void tick(void)
{
	for (int rank = RANK_LIVE; rank < RANKS; rank++)
		need(!held[rank], "the driver sleeps with a lock held");
	need(++jiffies < 100000, "the driver waits for ever");
	reads = 0;
	for (unsigned int n = 0; n < made.pace && made.running && made.level; n++) {
		made.fetched += made.bytes[0];
		made.packets += made.last[0];
		made.level--;
		made.done++;
		memmove(made.bytes, made.bytes + 1, sizeof(made.bytes) - sizeof(made.bytes[0]));
		memmove(made.last, made.last + 1, sizeof(made.last) - sizeof(made.last[0]));
		if (channel.way[LITEPCIE_WAY_H2C].reports)
			channel.way[LITEPCIE_WAY_H2C].status->buffers++;
	}
	if (made.running && !made.level && made.untaken)
		made.untaken--;
	if (made.meanwhile)
		made.meanwhile();
}

/* Registers of the made-up card --------------------------------------------------------------- */

u32 readl(const u8 *address)
{
	/*
	 * A stop of a direction that does not end reads the enable register 100,001 times, all in
	 * one tick.
	 */
	need(reads++ < 300000, "the driver spins instead of sleeping");
	if (made.gone || made.given_up)
		return ~0u;
	switch (address - channel.way[LITEPCIE_WAY_H2C].regs) {
	case LITEPCIE_DMA_GROUP_ENABLE:
		return (made.running ? LITEPCIE_DMA_ENABLE_RUN : 0) |
		       (made.running || made.stuck ? 0 : LITEPCIE_DMA_ENABLE_IDLE) |
		       (made.level || made.untaken ? 0 : LITEPCIE_DMA_ENABLE_TAKEN);
	case LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS:
		return made.done;
	}
	need(false, "another register is read");
	return 0;
}

void writel(u32 value, u8 *address)
{
	if (made.gone)
		return;
	switch (address - channel.way[LITEPCIE_WAY_H2C].regs) {
	case LITEPCIE_DMA_GROUP_ENABLE:
		made.running = value;
		break;
	case LITEPCIE_DMA_GROUP_TABLE_RESET:
		need(!made.running && !made.stuck, "the table is emptied while the card runs");
		made.level = 0;
		made.done = 0;
		break;
	case LITEPCIE_DMA_GROUP_TABLE_VALUE:
		made.value = value;
		break;
	case LITEPCIE_DMA_GROUP_TABLE_WE:
		need(made.level < DEPTH, "the card's table overflows");
		made.last[made.level] = !(made.value & LITEPCIE_DESCRIPTOR_LAST_DISABLE);
		made.bytes[made.level++] = made.value & 0xffffff;
		break;
	case LITEPCIE_DMA_GROUP_TABLE_VALUE + 4:
	case LITEPCIE_DMA_GROUP_TABLE_LOOP_PROG_N:
		break;
	default:
		need(false, "another register is written");
	}
}

/* Stand-ins for user memory and rings --------------------------------------------------------- */

size_t copy_from_iter(void *to, size_t bytes, struct iov_iter *from)
{
	need(!held[RANK_LIVE] && !held[RANK_MUTEX], "user memory is read with a lock held");
	bytes = min(bytes, from->left);
	memcpy(to, from->data, bytes);
	from->data += bytes;
	from->left -= bytes;
	return bytes;
}

size_t copy_to_iter(const void *from, size_t bytes, struct iov_iter *to)
{
	(void)from, (void)bytes, (void)to;
	need(false, "c2h is read");
	return 0;
}

struct litepcie_ring *litepcie_ring_alloc(struct device *dev, enum dma_data_direction direction,
					  const struct litepcie_geometry *geometry,
					  struct litepcie_allowance *allowance)
{
	struct litepcie_ring *ring = calloc(1, sizeof(*ring) + SIZE * COUNT);

	(void)direction, (void)allowance;
	*ring = (struct litepcie_ring){ *geometry, dev, 1 };
	rings++;
	mapped++;
	return ring;
}

struct litepcie_ring *litepcie_ring_wrap(struct device *dev, enum dma_data_direction direction,
					 const struct litepcie_geometry *geometry,
					 struct litepcie_memory *memory)
{
	(void)memory;
	return litepcie_ring_alloc(dev, direction, geometry, NULL);
}

void litepcie_ring_get(struct litepcie_ring *ring)
{
	ring->references++;
}

void litepcie_ring_put(struct litepcie_ring *ring)
{
	if (!ring || --ring->references)
		return;
	need(!ring->dev, "a ring is freed that is mapped for the card");
	rings--;
	free(ring);
}

int litepcie_ring_map(struct litepcie_ring *ring, struct device *dev)
{
	mapped += !ring->dev;
	ring->dev = dev;
	return 0;
}

void litepcie_ring_unmap(struct litepcie_ring *ring)
{
	need(!ring->dev || !made.running || made.gone || !card.pdev->master,
	     "a ring is unmapped that the card may read");
	mapped -= ring->dev != NULL;
	ring->dev = NULL;
}

size_t litepcie_ring_bytes(const struct litepcie_ring *ring)
{
	return (size_t)ring->geometry.size * ring->geometry.count;
}

dma_addr_t litepcie_ring_dma(const struct litepcie_ring *ring, u32 buffer)
{
	return (uintptr_t)ring->data + (dma_addr_t)buffer * ring->geometry.size;
}

u8 *litepcie_ring_buffer(struct litepcie_ring *ring, u32 buffer)
{
	return ring->data + (size_t)buffer * ring->geometry.size;
}

/* Stand-ins for the driver's other files ------------------------------------------------------ */

struct litepcie *litepcie_of(struct litepcie_way *way) { return way->chan->card; }
struct device *litepcie_dev(struct litepcie_way *way) { return &way->chan->dev; }
bool litepcie_is_gone(const struct litepcie *ours) { return ours->lost; }

bool litepcie_answers(struct litepcie *ours)
{
	(void)ours;
	return !made.gone;
}

bool litepcie_check_lost(struct litepcie *ours)
{
	ours->lost |= made.gone;
	return ours->lost;
}

bool litepcie_dma_progress(struct litepcie_way *way)
{
	int news;

	spin_lock_irq(&way->wait.lock);
	news = way->run ? litepcie_held_update(way) : 0;
	spin_unlock_irq(&way->wait.lock);
	if (news < 0)
		litepcie_check_lost(litepcie_of(way));
	return news;
}

void litepcie_dma_ask(struct litepcie_way *way)
{
	if (way->reports && readl(way->regs + LITEPCIE_DMA_GROUP_TABLE_LOOP_STATUS) == ~0u)
		litepcie_check_lost(litepcie_of(way));
	litepcie_dma_progress(way);
}

void litepcie_dma_news(struct litepcie_way *way) { (void)way; }
void litepcie_eventfd_signal(struct eventfd_ctx *event) { (void)event; }
void eventfd_ctx_put(struct eventfd_ctx *event) { (void)event; }

void litepcie_notices_start(struct litepcie_way *way, u32 flush_us)
{
	(void)flush_us;
	way->reports = true;
}

void litepcie_notices_stop(struct litepcie_way *way, bool on) { (void)on, way->reports = false; }
void litepcie_notices_off(struct litepcie_way *way) { way->reports = false; }
void litepcie_timer_init(struct litepcie_way *way) { (void)way; }
void litepcie_timer_start(struct litepcie_way *way) { (void)way; }
void litepcie_timer_stop(struct litepcie_way *way) { (void)way; }

bool litepcie_notices_ended(const struct litepcie_way *way, u64 number)
{
	(void)way, (void)number;
	return false;
}

void litepcie_notices_read(const struct litepcie_way *way, u64 number, u32 *bytes, u32 *flags)
{
	(void)way, (void)number, (void)bytes, (void)flags;
	need(false, "c2h is read");
}

#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include "../../dma/dma.c"
#include "../../dma/held.c"
#include "../../dma/advance.c"
#include "../../dma/owner.c"
#include "../../file/stream.c"
#include "../../file/packets.c"
#include "../../file/sync.c"
#include "../../file/transfer.c"

void set_close_timeout(unsigned int ms)
{
	close_timeout_ms = ms;
}

void leave(struct litepcie_file *file)
{
	bool entered;

	litepcie_stream_close(file);
	entered = !litepcie_enter(&card);
	litepcie_dma_give(&channel.way[LITEPCIE_WAY_H2C], file, entered);
	litepcie_owner_leave(&channel.way[LITEPCIE_WAY_H2C], file);
	if (entered)
		litepcie_exit(&card);
}
