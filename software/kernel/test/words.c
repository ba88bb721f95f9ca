// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Makes and compares a long stream of data in little time. Each 64-bit word of the stream has its
 * own value.
 *
 *   words make BYTES	write BYTES bytes of the stream to standard output
 *   words check BYTES	check that standard input has these bytes, in this order
 *
 * Exit status: 0 done, 1 the data differs or ends early, or a read or write fails, 2 wrong usage.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WORDS	8192	/* number of 64-bit words that the program makes or compares at a time */
/* number of bytes from one progress line of `words check` to the next */
#define OFTEN	(64ull << 20)

static void fail(const char *what)
{
	fprintf(stderr, "words: %s: %s\n", what, strerror(errno));
	exit(1);
}

/*
 * Fill the array @words with 64-bit words of the stream, from word number @first on. No two words
 * of a stream are alike.
 */
static void fill(uint64_t *words, uint64_t first)
{
	for (uint64_t n = 0; n < WORDS; n++)
		words[n] = (first + n) * 0x9e3779b97f4a7c15u;
}

static void make(uint64_t bytes)
{
	static uint64_t words[WORDS];

	for (uint64_t at = 0; at < bytes; at += sizeof(words)) {
		size_t size = bytes - at < sizeof(words) ? bytes - at : sizeof(words), done = 0;

		fill(words, at / 8);
		while (done < size) {
			ssize_t put = write(STDOUT_FILENO, (char *)words + done, size - done);

			if (put < 0)
				fail("write");
			done += (size_t)put;
		}
	}
}

static void check(uint64_t bytes)
{
	static uint64_t words[WORDS], came[WORDS];

	for (uint64_t at = 0; at < bytes; at += sizeof(words)) {
		size_t size = bytes - at < sizeof(words) ? bytes - at : sizeof(words), done = 0;

		if (at % OFTEN == 0)
			fprintf(stderr, "words: %llu of %llu bytes\n", (unsigned long long)at,
				(unsigned long long)bytes);
		fill(words, at / 8);
		while (done < size) {
			ssize_t got = read(STDIN_FILENO, (char *)came + done, size - done);

			if (got < 0)
				fail("read");
			if (!got) {
				fprintf(stderr, "words: the stream ends after %llu of %llu bytes\n",
					(unsigned long long)(at + done), (unsigned long long)bytes);
				exit(1);
			}
			done += (size_t)got;
		}
		if (memcmp(words, came, size)) {
			fprintf(stderr, "words: wrong within 64 KiB of byte %llu\n",
				(unsigned long long)at);
			exit(1);
		}
	}
	printf("%llu bytes right\n", (unsigned long long)bytes);
}

int main(int argc, char **argv)
{
	uint64_t bytes = argc == 3 ? strtoull(argv[2], NULL, 0) : 0;

	if (bytes && !strcmp(argv[1], "make"))
		make(bytes);
	else if (bytes && !strcmp(argv[1], "check"))
		check(bytes);
	else
		return fprintf(stderr, "usage: words make|check BYTES\n"), 2;
	return 0;
}
