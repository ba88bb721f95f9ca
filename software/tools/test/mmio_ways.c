/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test mmio_ways.c: which ways of access are measured, with which accesses, and that the card's
 * memory has its old contents afterwards. The test has stand-ins for the card and its clock.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "../litepcie_util/mmio/mmio_ways.c"
#include "../litepcie_util/dma/limits.c"
#include "../litepcie_util/emit.c"
#include "check.h"

#define COUNT	16u
#define BAR	2u	/* the BAR with the memory that is measured */
#define BYTES	(2 * MMIO_REGION)
#define OFFSET	512u	/* offset of that memory in its BAR */

static struct {
	uint64_t	words[BYTES / 8];	/* contents of the BAR */
	bool		unmapped;
	size_t		refused;	/* accesses of this size get @error; 0: none */
	int		error;
	size_t		wrong;		/* reads of this size have a wrong bit; 0: none */
	/*
	 * number of accesses since the clock was read: those that have begun, and that have ended
	 */
	atomic_uint	begun, ended;
	pthread_t	main;
} card;

static struct mmio_bench bench = { .count = COUNT };
static struct mmio_ways ways;
static bool interrupted;

/* Stand-ins for the library and for the other sources of the utility --------------------------- */

static int reach(unsigned int bar, uint64_t offset, size_t size)
{
	CHECK_EQUAL(bar, BAR);
	CHECK(offset >= OFFSET && offset + size <= OFFSET + MMIO_REGION && offset % size == 0);
	card.begun++;
	/*
	 * Accesses of other threads than the main thread are slower. So if take() does not wait for
	 * a thread, mmio_since() finds an access that has not ended.
	 */
	if (!pthread_equal(pthread_self(), card.main))
		usleep(200);
	card.ended++;
	return size == card.refused ? card.error : 0;
}

int litepcie_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		      size_t size)
{
	(void)dev;
	memcpy(data, (uint8_t *)card.words + offset, size);
	*(uint8_t *)data ^= size == card.wrong;
	return reach(bar, offset, size);
}

int litepcie_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
		       size_t size)
{
	(void)dev;
	memcpy((uint8_t *)card.words + offset, data, size);
	return reach(bar, offset, size);
}

int litepcie_bar_map(struct litepcie *dev, unsigned int bar, struct litepcie_window *window)
{
	(void)dev;
	CHECK_EQUAL(bar, BAR);
	if (card.unmapped)
		return -EOPNOTSUPP;
	window->base = card.words;
	window->size = BYTES;
	return 0;
}

/*
 * The card's first memory is in BAR0. The second memory, which is in another BAR, must be measured,
 * since the driver may map that BAR write-combining.
 */
int litepcie_block_find(struct litepcie *dev, unsigned int type, unsigned int number,
			struct litepcie_block *block)
{
	(void)dev;
	CHECK_EQUAL(type, LITEPCIE_BLOCK_MEMORY);
	block->bar = number ? BAR : 0;
	block->offset = number ? OFFSET : 0;
	return number < 2 ? 0 : -ENOENT;
}

const char *litepcie_why(const struct litepcie *dev)
{
	(void)dev;
	return "the card says no";
}

int mmio_clock(const struct mmio_bench *unused, uint32_t *ticks)
{
	CHECK(unused == &bench);
	card.begun = card.ended = 0;
	*ticks = 0;
	return 0;
}

/*
 * Stand-in for the time since the clock was read at @begin: 10 ns for each access. All accesses
 * that have begun must have ended by now, also those of other threads.
 */
int mmio_since(const struct mmio_bench *unused, uint32_t begin, double *ns)
{
	(void)unused, (void)begin;
	CHECK_EQUAL(card.begun, card.ended);
	*ns = 10.0 * card.ended;
	return 0;
}

bool util_interrupted(void)
{
	return interrupted;
}

void util_emit_reason(const struct emit *out, unsigned int column, const char *beginning,
		      const char *reason)
{
	(void)out, (void)column, (void)beginning, (void)reason;
}

/* Tests ---------------------------------------------------------------------------------------- */

