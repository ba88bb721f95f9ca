/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Functions for the commands of litepcie_util and lanebox-capture: they parse the command line,
 * open the card, note failures, and end the command.
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

/*
 * largest number of failures of a command whose sentences are kept; further ones are only counted
 */
#define UTIL_FAILURES	8
/* bytes of the buffer for the sentence of one failure, with its terminating 0 */
#define UTIL_SENTENCE	512

/* largest number of seconds that option_seconds() and the option --timeout of dma_test accept */
#define UTIL_MAX_SECONDS	1000000
/* largest value of the option --count of mmio_bench and latency */
#define UTIL_MAX_COUNT		1000000

/*
 * Values of the options -e and -t, which LitePCIe's own utility has and which litepcie_util accepts
 * before the command.
 */
struct util_stock {
	/*
	 * option -e: dma_run() moves the data of a loopback run through the user's logic in place
	 * of the DMA's own loopback
	 */
	bool		external;
	/*
	 * option -t: duration in seconds of a run of dma_test without the option --duration; 0: -t
	 * is not given
	 */
	double		duration_s;
};

struct program;

struct util {
	const struct program		*program;
	const char			*command;
	/* arguments of the command that are no options, such as a register's name */
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
	 * The text of the command's --help: @usage is printed behind "usage: " and the program's
	 * name, @about says what the command does, and @examples is the end of the text, behind the
	 * line "example:" or "examples:".
	 */
	const char *usage, *about, *examples;
	/* table of the command's options; NULL: it has none but --help */
	const struct util_option *options;
	/*
	 * least and largest number of arguments that are no options; @takes says what they are, in
	 * the error message "COMMAND takes ..."
	 */
	unsigned int least, most;
	const char *takes;
	/* Run the command. Returns the program's exit status. */
	int (*run)(struct util *util);
};

/* The commands of litepcie_util. */
extern const struct command cmd_console, cmd_dma_bench, cmd_dma_test, cmd_doctor, cmd_dump,
	cmd_firmware, cmd_flash, cmd_info, cmd_latency, cmd_list, cmd_mmio_bench, cmd_module,
	cmd_peek, cmd_poke, cmd_reboot, cmd_rescan, cmd_reset, cmd_scratch_test, cmd_sensors,
	cmd_vfio;

/*
 * Let the library learn more names of registers from a csr.json file. The path of the file is
 * @option, the value of --csr, or if that is NULL the environment variable LANEBOX_CSR. If @option
 * is NULL and the variable is empty or not set, nothing is done. Returns 0 or -errno.
 */
int util_load_csr(struct util *util, const char *option);

/*
 * Open the card util->device as util->dev, and read util->conditions: MPS, MRRS and the state of
 * the card's PCIe link. Returns false and notes a failure if the card cannot be opened or the
 * conditions cannot be read.
 */
bool util_open(struct util *util);

/*
 * Note a failure of the command, with a text as printf() makes it. util_emit() prints the texts of
 * the first UTIL_FAILURES failures, and returns EXIT_FAILED.
 */
__attribute__((format(printf, 2, 3)))
void util_fail(struct util *util, const char *format, ...);

/*
 * If @rc is negative, note that the library's last call failed with the error @rc. @doing begins
 * the sentence of the failure and says what the program was doing, as in "reading the identifier".
 */
void util_check(struct util *util, int rc, const char *doing);

/*
 * End the command: print the result by @print, as text or as JSON, close the card if it is open,
 * and print the noted failures on standard error. If @result is NULL, @print is not called. Returns
 * EXIT_FAILED if a failure was noted or stdout cannot be written, otherwise EXIT_OK.
 */
int util_emit(struct util *util, const void *result,
	      void (*print)(const struct emit *emit, const void *result));

/*
 * Returns true if the card's gateware has a block of @type, LITEPCIE_BLOCK_..., by its capability
 * table, which lists the blocks.
 */
bool util_has_block(struct litepcie *dev, unsigned int type);

