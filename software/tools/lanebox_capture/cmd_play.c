/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command play: parse its options, let the card play files, record what comes of it if that is
 * asked for, and print the summary.
 */
#include <errno.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture.h"
#include "play.h"
#include "record.h"

struct playing {
	struct play		play;
	struct recording	recording;	/* with a target, if the frames are recorded */
};

/* Output -------------------------------------------------------------------------------------- */

/* Returns the device time from the first frame's begin to the last one's end, in s. */
static double seconds_of(const struct litepcie_played *played)
{
	if (!played->packets || played->ended_ns < played->begun_ns)
		return NAN;
	return (double)(played->ended_ns - played->begun_ns) / 1e9;
}

/* Returns the number of packets that were delivered, or that were lost. */
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

/* Returns how many packets of the files cannot become frames. */
static uint64_t left_out(const struct play *play, bool empty)
{
	uint64_t sum = 0;

	for (unsigned int i = 0; i < play->count; i++)
		sum += empty ? play->sources[i].empty : play->sources[i].timeless;
	return sum;
}

static void print_recording(const struct recording *recording)
{
	for (size_t i = 0; i < recording->output.count; i++)
		printf("  recorded     %s: %llu bytes\n", recording->output.files[i].path,
		       (unsigned long long)recording->output.files[i].bytes);
	if (recording->counted)
		printf("  packets      %llu recorded, %llu lost\n",
		       (unsigned long long)sum_of(&recording->stats, false),
		       (unsigned long long)sum_of(&recording->stats, true));
}

static void print_text(const struct util *util, const void *result)
{
	const struct playing *playing = result;
	const struct litepcie_played *played = &playing->play.played;
	double seconds = seconds_of(played);

	printf("play           %s\n", util->device);
	for (unsigned int i = 0; i < playing->play.count; i++)
		printf("  %-11s  %s\n", i ? "" : "files", playing->play.sources[i].path);
	printf("  packets      %llu, %llu bytes\n", (unsigned long long)played->packets,
	       (unsigned long long)played->bytes);
	if (seconds > 0)
		printf("  rate         %.3f M packets/s, %.3f Gb/s, in %.9f s of device time\n",
		       (double)played->packets / seconds / 1e6,
		       (double)played->bytes * 8 / seconds / 1e9, seconds);
	if (left_out(&playing->play, true))
		printf("  empty        %llu packets of no bytes, which are no frames\n",
		       (unsigned long long)left_out(&playing->play, true));
	if (left_out(&playing->play, false))
		printf("  left out     %llu packets in blocks without a time or of the old kind: "
		       "editcap -F pcapng converts them\n",
		       (unsigned long long)left_out(&playing->play, false));
	print_recording(&playing->recording);
}

static void print_recording_json(struct json *json, const struct recording *recording)
{
	if (!recording->output.count || !recording->counted) {
		json_null(json, "recorded");
		json_null(json, "lost");
		json_null(json, "recording");
		return;
	}
	json_unsigned(json, "recorded", sum_of(&recording->stats, false));
	json_unsigned(json, "lost", sum_of(&recording->stats, true));
	json_begin_array(json, "recording");
	for (size_t i = 0; i < recording->output.count; i++) {
		json_begin_object(json, NULL);
		json_string(json, "path", recording->output.files[i].path);
		json_unsigned(json, "bytes", recording->output.files[i].bytes);
		json_end_object(json);
	}
	json_end_array(json);
}

static void print_json(struct json *json, const void *result)
{
	const struct playing *playing = result;
	const struct litepcie_played *played = &playing->play.played;
	double seconds = seconds_of(played);

	json_begin_array(json, "files");
	for (unsigned int i = 0; i < playing->play.count; i++) {
		const struct source *source = &playing->play.sources[i];

		json_begin_object(json, NULL);
		json_string(json, "path", source->path);
		json_unsigned(json, "packets", source->packets);
		json_unsigned(json, "bytes", source->bytes);
		json_unsigned(json, "empty", source->empty);
		json_unsigned(json, "left_out", source->timeless);
		json_end_object(json);
	}
	json_end_array(json);
	json_unsigned(json, "packets", played->packets);
	json_unsigned(json, "bytes", played->bytes);
	json_unsigned(json, "skipped_blocks", played->skipped);
	json_unsigned(json, "empty", played->empty);
	json_number(json, "device_s", seconds);
	json_number(json, "packets_per_s", (double)played->packets / seconds);
	json_number(json, "bytes_per_s", (double)played->bytes / seconds);
	print_recording_json(json, &playing->recording);
}

/* Options ------------------------------------------------------------------------------------- */

enum { FAST = 256, RECORDED, RATE, PORT, KEEP_TIME, RECORD };

/*
 * Parse a rate: bits a second of an Ethernet line, with K, M or G behind them, or packets a second,
 * with pps behind that.
 */
