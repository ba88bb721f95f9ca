/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Find the errors of a DMA run whose transfers came to their end without a failure or Ctrl-C: wrong
 * or missing data, and lost interrupts. Note one sentence for each kind of error.
 */
#include "dma_run.h"

static void judge_h2c(struct dma_run *run)
{
	const struct litepcie_pattern *pattern = &run->pattern;
	uint64_t beats = dma_target_beats(run), byte = pattern->first_error * DMA_BEAT_BYTES;

	if (pattern->beats != beats)
		util_fail(run->util, "h2c: the card received %llu beats of %u bytes, but %llu "
			  "were sent", (unsigned long long)pattern->beats, DMA_BEAT_BYTES,
			  (unsigned long long)beats);
	if (pattern->errors)
		util_fail(run->util, "h2c: the card found %u wrong beats of %u bytes; the first "
			  "is in buffer %llu at offset 0x%llx",
			  pattern->errors, DMA_BEAT_BYTES,
			  (unsigned long long)(byte / run->data.size),
			  (unsigned long long)(byte % run->data.size));
}

static void judge_c2h(struct dma_run *run)
{
	const struct dma_difference *first = &run->first;

	if (run->wrong_buffers)
		util_fail(run->util, "%s: %llu of %llu buffers differ, in %llu dwords; the first "
			  "is buffer %llu at offset 0x%zx: 0x%08x expected, 0x%08x got",
			  run->loopback ? "loopback" : "c2h",
			  (unsigned long long)run->wrong_buffers,
			  (unsigned long long)run->compared, (unsigned long long)run->wrong_dwords,
			  (unsigned long long)run->first_wrong, first->offset, first->expected,
			  first->got);
	if (!run->compared)
		util_fail(run->util, "c2h: not one buffer was compared");
}

static void judge_interrupts(struct dma_run *run)
{
	const struct litepcie_stats *stats = &run->stats;

	if (stats->interrupts_missed && stats->interrupts >= 0 && stats->interrupts_expected >= 0)
		util_fail(run->util, "%llu interrupts never came: at least %lld were due, %lld did",
			  (unsigned long long)stats->interrupts_missed,
			  (long long)stats->interrupts_expected, (long long)stats->interrupts);
	else if (stats->interrupts_missed)
		util_fail(run->util, "%llu interrupts never came: the card had gone on without one",
			  (unsigned long long)stats->interrupts_missed);
}

void dma_judge(struct dma_run *run)
{
	if (dma_h2c_by_pattern(run))
		judge_h2c(run);
	if (run->c2h.active)
		judge_c2h(run);
	judge_interrupts(run);
}