/*
 * Returns parameter @number, counted from 0, of the first block of @type in the card's capability
 * table. Returns -1 if the card has no such block or the block does not have this parameter.
 */
int64_t util_parameter(struct litepcie *dev, unsigned int type, unsigned int number);

/*
 * Returns true if the entry @block of the capability table has the version that this program knows,
 * and has parameter number @last, counted from 0. Otherwise returns false and notes a failure that
 * calls the block @name: this program cannot rely on the places of the block's registers then.
 */
bool util_knows_block(struct util *util, const struct litepcie_block *block, const char *name,
		      unsigned int last);

/* Returns the length in nanoseconds of a tick of the card's device time. */
double util_tick_ns(const struct litepcie *dev);

/*
 * Print a message about a wrong command line on standard error, behind the program's name, and a
 * line with the call that prints help. Returns EXIT_USAGE.
 */
__attribute__((format(printf, 2, 3)))
int util_usage(const struct util *util, const char *format, ...);

/*
 * Print the help of @command on stdout, or that of the program if command->name is NULL. Returns
 * EXIT_OK, or EXIT_FAILED if stdout cannot be written.
 */
int util_help(const struct util *util, const struct command *command);

/*
 * Parse a number from @low to @high, or a size in bytes, from the command line. A number or size
 * that begins with 0x is hexadecimal, any other is decimal, also with a leading 0. A size may end
 * in K, M or G (2^10, 2^20, 2^30) in upper or lower case, and is from 1 to less than 2^63. Both
 * functions return false if @text is no such value or is out of range.
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
 * Print @text and a newline on stdout. A line is wrapped between words if it would be longer than
 * 80 columns, and a word is never divided. The first line begins at column @at. The other lines are
 * indented by @indent columns.
 */
void util_fill(unsigned int at, unsigned int indent, const char *text);

/*
 * Print the @reason why a row of a table has no value. @reason is NULL or empty if the row has a
 * value: then no text is printed, and in JSON the key "reason" is null. Otherwise JSON gets @reason
 * under that key. The text gets @beginning and the wrapped @reason, on the line that has reached
 * @column.
 */
void util_emit_reason(const struct emit *out, unsigned int column, const char *beginning,
		      const char *reason);

enum util_colour { COLOUR_END, COLOUR_NAME, COLOUR_GOOD, COLOUR_BAD };

/*
 * Returns the escape sequence that switches the terminal to bold (COLOUR_NAME), to green or red
 * (COLOUR_GOOD, COLOUR_BAD) or back (COLOUR_END). The string is empty if stdout is no terminal, if
 * the environment variable NO_COLOR is set and not empty, or with --json.
 */
const char *util_colour(const struct util *util, enum util_colour colour);

/* Returns true if SIGINT or SIGTERM has come. A command that takes long should then end early. */
bool util_interrupted(void);

/* The command line of a program --------------------------------------------------------------- */

/* device that is opened if the command line names none */
#define PROGRAM_DEVICE	"/dev/litepcie0"

struct program {
	const char			*name;
	/*
	 * The text of the program's --help: @about stands behind "usage: " and the program's name,
	 * then comes the list of commands, and @more stands behind the list.
	 */
	const char			*about, *more;
	/* options that may stand before the command on the command line */
	const struct util_option	*options;
	const struct command *const	*commands;	/* the program's commands, then NULL */
};

/*
 * Prepare @util for the program and install the signal handlers. After the first SIGINT or SIGTERM
 * util_interrupted() returns true, and a system call that waits may end with EINTR. A second signal
 * of the same kind kills the program.
 */
void program_begin(const struct program *program, struct util *util);

/*
 * Run the command that the command line names. Returns the command's exit status, what util_help()
 * returns if --help was given, or EXIT_USAGE if the command line is wrong.
 */
int program_run(struct util *util, int argc, char **argv);

#endif /* LITEPCIE_UTIL_H */
