/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command play: parse its options, let the card play files, record what the card captures
 * meanwhile if --record is given, and print the summary.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "play.h"
#include "record/files.h"

struct playing {
	struct play		play;
	/*
	 * the recording of what the card captures while it plays; recording.target is NULL without
	 * --record
	 */
	struct recording	recording;
};

/* The summary of a play ----------------------------------------------------------------------- */

/*
 * Returns the device time in seconds from the beginning of the first played frame to the end of the
 * last, or NAN if no frame was played, or if @ended_ns is before @begun_ns.
 */
static double seconds_of(const struct litepcie_played *played)
{
	if (!played->packets || played->ended_ns < played->begun_ns)
		return NAN;
	return (double)(played->ended_ns - played->begun_ns) / 1e9;
}

/*
 * Returns the sum over all ports of the lost packets if @lost is true, otherwise of the delivered
 * ones.
 */
static uint64_t sum_of(const struct litepcie_capture_stats *stats, bool lost)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < LITEPCIE_CAPTURE_PORTS; i++) {
		const struct litepcie_port_accounts *port = &stats->port[i];

		sum += lost ? port->lost_ring.frames + port->lost_staging.frames :
			      port->delivered.frames;
	}
	return sum;
}

/*
 * Returns how many packets of the files the card cannot play: if @empty is true those without data,
 * otherwise those in block types that have no time or are obsolete.
 */
static uint64_t left_out(const struct play *play, bool empty)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < play->count; i++)
		sum += empty ? play->sources[i].empty : play->sources[i].timeless;
	return sum;
}

static void emit_recording(const struct emit *out, const struct recording *recording)
{
	if (recording->counted) {
		emit_unsigned(out, "recorded", "  packets      %llu recorded",
			      sum_of(&recording->stats, false));
		emit_unsigned(out, "lost", ", %llu lost\n", sum_of(&recording->stats, true));
	} else {
		emit_null(out, "recorded");
		emit_null(out, "lost");
	}
	if (!recording->output.count) {
		emit_null(out, "recording");
		return;
	}
	emit_array(out, "recording");
	for (size_t i = 0; i < recording->output.count; i++) {
		emit_object(out, NULL);
		emit_string(out, "path", "  recorded     %s", recording->output.files[i].path);
		emit_unsigned(out, "bytes", ": %llu bytes\n", recording->output.files[i].bytes);
		emit_object_end(out);
	}
	emit_array_end(out);
}

static void emit_sources(const struct emit *out, const struct play *play)
{
	emit_array(out, "files");
	for (unsigned int i = 0; i < play->count; i++) {
		const struct source *source = &play->sources[i];

		emit_object(out, NULL);
		emit_text(out, "  %-11s  ", i ? "" : "files");
		emit_string(out, "path", "%s\n", source->path);
		emit_unsigned(out, "packets", NULL, source->packets);
		emit_unsigned(out, "bytes", NULL, source->bytes);
		emit_unsigned(out, "empty", NULL, source->empty);
		emit_unsigned(out, "left_out", NULL, source->timeless);
		emit_object_end(out);
	}
	emit_array_end(out);
}

static void emit_rate(const struct emit *out, const struct litepcie_played *played)
{
	double seconds = seconds_of(played), rate = (double)played->packets / seconds;
	double bytes = (double)played->bytes / seconds;

	emit_number(out, "device_s", NULL, seconds);
	emit_number(out, "packets_per_s", NULL, rate);
	emit_number(out, "bytes_per_s", NULL, bytes);
	if (seconds > 0)
		emit_text(out, "  rate         %.3f M packets/s, %.3f Gb/s, in %.9f s of device "
			  "time\n", rate / 1e6, bytes * 8 / 1e9, seconds);
}

