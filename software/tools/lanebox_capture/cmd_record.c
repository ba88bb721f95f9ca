/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command record: parse its options, and print the summary of a recording. record.c makes the
 * recording.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "record.h"

/* Output -------------------------------------------------------------------------------------- */

/* Returns what all ports have together. */
static struct litepcie_port_accounts sum_of(const struct litepcie_capture_stats *stats)
{
	struct litepcie_port_accounts sum = { 0 };

	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		const struct litepcie_port_accounts *port = &stats->port[i];

		sum.delivered.frames += port->delivered.frames;
		sum.delivered.bytes += port->delivered.bytes;
		sum.bad.frames += port->bad.frames;
		sum.bad.bytes += port->bad.bytes;
		sum.lost_ring.frames += port->lost_ring.frames;
		sum.lost_ring.bytes += port->lost_ring.bytes;
		sum.lost_staging.frames += port->lost_staging.frames;
		sum.lost_staging.bytes += port->lost_staging.bytes;
	}
	return sum;
}

/* Returns the time from the first packet to the last, in s; NAN if it is not known. */
static double seconds_of(const struct recording *recording)
{
	if (recording->first_ns == UINT64_MAX)
		return 0;
	if (recording->last_ns == UINT64_MAX)
		return NAN;
	return (double)(recording->last_ns - recording->first_ns) / 1e9;
}

static void print_files(const struct output *output)
{
	uint64_t bytes = 0, mbufs = 0;

	for (size_t i = 0; i < output->count; i++) {
		bytes += output->files[i].bytes;
		mbufs += output->files[i].mbufs;
		printf("  %-11s  %s\n", i ? "" : "files", output->files[i].path);
	}
	printf("  written      %llu bytes: %llu MBUFs%s\n", (unsigned long long)bytes,
	       (unsigned long long)mbufs, output->direct ? ", by O_DIRECT" : "");
}

static void print_text(const struct util *util, const void *result)
{
	const struct recording *recording = result;
	struct litepcie_port_accounts sum = sum_of(&recording->stats);
	double seconds = seconds_of(recording);

	printf("record         %s\n", util->device);
	print_files(&recording->output);
	if (*recording->output.note)
		printf("  note         %s\n", recording->output.note);
	if (!recording->counted) {
		puts("  packets      unknown: the card's accounts could not be read");
		return;
	}
	printf("  packets      %llu, %llu bytes\n", (unsigned long long)sum.delivered.frames,
	       (unsigned long long)sum.delivered.bytes);
	if (seconds > 0)
		printf("  rate         %.3f M packets/s, %.3f Gb/s, in %.6f s of device time\n",
		       (double)sum.delivered.frames / seconds / 1e6,
		       (double)sum.delivered.bytes * 8 / seconds / 1e9, seconds);
	printf("  lost         %llu: %llu for the ring, %llu for the card's staging memory\n",
	       (unsigned long long)(sum.lost_ring.frames + sum.lost_staging.frames),
	       (unsigned long long)sum.lost_ring.frames,
	       (unsigned long long)sum.lost_staging.frames);
	if (sum.bad.frames)
		printf("  bad          %llu, which are not recorded without --keep-bad\n",
		       (unsigned long long)sum.bad.frames);
}

static void print_count(struct json *json, const char *key, bool known, uint64_t count)
{
	if (known)
		json_unsigned(json, key, count);
	else
		json_null(json, key);
}

static void print_accounts(struct json *json, bool known,
			   const struct litepcie_port_accounts *accounts)
{
	print_count(json, "packets", known, accounts->delivered.frames);
	print_count(json, "bytes", known, accounts->delivered.bytes);
	print_count(json, "bad", known, accounts->bad.frames);
	print_count(json, "bad_bytes", known, accounts->bad.bytes);
	print_count(json, "lost_ring", known, accounts->lost_ring.frames);
	print_count(json, "lost_ring_bytes", known, accounts->lost_ring.bytes);
	print_count(json, "lost_staging", known, accounts->lost_staging.frames);
	print_count(json, "lost_staging_bytes", known, accounts->lost_staging.bytes);
}