/* Measure all ways of access, and check that the card's memory is as it was before. */
static int measure_all(void)
{
	uint64_t before[BYTES / 8];
	int rc;

	for (size_t i = 0; i < BYTES / 8; i++)
		before[i] = card.words[i] = 0x0123456789abcdefu * (i + 1);
	ways = (struct mmio_ways) {
		.bench = &bench,
		.link = { .gen = 3, .lanes = 8, .mps = 256, .mrrs = 512, .cycle_ns = 4 },
	};
	rc = mmio_ways_measure(&ways);
	CHECK(memcmp(card.words, before, sizeof(before)) == 0);
	card.refused = card.wrong = 0;
	card.unmapped = interrupted = false;
	return rc;
}

static const struct mmio_way_row *row_of(const char *id)
{
	for (size_t i = 0; i < ways.rows; i++)
		if (strcmp(ways.row[i].id, id) == 0)
			return &ways.row[i];
	fprintf(stderr, "no row %s\n", id);
	exit(1);
}

static void has_value(const char *id, bool write, size_t size, double ns)
{
	const struct mmio_way_row *row = row_of(id);

	CHECK(!*row->reason);
	CHECK(row->write == write && row->size == size);
	CHECK(row->ns == ns);
	CHECK(ns == 0 || row->mb_per_s == (double)size * 1000 / ns);
	if (*row->reason || row->ns != ns)
		fprintf(stderr, "%s: %g ns %s\n", id, row->ns, row->reason);
}

static void each_way_makes_its_accesses(void)
{
	CHECK_EQUAL(measure_all(), 0);
	CHECK_EQUAL(ways.rows, 27);
	CHECK(ways.bar == BAR && ways.offset == OFFSET);
	CHECK(ways.trip_ns == 10);
	has_value("read_call/8", false, 8, 20);
	has_value("read_call/4096", false, 4096, 10240);
	has_value("write_call/4", true, 4, 10);
	has_value("read_mapped/4", false, 4, 0);
	has_value("write_mapped/8", true, 8, 0);
	has_value("read_access/64", false, 64, 10);
	has_value("write_access/16", true, 16, 10);
	has_value("read_memcpy/4096", false, 4096, 0);
	has_value("read_threads/2", false, 8, 10);
	has_value("read_threads/4", false, 8, 10);
	has_value("read_threads/8", false, 8, 10);
	CHECK(row_of("read_threads/2")->limit.binds == LIMIT_BY_THREADS);
	CHECK(row_of("read_threads/8")->limit.binds == LIMIT_BY_ACCESS);
	CHECK(row_of("read_threads/8")->limit.value == 4 * row_of("read_threads/2")->limit.value);
	CHECK(strstr(row_of("write_combined/64")->reason, "this mapping is uncached"));
}

static void what_cannot_be_done_has_a_reason(void)
{
	card.unmapped = true;
	card.refused = 32;
	card.error = -EOPNOTSUPP;
	card.wrong = 16;
	CHECK_EQUAL(measure_all(), 0);
	CHECK_EQUAL(ways.rows, 27);
	CHECK(strcmp(row_of("read_mapped/4")->reason, "the card says no") == 0);
	CHECK(strcmp(row_of("write_memcpy/4096")->reason, "the card says no") == 0);
	CHECK(strcmp(row_of("write_access/32")->reason, "the card says no") == 0);
	CHECK(strstr(row_of("read_access/16")->reason, "wrong data: at +0x0 "));
	has_value("write_access/16", true, 16, 10);
	has_value("read_access/64", false, 64, 10);
}

/*
 * Accesses of 8 bytes fail with -EIO, which must end a measurement. Ctrl-C must end another one. In
 * both cases the memory must be restored. The row of the access that has failed must not be among
 * the rows.
 */
static void an_error_ends_the_measurement(void)
{
	card.refused = 8;
	card.error = -EIO;
	CHECK_EQUAL(measure_all(), -EIO);
	CHECK_EQUAL(ways.rows, 12);
	CHECK(strcmp(ways.row[11].id, "read_access/4") == 0);
	interrupted = true;
	CHECK_EQUAL(measure_all(), -EINTR);
	CHECK_EQUAL(ways.rows, 0);
}

int main(void)
{
	card.main = pthread_self();
	each_way_makes_its_accesses();
	what_cannot_be_done_has_a_reason();
	an_error_ends_the_measurement();
	return failed_checks != 0;
}
