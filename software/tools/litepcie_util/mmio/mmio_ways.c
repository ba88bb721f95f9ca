/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure the ways of access to a card's memory, which mmio_ways.h declares. Each way is checked
 * first: its data is compared with that of 4-byte accesses. Then its accesses are repeated between
 * two reads of the card's clock.
 */
#include "mmio_ways.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "litepcie_capability.h"

/* most 4-byte words of the card's memory that the measurement of one row moves */
#define WORDS_A_ROW	4096u
#define MAX_THREADS	8u
/* Number of 64-byte loads from write-combining memory that a CPU core keeps in flight. */
#define LINE_FILLS	10
/*
 * A rate below this fraction of its limit is not bound by that limit. For writes and for several
 * threads the output then says that the host's accesses bind the rate.
 */
#define OWN_SHARE	0.5
/* number of reads of the card's memory, the fastest of which is taken as the round trip */
#define TRIPS		32u

struct way {
	const char	*id;
	bool		write;
	size_t		size;
	/* number of threads that make the accesses; 0: the calling thread makes them */
	unsigned int	threads;
	/* true: accesses of this way go through the mapped BAR, so the BAR must be mapped */
	bool		mapped;
	/* true: accesses of this way need a write-combining mapping of the BAR */
	bool		combined;
	/* Move way->size bytes between @data and the card's memory at offset @at. */
	int (*move)(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		    uint64_t at, void *data);
};

/* The ways to access the card's memory -------------------------------------------------------- */

/*
 * Access the card's memory by one system call for each 4 bytes, or by one message to the simulated
 * board.
 */
static int by_calls(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		    uint64_t at, void *data)
{
	uint8_t *bytes = data;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < way->size; i += 4)
		rc = way->write ?
			litepcie_bar_write(dev, ways->bar, at + i, bytes + i, 4) :
			litepcie_bar_read(dev, ways->bar, at + i, bytes + i, 4);
	return rc;
}

/*
 * Access the card's memory by one load or store of the CPU, or by one TLP of the host of a
 * simulated card.
 */
static int by_access(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		     uint64_t at, void *data)
{
	return way->write ? litepcie_bar_write(dev, ways->bar, at, data, way->size) :
			    litepcie_bar_read(dev, ways->bar, at, data, way->size);
}

static int by_pointer(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		      uint64_t at, void *data)
{
	volatile uint8_t *place = (volatile uint8_t *)ways->window.base + at;

	(void)dev;
	if (way->size == 4 && way->write)
		*(volatile uint32_t *)place = *(uint32_t *)data;
	else if (way->size == 4)
		*(uint32_t *)data = *(volatile uint32_t *)place;
	else if (way->write)
		*(volatile uint64_t *)place = *(uint64_t *)data;
	else
		*(uint64_t *)data = *(volatile uint64_t *)place;
	return 0;
}

static int by_memcpy(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		     uint64_t at, void *data)
{
	uint8_t *place = (uint8_t *)(uintptr_t)ways->window.base + at;

	(void)dev;
	if (way->write)
		memcpy(place, data, way->size);
	else
		memcpy(data, place, way->size);
	return 0;
}

