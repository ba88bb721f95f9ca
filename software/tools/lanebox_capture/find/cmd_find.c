/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command find: search recordings for packets by a filter in tcpdump's language and by time.
 * The packets found may be written to a plain pcapng file: the sections and interfaces of the
 * files, and the blocks of these packets, all unchanged. All other blocks are left out, such as
 * fillers, and seals (blocks with counts), whose counts are those of the whole recording.
 * Only Enhanced Packet Blocks are searched: packets in Simple Packet Blocks and in the obsolete
 * Packet Blocks are left out, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "filter.h"
#include "litepcie_capture.h"
#include "part.h"
#include "play/source.h"

#define STDOUT		"-"
#define DIGITS		"0123456789"
#define NS_PLACES	9	/* decimals of a time in s down to a ns */
#define TIME_RULE	"it must be a time in seconds up to 18446744073, like 1764000000.123456789"

struct search {
	/* The members up to @to_ns are settings from the command line. */
	char		**files;
	int		count;
	const char	*text;		/* text of the filter in tcpdump's language */
	const char	*target;	/* path of the file to write, "-" for stdout, or NULL */
	/* earliest and latest time, in ns, of the packets that are searched for */
	uint64_t	from_ns, to_ns;
	bool		all;		/* true: all of each file is read, whatever the times */
	/* The members from here on are state and results of the search. */
	struct filter	*filter;
	FILE		*out;
	bool		failed;		/* true: a write to @target has failed */
	/* why the filter cannot be used for a packet of the file that is searched; empty: it can */
	char		why[FILTER_WHY];
	uint64_t	packets, found, bytes;
	uint64_t	read_bytes;	/* number of bytes that were read from the files */
	/* times in ns of the first and the last packet found */
	uint64_t	first_ns, last_ns;
};

/* The search through files -------------------------------------------------------------------- */

/*
 * Count the packet in @block, an Enhanced Packet Block with its time in ns. Returns true if that
 * time is from search->from_ns to search->to_ns and the packet matches the filter. Returns false
 * with a message in search->why if the filter cannot be used for the packet's link type.
 */
static bool look_at(struct search *search, const struct source *source, const uint8_t *block)
{
	uint32_t interface = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_PORT);
	uint32_t kept = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
	uint32_t length = util_word(block + LITEPCIE_PCAPNG_RECORD_AT_LENGTH);
	uint64_t time_ns = source_time(block);

	search->packets++;
	if (time_ns < search->from_ns || time_ns > search->to_ns ||
	    !filter_link(search->filter, source->interfaces[interface].link, search->why) ||
	    !filter_takes(search->filter, block + SOURCE_HEAD, kept, length))
		return false;
	if (!search->found++)
		search->first_ns = time_ns;
	search->last_ns = time_ns;
	search->bytes += length;
	return true;
}

/*
 * Write @block to search->out as it is in the file. source_take() has replaced the time of a
 * packet by its time in ns. The interface's block is written unchanged, and may have another unit
 * or an offset, so the packet gets its own time back. Returns false if the write has failed.
 */
static bool write_block(struct search *search, const struct source *source, uint8_t *block,
			uint32_t length)
{
	if (util_word(block) == LITEPCIE_PCAPNG_RECORD)
		memcpy(block + LITEPCIE_PCAPNG_RECORD_AT_TIME, source->time, SOURCE_TIME);
	search->failed = fwrite(block, 1, length, search->out) != length;
	return !search->failed;
}

/*
 * Take the blocks of a file one by one, with the packets' times in ns, and look at each Enhanced
 * Packet Block. Write the sections, the interfaces and the packets found to search->out, if that is
 * not NULL. Returns false if the search did not come to the end of the file.
 */
