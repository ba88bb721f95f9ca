/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command record: parse its options, and print the summary of a recording. record.c makes the
 * recording, and queues.c opens the captures of its queues.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capture.h"
#include "newest.h"
#include "queues.h"
#include "record.h"

/* The summary of a recording ------------------------------------------------------------------ */

/* Returns the sums of the card's counts of frames (accounts) over all ports. */
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

/*
 * Returns the device time from the first packet to the last in seconds; 0: no packet; NAN: the last
 * packet's time is not known.
 */
static double seconds_of(const struct recording *recording)
{
	if (recording->first_ns == UINT64_MAX)
		return 0;
	if (recording->last_ns == UINT64_MAX)
		return NAN;
	return (double)(recording->last_ns - recording->first_ns) / 1e9;
}

/*
 * Sums over the files of one or several struct output: the files' bytes, their MBUFs (parts of the
 * ring) and their number. @direct says whether the last file of each output was written by
 * O_DIRECT. @note is the first note of an output about why data went through the page cache, or is
 * empty.
 */
struct written {
	uint64_t	bytes, mbufs;
	size_t		files;
	bool		direct;
	const char	*note;
};

static void add_written(struct written *sum, const struct output *output)
{
	for (size_t i = 0; i < output->count; i++) {
		sum->bytes += output->files[i].bytes;
		sum->mbufs += output->files[i].mbufs;
	}
	sum->files += output->count;
	sum->direct = sum->direct && output->direct;
	if (!sum->note || !*sum->note)
		sum->note = output->note;
}

static void list_files(const struct emit *out, const struct output *output, bool first)
{
	for (size_t i = 0; i < output->count; i++) {
		const struct output_file *file = &output->files[i];

		emit_object(out, NULL);
		emit_text(out, "  %-11s  ", i || !first ? "" : "files");
		emit_string(out, "path", "%s\n", file->path);
		emit_unsigned(out, "bytes", NULL, file->bytes);
		emit_unsigned(out, "mbufs", NULL, file->mbufs);
		emit_object_end(out);
	}
}

/*
 * Print how many MBUFs (parts of the ring) each folder has, and whether it has failed. JSON also
 * has the reason of the failure.
 */
static void emit_folders(const struct emit *out, const struct deal *deal)
{
	emit_array(out, "folders");
	for (unsigned int n = 0; n < deal->count; n++) {
		const struct deal_folder *folder = &deal->folders[n];
		struct written own = { .direct = true };

		add_written(&own, &folder->output);
		emit_object(out, NULL);
		emit_string(out, "folder", "  folder       %s", folder->output.target);
		emit_unsigned(out, "mbufs", ": %llu MBUFs", own.mbufs);
		emit_unsigned(out, "bytes", NULL, own.bytes);
		emit_string(out, "failure", ", and then it failed", folder->failed ?
			    folder->output.why : NULL);
		emit_text(out, "\n");
		emit_object_end(out);
	}
	emit_array_end(out);
}

static void emit_files(const struct emit *out, const struct recording *recording)
{
	const struct deal *deal = &recording->deal;
	struct written sum = { .direct = true };

	emit_array(out, "files");
	for (unsigned int n = 0; n < deal->count; n++) {
		list_files(out, &deal->folders[n].output, !sum.files);
		add_written(&sum, &deal->folders[n].output);
	}
	if (!deal->count) {
		list_files(out, &recording->output, true);
		add_written(&sum, &recording->output);
	}
	emit_array_end(out);
	emit_folders(out, deal);
	emit_bool(out, "o_direct", sum.direct);
	emit_text(out, "  written      %llu bytes: %llu MBUFs%s\n", (unsigned long long)sum.bytes,
		  (unsigned long long)sum.mbufs, sum.direct ? ", by O_DIRECT" : "");
	emit_string(out, "note", "  note         %s\n", emit_filled(sum.note));
}

/* Write the counts of frames of one port, or the sums over all ports, to JSON. */
static void emit_accounts(const struct emit *out, const struct litepcie_port_accounts *accounts)
{
	emit_unsigned(out, "packets", NULL, accounts->delivered.frames);
	emit_unsigned(out, "bytes", NULL, accounts->delivered.bytes);
	emit_unsigned(out, "bad", NULL, accounts->bad.frames);
	emit_unsigned(out, "bad_bytes", NULL, accounts->bad.bytes);
	emit_unsigned(out, "lost_ring", NULL, accounts->lost_ring.frames);
	emit_unsigned(out, "lost_ring_bytes", NULL, accounts->lost_ring.bytes);
	emit_unsigned(out, "lost_staging", NULL, accounts->lost_staging.frames);
	emit_unsigned(out, "lost_staging_bytes", NULL, accounts->lost_staging.bytes);
}