static bool parse_rate(const char *text, struct litepcie_player *player)
{
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

static int parse_option(struct util *util, int option, const char *word, struct playing *playing)
{
	struct litepcie_player *player = &playing->play.settings;
	uint64_t port;

	switch (option) {
	case FAST:
		player->pace = LITEPCIE_PACE_FAST;
		return -1;
	case RECORDED:
		player->pace = LITEPCIE_PACE_RECORDED;
		return -1;
	case RATE:
		if (parse_rate(optarg, player))
			return -1;
		return util_usage(util, "--rate %s: it must be bits a second like 10G, or packets "
				  "a second like 2.5Mpps", optarg);
	case PORT:
		if (!util_parse_number(optarg, 0, LITEPCIE_CAPTURE_PORTS - 1, &port))
			return util_usage(util, "--port %s: it must be a number up to %u", optarg,
					  LITEPCIE_CAPTURE_PORTS - 1);
		player->fixed_port = true;
		player->port = (uint32_t)port;
		return -1;
	case KEEP_TIME:
		player->keep_time = true;
		return -1;
	case RECORD:
		playing->recording.target = optarg;
		return -1;
	default:
		return capture_option(util, &cmd_play, option, word);
	}
}

/* Open all files. Returns -1 to go on, or an exit status. */
static int open_files(struct util *util, struct playing *playing, char **paths)
{
	struct play *play = &playing->play;

	play->sources = calloc(play->count, sizeof(*play->sources));
	if (!play->sources)
		return EXIT_FAILED;
	for (unsigned int i = 0; i < play->count; i++)
		if (!source_open(&play->sources[i], paths[i], play->settings.fixed_port))
			util_fail(util, "%s", play->sources[i].why);
	return util->failed ? util_finish(util, NULL, print_text, print_json) : -1;
}

static int parse(struct util *util, int argc, char **argv, struct playing *playing)
{
	static const struct option options[] = {
		{ "fast", no_argument, NULL, FAST },
		{ "recorded", no_argument, NULL, RECORDED },
		{ "rate", required_argument, NULL, RATE },
		{ "port", required_argument, NULL, PORT },
		{ "keep-time", no_argument, NULL, KEEP_TIME },
		{ "record", required_argument, NULL, RECORD },
		CAPTURE_OPTIONS
	};
	int option, status;

	while ((option = getopt_long(argc, argv, ":d:h", options, NULL)) != -1) {
		status = parse_option(util, option, argv[optind - 1], playing);
		if (status >= 0)
			return status;
	}
	playing->play.count = (unsigned int)(argc - optind);
	if (!playing->play.count)
		return util_usage(util, "play needs a file");
	return open_files(util, playing, argv + optind);
}

/* Command ------------------------------------------------------------------------------------- */

/* Play without a recording. Returns true if there is something to tell about. */
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

/* Play, and record what the card captures meanwhile. */
static bool play_recorded(struct util *util, struct playing *playing, int *rc)
{
	struct recording *recording = &playing->recording;
	bool made;

	recording->play = &playing->play;
	/* Frames without a time to keep can wait for room. */
	recording->config.lossless = playing->play.settings.pace == LITEPCIE_PACE_FAST;
	*rc = litepcie_capture_open(util->dev, &recording->config, &recording->capture);
	util_check(util, *rc, "opening the capture");
	made = *rc == 0 && record(util, recording);
	if (recording->refused)
		*rc = -EINVAL;
	return made && !recording->refused;
}

/*
 * End a command whose settings the library has refused: that is an error of the command line, which
 * the sentence is about.
 */
static int refuse(struct util *util)
{
	int status = util_usage(util, "%s", litepcie_why(util->dev));

	litepcie_close(util->dev);
	return status;
}

static int run(struct util *util, int argc, char **argv)
{
	struct playing playing = {
		.play.settings.struct_size = sizeof(playing.play.settings),
		.recording.config.struct_size = sizeof(playing.recording.config),
		.recording.generator.struct_size = sizeof(playing.recording.generator),
		.recording.stats.struct_size = sizeof(playing.recording.stats),
		.recording.output.fd = -1,
	};
	int status = parse(util, argc, argv, &playing), rc = 0;
	bool made = false;

	if (status < 0 && util_open(util))
		made = playing.recording.target ? play_recorded(util, &playing, &rc) :
						  play_alone(util, &playing.play, &rc);
	if (status < 0 && rc == -EINVAL)
		status = refuse(util);
	if (status < 0)
		status = util_finish(util, made ? &playing : NULL, print_text, print_json);
	for (unsigned int i = 0; playing.play.sources && i < playing.play.count; i++)
		source_close(&playing.play.sources[i]);
	free(playing.play.sources);
	output_free(&playing.recording.output);
	free(playing.recording.header);
	return status;
}

static const char help[] =
	"play [-d DEVICE] [--json] [options] FILE...\n"
	"\n"
	"Let the card play pcapng files: each packet in them becomes a frame again, and\n"
	"the capture block takes it. The files go through h2c, which the user slot does\n"
	"not get meanwhile. All files are looked at first, and none is played if the\n"
	"card would refuse one: it takes little-endian pcapng, Ethernet, and packets of\n"
	"up to 16383 bytes. editcap -F pcapng converts other captures.\n"
	"\n"
	"options:\n"
	"      --fast           as fast as the card takes frames (the default). Frames\n"
	"                       wait for room; at another pace they are lost and counted\n"
	"      --recorded       at the distances at which the packets were recorded\n"
	"      --rate RATE      at so many bits a second of an Ethernet line, like 10G,\n"
	"                       with preamble, checksum and gap; or at so many packets a\n"
	"                       second, like 2.5Mpps\n"
	"      --port N         all frames come from port N. Otherwise the number of its\n"
	"                       interface in the file is the port of a packet\n"
	"      --keep-time      frames have their recorded times. Otherwise they have the\n"
	"                       device times at which they are played\n"
	"      --record FOLDER|FILE\n"
	"                       record what the card captures meanwhile, as record does\n"
	"\n"
	"examples:\n"
	"  lanebox-capture play -d vfio:0000:22:00.0 --rate 10G a.pcapng\n"
	"  lanebox-capture play -d sim:build/board.sock --record b.pcapng a.pcapng\n";

const struct command cmd_play = {
	.name = "play",
	.summary = "let the card play pcapng files as frames",
	.help = help,
	.run = run,
};
