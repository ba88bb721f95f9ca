/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for a card, for the test program output.c. It defines the library's functions of a
 * capture, and the functions of util.c that record.c calls. The ring is the array @mbufs of
 * output.c.
 */
#ifndef CAPTURE_CARD_H
#define CAPTURE_CARD_H

/*
 * A card whose ring has MBUFS MBUFs (parts of equal size). Each call of litepcie_capture_next()
 * finds the next MBUF full, until @full MBUFs were found.
 */
static struct {
	/* number of MBUFs (parts of the ring) that the card fills in one recording */
	unsigned int	full;
	unsigned int	given, released;
	bool		runs, generates;
	unsigned int	stops;
	int		stop_result, stats_result;
} card;

static char notes[UTIL_SENTENCE];

void util_fail(struct util *util, const char *format, ...)
{
	va_list args;

	if (!util->failed++) {
		va_start(args, format);
		vsnprintf(notes, sizeof(notes), format, args);
		va_end(args);
	}
}

void util_check(struct util *util, int rc, const char *doing)
{
	if (rc < 0)
		util_fail(util, "%s: %s", doing, strerror(-rc));
}

/* Ctrl-C comes when the recorder has been given all MBUFs (parts of the ring) of the recording. */
bool util_interrupted(void)
{
	return card.given >= card.full;
}

int litepcie_capture_settings(const struct litepcie_capture *capture,
			      struct litepcie_capture_config *config)
{
	(void)capture;
	config->ring_bytes = MBUFS * MBUF;
	config->mbuf_bytes = (uint32_t)MBUF;
	return 0;
}

int litepcie_capture_header(const struct litepcie_capture *capture, void *buffer, size_t bytes)
{
	(void)capture;
	memcpy(buffer, header, bytes);
	return (int)bytes;
}

int litepcie_capture_start(struct litepcie_capture *capture)
{
	(void)capture;
	card.runs = true;
	return 0;
}

int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_generator *generator)
{
	(void)capture;
	(void)generator;
	card.generates = true;
	return 0;
}

int litepcie_capture_generate_stop(struct litepcie_capture *capture)
{
	(void)capture;
	card.generates = false;
	return 0;
}

/*
 * The generator of the made-up card is idle once the recorder has been given all MBUFs (parts of
 * the ring) of the recording.
 */
int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames)
{
	(void)capture;
	*frames = 0;
	return card.given >= card.full;
}

int litepcie_capture_next(struct litepcie_capture *capture, struct litepcie_span *span,
			  int timeout_ms)
{
	(void)capture;
	(void)timeout_ms;
	if (card.given >= card.full)
		return 0;
	*span = (struct litepcie_span) {
		.struct_size = sizeof(*span), .data = mbufs + card.given % MBUFS * MBUF,
		.bytes = MBUF, .position = card.given * MBUF, .mbuf = card.given, .sealed = true,
	};
	card.given++;
	return 1;
}

/*
 * The made-up card writes over MBUFs (parts of the ring) as soon as they are given back. So if the
 * recorder gives an MBUF back before it is in the file, the file has wrong bytes.
 */
int litepcie_capture_release(struct litepcie_capture *capture, size_t bytes)
{
	(void)capture;
	for (; bytes; bytes -= MBUF)
		memset(mbufs + card.released++ % MBUFS * MBUF, 0xee, MBUF);
	return 0;
}

int litepcie_capture_stop(struct litepcie_capture *capture)
{
	(void)capture;
	card.stops += card.runs;
	card.runs = false;
	return card.stop_result;
}

int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	(void)capture;
	stats->position = card.full * MBUF;
	return card.stats_result;
}

/*
 * The made-up card has one queue and no rules for sorting frames, so it sorts and discards no
 * frame.
 */
int litepcie_capture_sort(struct litepcie_capture *capture, const struct litepcie_sorting *sorting)
{
	(void)capture;
	(void)sorting;
	return 0;
}

int litepcie_capture_discards(struct litepcie_capture *capture, struct litepcie_discards *discards)
{
	(void)capture;
	(void)discards;
	return card.stats_result;
}

void litepcie_capture_close(struct litepcie_capture *capture)
{
	(void)capture;
}

#endif /* CAPTURE_CARD_H */