static void emit_ports(const struct emit *out, const struct litepcie_capture_stats *stats)
{
	emit_array(out, "ports");
	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		emit_object(out, NULL);
		emit_unsigned(out, "port", NULL, i);
		emit_accounts(out, &stats->port[i]);
		emit_object_end(out);
	}
	emit_array_end(out);
}

/*
 * Print the rate of the delivered packets. @seconds is the device time from the first packet to the
 * last. If it is 0 or not known, text has no line, and JSON has null.
 */
static void emit_rate(const struct emit *out, double seconds,
		      const struct litepcie_account *delivered)
{
	double rate = seconds > 0 ? (double)delivered->frames / seconds : NAN;
	double bytes = seconds > 0 ? (double)delivered->bytes / seconds : NAN;

	emit_number(out, "packets_per_s", NULL, rate);
	emit_number(out, "bytes_per_s", NULL, bytes);
	if (seconds > 0)
		emit_text(out, "  rate         %.3f M packets/s, %.3f Gb/s, in %.6f s of device "
			  "time\n", rate / 1e6, bytes * 8 / 1e9, seconds);
}

/*
 * Print how many frames of all ports the card's rules have discarded. Only the recording of queue 0
 * has this count. For other queues it is 0. If it is 0, text has no line.
 */
static void emit_discards(const struct emit *out, const struct litepcie_discards *discards)
{
	struct litepcie_account sum = { 0 };

	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		sum.frames += discards->port[i].frames;
		sum.bytes += discards->port[i].bytes;
	}
	emit_unsigned(out, "discarded", sum.frames ? "  discarded    %llu by rules\n" : NULL,
		      sum.frames);
	emit_unsigned(out, "discarded_bytes", NULL, sum.bytes);
}

/*
 * Print the card's counts of the queue during the recording: frames that were delivered, lost, bad
 * or discarded. JSON also has how often the card was told how far it may write.
 */
static void emit_counted(const struct emit *out, const struct recording *recording)
{
	struct litepcie_port_accounts sum = sum_of(&recording->stats);

	emit_accounts(out, &sum);
	emit_text(out, "  packets      %llu, %llu bytes\n",
		  (unsigned long long)sum.delivered.frames,
		  (unsigned long long)sum.delivered.bytes);
	/* The time is that of the packets in the file, and not of packets that were overwritten. */
	emit_rate(out, recording->stats.overwritten ? 0 : seconds_of(recording), &sum.delivered);
	emit_unsigned(out, "overwritten_bytes", recording->stats.overwritten ?
		      "  overwritten  %llu bytes of the ring, by newer ones\n" : NULL,
		      recording->stats.overwritten);
	emit_text(out, "  lost         %llu: %llu for the ring, %llu for the card's staging "
		  "memory\n",
		  (unsigned long long)(sum.lost_ring.frames + sum.lost_staging.frames),
		  (unsigned long long)sum.lost_ring.frames,
		  (unsigned long long)sum.lost_staging.frames);
	if (sum.bad.frames)
		emit_text(out, "  bad          %llu, which are not recorded without --keep-bad\n",
			  (unsigned long long)sum.bad.frames);
	emit_discards(out, &recording->discards);
	emit_unsigned(out, "limit_writes", NULL, recording->stats.limits);
	emit_ports(out, &recording->stats);
}

/*
 * Write null for each value that emit_counted() would write. So the JSON of a recording has the
 * same keys if the card's counts could not be read. Text has a line that says so.
 */
static void emit_nothing_counted(const struct emit *out)
{
	static const char *const keys[] = {
		"packets", "bytes", "bad", "bad_bytes", "lost_ring", "lost_ring_bytes",
		"lost_staging", "lost_staging_bytes", "packets_per_s", "bytes_per_s",
		"overwritten_bytes", "discarded", "discarded_bytes", "limit_writes", "ports",
	};

	emit_text(out, "  packets      unknown: the card's accounts could not be read\n");
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		emit_null(out, keys[i]);
}

/*
 * Returns the value of --clock that says whose time the packets have, or NULL for a queue other
 * than 0, whose program does not set the clock.
 */
