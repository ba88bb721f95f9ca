/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test capture_pages.c, which checks the size of pages for a capture's ring and binds memory to a
 * NUMA node. The argument is an empty folder, which stands for a device's folder in sysfs. The test
 * allocates no huge pages, since a machine need not have any.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "capture/capture.h"
#include "capture/capture_pages.h"

#define BYTES		((size_t)1 << 20)
#define PREFERRED	1
#define OF_ADDRESS	2ul	/* MPOL_F_ADDR of get_mempolicy() */

static struct litepcie dev = { .name = "sim:a" };

/*
 * litepcie_node_in() returns the number in the file numa_node of a device's folder. It returns -1
 * if the file is missing, or has -1, no number or a number above 1023.
 */
static void a_node_is_what_sysfs_says(const char *folder)
{
	static const struct {
		const char *text;
		int node;
	} files[] = {
		{ "0\n", 0 }, { "3\n", 3 }, { "-1\n", -1 }, { "", -1 }, { "x\n", -1 },
		{ "1024\n", -1 }, { "1023\n", 1023 },
	};
	char path[256];

	CHECK_EQUAL(litepcie_node_in(folder), -1);
	snprintf(path, sizeof(path), "%s/numa_node", folder);
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		FILE *file = fopen(path, "w");

		fputs(files[i].text, file);
		fclose(file);
		CHECK_EQUAL(litepcie_node_in(folder), files[i].node);
	}
}

/*
 * litepcie_node_bind() makes memory prefer node 0. With node -1, and with a node above 1023, it
 * does nothing and succeeds. A node that the machine lacks is an error.
 */
static void memory_prefers_its_node(void)
{
	uint8_t *base = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long mask[16] = { 0 };
	int mode = -1, rc;

	CHECK_EQUAL(litepcie_node_bind(-1, base, BYTES), 0);
	CHECK_EQUAL(litepcie_node_bind(100000, base, BYTES), 0);
	rc = litepcie_node_bind(0, base, BYTES);
	if (rc == -ENOSYS || rc == -EPERM) {
		fprintf(stderr, "this kernel has no mbind()\n");
		return;
	}
	CHECK_EQUAL(rc, 0);
	memset(base, 1, BYTES);
	if (syscall(SYS_get_mempolicy, &mode, mask, 8 * sizeof(mask), base, OF_ADDRESS) == 0) {
		CHECK_EQUAL(mode, PREFERRED);
		CHECK_EQUAL(mask[0], 1);
	}
	CHECK(litepcie_node_bind(1023, base, BYTES) < 0);	/* there is no such node */
	munmap(base, BYTES);
}

/*
 * A program may ask for pages of 2 MiB or 1 GiB, if the ring fills a page of this size, or for no
 * size (0). If such pages are missing, the sentence says how to reserve them.
 */
static void pages_have_a_rule(void)
{
	const uint64_t two = LITEPCIE_CAPTURE_PAGES_2M, large = LITEPCIE_CAPTURE_PAGES_1G;

	CHECK_EQUAL(litepcie_pages_check(0, 65536), 0);
	CHECK_EQUAL(litepcie_pages_check(two, two), 0);
	CHECK_EQUAL(litepcie_pages_check(large, large), 0);
	CHECK_EQUAL(litepcie_pages_check(two, two / 2), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "pages of 2097152 bytes for a ring of 1048576: the ring"));
	CHECK_EQUAL(litepcie_pages_check(large, two), -EINVAL);
	CHECK_EQUAL(litepcie_pages_check(4096, large), -EINVAL);
	CHECK(strstr(litepcie_why(&dev), "pages of 4096 bytes: it must be 2097152 or 1073741824"));
	CHECK_EQUAL(litepcie_pages_missing(&dev, two, 3 * two), -ENOMEM);
	CHECK(strstr(litepcie_why(&dev), "no 3 free huge pages of 2 MiB"));
	CHECK(strstr(litepcie_why(&dev), "hugepages-2048kB/nr_hugepages"));
	CHECK_EQUAL(litepcie_pages_missing(&dev, large, large), -ENOMEM);
	CHECK(strstr(litepcie_why(&dev), "hugepages-1048576kB/nr_hugepages, or start Linux with"));
}

/*
 * The size of pages in a capture's settings holds for the ring of that capture's queue, and for no
 * other memory.
 */
static void only_rings_have_the_pages(void)
{
	struct litepcie_capture capture = { .config.page_bytes = LITEPCIE_CAPTURE_PAGES_2M };

	dev.captures[2] = &capture;
	for (unsigned int kind = 0; kind < LITEPCIE_MEMORIES; kind++)
		CHECK_EQUAL(litepcie_pages_asked(&dev, kind),
			    kind == LITEPCIE_MEMORY_CAPTURE + 4 ? LITEPCIE_CAPTURE_PAGES_2M : 0);
	dev.captures[2] = NULL;
	CHECK_EQUAL(litepcie_pages_flags(0), 0);
	CHECK_EQUAL(litepcie_pages_flags(LITEPCIE_CAPTURE_PAGES_2M), MFD_HUGETLB | 21u << 26);
	CHECK_EQUAL(litepcie_pages_flags(LITEPCIE_CAPTURE_PAGES_1G), MFD_HUGETLB | 30u << 26);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	a_node_is_what_sysfs_says(argv[1]);
	memory_prefers_its_node();
	pages_have_a_rule();
	only_rings_have_the_pages();
	return failed_checks != 0;
}