static bool look_through(struct search *search, struct source *source)
{
	uint8_t *block = NULL;
	size_t room = 0;
	uint32_t length;

	while (!util_interrupted() && (length = source_next(source))) {
		uint32_t type;
		bool wanted;

		if (length > room) {
			uint8_t *more = realloc(block, length);

			if (!more)
				break;
			block = more;
			room = length;
		}
		if (source_take(source, block, length) != length)
			break;
		type = util_word(block);
		wanted = type == LITEPCIE_PCAPNG_SECTION || type == LITEPCIE_PCAPNG_INTERFACE ||
			 (type == LITEPCIE_PCAPNG_RECORD && look_at(search, source, block));
		if (*search->why)
			break;
		if (wanted && search->out && !write_block(search, source, block, length))
			break;
	}
	free(block);
	return source->at == source->size;
}

/*
 * Open the file at @path, or, if it is a recording and times are searched for, the part of it that
 * has these times. Returns false after a failure, whose message is in source->why.
 */
static bool open_part(struct search *search, struct source *source, const char *path)
{
	struct part part = { 0 };
	bool partly = !search->all && (search->from_ns || search->to_ns < UINT64_MAX) &&
		      part_find(&part, path, search->from_ns, search->to_ns);

	search->read_bytes += part.read_bytes;
	return partly ? source_open_part(source, path, LITEPCIE_CAPTURE_HEADER_BYTES, part.from,
					 part.to) :
			source_open(source, path, SOURCE_SEARCHED);
}

static void search_file(struct util *util, struct search *search, const char *path)
{
	struct source source;

	*search->why = '\0';
	if (!open_part(search, &source, path)) {
		util_fail(util, "%s", source.why);
		source_close(&source);
		return;
	}
	if (!look_through(search, &source) && *source.why)
		util_fail(util, "%s", source.why);
	else if (*search->why)
		util_fail(util, "%s: %s", path, search->why);
	else if (source.at < source.size && !search->failed)
		util_fail(util, util_interrupted() ? "%s: a signal came before its end" :
			  "%s: there is no memory for one of its blocks", path);
	search->read_bytes += source.read_bytes;
	source_close(&source);
}

/*
 * Open search->target, a file that must not exist yet, or stdout if it is "-". If it is NULL,
 * nothing is opened, and true is returned. Returns false after a failure, which is noted.
 */
static bool open_target(struct util *util, struct search *search)
{
	int fd;

	if (!search->target)
		return true;
	fd = strcmp(search->target, STDOUT) ?
	     open(search->target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666) :
	     dup(STDOUT_FILENO);
	search->out = fd < 0 ? NULL : fdopen(fd, "wb");
	if (search->out)
		return true;
	util_fail(util, "%s: %s", search->target, errno == EEXIST ?
		  "the file exists: choose another name, or delete it first" : strerror(errno));
	return false;
}

static void close_target(struct util *util, struct search *search)
{
	bool right = !search->failed;

	if (!search->out)
		return;
	if (fclose(search->out) != 0)
		right = false;
	if (!right)
		util_fail(util, "%s: not all packets could be written", search->target);
}

/* The results of the search ------------------------------------------------------------------- */

static void print(const struct emit *out, const void *result)
{
	const struct search *search = result;

	emit_string(out, "filter", "find           %s\n", search->text);
	emit_unsigned(out, "found", "  packets      %llu", search->found);
	emit_unsigned(out, "packets", " of %llu", search->packets);
	emit_unsigned(out, "bytes", ", %llu bytes\n", search->bytes);
	emit_unsigned(out, "read_bytes", "  read         %llu bytes of the files\n",
		      search->read_bytes);
	if (search->found) {
		emit_unsigned(out, "first_ns", NULL, search->first_ns);
		emit_unsigned(out, "last_ns", NULL, search->last_ns);
		emit_text(out, "  time         %llu.%09llu to %llu.%09llu s\n",
			  (unsigned long long)search->first_ns / 1000000000,
			  (unsigned long long)search->first_ns % 1000000000,
			  (unsigned long long)search->last_ns / 1000000000,
			  (unsigned long long)search->last_ns % 1000000000);
	} else {
		emit_null(out, "first_ns");
		emit_null(out, "last_ns");
	}
	emit_string(out, "target", search->target ? "  written      %s\n" : NULL, search->target);
}

