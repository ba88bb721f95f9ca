/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test that a program which opens and closes a card many times leaks no file descriptor and no
 * mapping. In every 16th round DMA runs when the card is closed. After every 100th round the
 * program also tries to open the card with an option that does not exist, which must fail. At the
 * end the process must have as many file descriptors as after the first round, and at most two
 * mappings more.
 */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "liblitepcie.h"
#include "run.h"

static unsigned int descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (folder && readdir(folder))
		count++;
	if (folder)
		closedir(folder);
	return count;
}

static unsigned int mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "re");
	unsigned int count = 0;
	int c;

	while (file && (c = fgetc(file)) != EOF)
		count += c == '\n';
	if (file)
		fclose(file);
	return count;
}

/*
 * Check that litepcie_open() refuses the name @wrong, and cuts the sentence of its error to the
 * caller's buffer. If the buffer is NULL or its size is 0, the call must write nothing there.
 */
static void refuse(const char *wrong)
{
	char why[LITEPCIE_WHY_SIZE], cut[] = "..........";
	struct litepcie *dev;

	CHECK_EQUAL(litepcie_open(&dev, wrong, why, sizeof(why)), -EINVAL);
	CHECK(strcmp(why, litepcie_why(NULL)) == 0);
	CHECK_EQUAL(litepcie_open(&dev, wrong, cut, 0), -EINVAL);
	CHECK(strcmp(cut, "..........") == 0);
	CHECK_EQUAL(litepcie_open(&dev, wrong, cut, 8), -EINVAL);
	CHECK(strncmp(cut, why, 7) == 0 && memcmp(cut + 7, "\0..", 4) == 0);
	CHECK_EQUAL(litepcie_open(&dev, wrong, NULL, 0), -EINVAL);
}

static void cycle(const char *name, unsigned int number)
{
	struct run_config config = {
		.directions = LITEPCIE_C2H, .pattern = true, .c2h_limit = 4,
	};
	char why[LITEPCIE_WHY_SIZE], wrong[512];
	struct litepcie *dev;

	CHECK_EQUAL(litepcie_open(&dev, name, why, sizeof(why)), 0);
	if (!dev) {
		fprintf(stderr, "cycle %u: %s\n", number, why);
		return;
	}
	if (number % 16 == 0)
		CHECK_EQUAL(run_start(dev, &config), 0);
	if (number % 64 == 0)
		CHECK_EQUAL(litepcie_reset(dev), litepcie_dma_fd(dev) < 0 ? 0 : -EBUSY);
	litepcie_close(dev);
	snprintf(wrong, sizeof(wrong), "%s,colour=red", name);
	if (number % 100 == 0)
		refuse(wrong);
}

int main(int argc, char **argv)
{
	unsigned int fds, maps, number = argc == 3 ? (unsigned int)atoi(argv[2]) : 0;

	if (!number) {
		fprintf(stderr, "usage: cycles DEVICE NUMBER\n");
		return 2;
	}
	cycle(argv[1], 0);
	fds = descriptors();
	maps = mappings();
	for (unsigned int i = 1; i < number && !failed_checks; i++)
		cycle(argv[1], i);
	CHECK_EQUAL(descriptors(), fds);
	/* the heap of the process may have grown by up to two mappings during the test */
	CHECK(mappings() <= maps + 2);
	printf("cycles: %u\n", number);
	return failed_checks != 0;
}
