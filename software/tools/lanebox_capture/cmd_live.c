/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command live: a table of rates and losses of each port, again and again. It reads the card's
 * accounts and takes nothing, so behind the kernel driver it may look at the recording of another
 * program. Rates are those of the host's clock.
 */
#include <getopt.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "litepcie_capture.h"

#define CLEAR_TERMINAL	"\033[H\033[J"

struct live {
	/* what the command line wants */
	double				interval_s;
	uint64_t			count;		/* of tables; 0: until a signal comes */
	/* what the card says now, and what it said before */
	struct litepcie_capture_stats	now, before;
	double				now_s, before_s;
	bool				clears;		/* stdout is a terminal */
};

/* What became of the frames of one port, or of all, in one interval. */
struct rates {
	double		packets, bytes, lost;	/* each in a second */
	uint64_t	all_lost;		/* frames since the recording began */
};

static double clock_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Rates --------------------------------------------------------------------------------------- */

static uint64_t lost_of(const struct litepcie_port_accounts *port)
{
	return port->lost_ring.frames + port->lost_staging.frames;
}

/* Returns what came since the count was @before. A new recording begins at 0 again. */
static double since(uint64_t now, uint64_t before)
{
	return (double)(now < before ? now : now - before);
}

static struct rates rates_of(const struct live *live, unsigned int port)
{
	const struct litepcie_port_accounts *now = &live->now.port[port];
	const struct litepcie_port_accounts *before = &live->before.port[port];
	double seconds = live->now_s - live->before_s;

	return (struct rates) {
		.packets = since(now->delivered.frames, before->delivered.frames) / seconds,
		.bytes = since(now->delivered.bytes, before->delivered.bytes) / seconds,
		.lost = since(lost_of(now), lost_of(before)) / seconds,
		.all_lost = lost_of(now),
	};
}

/* True if a frame of the port is in any account. */
static bool is_used(const struct live *live, unsigned int port)
{
	const struct litepcie_port_accounts *now = &live->now.port[port];

	return now->delivered.frames || now->bad.frames || lost_of(now);
}

static struct rates sum_of(const struct live *live)
{
	struct rates sum = { 0 };

	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		struct rates port = rates_of(live, i);

		sum.packets += port.packets;
		sum.bytes += port.bytes;
		sum.lost += port.lost;
		sum.all_lost += port.all_lost;
	}
	return sum;
}

/* Output -------------------------------------------------------------------------------------- */

static void print_line(const char *name, struct rates rates)
{
	printf("%4s  %14.0f  %10.4f  %14.0f  %16llu\n", name, rates.packets, rates.bytes * 8 / 1e9,
	       rates.lost, (unsigned long long)rates.all_lost);
}

static void print_text(const struct util *util, const struct live *live)
{
	if (live->clears)
		fputs(CLEAR_TERMINAL, stdout);
	printf("%s: %.3f of %.3f GB in the ring were given back\n", util->device,
	       (double)live->now.released / 1e9, (double)live->now.position / 1e9);
	puts("port       packets/s        Gb/s          lost/s    lost since start");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		char name[8];

		if (!is_used(live, i))
			continue;
		snprintf(name, sizeof(name), "%u", i);
		print_line(name, rates_of(live, i));
	}
	print_line("all", sum_of(live));
	putchar('\n');
}

static void print_rates(struct json *json, struct rates rates)
{
	json_number(json, "packets_per_s", rates.packets);
	json_number(json, "bytes_per_s", rates.bytes);
	json_number(json, "lost_per_s", rates.lost);
	json_unsigned(json, "lost", rates.all_lost);
}

/* Print an object for one interval. */
static void print_json(const struct live *live)
{
	struct json json = { .file = stdout };

	json_begin_object(&json, NULL);
	json_string(&json, "command", "live");
	json_number(&json, "seconds", live->now_s - live->before_s);
	json_unsigned(&json, "position", live->now.position);
	json_unsigned(&json, "released", live->now.released);
	print_rates(&json, sum_of(live));
	json_begin_array(&json, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		if (!is_used(live, i))
			continue;
		json_begin_object(&json, NULL);
		json_unsigned(&json, "port", i);
		print_rates(&json, rates_of(live, i));
		json_end_object(&json);
	}
	json_end_array(&json);
	json_end_object(&json);
}

