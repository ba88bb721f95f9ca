/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Measure the time of single accesses to BAR0, by the card's own clock.
 *
 * The clock is the card's device time register. The host's clock is not used, since it means
 * nothing in simulation. Two reads of the clock in a row differ by the round trip T of one read. If
 * the target is read between two reads of the clock, that read takes the difference of the two
 * times minus T. The same holds for n posted writes between two reads of the clock, since the
 * second read cannot pass them. A row is measured only after a check that the card answers accesses
 * of its size correctly.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "mmio_bench.h"

#define PROOF_WORDS	4

/* Reading the card's clock -------------------------------------------------------------------- */

int mmio_clock(const struct mmio_bench *bench, uint32_t *ticks)
{
	return litepcie_bar_read(bench->dev, 0, bench->clock, ticks, 4);
}

static double ns_between(const struct mmio_bench *bench, uint32_t from, uint32_t to)
{
	return (double)(uint32_t)(to - from) * bench->tick_ns;
}

int mmio_since(const struct mmio_bench *bench, uint32_t begin, double *ns)
{
	uint32_t end;
	int rc = mmio_clock(bench, &end);

	if (rc == 0)
		*ns = ns_between(bench, begin, end) - bench->clock_ns;
	return rc;
}

/* Proof that accesses of a size work ---------------------------------------------------------- */

/*
 * Check a read of the clock with row->size bytes. The lower 32 bits of a correct answer lie between
 * the times of two 4-byte reads, one before it and one after it. If they do not, row->reason says
 * so. Returns 0 or -errno.
 */
static int prove_clock(const struct mmio_bench *bench, struct mmio_row *row)
{
	uint32_t before, after;
	uint64_t value = 0;
	int rc = mmio_clock(bench, &before) ?:
		 litepcie_bar_read(bench->dev, 0, bench->clock, &value, row->size) ?:
		 mmio_clock(bench, &after);

	if (rc == 0 && (uint32_t)((uint32_t)value - before) > after - before)
		snprintf(row->reason, UTIL_SENTENCE, "the card answers a %zu-byte read wrongly: "
			 "0x%0*llx, which is not a time between 0x%08x and 0x%08x", row->size,
			 (int)row->size * 2, (unsigned long long)value, before, after);
	return rc;
}

/*
 * Returns the test value for a write of @size bytes, 4 or 8, to the target's 4-byte word number @i.
 */
static uint64_t proof_value(size_t i, size_t size)
{
	uint32_t low = 0x9e3779b9u * (uint32_t)(i + 1), high = 0x9e3779b9u * (uint32_t)(i + 2);

	return size == 8 ? (uint64_t)high << 32 | low : low;
}

static int write_proof(const struct mmio_bench *bench, size_t words, size_t size)
{
	uint32_t offset = bench->offset;
	int rc = 0;

	/* Write the complement of the value first, so that a lost write of the value is found. */
	for (size_t i = 0; rc == 0 && i < words; i++)
		rc = litepcie_writel(bench->dev, offset + 4 * i, (uint32_t)~proof_value(i, 4));
	for (size_t i = 0; rc == 0 && i < words; i += size / 4) {
		uint64_t value = proof_value(i, size);

		rc = litepcie_bar_write_burst(bench->dev, 0, offset + 4 * i, size, 0, &value, 1);
	}
	return rc;
}

/*
 * Check that accesses of row->size bytes work. For a row of writes, 4-byte reads must return the
 * data that writes of row->size bytes have written. For a row of reads, reads of row->size bytes
 * must return the data that 4-byte writes have written. After wrong data row->reason says so, and
 * the result is 0, too. Returns -errno if an access fails.
 */
static int prove_words(const struct mmio_bench *bench, struct mmio_row *row)
{
	size_t words = bench->spread ? PROOF_WORDS : 1, size = row->write ? 4 : row->size;
	int rc = write_proof(bench, words, row->write ? row->size : 4);

	for (size_t i = 0; rc == 0 && !*row->reason && i < words; i += size / 4) {
		uint64_t expected = proof_value(i, size), got = 0;

		rc = litepcie_bar_read(bench->dev, 0, bench->offset + 4 * i, &got, size);
		if (rc == 0 && got != expected)
			snprintf(row->reason, UTIL_SENTENCE, "the card %s %zu bytes wrongly: at "
				 "BAR0 + 0x%zx 0x%0*llx was written, 0x%0*llx read",
				 row->write ? "stores a write of" : "answers a read of", row->size,
				 bench->offset + 4 * i, (int)size * 2,
				 (unsigned long long)expected, (int)size * 2,
				 (unsigned long long)got);
	}
	return rc;
}

