/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Write a recording by output.c if it is in one file or folder, and by deal.c if it is in several
 * folders. This file keeps no state of its own. It notes a failure of output.c or deal.c as a
 * failure of the command. With several folders files_close() notes the failures of the writes, as
 * files.h says.
 */
#include "files.h"

#include <stdlib.h>

/*
 * If @right is false, note the message recording->output.why as a failure of the command. Returns
 * @right.
 */
static bool noted(struct util *util, const struct recording *recording, bool right)
{
	if (!right)
		util_fail(util, "%s", recording->output.why);
	return right;
}

bool files_open(struct util *util, struct recording *recording, size_t header_bytes)
{
	struct output *output = &recording->output;

	return noted(util, recording, recording->folders ?
		     deal_open(&recording->deal, recording->folders, recording->folder_count,
			       recording->limits, recording->header, header_bytes, output->why) :
		     output_open(output, recording->target, recording->limits, recording->header,
				 header_bytes));
}

bool files_take_ring(struct util *util, struct recording *recording)
{
	const struct litepcie_capture_config *config = &recording->config;

	if (recording->folders)
		return noted(util, recording,
			     deal_begin(&recording->deal, recording->ring, config->ring_bytes,
					config->mbuf_bytes, recording->output.why));
	output_memory(&recording->output, recording->ring, config->ring_bytes,
		      output_batch(config->ring_bytes / config->mbuf_bytes));
	return true;
}

bool files_write(struct util *util, struct recording *recording, const uint8_t *data, size_t bytes)
{
	if (recording->folders)
		return deal_write(&recording->deal);
	return noted(util, recording, output_write(&recording->output, data, bytes));
}

bool files_push(struct util *util, struct recording *recording)
{
	return recording->folders || noted(util, recording, output_push(&recording->output));
}

unsigned int files_done(struct recording *recording)
{
	return recording->folders ? deal_done(&recording->deal) : output_done(&recording->output);
}

unsigned int files_kept(struct recording *recording)
{
	return recording->folders ? deal_kept(&recording->deal) : output_done(&recording->output);
}

bool files_are_behind(struct recording *recording)
{
	return recording->folders ? deal_is_behind(&recording->deal) :
				    recording->output.first < recording->output.next;
}

bool files_finish(struct util *util, struct recording *recording)
{
	if (recording->folders)
		return deal_finish(&recording->deal);
	return noted(util, recording, output_finish(&recording->output));
}

void files_close(struct util *util, struct recording *recording)
{
	struct deal *deal = &recording->deal;

	if (!recording->folders) {
		noted(util, recording, output_close(&recording->output));
		return;
	}
	deal_close(deal);
	for (unsigned int n = 0; n < deal->count; n++)
		if (deal->folders[n].failed)
			util_fail(util, "%s", deal->folders[n].output.why);
}

void files_discard(struct recording *recording)
{
	if (recording->folders)
		deal_discard(&recording->deal);
	else
		output_discard(&recording->output);
}

void files_free(struct recording *recording)
{
	if (recording->folders)
		deal_free(&recording->deal);
	output_free(&recording->output);
	free(recording->header);
}