static const struct way all_ways[] = {
	{ "read_call/8", false, 8, .move = by_calls },
	{ "read_call/64", false, 64, .move = by_calls },
	{ "read_call/128", false, 128, .move = by_calls },
	{ "read_call/512", false, 512, .move = by_calls },
	{ "read_call/1024", false, 1024, .move = by_calls },
	{ "read_call/4096", false, 4096, .move = by_calls },
	{ "write_call/4", true, 4, .move = by_calls },
	{ "read_mapped/4", false, 4, .mapped = true, .move = by_pointer },
	{ "read_mapped/8", false, 8, .mapped = true, .move = by_pointer },
	{ "write_mapped/4", true, 4, .mapped = true, .move = by_pointer },
	{ "write_mapped/8", true, 8, .mapped = true, .move = by_pointer },
	{ "read_access/4", false, 4, .move = by_access },
	{ "read_access/8", false, 8, .move = by_access },
	{ "read_access/16", false, 16, .move = by_access },
	{ "read_access/32", false, 32, .move = by_access },
	{ "read_access/64", false, 64, .move = by_access },
	{ "write_access/4", true, 4, .move = by_access },
	{ "write_access/8", true, 8, .move = by_access },
	{ "write_access/16", true, 16, .move = by_access },
	{ "write_access/32", true, 32, .move = by_access },
	{ "write_access/64", true, 64, .move = by_access },
	{ "write_combined/64", true, 64, .mapped = true, .combined = true, .move = by_access },
	{ "read_memcpy/4096", false, 4096, .mapped = true, .move = by_memcpy },
	{ "write_memcpy/4096", true, 4096, .mapped = true, .move = by_memcpy },
	{ "read_threads/2", false, 8, 2, .move = by_access },
	{ "read_threads/4", false, 8, 4, .move = by_access },
	{ "read_threads/8", false, 8, 8, .move = by_access },
};

_Static_assert(sizeof(all_ways) / sizeof(all_ways[0]) <= MMIO_WAYS_MAX, "a row for each way");

/* Proof that a way works ---------------------------------------------------------------------- */

static int region(struct litepcie *dev, const struct mmio_ways *ways, uint32_t *words, bool write)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < MMIO_REGION / 4; i++)
		rc = write ? litepcie_bar_write(dev, ways->bar, ways->offset + 4 * i, &words[i], 4) :
			     litepcie_bar_read(dev, ways->bar, ways->offset + 4 * i, &words[i], 4);
	return rc;
}

/*
 * Check that a way of access moves the right data. Two accesses of different data show a wrong
 * order, width or address. A way that moves MMIO_REGION bytes is checked by one access.
 */
static int prove(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		 struct mmio_way_row *row)
{
	size_t length = way->size * 2 <= MMIO_REGION ? way->size * 2 : way->size;
	uint32_t sent[MMIO_REGION / 4], got[MMIO_REGION / 4] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < length / 4; i++)
		sent[i] = 0x9e3779b9u * (uint32_t)(i + 1 + way->size + way->write);
	for (size_t i = 0; rc == 0 && i < length && !way->write; i += 4)
		rc = litepcie_bar_write(dev, ways->bar, ways->offset + i, &sent[i / 4], 4);
	for (size_t i = 0; rc == 0 && i < length; i += way->size)
		rc = way->move(dev, ways, way, ways->offset + i,
			       way->write ? &sent[i / 4] : &got[i / 4]);
	for (size_t i = 0; rc == 0 && i < length && way->write; i += 4)
		rc = litepcie_bar_read(dev, ways->bar, ways->offset + i, &got[i / 4], 4);
	for (size_t i = 0; rc == 0 && !*row->reason && i < length / 4; i++)
		if (got[i] != sent[i])
			snprintf(row->reason, UTIL_SENTENCE, "wrong data: at +0x%zx 0x%08x was "
				 "written, 0x%08x read", 4 * i, sent[i], got[i]);
	return rc;
}

/* Measurement of a way's rate ----------------------------------------------------------------- */

struct worker {
	struct litepcie		*dev;
	const struct mmio_ways	*ways;
	const struct way	*way;
	size_t			count;
	int			rc;
};

static void *work(void *context)
{
	struct worker *worker = context;
	const struct way *way = worker->way;
	uint64_t data[MMIO_REGION / 8] = { 0 };

	for (size_t i = 0; worker->rc == 0 && i < worker->count; i++)
		worker->rc = util_interrupted() ? -EINTR :
			way->move(worker->dev, worker->ways, way, worker->ways->offset +
				  i * way->size % MMIO_REGION, data);
	return NULL;
}

