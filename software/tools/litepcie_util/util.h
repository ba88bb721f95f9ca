/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The parts that all commands of litepcie_util and of lanebox-capture share: the command line, the
 * open card, the failures found, and how a command ends.
 */
#ifndef LITEPCIE_UTIL_H
#define LITEPCIE_UTIL_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "emit.h"
#include "liblitepcie.h"
#include "litepcie_diagnostics.h"
#include "options.h"

#define EXIT_OK		0
#define EXIT_FAILED	1
#define EXIT_USAGE	2

/* largest number of failures of a command whose sentences are kept; more are only counted */
#define UTIL_FAILURES	8
/* size in bytes of the sentence of a failure, with its terminating 0 */
#define UTIL_SENTENCE	512

/* largest values of options: a time in seconds, and the number of repetitions of a measurement */
#define UTIL_MAX_SECONDS	1000000
#define UTIL_MAX_COUNT		1000000

/*
 * Options -e and -t of LitePCIe's own utility, which litepcie_util accepts before the command. Only
 * DMA runs use @external, and only dma_test uses @duration_s.
 */
struct util_stock {
	/*
	 * option -e of LitePCIe's utility: move data through the user's logic, not through the
	 * DMA's loopback
	 */
	bool		external;
	/* option -t of LitePCIe's utility: duration of the run in seconds; 0: not given */
	double		duration_s;
};

struct program;

struct util {
	const struct program		*program;
	const char			*command;
	/* arguments of the command line behind the options of the command */
	char				**words;
	int				word_count;
	const char			*device;
	bool				json;
	struct util_stock		stock;
	struct litepcie			*dev;
	struct litepcie_conditions	conditions;
	/*
	 * number of failures of the command so far; only the first UTIL_FAILURES are kept as
	 * sentences
	 */
	unsigned int			failed;
	char				failures[UTIL_FAILURES][UTIL_SENTENCE];
};

struct command {
	const char *name;
	const char *summary;
	/*
	 * The text of --help: @usage is printed behind "usage: NAME ", @about says what the command
	 * does, and @examples is the end of the text, behind the line "example:" or "examples:".
	 */
	const char *usage, *about, *examples;
	const struct util_option *options;	/* NULL: the command has no option but --help */
	/*
	 * least and largest number of arguments behind the options; @takes says what they are, in
	 * the error message "NAME takes ..."
	 */
	unsigned int least, most;
	const char *takes;
	/*
	 * Run the command, which opens the card if it needs one. Returns the program's exit status.
	 */
	int (*run)(struct util *util);
};

/* The commands of litepcie_util. */
extern const struct command cmd_console, cmd_dma_bench, cmd_dma_test, cmd_doctor, cmd_dump,
	cmd_firmware, cmd_flash, cmd_info, cmd_latency, cmd_list, cmd_mmio_bench, cmd_module,
	cmd_peek, cmd_poke, cmd_reboot, cmd_rescan, cmd_reset, cmd_scratch_test, cmd_sensors,
	cmd_vfio;

/*
 * Let the library learn more names of registers from a csr.json file. Its path is @option, the
 * value of --csr, or if that is NULL the environment variable LANEBOX_CSR. If neither is given,
 * nothing is done. Returns 0 or -errno.
 */
int util_load_csr(struct util *util, const char *option);

/*
 * Open the card util->device as util->dev, and read the conditions of its link. Returns false if
 * the card cannot be opened or its conditions cannot be read. The failure is then noted.
 */
bool util_open(struct util *util);

/*
 * Note a failure of the command: the command then ends with EXIT_FAILED. The text is one sentence
 * without a full stop.
 */
__attribute__((format(printf, 2, 3)))
void util_fail(struct util *util, const char *format, ...);

/*
 * Note that the library's last call failed with the error @rc. @doing says what the program was
 * doing, as in "reading the identifier". If @rc is not negative, nothing is noted.
 */
void util_check(struct util *util, int rc, const char *doing);

/*
 * End the command: print the result by @print, as text or as JSON, close the card, and print the
 * failures on standard error. If @result is NULL, @print is not called and may be NULL. Returns
 * EXIT_FAILED if a failure was noted or stdout cannot be written, otherwise EXIT_OK.
 */
