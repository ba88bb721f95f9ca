/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The thread of a play sends the bytes of all files to the card through the buffers of h2c (DMA
 * from the host to the card), one file after the other. Then it waits until the card's player has
 * played all frames, or all frames before the block at which the player has stopped. play_stop()
 * and a failure end the sending and the waiting.
 */
#include "play.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* longest time in ms of one wait in the library, after which play->stops is checked again */
#define LOOK_MS		50
/* number of buffers that the library hands to the card together, as a rule */
#define BATCH		8

/*
 * Write @doing and the text of the library's last failure in this thread to play->why. Returns
 * false.
 */
static bool failed(struct play *play, const char *doing)
{
	snprintf(play->why, sizeof(play->why), "%s: %s", doing, litepcie_why(play->dev));
	return false;
}

/*
 * Fill the buffer of @room bytes at @to from the files. *@next is the index of the file whose bytes
 * come next, and *@sent counts the bytes of all calls. *@bytes becomes the number of bytes in the
 * buffer, which is less than @room only if all files have ended. Returns false if a file cannot be
 * read or played any more. The member `why` of its struct source then has a message.
 */
static bool fill(struct play *play, unsigned int *next, uint64_t *sent, uint8_t *to, size_t room,
		 size_t *bytes)
{
	*bytes = 0;
	while (*bytes < room && *next < play->count) {
		struct source *source = &play->sources[*next];
		size_t part = source_take(source, to + *bytes, room - *bytes);

		*bytes += part;
		if (*source->why)
			return false;
		if (!part)
			++*next;
	}
	*sent += *bytes;
	return true;
}

/*
 * Send all bytes of the files and the padding behind them to the card. Returns false if play->stops
 * becomes true before the end, or after a failure.
 */
static bool send_all(struct play *play)
{
	size_t size = LITEPCIE_BUFFER_SIZE, bytes = size, rest = 0, at = 0;
	uint8_t padding[64];
	unsigned int next = 0;
	struct litepcie_buffer free = { .struct_size = sizeof(free) };
	uint64_t sent = 0;
	int rc;

	while (bytes == size) {
		uint8_t *buffer;

		if (play->stops)
			return false;
		rc = litepcie_stream_acquire(play->h2c, &free, LOOK_MS);
		if (rc < 0 && rc != -EINTR)
			return failed(play, "sending");
		if (rc <= 0)
			continue;
		buffer = free.data;
		if (!fill(play, &next, &sent, buffer, size, &bytes)) {
			snprintf(play->why, sizeof(play->why), "%s", play->sources[next].why);
			return false;
		}
		/*
		 * The padding begins when all files have ended. If it does not fit into the rest of
		 * this buffer, it continues in the next one.
		 */
		if (bytes < size && !rest && !at) {
			rest = source_padding(sent, padding);
			play->blocks += rest != 0;
		}
		while (bytes < size && at < rest)
			buffer[bytes++] = padding[at++];
		if (bytes && litepcie_stream_send(play->h2c, bytes) < 0)
			return failed(play, "sending");
	}
	return litepcie_stream_flush(play->h2c) == 0 || failed(play, "sending");
}

/*
 * Wait until the card has taken all bytes of h2c (DMA from the host). Returns false if play->stops
 * becomes true before the card has taken them, or after a failure.
 */
static bool drain(struct play *play)
{
	int rc;

	do
		rc = litepcie_stream_drain(play->h2c, LOOK_MS);
	while ((rc == -ETIMEDOUT || rc == -EINTR) && !play->stops);
	if (rc < 0 && !play->stops)
		return failed(play, "sending");
	return rc == 0;
}

/*
 * Returns true if by the counts of play->played the player has played all frames, or all frames
 * before the block at which it has stopped.
 */
static bool is_done(const struct play *play)
{
	const struct litepcie_played *played = &play->played;

	return played->idle && played->packets == played->passed - played->skipped - played->empty &&
	       (played->error || played->passed == play->blocks);
}

/*
 * Wait until the player has played its last frame, play->stops is true, or litepcie_played() fails.
 * At a slow pace frames may still wait in the player when the card has taken all bytes.
 */
static void await_frames(struct play *play)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	while (!play->stops) {
		if (litepcie_played(play->dev, &play->played) < 0) {
			failed(play, "asking the player");
			return;
		}
		if (is_done(play))
			return;
		nanosleep(&nap, NULL);
	}
}

static void *run(void *argument)
{
	struct play *play = argument;

	if (send_all(play) && drain(play))
		await_frames(play);
	play->ended = true;
	return NULL;
}

int play_begin(struct util *util, struct play *play)
{
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options), .batch = BATCH,
	};
	int rc;

	play->dev = util->dev;
	play->played.struct_size = sizeof(play->played);
	for (unsigned int i = 0; i < play->count; i++)
		play->blocks += play->sources[i].blocks;
	rc = litepcie_play(play->dev, &play->settings);
	if (rc < 0)
		return rc;
	rc = litepcie_stream_open(play->dev, LITEPCIE_H2C, &options, &play->h2c);
	if (rc == 0)
		rc = litepcie_stream_start(play->h2c);
	if (rc == 0 && pthread_create(&play->thread, NULL, run, play))
		rc = -ENOMEM;
	if (rc < 0) {
		litepcie_stream_close(play->h2c);
		litepcie_play_stop(play->dev);
	}
	play->begun = rc == 0;
	return rc;
}

void play_stop(struct play *play)
{
	play->stops = true;
}

bool play_end(struct util *util, struct play *play)
{
	unsigned int before = util->failed;

	if (!play->begun)
		return true;
	pthread_join(play->thread, NULL);
	play->begun = false;
	if (*play->why)
		util_fail(util, "%s", play->why);
	util_check(util, litepcie_played(play->dev, &play->played), "asking the player");
	util_check(util, litepcie_stream_stop(play->h2c), "stopping h2c");
	litepcie_stream_close(play->h2c);
	util_check(util, litepcie_play_stop(play->dev), "stopping the player");
	if (play->played.error)
		util_fail(util, "the player stopped at block %u of the stream: %s",
			  play->played.passed, litepcie_play_error(play->played.error));
	return util->failed == before;
}