/* Make @count accesses of one way of access, by one thread or several. Returns 0 or -errno. */
static int take(struct litepcie *dev, const struct mmio_ways *ways, const struct way *way,
		size_t count)
{
	unsigned int threads = way->threads ? way->threads : 1, started = 0;
	struct worker worker[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	int rc = 0;

	for (unsigned int i = 0; i < threads; i++)
		worker[i] = (struct worker) { dev, ways, way, count / threads, 0 };
	if (!way->threads) {
		work(&worker[0]);
		return worker[0].rc;
	}
	while (rc == 0 && started < threads) {
		rc = -pthread_create(&thread[started], NULL, work, &worker[started]);
		started += rc == 0;
	}
	for (unsigned int i = 0; i < started; i++) {
		pthread_join(thread[i], NULL);
		if (rc == 0)
			rc = worker[i].rc;
	}
	return rc;
}

/*
 * Returns the limit in MB/s of a way to access the card's memory. The limit of reads is the number
 * of bytes in flight divided by the round trip. The limit of writes is that of the link and of the
 * card's interface.
 */
static struct limit limit_for(const struct mmio_ways *ways, const struct way *way)
{
	double in_flight = way->threads ? (double)(way->threads * way->size) : (double)way->size;
	struct limit limit;

	if (way->write) {
		limit = limit_of_writes(&ways->link, way->size > 64 ? 64 :
					way->move == by_calls ? 4 : (unsigned int)way->size);
		limit.value *= 1000;
		return limit;
	}
	if (way->move == by_calls)
		in_flight = 4;
	else if (way->move == by_memcpy)
		in_flight = ways->window.write_combining ? LINE_FILLS * 64 : 8;
	return (struct limit) {
		in_flight * 1000 / ways->trip_ns,
		way->threads ? "a read for each thread" :
		way->move == by_memcpy ? "the CPU's reads in flight" : "one read in flight",
	};
}

static int measure(struct litepcie *dev, struct mmio_ways *ways, const struct way *way,
		   struct mmio_way_row *row)
{
	size_t most = WORDS_A_ROW * 4 / way->size, count = ways->bench->count;
	uint32_t from, to;
	double ns;
	int rc;

	if (count > most)
		count = most;
	if (way->threads && count < way->threads)
		count = way->threads;
	rc = mmio_clock(dev, ways->bench, &from);
	if (rc == 0)
		rc = take(dev, ways, way, count);
	if (rc == 0)
		rc = mmio_clock(dev, ways->bench, &to);
	if (rc < 0)
		return rc;
	if (way->threads)
		count -= count % way->threads;
	ns = mmio_elapsed_ns(ways->bench, from, to) - ways->bench->clock_ns;
	row->ns = ns > 0 ? ns / (double)count : 0;
	row->mb_per_s = row->ns > 0 ? (double)way->size * 1000 / row->ns : NAN;
	row->limit = limit_for(ways, way);
	if (way->write && row->mb_per_s < OWN_SHARE * row->limit.value)
		row->limit.binds = "the host's own stores";
	if (way->threads && row->mb_per_s < OWN_SHARE * row->limit.value)
		row->limit.binds = "one access at a time";
	return 0;
}

static int do_row(struct litepcie *dev, struct mmio_ways *ways, const struct way *way)
{
	struct mmio_way_row *row = &ways->row[ways->rows++];
	const char *refused = NULL;
	int rc = 0;

	*row = (struct mmio_way_row) { .id = way->id, .write = way->write, .size = way->size };
	if (way->mapped && !ways->window.base)
		refused = ways->unmapped;
	else if (way->combined && !ways->window.write_combining)
		refused = "this mapping is uncached; only the kernel driver of Lanebox maps memory "
			  "write-combined";
	else
		rc = prove(dev, ways, way, row);
	if (rc == 0 && !refused && !*row->reason)
		rc = measure(dev, ways, way, row);
	if (rc == -EOPNOTSUPP)	/* the CPU or the back end has no access of this size to this BAR */
		refused = litepcie_why(dev);
	else if (rc < 0)
		/* Drop the row: after an error it has neither a value nor a reason. */
		ways->rows--;
	if (refused)
		snprintf(row->reason, UTIL_SENTENCE, "%s", refused);
	return refused ? 0 : rc;
}

/*
 * Find the memory to measure: the first memory in a BAR other than BAR0, since such a BAR may be
 * mapped write-combining. If BAR0 has all memories, the last of them is measured.
 */
static int find_memory(struct litepcie *dev, struct mmio_ways *ways)
{
	struct litepcie_block block = { .struct_size = sizeof(block) };
	int rc = litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, 0, &block);

	for (unsigned int i = 0; rc == 0 && !ways->bar; i++) {
		ways->bar = block.bar;
		ways->offset = block.offset;
		if (litepcie_block_find(dev, LITEPCIE_BLOCK_MEMORY, i + 1, &block) < 0)
			break;
	}
	ways->window.struct_size = sizeof(ways->window);
	if (rc == 0 && litepcie_bar_map(dev, ways->bar, &ways->window) < 0) {
		ways->window.base = NULL;
		snprintf(ways->unmapped, sizeof(ways->unmapped), "%s", litepcie_why(dev));
	}
	return rc;
}

