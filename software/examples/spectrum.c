/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Example: draw a live spectrum of the card's c2h stream. The samples have 16
 * bits, and the program prints a line for each 4096 of them.
 *
 * The default gateware sends back the data that it gets. So this program sends
 * a sine whose frequency rises from line to line, and begins again after 64
 * lines. Logic that makes its own samples needs no sine: for such logic leave
 * out all lines of this program that use h2c.
 */
#define _GNU_SOURCE
#include <complex.h>
#include <limits.h>
#include <math.h>
#include <unistd.h>

#include "example.h"

#define SAMPLES		4096u
#define COLUMNS		64u
/* number of bins of the spectrum that one column of the printed line shows */
#define BINS		(SAMPLES / 2 / COLUMNS)
#define PAUSE_US	50000

static const char text[] =
	"usage: spectrum [-d DEVICE] [-n LINES]\n"
	"\n"
	"Draw the spectrum of what comes from the card; Ctrl-C ends it.\n"
	"\n"
	"  -n LINES   how many (until Ctrl-C)";

/*
 * Fill SAMPLES samples with a sine of half of full scale that has @bin periods
 * in SAMPLES.
 */
static void sine(int16_t *samples, unsigned int bin)
{
	const double step = 2 * M_PI * bin / SAMPLES;

	for (unsigned int i = 0; i < SAMPLES; i++)
		samples[i] = (int16_t)lrint(0x4000 * sin(step * i));
}

/*
 * Compute the @n bins of the spectrum of the @n samples in[0], in[step] and so
 * on, into @out. @n is a power of two.
 */
static void fft(const double *in, double complex *out, unsigned int n,
		unsigned int step)
{
	if (n == 1) {
		*out = *in;
		return;
	}
	fft(in, out, n / 2, 2 * step);
	fft(in + step, out + n / 2, n / 2, 2 * step);
	for (unsigned int k = 0; k < n / 2; k++) {
		double complex turn = cexp(-2 * I * M_PI * k / n);
		double complex odd = turn * out[n / 2 + k];

		out[n / 2 + k] = out[k] - odd;
		out[k] += odd;
	}
}

static double decibels(double complex bin)
{
	return 20 * log10(cabs(bin) * 2 / SAMPLES + 1e-9);
}

/*
 * Print the spectrum of SAMPLES samples as a line of COLUMNS characters. Each
 * character shows the strongest of BINS bins: it is blank below -90 dB, and
 * darker for each 10 dB above, up to -10 dB. A sine of full scale has 0 dB. The
 * strongest bin of all and its level follow.
 */
static void draw(const int16_t *samples)
{
	static const char shades[] = " .:-=+*#%@";
	static double complex out[SAMPLES];
	static double in[SAMPLES];
	unsigned int peak = 0;

	/* scale the received samples to 1, and weight them by a Hann window */
	for (unsigned int i = 0; i < SAMPLES; i++)
		in[i] = samples[i] * (1 - cos(2 * M_PI * i / SAMPLES)) / 0x8000;
	fft(in, out, SAMPLES, 1);
	for (unsigned int first = 0; first < SAMPLES / 2; first += BINS) {
		unsigned int most = first;
		double shade;

		for (unsigned int bin = first; bin < first + BINS; bin++)
			if (cabs(out[bin]) > cabs(out[most]))
				most = bin;
		if (cabs(out[most]) > cabs(out[peak]))
			peak = most;
		shade = fmin(fmax(decibels(out[most]) / 10 + 10, 0), 9);
		putchar(shades[(int)shade]);
	}
	printf("|%5u %5.1f dB\n", peak, decibels(out[peak]));
}

int main(int argc, char **argv)
{
	const struct litepcie_stream_options options = {
		.struct_size = sizeof(options),
		.buffer_size = SAMPLES * sizeof(int16_t),
		.buffer_count = 16,
		.interrupt_every = 1,
	};
	struct litepcie_stream *h2c, *c2h;
	unsigned long lines;

	begin(argc, argv, "n:", 0, 0, text);
	lines = number('n', ULONG_MAX, ULONG_MAX);
	c2h = start(LITEPCIE_C2H, &options);
	h2c = start(LITEPCIE_H2C, &options);
	printf("%-64s|  bin   level\n", "0 Hz");
	for (unsigned long line = 0; line < lines; line++) {
		sine(next(h2c).data,
		     (unsigned int)(line % COLUMNS) * BINS + BINS / 2);
		check(litepcie_stream_release(h2c, 1));
		draw(next(c2h).data);
		check(litepcie_stream_release(c2h, 1));
		usleep(PAUSE_US);
	}
	return 0;
}