static const char *clock_of(const struct litepcie_capture_config *config)
{
	if (config->queue)
		return NULL;
	return config->clock == LITEPCIE_CLOCK_HOST ? "host" : "card";
}

static void emit_recording(const struct emit *out, const struct recording *recording)
{
	emit_files(out, recording);
	emit_unsigned(out, "ring_bytes", NULL, recording->config.ring_bytes);
	emit_unsigned(out, "mbuf_bytes", NULL, recording->config.mbuf_bytes);
	emit_known(out, "page_bytes", recording->config.page_bytes ?
		   (int64_t)recording->config.page_bytes : -1);
	emit_unsigned(out, "staging_bytes", NULL, recording->config.staging_bytes);
	emit_string(out, "clock", "  clock        %s\n", clock_of(&recording->config));
	emit_number(out, "device_s", NULL, seconds_of(recording));
	emit_known(out, "generated", recording->made_known ? (int64_t)recording->made : -1);
	if (recording->counted)
		emit_counted(out, recording);
	else
		emit_nothing_counted(out);
}

static void emit_warnings(const struct emit *out, const struct queues *queues)
{
	char text[UTIL_SENTENCE];

	emit_array(out, "warnings");
	for (unsigned int n = 0; n < queues->rule_count; n++) {
		if (!(queues->astray & 1u << n))
			continue;
		queues_warning(queues, n, text, sizeof(text));
		emit_string(out, EMIT_ELEMENT, "  warning      %s\n", text);
	}
	emit_array_end(out);
}

/*
 * Print the result. Without the option --queues the values of the queue are in the result itself.
 * With --queues they are in the array "queues", with an object for each queue.
 */
static void print(const struct emit *out, const void *result)
{
	const struct queues *queues = result;

	emit_text(out, "record         %s\n", out->util->device);
	emit_warnings(out, queues);
	if (!queues->several) {
		emit_recording(out, queues->recordings);
		return;
	}
	emit_array(out, "queues");
	for (unsigned int n = 0; n < queues->count; n++) {
		emit_object(out, NULL);
		emit_unsigned(out, "queue", "queue %llu\n", n);
		emit_recording(out, &queues->recordings[n]);
		emit_object_end(out);
	}
	emit_array_end(out);
}

/* Options of the command ---------------------------------------------------------------------- */

static struct queues queues;
static struct recording recording = {
	.config.struct_size = sizeof(recording.config),
	.generator.struct_size = sizeof(recording.generator),
	.stats.struct_size = sizeof(recording.stats),
	.output.fd = -1,
};

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

static bool option_generator(const struct util_option *option, const char *text)
{
	recording.generates = true;
	return record_generator(text, option->to);
}

bool record_wait(const struct util_option *option, const char *text)
{
	uint32_t *ns = option->to;
	bool right = option_number32(option, text);

	if (right && !*ns)
		*ns = LITEPCIE_CAPTURE_AT_ONCE;
	return right;
}

static bool option_processor(const struct util_option *option, const char *text)
{
	recording.pinned = true;
	return option_number32(option, text);
}

int record_refuse(struct util *util)
{
	int status = util_usage(util, "%s", litepcie_why(util->dev));

	litepcie_close(util->dev);
	return status;
}

static int record_card(struct util *util, unsigned int count, char **targets)
{
	bool made = false;
	int rc;

	if (util_open(util)) {
		rc = queues_open(util, &queues, &recording, targets, count);
		if (rc == -EINVAL)
			return record_refuse(util);
		util_check(util, rc == -E2BIG ? 0 : rc, "opening the capture");
		made = rc == 0 && record(util, queues.recordings, queues.count);
		for (unsigned int n = 0; n < queues.count; n++)
			if (queues.recordings[n].refused)
				return record_refuse(util);
	}
	return util_emit(util, made ? &queues : NULL, print);
}

static int run(struct util *util)
{
	int status;

	if (queues.several && recording.config.queue)
		return util_usage(util, "--queue and --queues: choose one of them");
	if (recording.config.newest && newest_refuses(&recording))
		return util_usage(util, "%s", newest_refuses(&recording));
	if (queues.shares && !queues.several)
		return util_usage(util, "--share is for several queues: give --queues, too");
	for (int n = 0; !queues.several && util->word_count > 1 && n < util->word_count; n++)
		if (!queues_is_folder(util->words[n]))
			return util_usage(util, "record takes one file or folder, or several "
					  "folders; %s is none: make it, or put a / behind its name",
					  util->words[n]);
	status = record_card(util, (unsigned int)util->word_count, util->words);
	queues_free(&queues);
	return status;
}

