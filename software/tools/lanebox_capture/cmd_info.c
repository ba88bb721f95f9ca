/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command info: print the version of the card's capture block, the size of its staging memory,
 * the most segments of a ring and the number of queues. Also print, by port, how many frames of one
 * queue were delivered, bad or lost since the last start of a capture.
 */
#include <errno.h>

#include "capture.h"
#include "litepcie_capability.h"
#include "record/record.h"

struct info {
	struct litepcie_block		block;
	struct litepcie_capture_stats	stats;
	unsigned int			queues;		/* number of the card's queues */
};

/* value of the option --queue: the number of the queue whose accounts are printed */
static uint32_t wanted;

static uint32_t parameter(const struct info *info, unsigned int number)
{
	return number < info->block.parameters ? info->block.parameter[number] : 0;
}

static bool is_used(const struct litepcie_port_accounts *port)
{
	return port->delivered.frames || port->bad.frames || port->lost_ring.frames ||
	       port->lost_staging.frames;
}

static void emit_account(const struct emit *out, const char *key, const char *format,
			 const struct litepcie_account *account)
{
	emit_object(out, key);
	emit_unsigned(out, "frames", format, account->frames);
	emit_unsigned(out, "bytes", NULL, account->bytes);
	emit_object_end(out);
}

/*
 * Print the accounts of port @number (counts of frames that were delivered, bad or lost). Without
 * --json nothing is printed for a port that has none of these frames.
 */
static void emit_port(const struct emit *out, unsigned int number,
		      const struct litepcie_port_accounts *port)
{
	if (!out->json && !is_used(port))
		return;
	emit_object(out, NULL);
	emit_unsigned(out, "port", "  %4llu", number);
	emit_account(out, "delivered", "  %12llu", &port->delivered);
	emit_text(out, "  %14llu", (unsigned long long)port->delivered.bytes);
	emit_account(out, "bad", "  %10llu", &port->bad);
	emit_account(out, "lost_ring", "  %10llu", &port->lost_ring);
	emit_account(out, "lost_staging", " %10llu\n", &port->lost_staging);
	emit_object_end(out);
}

static void print(const struct emit *out, const void *result)
{
	const struct info *info = result;
	bool any = false;

	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++)
		any |= is_used(&info->stats.port[i]);
	emit_text(out, "info           %s\n", out->util->device);
	emit_unsigned(out, "version", "  version      %llu of the capture block\n",
		      info->block.version);
	emit_unsigned(out, "staging_bytes", "  staging      %llu bytes on the card, for a queue\n",
		      parameter(info, LITEPCIE_CAPTURE_STAGING_BYTES));
	emit_unsigned(out, "segments", "  segments     %llu at most in a ring\n",
		      parameter(info, LITEPCIE_CAPTURE_SEGMENTS));
	emit_unsigned(out, "queues", "  queues       %llu\n", info->queues);
	emit_unsigned(out, "queue", "  accounts     of queue %llu\n", wanted);
	emit_text(out, any ? "  port     delivered           bytes         bad   lost: ring    "
		  "staging\n" : "  ports        no frame of any port is in the accounts\n");
	emit_array(out, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++)
		emit_port(out, i, &info->stats.port[i]);
	emit_array_end(out);
	if (out->json || info->stats.net_lost)
		emit_unsigned(out, "net_lost", "  %llu frames of the net device were not copied to "
			      "the capture\n", info->stats.net_lost);
}

/*
 * Read the accounts (counts of frames) of the queue of the option --queue, and the description of
 * the capture block in the card's capability table. The accounts are those since the last start of
 * a capture, which clears them. Returns 0 or -errno. -EINVAL is an error of the command line, and
 * is not noted.
 */
static int ask(struct util *util, struct info *info)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = LITEPCIE_CAPTURE_RING_LEAST,
		.queue = wanted,
	};
	struct litepcie_capture *capture;
	int rc = litepcie_capture_open(util->dev, &config, &capture);

	if (rc == 0) {
		info->stats.struct_size = sizeof(info->stats);
		info->block.struct_size = sizeof(info->block);
		rc = litepcie_capture_stats(capture, &info->stats);
		litepcie_block_find(util->dev, LITEPCIE_BLOCK_CAPTURE, 0, &info->block);
	}
	if (rc == 0)
		info->queues = (unsigned int)litepcie_capture_queues(util->dev);
	if (rc != -EINVAL)
		util_check(util, rc, "asking the capture block");
	litepcie_capture_close(capture);
	return rc;
}

static int run(struct util *util)
{
	struct info info = { 0 };
	int rc = -ENODEV;

	if (util_open(util))
		rc = ask(util, &info);
	if (rc == -EINVAL)
		return record_refuse(util);
	return util_emit(util, rc == 0 ? &info : NULL, print);
}

static const struct util_option options[] = { QUEUE_OPTION(&wanted), CARD_OPTIONS };

const struct command cmd_info = {
	.name = "info",
	.summary = "the capture block, and its accounts by port",
	.usage = "info [-d DEVICE] [--json] [--queue N]",
	.about =
		"Say what the card's capture block has, and what became of the frames of each\n"
		"port: delivered, bad, lost because the ring was full, or because the card's\n"
		"staging memory was. The accounts are those since the last recording began. Each\n"
		"queue of a card has accounts of its own.\n",
	.examples = "  lanebox-capture info -d sim:build/board.sock\n",
	.options = options,
	.run = run,
};