int util_emit(struct util *util, const void *result,
	      void (*print)(const struct emit *emit, const void *result));

/* Returns true if the card's capability table has a block of @type, LITEPCIE_BLOCK_.... */
bool util_has_block(struct litepcie *dev, unsigned int type);

/*
 * Returns parameter @number of the card's first block of @type, or -1 if the card has no such block
 * or the block has fewer parameters.
 */
int64_t util_parameter(struct litepcie *dev, unsigned int type, unsigned int number);

/*
 * Returns true if the entry @block of the capability table has the version that this program knows,
 * and the parameters up to number @last. Otherwise the block's registers may lie elsewhere, and a
 * failure that calls the block @name is noted.
 */
bool util_knows_block(struct util *util, const struct litepcie_block *block, const char *name,
		      unsigned int last);

/* Returns the length in nanoseconds of a tick of the card's device time. */
double util_tick_ns(const struct litepcie *dev);

/*
 * Print a message about a wrong command line on standard error, behind the program's name, and then
 * the command that prints help. Returns EXIT_USAGE.
 */
__attribute__((format(printf, 2, 3)))
int util_usage(const struct util *util, const char *format, ...);

/*
 * Print the help of the command on stdout, or that of the program if the command has no name.
 * Returns EXIT_OK, or EXIT_FAILED if stdout cannot be written.
 */
int util_help(const struct util *util, const struct command *command);

/*
 * Parse a number from @low to @high, or a size in bytes, from the command line. A number that
 * begins with 0x is hexadecimal, and all others are decimal, also with a leading 0. A size may end
 * in K, M or G (2^10, 2^20, 2^30), and is from 1 to less than 2^63. Both functions return false if
 * @text is no number or is out of range.
 */
bool util_parse_number(const char *text, uint64_t low, uint64_t high, uint64_t *value);
bool util_parse_size(const char *text, uint64_t *bytes);

/* Returns the time of the monotonic clock in seconds. */
static inline double util_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Returns the 32-bit number that is stored in 4 bytes, the least significant byte first. */
static inline uint32_t util_word(const uint8_t *bytes)
{
	return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/*
 * Print @text and a newline on stdout, wrapped between words to 80 columns. The first line begins
 * at column @at. The other lines are indented by @indent columns.
 */
void util_fill(unsigned int at, unsigned int indent, const char *text);

/*
 * Print the @reason why a row has no value. In text, where the line has reached @column, @beginning
 * and the wrapped reason follow. A row with a value has a NULL or empty @reason, and gets no text.
 * JSON gets the key "reason", which is null for a row with a value.
 */
void util_emit_reason(const struct emit *out, unsigned int column, const char *beginning,
		      const char *reason);

enum util_colour { COLOUR_END, COLOUR_NAME, COLOUR_GOOD, COLOUR_BAD };

/*
 * Returns the escape sequence that sets a colour on the terminal. The string is empty if stdout is
 * no terminal, if the environment variable NO_COLOR is set and not empty, or with --json.
 */
const char *util_colour(const struct util *util, enum util_colour colour);

/* Returns true if SIGINT or SIGTERM has come. The command must then stop the card and end. */
bool util_interrupted(void);

/* The command line of a program --------------------------------------------------------------- */

#define PROGRAM_DEVICE	"/dev/litepcie0"	/* the card if the command line names no card */

struct program {
	const char			*name;
	/*
	 * The text of --help: @about stands between "usage: NAME " and the list of commands, and
	 * @more stands behind the list.
	 */
	const char			*about, *more;
	/* options before the command; those without a long name have only a letter */
	const struct util_option	*options;
	const struct command *const	*commands;	/* the list ends with NULL */
};

/*
 * Prepare @util for the program. The first SIGINT or SIGTERM then only makes util_interrupted()
 * true, so that a command can stop the card. A second signal of the same kind kills the program.
 */
void program_begin(const struct program *program, struct util *util);

/*
 * Run the command that the command line names. Returns the command's exit status, EXIT_OK after
 * --help, or EXIT_USAGE if the command line is wrong.
 */
int program_run(struct util *util, int argc, char **argv);

#endif /* LITEPCIE_UTIL_H */
