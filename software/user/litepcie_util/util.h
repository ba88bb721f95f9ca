/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * What the commands share: the card, the failures found on the way, and how a command ends.
 */
#ifndef LITEPCIE_UTIL_H
#define LITEPCIE_UTIL_H

#include <stdbool.h>
#include <stdint.h>

#include "json.h"
#include "liblitepcie.h"

#define EXIT_OK		0
#define EXIT_FAILED	1
#define EXIT_USAGE	2

#define UTIL_FAILURES	8
#define UTIL_SENTENCE	512

/* What LitePCIe's own utility takes before the command, for dma_test. */
struct util_stock {
	bool		external;	/* -e: through the user's logic, not the DMA's loopback */
	double		duration_s;	/* -t; 0: not given */
};

struct util {
	const char			*command;
	const char			*device;
	bool				json;
	struct util_stock		stock;
	struct litepcie			*dev;
	struct litepcie_conditions	conditions;
	unsigned int			failed;		/* all of them; the first ones are kept */
	char				failures[UTIL_FAILURES][UTIL_SENTENCE];
};

struct command {
	const char *name;
	const char *summary;
	const char *help;	/* after "usage: litepcie_util " */
	/* Parse the options, open the card, do the work. Returns an exit status. */
	int (*run)(struct util *util, int argc, char **argv);
};

extern const struct command cmd_list;
extern const struct command cmd_info;
extern const struct command cmd_peek;
extern const struct command cmd_poke;
extern const struct command cmd_dump;
extern const struct command cmd_scratch_test;
extern const struct command cmd_mmio_bench;
extern const struct command cmd_dma_test;
extern const struct command cmd_dma_bench;
extern const struct command cmd_latency;
extern const struct command cmd_doctor;
extern const struct command cmd_reset;
extern const struct command cmd_rescan;
extern const struct command cmd_vfio;

/* Open the card and read its conditions. false: failed, and a failure says why. */
bool util_open(struct util *util);

/* Note a failure: one sentence, without a full stop. */
__attribute__((format(printf, 2, 3)))
void util_fail(struct util *util, const char *format, ...);

/* Note that the library's last call failed with @rc while @doing. Nothing if @rc >= 0. */
void util_check(struct util *util, int rc, const char *doing);

/*
 * Close the card and end the command: print its own part by one of the two, then the failures.
 * Neither is called when the card could not even be opened (@result NULL).
 */
int util_finish(struct util *util, const void *result,
		void (*print_text)(const struct util *util, const void *result),
		void (*print_json)(struct json *json, const void *result));

/* Nanoseconds of a tick of the card's time. */
double util_tick_ns(const struct litepcie *dev);

/* Print "litepcie_util: @message" and where to find help; returns EXIT_USAGE. */
__attribute__((format(printf, 2, 3)))
int util_usage(const struct util *util, const char *format, ...);

/* The same for what getopt did not like: @option is ':' or '?', @word the argument. */
int util_bad_option(const struct util *util, int option, const char *word);

/* Print the help of the command on stdout; returns EXIT_OK. */
int util_help(const struct command *command);

/* Numbers from the command line; false: not one, or out of range. Sizes may end in K, M or G. */
bool util_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);
bool util_parse_size(const char *text, uint64_t *bytes);

/* Seconds above 0, with a fraction. */
bool util_parse_seconds(const char *text, double *seconds);

enum util_colour { COLOUR_END, COLOUR_NAME, COLOUR_GOOD, COLOUR_BAD };

/* What switches a terminal to this colour; empty where stdout is none, or NO_COLOR is set. */
const char *util_colour(const struct util *util, enum util_colour colour);

/* Ctrl-C or SIGTERM came: stop as soon as the card is in order. */
bool util_interrupted(void);

#endif /* LITEPCIE_UTIL_H */