static void print_ports(struct json *json, bool known, const struct litepcie_capture_stats *stats)
{
	if (!known) {
		json_null(json, "ports");
		return;
	}
	json_begin_array(json, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		json_begin_object(json, NULL);
		json_unsigned(json, "port", i);
		print_accounts(json, true, &stats->port[i]);
		json_end_object(json);
	}
	json_end_array(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct recording *recording = result;
	const struct output *output = &recording->output;
	struct litepcie_port_accounts sum = sum_of(&recording->stats);
	double seconds = seconds_of(recording);

	json_begin_array(json, "files");
	for (size_t i = 0; i < output->count; i++) {
		json_begin_object(json, NULL);
		json_string(json, "path", output->files[i].path);
		json_unsigned(json, "bytes", output->files[i].bytes);
		json_unsigned(json, "mbufs", output->files[i].mbufs);
		json_end_object(json);
	}
	json_end_array(json);
	json_bool(json, "o_direct", output->direct);
	json_string(json, "note", *output->note ? output->note : NULL);
	json_unsigned(json, "ring_bytes", recording->config.ring_bytes);
	json_unsigned(json, "mbuf_bytes", recording->config.mbuf_bytes);
	print_accounts(json, recording->counted, &sum);
	json_number(json, "device_s", seconds);
	if (seconds <= 0 || !recording->counted)
		seconds = NAN;
	json_number(json, "packets_per_s", (double)sum.delivered.frames / seconds);
	json_number(json, "bytes_per_s", (double)sum.delivered.bytes / seconds);
	print_count(json, "generated", recording->made_known, recording->made);
	print_count(json, "limit_writes", recording->counted, recording->stats.limits);
	print_ports(json, recording->counted, &recording->stats);
}

/* Options ------------------------------------------------------------------------------------- */

enum { RING = 256, MBUF, SIZE, SECONDS, PACKETS, GENERATE, SEED, PORT_MASK, SNAP, WAIT, KEEP_BAD,
       LOSSLESS, LINK_TYPE, CPU };

bool record_generator(const char *text, struct litepcie_generator *generator)
{
	uint32_t *const fields[] = { &generator->size, &generator->period, &generator->count };
	char copy[64], *rest = copy, *word;
	uint64_t value;
	size_t n = 0;

	if (strlen(text) >= sizeof(copy))
		return false;
	strcpy(copy, text);
	while ((word = strsep(&rest, ","))) {
		if (n == sizeof(fields) / sizeof(fields[0]) ||
		    !util_parse_number(word, 0, UINT32_MAX, &value))
			return false;
		*fields[n++] = (uint32_t)value;
	}
	return true;
}

/* Take a size in bytes that fits into 32 bits. Returns -1 to go on, or an exit status. */
static int parse_bytes32(struct util *util, const char *option, uint32_t *bytes)
{
	uint64_t value;

	if (!util_parse_size(optarg, &value) || value > UINT32_MAX)
		return util_usage(util, "%s %s: it must be a number of bytes; K, M and G may "
				  "follow",
				  option, optarg);
	*bytes = (uint32_t)value;
	return -1;
}

static int parse_bytes64(struct util *util, const char *option, uint64_t *bytes)
{
	if (util_parse_size(optarg, bytes))
		return -1;
	return util_usage(util, "%s %s: it must be a number of bytes; K, M and G may follow",
			  option,
			  optarg);
}

static int parse_number32(struct util *util, const char *option, uint32_t *number)
{
	uint64_t value;

	if (!util_parse_number(optarg, 0, UINT32_MAX, &value))
		return util_usage(util, "%s %s: it must be a number up to 4294967295",
				  option, optarg);
	*number = (uint32_t)value;
	return -1;
}

/* Take one option about the card's capture block. Returns -1 to go on, or an exit status. */
static int parse_config(struct util *util, int option, const char *word,
			struct recording *recording)
{
	struct litepcie_capture_config *config = &recording->config;
	int status;

	switch (option) {
	case RING:
		return parse_bytes64(util, "--ring", &config->ring_bytes);
	case MBUF:
		return parse_bytes32(util, "--mbuf", &config->mbuf_bytes);
	case SNAP:
		return parse_bytes32(util, "--snap", &config->snap);
	case WAIT:
		status = parse_number32(util, "--wait", &config->wait_ns);
		if (!config->wait_ns)
			config->wait_ns = LITEPCIE_CAPTURE_AT_ONCE;
		return status;
	case KEEP_BAD:
		config->keep_bad = true;
		return -1;
	case LOSSLESS:
		config->lossless = true;
		return -1;
	case LINK_TYPE:
		return parse_number32(util, "--link-type", &config->link_type);
	default:
		return capture_option(util, &cmd_record, option, word);
	}
}

/* Take one option of record. Returns -1 to go on, or an exit status. */
static int parse_option(struct util *util, int option, const char *word,
			struct recording *recording)
{
	switch (option) {
	case SIZE:
		return parse_bytes64(util, "--size", &recording->file_bytes);
	case SECONDS:
		if (util_parse_seconds(optarg, &recording->seconds))
			return -1;
		return util_usage(util, "--seconds %s: it must be a number of seconds above 0",
				  optarg);
	case PACKETS:
		if (util_parse_number(optarg, 1, UINT64_MAX, &recording->packets))
			return -1;
		return util_usage(util, "--packets %s: it must be a number above 0", optarg);
	case CPU:
		recording->pinned = true;
		return parse_number32(util, "--cpu", &recording->cpu);
	case GENERATE:
		recording->generates = true;
		if (record_generator(optarg, &recording->generator))
			return -1;
		return util_usage(util, "--generate %s: it must be SIZE[,PERIOD[,COUNT]], like "
				  "64,1000,20000", optarg);
	case SEED:
		return parse_number32(util, "--seed", &recording->generator.seed);
	case PORT_MASK:
		return parse_number32(util, "--port-mask", &recording->generator.port_mask);
	default:
		return parse_config(util, option, word, recording);
	}
}

static int parse(struct util *util, int argc, char **argv, struct recording *recording)
{
	static const struct option options[] = {
		{ "ring", required_argument, NULL, RING },
		{ "mbuf", required_argument, NULL, MBUF },
		{ "size", required_argument, NULL, SIZE },
		{ "seconds", required_argument, NULL, SECONDS },
		{ "packets", required_argument, NULL, PACKETS },
		{ "cpu", required_argument, NULL, CPU },
		{ "generate", required_argument, NULL, GENERATE },
		{ "seed", required_argument, NULL, SEED },
		{ "port-mask", required_argument, NULL, PORT_MASK },
		{ "snap", required_argument, NULL, SNAP },
		{ "wait", required_argument, NULL, WAIT },
		{ "keep-bad", no_argument, NULL, KEEP_BAD },
		{ "lossless", no_argument, NULL, LOSSLESS },
		{ "link-type", required_argument, NULL, LINK_TYPE },
		CAPTURE_OPTIONS
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":d:h", options, NULL)) != -1) {
		status = parse_option(util, option, argv[optind - 1], recording);
		if (status >= 0)
			return status;
	}
	if (optind + 1 != argc)
		return util_usage(util, optind == argc ? "record needs a file or a folder" :
				  "record takes one file or folder");
	recording->target = argv[optind];
	return -1;
}

