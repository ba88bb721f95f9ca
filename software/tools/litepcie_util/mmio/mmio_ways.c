/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure the ways of access to a card's memory (mmio_bench --all). A way that is possible with
 * this card is checked first: its data is compared with that of 4-byte accesses. Then its accesses
 * are repeated between two reads of the card's clock.
 */
#include "mmio_bench.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "litepcie_capability.h"

/* most 4-byte words that the measurement of one row moves; a word that moves again counts again */
#define WORDS_A_ROW	4096u
#define MAX_THREADS	8u
/* number of 64-byte loads from write-combining memory that a CPU core is taken to keep in flight */
#define LINE_FILLS	10
/*
 * If the rate of writes, or of reads by several threads, is below this fraction of its limit,
 * something else than the limit binds it. For writes the output then names LIMIT_BY_STORES (the
 * host's own stores), and for reads by several threads LIMIT_BY_ACCESS (one access at a time).
 */
#define OWN_SHARE	0.5
/* number of 4-byte reads of the card's memory, the fastest of which gives the round trip */
#define TRIPS		32u

#define MOST_NUMBERS	6u

struct way {
	/* Move way->size bytes between @data and the BAR of the card's memory at offset @at. */
	int (*move)(const struct mmio_ways *ways, const struct way *way, uint64_t at, void *data);
	bool		write;
	size_t		size;
	/* number of threads that make the accesses; 0: the calling thread makes them */
	unsigned int	threads;
	/* true: this way needs the BAR to be mapped into the process */
	bool		mapped;
	/* true: this way needs the mapping of the BAR to be write-combining */
	bool		combined;
};

/* The ways to access the card's memory -------------------------------------------------------- */

/*
 * Access the card's memory by one call of the library for @size bytes. The library makes a load or
 * store of the CPU if the BAR is mapped, otherwise a system call, or on a simulated board a
 * message, which becomes one TLP.
 */
static int access_once(const struct mmio_ways *ways, bool write, uint64_t at, void *data,
		       size_t size)
{
	return write ? litepcie_bar_write(ways->bench->dev, ways->bar, at, data, size) :
		       litepcie_bar_read(ways->bench->dev, ways->bar, at, data, size);
}

/*
 * Access the card's memory by one call of the library for each 4 of the @size bytes. The library
 * makes a load or store of the CPU if the BAR is mapped, otherwise a system call, or on a simulated
 * board a message.
 */
static int access_words(const struct mmio_ways *ways, bool write, uint64_t at, void *data,
			size_t size)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < size; i += 4)
		rc = access_once(ways, write, at + i, (uint8_t *)data + i, 4);
	return rc;
}

static int by_calls(const struct mmio_ways *ways, const struct way *way, uint64_t at, void *data)
{
	return access_words(ways, way->write, at, data, way->size);
}

static int by_access(const struct mmio_ways *ways, const struct way *way, uint64_t at, void *data)
{
	return access_once(ways, way->write, at, data, way->size);
}

