/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command live: print the rates and losses of each port that has counted a frame, once in an
 * interval, as a table or with --json as an object. The command starts no capture: it reads the
 * card's counts of frames (accounts). So with the kernel driver the command can show the recording
 * of another program. Rates are by the host's clock.
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "capture.h"
#include "record/record.h"

#define CLEAR_TERMINAL	"\033[H\033[J"

struct live {
	/*
	 * the card's counts of frames at the last two reads, and the host's times of these reads in
	 * s
	 */
	struct litepcie_capture_stats	now, before;
	double				now_s, before_s;
	/* true: stdout is a terminal, which is cleared before each table */
	bool				clears;
};

/* The values of the command's options. */
static struct {
	double		interval_s;
	/* number of tables, or with --json of objects, to print; 0: no limit */
	uint64_t	count;
	uint32_t	queue;
} wanted = { .interval_s = 1 };

/* Rates of one port, or the sums of the rates of all ports, in one interval. */
struct rates {
	/*
	 * per second of the host's clock: frames delivered, bytes of these frames, and frames lost
	 */
	double		packets, bytes, lost;
	/* number of frames that the card has lost since the last start of a capture */
	uint64_t	all_lost;
};

/* Rates of ports in an interval --------------------------------------------------------------- */

static uint64_t lost_of(const struct litepcie_port_accounts *port)
{
	return port->lost_ring.frames + port->lost_staging.frames;
}

/*
 * Returns by how much a count has grown from @before to @now. If @now is lower than @before, the
 * card has cleared the count meanwhile, as it does at the start of a capture, and the result is
 * @now.
 */
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

/* Returns true if the card has counted a frame of @port as delivered, as bad or as lost. */
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

/* The table or object of an interval ---------------------------------------------------------- */

static void emit_rates(const struct emit *out, const char *name, struct rates rates)
{
	emit_text(out, "%4s", name);
	emit_number(out, "packets_per_s", "  %14.0f", rates.packets);
	emit_number(out, "bytes_per_s", NULL, rates.bytes);
	emit_text(out, "  %10.4f", rates.bytes * 8 / 1e9);
	emit_number(out, "lost_per_s", "  %14.0f", rates.lost);
	emit_unsigned(out, "lost", "  %16llu\n", rates.all_lost);
}

static void emit_ports(const struct emit *out, const struct live *live)
{
	char name[8];

	emit_array(out, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		if (!is_used(live, i))
			continue;
		snprintf(name, sizeof(name), "%u", i);
		emit_object(out, NULL);
		emit_unsigned(out, "port", NULL, i);
		emit_rates(out, name, rates_of(live, i));
		emit_object_end(out);
	}
	emit_array_end(out);
}

/* Print the rates of one interval as a table, or with --json as an object. */
static void show(const struct util *util, const struct live *live)
{
	struct json json = { .file = stdout };
	const struct emit emit = { util, util->json ? &json : NULL }, *out = &emit;

	emit_object(out, NULL);
	emit_string(out, "command", NULL, "live");
	emit_unsigned(out, "queue", NULL, wanted.queue);
	emit_number(out, "seconds", NULL, live->now_s - live->before_s);
	emit_unsigned(out, "position", NULL, live->now.position);
	emit_unsigned(out, "released", NULL, live->now.released);
	emit_text(out, "%s%s, queue %u: %.3f of %.3f GB in the ring were given back\n",
		  live->clears ? CLEAR_TERMINAL : "", util->device, wanted.queue,
		  (double)live->now.released / 1e9, (double)live->now.position / 1e9);
	emit_text(out, "port       packets/s        Gb/s          lost/s    lost since start\n");
	emit_ports(out, live);
	emit_rates(out, "all", sum_of(live));
	emit_text(out, "\n");
	emit_object_end(out);
}

/* Reading the card's counts of frames --------------------------------------------------------- */

static bool ask(struct util *util, struct litepcie_capture *capture, struct live *live)
{
	int rc;

	live->before = live->now;
	live->before_s = live->now_s;
	live->now.struct_size = sizeof(live->now);
	rc = litepcie_capture_stats(capture, &live->now);
	live->now_s = util_now();
	util_check(util, rc, "reading the accounts");
	return rc == 0;
}

static void rest(double seconds)
{
	struct timespec nap = { .tv_sec = (time_t)seconds };

	nap.tv_nsec = (long)((seconds - (double)nap.tv_sec) * 1e9);
	/* Ctrl-C ends the sleep, so the command does not wait for the end of the interval. */
	nanosleep(&nap, NULL);
}

static void follow(struct util *util, struct litepcie_capture *capture, struct live *live)
{
	uint64_t shown = 0;

	if (!ask(util, capture, live))
		return;
	while (!wanted.count || shown < wanted.count) {
		rest(wanted.interval_s);
		if (util_interrupted() || !ask(util, capture, live))
			break;
		show(util, live);
		shown++;
		if (fflush(stdout) != 0)
			break;
	}
}

/* The command live ---------------------------------------------------------------------------- */

/*
 * Close the card and print the failures of the command on standard error. With --json, if the
 * command has failed, also print an object with the failures on stdout. Returns the exit status.
 */
static int finish(struct util *util)
{
	bool json = util->json;
	int status;

	util->json = json && util->failed;
	status = util_emit(util, NULL, NULL);
	util->json = json;
	return status;
}

static int run(struct util *util)
{
	struct litepcie_capture_config config = {
		.struct_size = sizeof(config), .ring_bytes = LITEPCIE_CAPTURE_RING_LEAST,
		.queue = wanted.queue,
	};
	struct live live = { .clears = isatty(STDOUT_FILENO) };
	struct litepcie_capture *capture = NULL;
	int rc;

	if (util_open(util)) {
		rc = litepcie_capture_open(util->dev, &config, &capture);
		if (rc == -EINVAL)
			return record_refuse(util);
		util_check(util, rc, "asking the capture block");
		if (rc == 0)
			follow(util, capture, &live);
		litepcie_capture_close(capture);
	}
	return finish(util);
}

static const struct util_option options[] = {
	{ .name = "interval", .value = "S", .parse = option_seconds, .to = &wanted.interval_s,
	  .rule = OPTION_SECONDS, .help = "seconds from one table to the next (1)" },
	{ .name = "count", .value = "N", .parse = option_number, .to = &wanted.count, .low = 1,
	  .rule = "it must be a number above 0", .help = "end after so many tables" },
	QUEUE_OPTION(&wanted.queue),
	CARD_OPTIONS
};

const struct command cmd_live = {
	.name = "live",
	.summary = "rates and losses by port, again and again",
	.usage = "live [-d DEVICE] [--json] [options]",
	.about =
		"Show packets, bits and losses of each port in a second, again and again, until\n"
		"Ctrl-C. Nothing is taken from the card: another program records meanwhile, and\n"
		"behind the kernel driver its counts are shown. The seconds are the host's. With\n"
		"--json each interval is an object of its own. Each queue of a card has accounts\n"
		"of its own.\n",
	.examples =
		"  lanebox-capture live\n"
		"  lanebox-capture live --json --count 60 >minute.json\n",
	.options = options,
	.run = run,
};