/*
 * End a command whose settings the library has refused: that is an error of the command line, which
 * the sentence is about.
 */
static int refuse(struct util *util, struct recording *recording)
{
	int status = util_usage(util, "%s", litepcie_why(util->dev));

	litepcie_close(util->dev);
	output_free(&recording->output);
	free(recording->header);
	return status;
}

static int run(struct util *util, int argc, char **argv)
{
	struct recording recording = {
		.config.struct_size = sizeof(recording.config),
		.generator.struct_size = sizeof(recording.generator),
		.stats.struct_size = sizeof(recording.stats),
		.output.fd = -1,
	};
	int status = parse(util, argc, argv, &recording), rc;
	bool made = false;

	if (status >= 0)
		return status;
	if (util_open(util)) {
		rc = litepcie_capture_open(util->dev, &recording.config, &recording.capture);
		if (rc == -EINVAL)
			return refuse(util, &recording);
		util_check(util, rc, "opening the capture");
		made = rc == 0 && record(util, &recording);
		if (recording.refused)
			return refuse(util, &recording);
	}
	status = util_finish(util, made ? &recording : NULL, print_text, print_json);
	output_free(&recording.output);
	free(recording.header);
	return status;
}

static const char help[] =
	"record [-d DEVICE] [--json] [options] FOLDER|FILE\n"
	"\n"
	"Record what the card captures until Ctrl-C. In a folder the files have the time\n"
	"of the start in their names; a / behind a name that does not exist makes the\n"
	"folder. A file that exists is not overwritten. A pipe is written, too.\n"
	"\n"
	"A file is a page of header and then MBUFs as they are in the ring, so each file\n"
	"is valid by itself. It is written past the page cache where the filesystem can\n"
	"do that. If the disk is too slow the ring runs full, and the card loses frames.\n"
	"The next packet of the port says how many; the summary says why.\n"
	"\n"
	"options:\n"
	"      --ring BYTES     memory of the ring, a power of two from 64K to 1G (64M)\n"
	"      --mbuf BYTES     size of an MBUF, a power of two from 4K to 4M, at most a\n"
	"                       quarter of the ring (1M)\n"
	"      --size BYTES     begin a new file in the folder before one is larger\n"
	"      --seconds S      end after S seconds of the host's clock\n"
	"      --packets N      end when N packets are in the ring; there may be more\n"
	"      --snap BYTES     keep so many bytes of a packet at most (all)\n"
	"      --wait NS        time for which packets wait in the card for more (1000)\n"
	"      --keep-bad       record the frames that their source found bad, too\n"
	"      --lossless       let frames wait for room; only the generator can wait\n"
	"      --link-type N    what the frames are, in the header of files: 147 to 162\n"
	"                       are the types of users, as for a sensor (1: Ethernet)\n"
	"      --cpu N          run on processor N only, best on the card's NUMA node\n"
	"      --generate SIZE[,PERIOD[,COUNT]]\n"
	"                       let the card make frames of SIZE bytes every PERIOD/256\n"
	"                       clock cycles (0: as fast as it can). The recording ends\n"
	"                       after COUNT frames (0: without end)\n"
	"      --seed N         seed of the frames' data (0)\n"
	"      --port-mask N    frame n comes from port n & N (0)\n"
	"\n"
	"examples:\n"
	"  lanebox-capture record -d sim:build/board.sock --generate 69,0,9999 a.pcapng\n"
	"  lanebox-capture record -d vfio:0000:22:00.0 --ring 1G --size 4G out/\n";

const struct command cmd_record = {
	.name = "record",
	.summary = "write what the card captures to files",
	.help = help,
	.run = run,
};