static int by_pointer(const struct mmio_ways *ways, const struct way *way, uint64_t at, void *data)
{
	volatile uint8_t *place = (volatile uint8_t *)ways->window.base + at;

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

static int by_memcpy(const struct mmio_ways *ways, const struct way *way, uint64_t at, void *data)
{
	uint8_t *place = (uint8_t *)(uintptr_t)ways->window.base + at;

	if (way->write)
		memcpy(place, data, way->size);
	else
		memcpy(data, place, way->size);
	return 0;
}

/*
 * The ways to access the card's memory, in families. The ways of a family differ only in a number:
 * that of the bytes that the way moves at a time, or that of the threads if @threaded is true. The
 * number also stands in the name of the way's row. In @numbers a 0 ends a list of fewer than
 * MOST_NUMBERS.
 */
static const struct family {
	const char	*name;
	struct way	way;
	unsigned int	numbers[MOST_NUMBERS];
	bool		threaded;
} families[] = {
	{ "read_call", { .move = by_calls }, .numbers = { 8, 64, 128, 512, 1024, 4096 } },
	{ "write_call", { .move = by_calls, .write = true }, .numbers = { 4 } },
	{ "read_mapped", { .move = by_pointer, .mapped = true }, .numbers = { 4, 8 } },
	{ "write_mapped", { .move = by_pointer, .write = true, .mapped = true },
	  .numbers = { 4, 8 } },
	{ "read_access", { .move = by_access }, .numbers = { 4, 8, 16, 32, 64 } },
	{ "write_access", { .move = by_access, .write = true }, .numbers = { 4, 8, 16, 32, 64 } },
	{ "write_combined", { .move = by_access, .write = true, .mapped = true, .combined = true },
	  .numbers = { 64 } },
	{ "read_memcpy", { .move = by_memcpy, .mapped = true }, .numbers = { 4096 } },
	{ "write_memcpy", { .move = by_memcpy, .write = true, .mapped = true },
	  .numbers = { 4096 } },
	{ "read_threads", { .move = by_access, .size = 8 }, .numbers = { 2, 4, 8 },
	  .threaded = true },
};

#define FAMILIES	(sizeof(families) / sizeof(families[0]))

_Static_assert(FAMILIES * MOST_NUMBERS <= MMIO_WAYS_MAX, "a row for each way");

/* Proof that a way works ---------------------------------------------------------------------- */

/*
 * Check that a way of access moves the right data; wrong data is said in row->reason. The way is
 * used for two accesses with different data, which show a wrong order, width or address. There is
 * no memory for a second access if the way moves MMIO_REGION bytes at a time. Returns 0 or -errno.
 */
static int prove(const struct mmio_ways *ways, const struct way *way, struct mmio_way_row *row)
{
	size_t length = way->size * 2 <= MMIO_REGION ? way->size * 2 : way->size;
	uint32_t sent[MMIO_REGION / 4], got[MMIO_REGION / 4] = { 0 };
	int rc = 0;

	for (size_t i = 0; i < length / 4; i++)
		sent[i] = 0x9e3779b9u * (uint32_t)(i + 1 + way->size + way->write);
	if (!way->write)
		rc = access_words(ways, true, ways->offset, sent, length);
	for (size_t i = 0; rc == 0 && i < length; i += way->size)
		rc = way->move(ways, way, ways->offset + i,
			       way->write ? &sent[i / 4] : &got[i / 4]);
	if (rc == 0 && way->write)
		rc = access_words(ways, false, ways->offset, got, length);
	for (size_t i = 0; rc == 0 && !*row->reason && i < length / 4; i++)
		if (got[i] != sent[i])
			snprintf(row->reason, UTIL_SENTENCE, "wrong data: at +0x%zx 0x%08x was "
				 "written, 0x%08x read", 4 * i, sent[i], got[i]);
	return rc;
}

/* Measurement of a way's rate ----------------------------------------------------------------- */

struct worker {
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
			way->move(worker->ways, way, worker->ways->offset +
				  i * way->size % MMIO_REGION, data);
	return NULL;
}

/*
 * Use one way of access @count times. With several threads each does an equal part of that, and a
 * rest is left out. Returns 0 or -errno.
 */
static int take(const struct mmio_ways *ways, const struct way *way, size_t count)
{
	unsigned int threads = way->threads ?: 1, started = 1;
	struct worker worker[MAX_THREADS];
	pthread_t thread[MAX_THREADS];
	int rc = 0;

	for (unsigned int i = 0; i < threads; i++)
		worker[i] = (struct worker) { ways, way, count / threads, 0 };
	/* The calling thread is one of the @threads threads, so one fewer is created. */
	while (rc == 0 && started < threads) {
		rc = -pthread_create(&thread[started], NULL, work, &worker[started]);
		started += rc == 0;
	}
	work(&worker[0]);
	for (unsigned int i = 0; i < started; i++) {
		if (i)
			pthread_join(thread[i], NULL);
		rc = rc ?: worker[i].rc;
	}
	return rc;
}

/*
 * Returns the limit in MB/s of a way to access the card's memory. The limit of reads is the number
 * of bytes in flight divided by the round trip. The limit of writes is the lower of those of the
 * link and of the card's interface.
 */
static struct limit limit_for(const struct mmio_ways *ways, const struct way *way)
{
	double in_flight = way->threads ? (double)(way->threads * way->size) : (double)way->size;
	struct limit limit;

	if (way->write) {
		limit = limit_of(LIMIT_WRITES, &ways->link, way->size > 64 ? 64 :
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
		way->threads ? LIMIT_BY_THREADS :
		way->move == by_memcpy ? LIMIT_BY_CPU_READS : LIMIT_BY_ONE_READ,
	};
}

static int measure(const struct mmio_ways *ways, const struct way *way, struct mmio_way_row *row)
{
	size_t most = WORDS_A_ROW * 4 / way->size, count = ways->bench->count;
	uint32_t begin;
	double ns;
	int rc;

	if (count > most)
		count = most;
	if (way->threads && count < way->threads)
		count = way->threads;
	rc = mmio_clock(ways->bench, &begin) ?: take(ways, way, count) ?:
	     mmio_since(ways->bench, begin, &ns);
	if (rc < 0)
		return rc;
	if (way->threads)
		count -= count % way->threads;
	row->ns = ns > 0 ? ns / (double)count : 0;
	row->mb_per_s = row->ns > 0 ? (double)way->size * 1000 / row->ns : NAN;
	row->limit = limit_for(ways, way);
	if (way->write && row->mb_per_s < OWN_SHARE * row->limit.value)
		row->limit.binds = LIMIT_BY_STORES;
	if (way->threads && row->mb_per_s < OWN_SHARE * row->limit.value)
		row->limit.binds = LIMIT_BY_ACCESS;
	return 0;
}

/*
 * Check and measure the way of @family with the given @number, or note the reason why this card
 * cannot be accessed in this way. Returns 0 or -errno.
 */
static int do_row(struct mmio_ways *ways, const struct family *family, unsigned int number)
{
	struct way changed = family->way, *way = &changed;
	struct mmio_way_row *row = &ways->row[ways->rows++];
	const char *refused = NULL;
	int rc = 0;

	if (family->threaded)
		way->threads = number;
	else
		way->size = number;
	*row = (struct mmio_way_row) { .write = way->write, .size = way->size };
	snprintf(row->id, sizeof(row->id), "%s/%u", family->name, number);
	if (way->mapped && !ways->window.base)
		refused = ways->unmapped;
	else if (way->combined && !ways->window.write_combining)
		refused = "this mapping is uncached; only the kernel driver of Lanebox maps memory "
			  "write-combined";
	else
		rc = prove(ways, way, row);
	if (rc == 0 && !refused && !*row->reason)
		rc = measure(ways, way, row);
	if (rc == -EOPNOTSUPP)	/* the CPU or the back end has no access of this size to this BAR */
		refused = litepcie_why(ways->bench->dev);
	else if (rc < 0)
		/* After an error the row has no value, so it is dropped. */
		ways->rows--;
	if (refused)
		snprintf(row->reason, UTIL_SENTENCE, "%s", refused);
	return refused ? 0 : rc;
}

/*
 * Find the memory to measure: the first memory in a BAR other than BAR0, since such a BAR may be
 * mapped write-combining. If BAR0 has all memories, the last of them is measured. Then map the BAR;
 * if that fails, ways->unmapped says why. Returns 0 or -errno.
 */
static int find_memory(struct mmio_ways *ways)
{
	struct litepcie *dev = ways->bench->dev;
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

/* Measure ways->trip_ns, the least time of TRIPS 4-byte reads of the card's memory. */
static int measure_trip(struct mmio_ways *ways)
{
	uint32_t begin, word;
	double ns = INFINITY;
	int rc = 0;

	ways->trip_ns = INFINITY;
	for (unsigned int i = 0; rc == 0 && i < TRIPS; i++) {
		rc = mmio_clock(ways->bench, &begin) ?:
		     access_once(ways, false, ways->offset, &word, 4) ?:
		     mmio_since(ways->bench, begin, &ns);
		ways->trip_ns = fmin(ways->trip_ns, ns);
	}
	return rc;
}

int mmio_ways_measure(struct mmio_ways *ways)
{
	uint32_t saved[MMIO_REGION / 4];
	int restored, rc = find_memory(ways) ?: measure_trip(ways) ?:
			   access_words(ways, false, ways->offset, saved, MMIO_REGION);

	if (rc < 0)
		return rc;
	for (const struct family *family = families; family < families + FAMILIES; family++)
		for (unsigned int i = 0; rc == 0 && i < MOST_NUMBERS && family->numbers[i]; i++)
			rc = util_interrupted() ? -EINTR : do_row(ways, family, family->numbers[i]);
	restored = access_words(ways, true, ways->offset, saved, MMIO_REGION);
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
	emit_string(out, "binds", "%s\n", valid ? limit_name(row->limit.binds) : NULL);
	util_emit_reason(out, 21, "cannot be done: ", row->reason);
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
