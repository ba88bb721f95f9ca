/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command info: say what the card's capture block has, and what became of the frames of each
 * port since its accounts were cleared.
 */
#include <getopt.h>

#include "capture.h"
#include "litepcie_capability.h"
#include "litepcie_capture.h"

struct info {
	struct litepcie_block		block;
	struct litepcie_capture_stats	stats;
};

static uint32_t parameter(const struct info *info, unsigned int number)
{
	return number < info->block.parameters ? info->block.parameter[number] : 0;
}

static bool is_used(const struct litepcie_port_accounts *port)
{
	return port->delivered.frames || port->bad.frames || port->lost_ring.frames ||
	       port->lost_staging.frames;
}

static void print_text(const struct util *util, const void *result)
{
	const struct info *info = result;
	bool any = false;

	printf("info           %s\n", util->device);
	printf("  version      %u of the capture block\n", info->block.version);
	printf("  staging      %u bytes on the card\n",
	       parameter(info, LITEPCIE_CAPTURE_STAGING_BYTES));
	printf("  segments     %u at most in a ring\n", parameter(info, LITEPCIE_CAPTURE_SEGMENTS));
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		const struct litepcie_port_accounts *port = &info->stats.port[i];

		if (!is_used(port))
			continue;
		if (!any)
			puts("  port     delivered           bytes         bad   lost: ring    "
			     "staging");
		any = true;
		printf("  %4u  %12llu  %14llu  %10llu  %10llu %10llu\n", i,
		       (unsigned long long)port->delivered.frames,
		       (unsigned long long)port->delivered.bytes,
		       (unsigned long long)port->bad.frames,
		       (unsigned long long)port->lost_ring.frames,
		       (unsigned long long)port->lost_staging.frames);
	}
	if (!any)
		puts("  ports        no frame of any port is in the accounts");
}

static void account_json(struct json *json, const char *key, const struct litepcie_account *account)
{
	json_begin_object(json, key);
	json_unsigned(json, "frames", account->frames);
	json_unsigned(json, "bytes", account->bytes);
	json_end_object(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct info *info = result;

	json_unsigned(json, "version", info->block.version);
	json_unsigned(json, "staging_bytes", parameter(info, LITEPCIE_CAPTURE_STAGING_BYTES));
	json_unsigned(json, "segments", parameter(info, LITEPCIE_CAPTURE_SEGMENTS));
	json_begin_array(json, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		const struct litepcie_port_accounts *port = &info->stats.port[i];

		json_begin_object(json, NULL);
		json_unsigned(json, "port", i);
		account_json(json, "delivered", &port->delivered);
		account_json(json, "bad", &port->bad);
		account_json(json, "lost_ring", &port->lost_ring);
		account_json(json, "lost_staging", &port->lost_staging);
		json_end_object(json);
	}
	json_end_array(json);
}

/* The accounts are cleared by a start only, so they are still those of the last capture. */
static bool ask(struct util *util, struct info *info)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = LITEPCIE_CAPTURE_RING_SMALLEST,
	};
	struct litepcie_capture *capture;
	int rc = litepcie_capture_open(util->dev, &config, &capture);

	if (rc == 0) {
		info->stats.struct_size = sizeof(info->stats);
		info->block.struct_size = sizeof(info->block);
		rc = litepcie_capture_stats(capture, &info->stats);
		litepcie_block_find(util->dev, LITEPCIE_BLOCK_CAPTURE, 0, &info->block);
	}
	util_check(util, rc, "asking the capture block");
	litepcie_capture_close(capture);
	return rc == 0;
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = { CAPTURE_OPTIONS };
	struct info info = { 0 };
	int option, status;
	bool known;

	while ((option = getopt_long(argc, argv, ":d:h", options, NULL)) != -1) {
		status = capture_option(util, &cmd_info, option, argv[optind - 1]);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return util_usage(util, "%s: info takes no argument", argv[optind]);
	known = util_open(util) && ask(util, &info);
	return util_finish(util, known ? &info : NULL, print_text, print_json);
}

static const char help[] =
	"info [-d DEVICE] [--json]\n"
	"\n"
	"Say what the card's capture block has, and what became of the frames of each\n"
	"port: delivered, bad, lost because the ring was full, or because the card's\n"
	"staging memory was. The accounts are those since the last recording began.\n"
	"\n"
	"example:\n"
	"  lanebox-capture info -d sim:build/board.sock\n";

const struct command cmd_info = {
	.name = "info",
	.summary = "the capture block, and its accounts by port",
	.help = help,
	.run = run,
};