#define SIZE_RULE	"it must be a number of bytes; K, M and G may follow"
#define NUMBER_RULE	"it must be a number up to 4294967295"

static const struct util_option options[] = {
	{ .name = "ring", .value = "BYTES", .parse = option_size,
	  .to = &recording.config.ring_bytes, .rule = SIZE_RULE,
	  .help = "memory of the ring, a power of two from 64K to 1G (64M)" },
	{ .name = "mbuf", .value = "BYTES", .parse = option_size32,
	  .to = &recording.config.mbuf_bytes, .rule = SIZE_RULE,
	  .help = "size of an MBUF, a power of two from 4K to 4M, at most a quarter of the ring "
		  "(1M)" },
	{ .name = "pages", .value = "BYTES", .parse = option_size,
	  .to = &recording.config.page_bytes, .rule = SIZE_RULE,
	  .help = "take huge pages of this size for the ring, 2M or 1G, and no others (the largest "
		  "there are)" },
	{ .name = "size", .value = "BYTES", .parse = option_size, .to = &recording.limits.bytes,
	  .rule = SIZE_RULE, .help = "begin a new file in the folder before one is larger" },
	{ .name = "file-seconds", .value = "S", .parse = option_seconds,
	  .to = &recording.limits.seconds, .rule = OPTION_SECONDS,
	  .help = "begin a new file in the folder when one is S seconds old" },
	{ .name = "seconds", .value = "S", .parse = option_seconds, .to = &recording.seconds,
	  .rule = OPTION_SECONDS, .help = "end after S seconds of the host's clock" },
	{ .name = "packets", .value = "N", .parse = option_number, .to = &recording.packets,
	  .low = 1, .rule = "it must be a number above 0",
	  .help = "end when N packets are in the ring; there may be more" },
	{ .name = "snap", .value = "BYTES", .parse = option_size32, .to = &recording.config.snap,
	  .rule = SIZE_RULE, .help = "keep so many bytes of a packet at most (all)" },
	{ .name = "wait", .value = "NS", .parse = record_wait, .to = &recording.config.wait_ns,
	  .rule = NUMBER_RULE,
	  .help = "time for which packets wait in the card for more (1000)" },
	{ .name = "keep-bad", .to = &recording.config.keep_bad,
	  .help = "record the frames that their source found bad, too" },
	{ .name = "net", .to = &recording.config.net,
	  .help = "record what the card's net device receives and sends, too. Behind the driver "
		  "that needs CAP_NET_RAW" },
	{ .name = "clock", .value = "WHOSE", .parse = option_choice,
	  .to = &recording.config.clock, .choices = "auto card host",
	  .rule = "it must be auto, card or host",
	  .help = "host: set the card's clock to the host's time at the start; card: let it go on, "
		  "from the card's reset on or from what it was set to; auto: card on a simulated "
		  "card, else host (auto)" },
	{ .name = "lossless", .to = &recording.config.lossless,
	  .help = "let frames wait for room. Those of the net device cannot wait" },
	{ .name = "newest", .to = &recording.config.newest,
	  .help = "flight recorder: let new frames overwrite the oldest in the ring, and write what "
		  "the ring has into a file when the recording ends" },
	{ .name = "link-type", .value = "N", .parse = option_number32,
	  .to = &recording.config.link_type, .rule = NUMBER_RULE,
	  .help = "what the frames are, in the header of files: 147 to 162 are the types of "
		  "users, as for a sensor (1: Ethernet)" },
	{ .name = "queue", .value = "N", .parse = option_number32, .to = &recording.config.queue,
	  .rule = NUMBER_RULE,
	  .help = "record queue N only (0). A queue other than 0 begins and ends with queue 0, "
		  "which another program records" },
	{ .name = "queues", .value = "N|all", .parse = queues_option_count, .to = &queues,
	  .low = 1, .high = LITEPCIE_CAPTURE_QUEUES, .rule = OPTION_RANGE ", or all",
	  .help = "record so many queues, each by a thread of its own into files of its own. In "
		  "folders for all, queue n gets the folder qn" },
	{ .name = "share", .to = &queues.shares,
	  .help = "let all queues share all folders, although there are as many folders as "
		  "queues. Without it queue n gets folder n then" },
	{ .name = "spread", .value = "HOW", .parse = option_choice, .to = &queues.spread,
	  .choices = "hash port none", .rule = "it must be hash, port or none",
	  .help = "how frames that no rule sends elsewhere get to the queues: by a hash of their "
		  "addresses and ports, by the card's port, or all to queue 0 (hash)" },
	{ .name = "rule", .value = "TEXT", .parse = queues_option_rule, .to = &queues,
	  .high = LITEPCIE_CAPTURE_RULES, .rule = "there may be %llu to %llu rules",
	  .help = "a rule of the card, like 'vlan=5 queue=2' or 'proto=udp dport=53 discard'. The "
		  "first that a frame matches counts. litepcie_capture_rule(3) has the words" },
	{ .name = "staging", .value = "LIST", .parse = queues_option_staging, .to = &queues,
	  .low = 1, .high = LITEPCIE_CAPTURE_QUEUES,
	  .rule = "it must be %llu to %llu sizes in bytes with commas between; K, M and G may follow",
	  .help = "let each queue use so many bytes of the card's staging memory at once, 32K to 1M: "
		  "a size for all queues, or one for each, with commas between (equal parts)" },
	{ .name = "cpus", .value = "LIST", .parse = queues_option_cpus, .to = &queues,
	  .low = 1, .high = LITEPCIE_CAPTURE_QUEUES,
	  .rule = "it must be %llu to %llu numbers with commas between",
	  .help = "run the thread of queue 0 on the first processor of LIST only, and so on" },
	{ .name = "cpu", .value = "N", .parse = option_processor, .to = &recording.cpu,
	  .rule = NUMBER_RULE,
	  .help = "run on processor N only, best on the card's NUMA node" },
	{ .name = "generate", .value = "FRAMES", .parse = option_generator,
	  .to = &recording.generator,
	  .rule = "it must be SIZE[,PERIOD[,COUNT]], like 64,1000,20000",
	  .help = "FRAMES is SIZE[,PERIOD[,COUNT]]: let the card make frames of SIZE bytes every "
		  "PERIOD/256 clock cycles (0: as fast as it can). The recording ends after COUNT "
		  "frames (0: without end)" },
	{ .name = "seed", .value = "N", .parse = option_number32, .to = &recording.generator.seed,
	  .rule = NUMBER_RULE, .help = "seed of the frames' data (0)" },
	{ .name = "port-mask", .value = "N", .parse = option_number32,
	  .to = &recording.generator.port_mask, .rule = NUMBER_RULE,
	  .help = "frame n comes from port n & N (0)" },
	CARD_OPTIONS
};

