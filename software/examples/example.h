/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Defines what the C examples share: options, an open card, and error messages.
 *
 * begin() takes the options and opens the card, which is closed when the
 * program ends by exit() or at the end of main(). check() and some() end the
 * program if a call of the library has failed. some() also ends it if a wait
 * has found no buffer. A program of your own may handle errors in another way.
 *
 * Exit status of each example: 0 success, 1 something failed (a message on
 * standard error says what), 2 wrong usage.
 */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <getopt.h>
#include <liblitepcie.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS		10000	/* longest wait for a DMA buffer, in ms */
/* size of the table value_of[] of the options' values: its index is a letter */
#define OPTIONS		128

static struct litepcie *opened;
static const char *program, *text_of_usage;
static const char *value_of[OPTIONS];

#define FAIL(format, ...) \
	(fprintf(stderr, "%s: " format "\n", program, __VA_ARGS__), exit(1))

static inline void leave(void)
{
	litepcie_close(opened);
}

static inline void usage(FILE *file, int status)
{
	fprintf(file, "%s\n"
		"  -d DEVICE  the card: /dev/litepcieN, vfio:ADDRESS or\n"
		"             sim:SOCKET (/dev/litepcie0)\n", text_of_usage);
	exit(status);
}

/*
 * Returns the result @rc of a call of the library. If the call has failed,
 * check() prints the library's error message and ends the program.
 */
static inline int check(int rc)
{
	if (rc < 0)
		FAIL("%s", litepcie_why(NULL));
	return rc;
}

/*
 * Returns the number of buffers that a wait has found, which is its result @rc.
 * Ends the program if the wait has failed or found no buffer.
 */
static inline unsigned int some(int rc)
{
	if (check(rc) == 0)
		FAIL("nothing came from the card within %d s", WAIT_MS / 1000);
	return (unsigned int)rc;
}

/*
 * Open and start the stream of @direction, LITEPCIE_H2C or LITEPCIE_C2H.
 * Returns the stream. Ends the program if either step fails.
 */
static inline struct litepcie_stream *
start(unsigned int direction, const struct litepcie_stream_options *options)
{
	struct litepcie_stream *stream;

	check(litepcie_stream_open(opened, direction, options, &stream));
	check(litepcie_stream_start(stream));
	return stream;
}

/*
 * Returns the next buffer of @stream. Ends the program if the wait fails, or if
 * no buffer comes within WAIT_MS.
 */
static inline struct litepcie_buffer next(struct litepcie_stream *stream)
{
	struct litepcie_buffer buffer = { .struct_size = sizeof(buffer) };

	some(litepcie_stream_acquire(stream, &buffer, WAIT_MS));
	return buffer;
}

/*
 * Returns the value of the option @letter, or @otherwise if the option is not
 * given. Ends the program if the value is no number from 1 to @most.
 */
static inline unsigned long number(char letter, unsigned long otherwise,
				   unsigned long most)
{
	const char *text = value_of[(int)letter];
	char *end = NULL;
	unsigned long found = text ? strtoul(text, &end, 0) : otherwise;

	if (text && (*end || text[0] == '-' || found < 1 || found > most))
		usage(stderr, 2);
	return found;
}

/*
 * Read the command line and open the card. The options are -d, --device, -h,
 * --help and those of @letters, a string for getopt() in which a colon follows
 * each letter: each of these options has a value. From @least to @most
 * arguments may follow, which begin at argv[optind]. @text is the text of
 * --help. Returns the open card. Ends the program after --help, if the command
 * line is wrong or if the card cannot be opened.
 */
static inline struct litepcie *begin(int argc, char **argv,
				     const char *letters, int least, int most,
				     const char *text)
{
	static const struct option long_ones[] = {
		{ "device", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	char why[LITEPCIE_WHY_SIZE], all[16];
	int letter;

	program = argv[0];
	text_of_usage = text;
	value_of['d'] = "/dev/litepcie0";
	snprintf(all, sizeof(all), "hd:%s", letters);
	while ((letter = getopt_long(argc, argv, all, long_ones, NULL)) >= 0) {
		if (letter == 'h')
			usage(stdout, 0);
		if (letter == '?')
			usage(stderr, 2);
		value_of[letter] = optarg;
	}
	if (argc - optind < least || argc - optind > most)
		usage(stderr, 2);
	if (litepcie_open(&opened, value_of['d'], why, sizeof(why)) < 0)
		FAIL("%s", why);
	atexit(leave);
	return opened;
}

#endif /* EXAMPLE_H */