static void print(const struct emit *out, const void *result)
{
	const struct playing *playing = result;
	const struct litepcie_played *played = &playing->play.played;
	uint64_t empty = left_out(&playing->play, true);
	uint64_t timeless = left_out(&playing->play, false);

	emit_text(out, "play           %s\n", out->util->device);
	emit_sources(out, &playing->play);
	emit_unsigned(out, "packets", "  packets      %llu", played->packets);
	emit_unsigned(out, "bytes", ", %llu bytes\n", played->bytes);
	emit_unsigned(out, "skipped_blocks", NULL, played->skipped);
	emit_unsigned(out, "empty", NULL, played->empty);
	emit_rate(out, played);
	if (empty)
		emit_text(out, "  empty        %llu packets of no bytes, which are no frames\n",
			  (unsigned long long)empty);
	if (timeless)
		emit_text(out, "  left out     %llu packets in blocks without a time or of the old "
			  "kind: editcap -F pcapng converts them\n",
			  (unsigned long long)timeless);
	emit_recording(out, &playing->recording);
}

/* Options of the command ---------------------------------------------------------------------- */

static struct playing playing = {
	.play.settings.struct_size = sizeof(playing.play.settings),
	.play.settings.rest_ms = 1000,
	.recording.config.struct_size = sizeof(playing.recording.config),
	.recording.generator.struct_size = sizeof(playing.recording.generator),
	.recording.stats.struct_size = sizeof(playing.recording.stats),
	.recording.output.fd = -1,
};
/* whether the options --fast and --recorded are given, each of which sets the pace of the play */
static bool fast, recorded;

/*
 * Parse a rate: a number of bits per second of an Ethernet line, such as 10G, or of packets per
 * second, such as 2.5Mpps.
 */
static bool option_rate(const struct util_option *option, const char *text)
{
	struct litepcie_player *player = option->to;
	char *end;
	double value = strtod(text, &end);

	if (end == text || !(value > 0))
		return false;
	if (*end == 'K' || *end == 'M' || *end == 'G')
		value *= *end == 'K' ? 1e3 : *end == 'M' ? 1e6 : 1e9;
	end += *end == 'K' || *end == 'M' || *end == 'G';
	if (strcmp(end, "pps") == 0) {
		player->pace = LITEPCIE_PACE_PACKETS;
		player->packets_per_s = value;
		return true;
	}
	if (*end || value / 8 > 1e12)
		return false;
	player->pace = LITEPCIE_PACE_LINE;
	player->bytes_per_s = (uint64_t)(value / 8 + 0.5);
	player->overhead = LITEPCIE_LINE_OVERHEAD;
	player->least = LITEPCIE_LINE_LEAST;
	return true;
}

static bool option_port(const struct util_option *option, const char *text)
{
	struct litepcie_player *player = option->to;
	uint64_t port;

	if (!util_parse_number(text, option->low, option->high, &port))
		return false;
	player->fixed_port = true;
	player->port = (uint32_t)port;
	return true;
}

/*
 * Check all files by source_open(). Returns false if a file cannot be played or there is no memory,
 * and notes each failure.
 */
static bool open_files(struct util *util, char **paths)
{
	struct play *play = &playing.play;
	enum source_use use = play->settings.fixed_port ? SOURCE_PLAYED_BY_ONE : SOURCE_PLAYED;

	play->sources = calloc(play->count, sizeof(*play->sources));
	if (!play->sources) {
		util_fail(util, "%s", strerror(ENOMEM));
		return false;
	}
	for (unsigned int i = 0; i < play->count; i++)
		if (!source_open(&play->sources[i], paths[i], use))
			util_fail(util, "%s", play->sources[i].why);
	return !util->failed;
}

/* The command play ---------------------------------------------------------------------------- */

/*
 * Play without a recording. Returns true if the player was started, so that its counts can be
 * printed. *@rc becomes 0, or the error of the start. The error -EINVAL is not noted.
 */
static bool play_alone(struct util *util, struct play *play, int *rc)
{
	const struct timespec nap = { .tv_nsec = 10000000 };

	*rc = play_begin(util, play);
	if (*rc != -EINVAL)
		util_check(util, *rc, "starting the player");
	if (*rc < 0)
		return false;
	while (!play->ended && !util_interrupted())
		nanosleep(&nap, NULL);
	play_stop(play);
	play_end(util, play);
	return true;
}

/*
 * Play, and record what the card captures meanwhile. Returns true if there is a result to print.
 * *@rc becomes 0, the error of litepcie_capture_open(), or -EINVAL if the library has refused a
 * setting.
 */