/* Store @why as the reason why @row has no value. Returns 0: the command has not failed. */
static int refuse(struct mmio_row *row, const char *why)
{
	snprintf(row->reason, sizeof(row->reason), "%s", why);
	return 0;
}

static int prove(const struct mmio_bench *bench, struct mmio_row *row)
{
	int rc;

	*row->reason = '\0';
	if (bench->target == MMIO_SCRATCH && row->size != 4)
		return refuse(row, "scratch is a single 4-byte register");
	if (bench->target == MMIO_TIME && row->write)
		return refuse(row, "device time can only be read");
	rc = bench->target == MMIO_TIME ? prove_clock(bench, row) : prove_words(bench, row);
	/* -EOPNOTSUPP: the back end of the library cannot make accesses of this size */
	return rc == -EOPNOTSUPP ? refuse(row, litepcie_why(bench->dev)) : rc;
}

/* Measurement of accesses --------------------------------------------------------------------- */

static int measure_clock(struct mmio_bench *bench)
{
	struct histogram round_trip;
	uint32_t from, to = 0;
	int rc = mmio_clock(bench, &from);

	for (size_t i = 0; rc == 0 && i < bench->count; i++, from = to) {
		rc = util_interrupted() ? -EINTR : mmio_clock(bench, &to);
		bench->samples[i] = rc == 0 ? ns_between(bench, from, to) : 0;
	}
	if (rc < 0)
		return rc;
	histogram_make(&round_trip, bench->samples, bench->count);
	bench->clock_ns = round_trip.median;
	return 0;
}

/* Make the access of one sample: one read, or a burst of MMIO_BURST writes of @values. */
static int make_access(const struct mmio_bench *bench, const struct mmio_row *row, uint64_t *values)
{
	if (!row->write)
		return litepcie_bar_read(bench->dev, 0, bench->offset, values, row->size);
	return litepcie_bar_write_burst(bench->dev, 0, bench->offset, row->size,
					 bench->spread ? row->size : 0, values, MMIO_BURST);
}

static int sample(const struct mmio_bench *bench, const struct mmio_row *row, double *ns)
{
	uint64_t values[MMIO_BURST];
	uint32_t begin;
	int rc;

	for (size_t i = 0; i < MMIO_BURST; i++)
		values[i] = 0x0101010101010101u * i;
	rc = mmio_clock(bench, &begin) ?: make_access(bench, row, values) ?:
	     mmio_since(bench, begin, ns);
	if (rc < 0)
		return rc;
	/*
	 * Round trips vary by some ticks of the card's clock, so a short time may come out below 0.
	 */
	*ns = fmax(*ns, 0) / (row->write ? MMIO_BURST : 1);
	return 0;
}

static int measure_row(struct mmio_bench *bench, struct mmio_row *row)
{
	int rc = prove(bench, row);

	for (size_t i = 0; rc == 0 && !*row->reason && i < bench->count; i++)
		rc = util_interrupted() ? -EINTR : sample(bench, row, &bench->samples[i]);
	if (rc < 0)
		strcpy(row->reason, MMIO_CUT_SHORT);
	else if (!*row->reason)
		histogram_make(&row->ns, bench->samples, bench->count);
	return rc;
}

/*
 * Measure bench->clock_ns, and all rows unless bench->all is set. The card's memory may hold data
 * of another program, so the words that the measurement may overwrite are restored afterwards.
 */
int mmio_measure(struct mmio_bench *bench)
{
	uint32_t saved[2 * MMIO_BURST];
	size_t words = bench->target == MMIO_TIME ? 0 : bench->spread ? 2 * MMIO_BURST : 1;
	int rc = 0, restored = 0;

	for (size_t i = 0; rc == 0 && i < words; i++)
		rc = litepcie_readl(bench->dev, bench->offset + 4 * i, &saved[i]);
	if (rc < 0)
		return rc;
	rc = measure_clock(bench);
	for (size_t i = 0; rc == 0 && !bench->all && i < MMIO_ROWS; i++)
		rc = measure_row(bench, &bench->rows[i]);
	for (size_t i = 0; restored == 0 && i < words; i++)
		restored = litepcie_writel(bench->dev, bench->offset + 4 * i, saved[i]);
	return restored < 0 ? restored : rc;
}
