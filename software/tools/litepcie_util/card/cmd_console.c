/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command console: pass standard input to the card's management CPU, and print what the CPU's
 * firmware prints.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "litepcie_capability.h"
#include "management.h"

#define LOOK_MS		20
#define PART		256
/*
 * The character of Ctrl-D, which ends the console if standard input is a terminal. begin_terminal()
 * switches the terminal's canonical mode off, so Ctrl-D does not become an end of file.
 */
#define CONTROL_D	4
/*
 * After the end of the input the console ends when all input has been sent, and the CPU has printed
 * nothing in this number of checks in a row, which are LOOK_MS or more apart.
 */
#define QUIET_LOOKS	5u

struct console {
	struct management	cpu;
	struct termios		before;		/* the terminal's settings before the command */
	bool			terminal;	/* true: the terminal's settings were changed */
	bool			ended;		/* true: the input has ended */
	char			waiting[PART];	/* bytes of input that are not sent yet */
	size_t			waits;		/* number of bytes in @waiting */
	char			*output;	/* with --json: what the CPU has printed so far */
	size_t			length;		/* number of bytes in @output, less the final 0 */
};

/*
 * Let the terminal pass on each key at once and not echo it, since the CPU's firmware echoes. If
 * standard input is no terminal, nothing is done.
 */
static void begin_terminal(struct console *console)
{
	struct termios raw;

	if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &console->before) != 0)
		return;
	raw = console->before;
	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	console->terminal = tcsetattr(STDIN_FILENO, TCSANOW, &raw) == 0;
}

static void end_terminal(const struct console *console)
{
	if (!console->terminal)
		return;
	tcsetattr(STDIN_FILENO, TCSANOW, &console->before);
	putchar('\n');
}

/*
 * Wait up to LOOK_MS for input, and read at most as many bytes as console->waiting has room for. If
 * it has no room, or after the end of the input, only wait for LOOK_MS.
 */
static void listen(struct console *console)
{
	struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };
	const struct timespec nap = { .tv_nsec = LOOK_MS * 1000000L };
	char *end;
	ssize_t got;

	if (console->ended || console->waits == PART) {
		nanosleep(&nap, NULL);
		return;
	}
	if (poll(&input, 1, LOOK_MS) <= 0)
		return;
	got = read(STDIN_FILENO, console->waiting + console->waits, PART - console->waits);
	if (got < 0 && errno == EINTR)
		return;
	end = got > 0 && console->terminal
		? memchr(console->waiting + console->waits, CONTROL_D, (size_t)got) : NULL;
	if (end)
		got = end - (console->waiting + console->waits);
	console->ended = got <= 0 || end;
	console->waits += got > 0 ? (size_t)got : 0;
}

static bool send(struct console *console)
{
	size_t taken;

	if (!mailbox_send(&console->cpu, console->waiting, console->waits, &taken))
		return false;
	console->waits -= taken;
	memmove(console->waiting, console->waiting + taken, console->waits);
	return true;
}

/*
 * Take up to PART bytes that the CPU has printed, and print them, or with --json append them to
 * console->output. *@got becomes the number of bytes. Returns false if that failed.
 */
static bool receive(struct console *console, size_t *got)
{
	char text[PART];

	if (!mailbox_receive(&console->cpu, text, sizeof(text), got))
		return false;
	if (!console->cpu.util->json) {
		fwrite(text, 1, *got, stdout);
		return fflush(stdout) == 0;
	}
	char *larger = realloc(console->output, console->length + *got + 1);

	if (!larger) {
		util_fail(console->cpu.util, "no memory for what the CPU has printed");
		return false;
	}
	console->output = larger;
	memcpy(larger + console->length, text, *got);
	console->length += *got;
	larger[console->length] = '\0';
	return true;
}

static void talk(struct console *console)
{
	unsigned int quiet = 0;
	size_t got;

	while (!util_interrupted() && quiet < QUIET_LOOKS) {
		listen(console);
		if (!send(console) || !receive(console, &got))
			return;
		quiet = console->ended && !console->waits && !got ? quiet + 1 : 0;
	}
}

/*
 * Returns true if the CPU runs firmware that has a mailbox. Otherwise returns false and notes a
 * failure.
 */
static bool is_answered(struct console *console)
{
	struct management_status status;
	uint32_t sign;

	if (!management_wait(&console->cpu, &status) ||
	    !mailbox_read(&console->cpu, LITEPCIE_MAILBOX_SIGN, &sign))
		return false;
	if (status.state != LITEPCIE_CPU_STATE_RUNNING) {
		util_fail(console->cpu.util, "the management CPU does not run (%s); `litepcie_util "
			  "firmware load FILE` gives it another image",
			  management_state(status.state));
		return false;
	}
	if (sign != LITEPCIE_MAILBOX_MAGIC) {
		util_fail(console->cpu.util, "the firmware has no mailbox: it has written 0x%08x, not "
			  "0x%08x, to its first word", sign, LITEPCIE_MAILBOX_MAGIC);
		return false;
	}
	return true;
}

/* Write the CPU's output to JSON. Without --json receive() has already printed the output. */
static void print(const struct emit *out, const void *result)
{
	const struct console *console = result;

	emit_string(out, "output", NULL, console->output ? console->output : "");
}

static int run(struct util *util)
{
	struct console console = { 0 };
	int status;

	if (util_open(util) && management_find(util, &console.cpu) && is_answered(&console)) {
		begin_terminal(&console);
		talk(&console);
		end_terminal(&console);
	}
	status = util_emit(util, util->failed ? NULL : &console, print);
	free(console.output);
	return status;
}

const struct command cmd_console = {
	.name = "console",
	.summary = "talk to the card's management CPU",
	.usage = "[-d DEVICE | -c N] [--json] console",
	.about =
		"Talk to the card's management CPU: what is typed goes to its firmware, which\n"
		"echoes and answers. Ctrl-C or Ctrl-D ends the console; the CPU goes on. Input\n"
		"that is no terminal is passed on, and the answers to it are printed.\n"
		"\n"
		"With --json standard input is read to its end, and the answers become one\n"
		"string. The card must have been built with a management CPU. Needs root or\n"
		"CAP_SYS_RAWIO.\n",
	.examples =
		"  sudo litepcie_util console\n"
		"  echo log | sudo litepcie_util console\n",
	.run = run,
};