/* The command find ---------------------------------------------------------------------------- */

static void find(struct util *util, struct search *search)
{
	char why[FILTER_WHY];

	search->filter = filter_open(search->text, why);
	if (!search->filter) {
		util_fail(util, "%s", why);
		return;
	}
	if (open_target(util, search))
		for (int i = 0; i < search->count && !search->failed && !util_interrupted(); i++)
			search_file(util, search, search->files[i]);
	close_target(util, search);
	filter_close(search->filter);
}

static struct search search = { .to_ns = UINT64_MAX };

/*
 * Parse a time in seconds, and store it in ns in the uint64_t *@to. A double would not do: it has
 * 53 bits, and a time in ns since 1970 has 61. A part of a ns counts as a whole one if @up is true,
 * and otherwise not at all. Returns false if the text is no time, or if the time has more than 64
 * bits.
 */
static bool parse_time(const char *text, bool up, uint64_t *to)
{
	size_t whole = strspn(text, DIGITS), places;
	const char *decimals = text + whole + (text[whole] == '.');
	unsigned __int128 time = 0;

	places = strspn(decimals, DIGITS);
	if (decimals[places] || !(whole + places))
		return false;
	for (size_t n = 0; n < whole && time <= UINT64_MAX; n++)
		time = 10 * time + (unsigned int)(text[n] - '0');
	for (size_t n = 0; n < NS_PLACES; n++)
		time = 10 * time + (n < places ? (unsigned int)(decimals[n] - '0') : 0);
	if (up && places > NS_PLACES)
		time += decimals[NS_PLACES + strspn(decimals + NS_PLACES, "0")] != '\0';
	*to = (uint64_t)time;
	return time <= UINT64_MAX;
}

static bool option_from(const struct util_option *option, const char *text)
{
	return parse_time(text, true, option->to);
}

static bool option_to(const struct util_option *option, const char *text)
{
	return parse_time(text, false, option->to);
}

static int run(struct util *util)
{
	bool told = !search.target || strcmp(search.target, STDOUT);

	util->device = NULL;	/* the command find opens no card */
	search.files = util->words;
	search.count = util->word_count - 1;
	search.text = util->words[util->word_count - 1];
	if (!told && util->json)
		return util_usage(util, "--write -: packets and --json would both go to stdout");
	find(util, &search);
	return util_emit(util, told && search.filter ? &search : NULL, print);
}

static const struct util_option options[] = {
	{ .name = "from", .value = "S", .parse = option_from, .to = &search.from_ns,
	  .rule = TIME_RULE,
	  .help = "packets from this time on, in seconds as check shows it" },
	{ .name = "to", .value = "S", .parse = option_to, .to = &search.to_ns,
	  .rule = TIME_RULE,
	  .help = "packets up to this time" },
	{ .name = "all", .to = &search.all,
	  .help = "read recordings as a whole, also with --from or --to: packets may have times of "
		  "their own, as by play --keep-time" },
	{ .name = "write", .value = "FILE", .parse = option_text, .to = &search.target,
	  .help = "write the packets to a new file; - is stdout" },
	JSON_OPTION
};

const struct command cmd_find = {
	.name = "find",
	.summary = "look for packets in recordings by a filter and by time",
	.usage = "find [--json] [options] FILE... FILTER",
	.about =
		"Look for packets in recordings. The filter is one of tcpdump's, by libpcap, and\n"
		"'' takes all packets. The packets that are found are counted, and may be written\n"
		"as pcapng with their ports, times, lengths and options. With --from or --to only\n"
		"the part of a recording is read that has these times.\n",
	.examples =
		"  lanebox-capture find out/*.pcapng 'tcp port 80 and host 10.0.0.1'\n"
		"  lanebox-capture find --from 10 --to 10.5 --write b.pcapng a.pcapng ''\n"
		"  lanebox-capture find --write - a.pcapng 'vlan 7' | tshark -r -\n",
	.options = options,
	.least = 2,
	.most = CAPTURE_FILES,
	.takes = "one file or more, and a filter",
	.run = run,
};
