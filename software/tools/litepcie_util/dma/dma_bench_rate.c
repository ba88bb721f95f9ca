/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* Print one rate in the columns that the tables of dma_bench, of --sweep and of --slot share. */
#include <math.h>

#include "dma_bench.h"

void bench_emit_rate(const struct emit *out, const struct rate *rate, const char *id,
		     enum limit_binds binds)
{
	bool valid = rate->valid;

	if (!valid)
		emit_text(out, "       -  GB/s\n");
	emit_string(out, "id", NULL, id);
	emit_number(out, "value", "%8.2f", valid ? rate->gb_per_s : NAN);
	emit_string(out, "unit", valid ? "  %s" : NULL, "GB/s");
	emit_number(out, "limit", "  %6.2f", valid ? rate->limit.value : NAN);
	emit_number(out, "ratio", "  %7.3f", valid ? rate->gb_per_s / rate->limit.value : NAN);
	emit_string(out, "binds", "  %s\n", valid ? limit_name(binds) : NULL);
	emit_unsigned(out, "bytes", NULL, rate->bytes);
	emit_unsigned(out, "cycles", NULL, rate->cycles);
	emit_unsigned(out, "stall_cycles", NULL, rate->rq_stalls);
}