/* The card ------------------------------------------------------------------------------------ */

static bool ask(struct util *util, struct litepcie_capture *capture, struct live *live)
{
	int rc;

	live->before = live->now;
	live->before_s = live->now_s;
	live->now.struct_size = sizeof(live->now);
	rc = litepcie_capture_stats(capture, &live->now);
	live->now_s = clock_s();
	util_check(util, rc, "reading the accounts");
	return rc == 0;
}

static void rest(double seconds)
{
	struct timespec nap = { .tv_sec = (time_t)seconds };

	nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
	nanosleep(&nap, NULL);	/* a signal ends it, as it should */
}

static void follow(struct util *util, struct litepcie_capture *capture, struct live *live)
{
	uint64_t shown = 0;

	if (!ask(util, capture, live))
		return;
	while (!live->count || shown < live->count) {
		rest(live->interval_s);
		if (util_interrupted() || !ask(util, capture, live))
			break;
		if (util->json)
			print_json(live);
		else
			print_text(util, live);
		shown++;
		if (fflush(stdout) != 0)
			break;
	}
}

/* Command ------------------------------------------------------------------------------------- */

enum { INTERVAL = 256, COUNT };

static int parse_option(struct util *util, int option, const char *word, struct live *live)
{
	switch (option) {
	case INTERVAL:
		if (util_parse_seconds(optarg, &live->interval_s))
			return -1;
		return util_usage(util, "--interval %s: it must be seconds above 0", optarg);
	case COUNT:
		if (util_parse_number(optarg, 1, UINT64_MAX, &live->count))
			return -1;
		return util_usage(util, "--count %s: it must be a number above 0", optarg);
	default:
		return capture_option(util, &cmd_live, option, word);
	}
}

/* Print the failures, and an object for them if something failed and nothing else said so. */
static int finish(struct util *util)
{
	bool json = util->json;
	int status;

	util->json = json && util->failed;
	status = util_finish(util, NULL, NULL, NULL);
	util->json = json;
	return status;
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = {
		{ "interval", required_argument, NULL, INTERVAL },
		{ "count", required_argument, NULL, COUNT },
		CAPTURE_OPTIONS
	};
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = LITEPCIE_CAPTURE_RING_SMALLEST,
	};
	struct live live = { .interval_s = 1, .clears = isatty(STDOUT_FILENO) };
	struct litepcie_capture *capture = NULL;
	int option, status, rc;

	while ((option = getopt_long(argc, argv, ":d:h", options, NULL)) != -1) {
		status = parse_option(util, option, argv[optind - 1], &live);
		if (status >= 0)
			return status;
	}
	if (optind < argc)
		return util_usage(util, "%s: live takes no argument", argv[optind]);
	if (util_open(util)) {
		rc = litepcie_capture_open(util->dev, &config, &capture);
		util_check(util, rc, "asking the capture block");
		if (rc == 0)
			follow(util, capture, &live);
		litepcie_capture_close(capture);
	}
	return finish(util);
}

static const char help[] =
	"live [-d DEVICE] [--json] [--interval S] [--count N]\n"
	"\n"
	"Show packets, bits and losses of each port in a second, again and again, until\n"
	"Ctrl-C. Nothing is taken from the card: another program records meanwhile, and\n"
	"behind the kernel driver its counts are shown. The seconds are the host's. With\n"
	"--json each interval is an object of its own.\n"
	"\n"
	"options:\n"
	"      --interval S     seconds from one table to the next; 1\n"
	"      --count N        end after so many tables\n"
	"\n"
	"examples:\n"
	"  lanebox-capture live\n"
	"  lanebox-capture live --json --count 60 >minute.json\n";

const struct command cmd_live = {
	.name = "live",
	.summary = "rates and losses by port, again and again",
	.help = help,
	.run = run,
};