const struct command cmd_record = {
	.name = "record",
	.summary = "write what the card captures to files",
	.usage = "record [-d DEVICE] [--json] [options] FOLDER|FILE...",
	.about =
		"Record what the card captures until Ctrl-C. In a folder the files have the time\n"
		"of the start in their names; a / behind a name that does not exist makes the\n"
		"folder. A file that exists is not overwritten. A pipe is written, too.\n"
		"\n"
		"A file is a page of header and then MBUFs as they are in the ring, so each file\n"
		"is valid by itself. It is written past the page cache where the filesystem can\n"
		"do that. With several folders, best of one disk each, the MBUFs are dealt to\n"
		"them in turn. A folder that is full or fails leaves them to the others, and a\n"
		"slow one gets fewer. If the disks are too slow the ring runs full, and the card\n"
		"loses frames.\n"
		"The next packet of the port says how many; the summary says why.\n"
		"\n"
		"With --queues, each queue has a file or a folder of its own, in the order of\n"
		"their numbers. Or all queues share one folder or several: the MBUFs of queue n\n"
		"are then dealt to the folders qn in all of them.\n",
	.examples =
		"  lanebox-capture record -d sim:build/board.sock --generate 69,0,9999 a.pcapng\n"
		"  lanebox-capture record -d vfio:0000:22:00.0 --ring 1G --size 4G out/\n"
		"  lanebox-capture record --ring 1G /disk1/out/ /disk2/out/\n"
		"  lanebox-capture record --queues all --rule 'proto=tcp dport=22 discard' out/\n"
		"  lanebox-capture record --newest --ring 1G last.pcapng\n"
		"  lanebox-capture record --queues 4 --ring 1G /disk1/out/ /disk2/out/\n",
	.options = options,
	.least = 1,
	.most = LITEPCIE_CAPTURE_QUEUES,
	.takes = "a file, a folder or several, or with --queues folders or one for each queue",
	.run = run,
};