/* Measure ways->trip_ns, the least time of a read of the card's memory. */
static int measure_trip(struct litepcie *dev, struct mmio_ways *ways)
{
	uint32_t from, to, word;
	int rc = 0;

	ways->trip_ns = INFINITY;
	for (unsigned int i = 0; rc == 0 && i < TRIPS; i++) {
		rc = mmio_clock(dev, ways->bench, &from);
		if (rc == 0)
			rc = litepcie_bar_read(dev, ways->bar, ways->offset, &word, 4);
		if (rc == 0)
			rc = mmio_clock(dev, ways->bench, &to);
		if (rc == 0)
			ways->trip_ns = fmin(ways->trip_ns, mmio_elapsed_ns(ways->bench, from, to) -
					     ways->bench->clock_ns);
	}
	return rc;
}

int mmio_ways_measure(struct litepcie *dev, struct mmio_ways *ways)
{
	uint32_t saved[MMIO_REGION / 4];
	int rc = find_memory(dev, ways), restored;

	if (rc == 0)
		rc = measure_trip(dev, ways);
	if (rc == 0)
		rc = region(dev, ways, saved, false);
	if (rc < 0)
		return rc;
	for (size_t i = 0; rc == 0 && i < sizeof(all_ways) / sizeof(all_ways[0]); i++)
		rc = util_interrupted() ? -EINTR : do_row(dev, ways, &all_ways[i]);
	restored = region(dev, ways, saved, true);
	return restored < 0 ? restored : rc;
}

/* Printing the ways' rates -------------------------------------------------------------------- */

static void print_row(const struct emit *out, const struct mmio_way_row *row)
{
	bool valid = !*row->reason;

	emit_string(out, "id", "  %-18s ", row->id);
	emit_string(out, "op", NULL, row->write ? "write" : "read");
	emit_unsigned(out, "size_bytes", NULL, row->size);
	emit_string(out, "unit", NULL, "MB/s");
	emit_number(out, "access_ns", "%8.1f ", valid ? row->ns : NAN);
	emit_number(out, "value", "%9.1f ", valid ? row->mb_per_s : NAN);
	emit_number(out, "limit", "%8.1f ", valid ? row->limit.value : NAN);
	emit_number(out, "ratio", "%7.3f  ", valid ? row->mb_per_s / row->limit.value : NAN);
	emit_string(out, "binds", "%s\n", valid ? row->limit.binds : NULL);
	emit_string(out, "reason", NULL, emit_filled(row->reason));
	if (!valid && !out->json) {
		emit_text(out, "cannot be done: ");
		util_fill(37, 23, row->reason);
	}
}

void mmio_ways_emit(const struct emit *out, const struct mmio_ways *ways)
{
	emit_text(out, "  %-18s %8s %9s %8s %7s  %s\n", "", "ns", "MB/s", "limit", "reached",
		  "binds");
	for (size_t i = 0; i < ways->rows; i++) {
		emit_object(out, NULL);
		print_row(out, &ways->row[i]);
		emit_object_end(out);
	}
}