static bool play_recorded(struct util *util, struct playing *playing, int *rc)
{
	struct recording *recording = &playing->recording;
	bool made;

	recording->play = &playing->play;
	/*
	 * With --fast (the default) frames have no times at which they must leave the card. So a
	 * frame can wait until the ring has room for it, and need not be lost.
	 */
	recording->config.lossless = playing->play.settings.pace == LITEPCIE_PACE_FAST;
	*rc = litepcie_capture_open(util->dev, &recording->config, &recording->capture);
	util_check(util, *rc, "opening the capture");
	made = *rc == 0 && record(util, recording, 1);
	if (recording->refused)
		*rc = -EINVAL;
	return made && !recording->refused;
}

static int play_card(struct util *util)
{
	bool made = false;
	int rc = 0;

	if (util_open(util))
		made = playing.recording.target ? play_recorded(util, &playing, &rc) :
						  play_alone(util, &playing.play, &rc);
	return rc == -EINVAL ? record_refuse(util) : util_emit(util, made ? &playing : NULL, print);
}

static int run(struct util *util)
{
	struct litepcie_player *player = &playing.play.settings;
	int status;

	if (fast + recorded + (player->pace != LITEPCIE_PACE_FAST) > 1)
		return util_usage(util, "only one of --fast, --recorded and --rate sets the pace");
	if (recorded)
		player->pace = LITEPCIE_PACE_RECORDED;
	playing.play.count = (unsigned int)util->word_count;
	status = open_files(util, util->words) ? play_card(util) : util_emit(util, NULL, print);
	for (unsigned int i = 0; playing.play.sources && i < playing.play.count; i++)
		source_close(&playing.play.sources[i]);
	free(playing.play.sources);
	files_free(&playing.recording);
	return status;
}

static const struct util_option options[] = {
	{ .name = "fast", .to = &fast,
	  .help = "as fast as the card takes frames (the default). Frames wait for room; at "
		  "another pace they are lost and counted" },
	{ .name = "recorded", .to = &recorded,
	  .help = "at the distances at which the packets were recorded" },
	{ .name = "rate", .value = "RATE", .parse = option_rate, .to = &playing.play.settings,
	  .rule = "it must be bits a second like 10G, or packets a second like 2.5Mpps",
	  .help = "at so many bits a second of an Ethernet line, like 10G, with preamble, "
		  "checksum and gap; or at so many packets a second, like 2.5Mpps" },
	{ .name = "port", .value = "N", .parse = option_port, .to = &playing.play.settings,
	  .high = LITEPCIE_CAPTURE_PORTS - 1, .rule = OPTION_RANGE,
	  .help = "all frames come from port N. Otherwise the number of its interface in the "
		  "file is the port of a packet" },
	{ .name = "keep-time", .to = &playing.play.settings.keep_time,
	  .help = "frames have their recorded times. Otherwise they have the times at which the "
		  "card plays them" },
	{ .name = "record", .value = "FOLDER|FILE", .parse = option_text,
	  .to = &playing.recording.target,
	  .help = "record what the card captures meanwhile, as record does" },
	CARD_OPTIONS
};

const struct command cmd_play = {
	.name = "play",
	.summary = "let the card play pcapng files as frames",
	.usage = "play [-d DEVICE] [--json] [options] FILE...",
	.about =
		"Let the card play pcapng files: each packet in them becomes a frame again, and\n"
		"the capture block takes it. The files go through h2c, which the user slot does\n"
		"not get meanwhile. All files are looked at first, and none is played if the\n"
		"card would refuse one: it takes little-endian pcapng, Ethernet, and packets that\n"
		"fit into a frame. editcap -F pcapng converts other captures.\n",
	.examples =
		"  lanebox-capture play -d vfio:0000:22:00.0 --rate 10G a.pcapng\n"
		"  lanebox-capture play -d sim:build/board.sock --record b.pcapng a.pcapng\n",
	.options = options,
	.least = 1,
	.most = CAPTURE_FILES,
	.takes = "one file or more",
	.run = run,
};
