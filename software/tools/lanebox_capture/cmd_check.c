/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The command check: walk through files, and say what is in them and which rule is broken first. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "check.h"

struct checked_file {
	const char	*path;
	bool		read;		/* the file could be read */
	struct check	found;
};

struct checked {
	struct checked_file	*files;
	int			count;
};

/* Output -------------------------------------------------------------------------------------- */

static void print_ours(const struct check *found)
{
	if (!found->ours) {
		printf("  checked      blocks, packets and their options. MBUFs, seals and their "
		       "counts are\n"
		       "               in recordings of lanebox-capture only\n");
		return;
	}
	if (!found->mbufs) {
		printf("  MBUFs        none\n");
		return;
	}
	printf("  MBUFs        %llu of %u bytes, from number %llu on\n",
	       (unsigned long long)found->mbufs, found->mbuf_bytes,
	       (unsigned long long)found->first_mbuf);
	printf("  lost so far  %u for the ring, %u for the staging memory\n", found->lost_ring,
	       found->lost_staging);
	printf("  end          %s\n", found->stopped ? "stopped" : "goes on in the next file");
}

static void print_file(const struct checked_file *file)
{
	const struct check *found = &file->found;

	printf("%s\n", file->path);
	printf("  packets      %llu, %llu bytes, of which %llu are in the file\n",
	       (unsigned long long)found->packets, (unsigned long long)found->bytes,
	       (unsigned long long)found->kept_bytes);
	printf("  lost         %llu by the packets' drop counts\n",
	       (unsigned long long)found->lost);
	if (found->timed)
		printf("  time         %llu.%09llu to %llu.%09llu s%s\n",
		       (unsigned long long)found->first_ns / 1000000000,
		       (unsigned long long)found->first_ns % 1000000000,
		       (unsigned long long)found->last_ns / 1000000000,
		       (unsigned long long)found->last_ns % 1000000000,
		       found->unordered ? ", not in order" : ", in order");
	print_ours(found);
	printf("  result       %s\n", found->broken ? "broken" : "no rule is broken");
}

static void print_text(const struct util *util, const void *result)
{
	const struct checked *checked = result;

	(void)util;
	for (int i = 0; i < checked->count; i++)
		if (checked->files[i].read)
			print_file(&checked->files[i]);
}

static void print_ours_json(struct json *json, const struct check *found)
{
	json_bool(json, "recording", found->ours);
	if (!found->ours || !found->mbufs) {
		json_null(json, "mbufs");
		json_null(json, "mbuf_bytes");
		json_null(json, "first_mbuf");
		json_null(json, "lost_ring");
		json_null(json, "lost_staging");
		json_null(json, "stopped");
		return;
	}
	json_unsigned(json, "mbufs", found->mbufs);
	json_unsigned(json, "mbuf_bytes", found->mbuf_bytes);
	json_unsigned(json, "first_mbuf", found->first_mbuf);
	json_unsigned(json, "lost_ring", found->lost_ring);
	json_unsigned(json, "lost_staging", found->lost_staging);
	json_bool(json, "stopped", found->stopped);
}

static void print_file_json(struct json *json, const struct checked_file *file)
{
	const struct check *found = &file->found;

	json_string(json, "path", file->path);
	json_unsigned(json, "packets", found->packets);
	json_unsigned(json, "bytes", found->bytes);
	json_unsigned(json, "kept_bytes", found->kept_bytes);
	json_unsigned(json, "lost", found->lost);
	json_unsigned(json, "interfaces", found->interfaces);
	if (found->timed) {
		json_unsigned(json, "first_ns", found->first_ns);
		json_unsigned(json, "last_ns", found->last_ns);
		json_bool(json, "ordered", !found->unordered);
	} else {
		json_null(json, "first_ns");
		json_null(json, "last_ns");
		json_null(json, "ordered");
	}
	print_ours_json(json, found);
	if (found->broken) {
		json_unsigned(json, "offset_bytes", found->offset);
		json_string(json, "rule", found->rule);
	} else {
		json_null(json, "offset_bytes");
		json_null(json, "rule");
	}
}

static void print_json(struct json *json, const void *result)
{
	const struct checked *checked = result;

	json_begin_array(json, "files");
	for (int i = 0; i < checked->count; i++) {
		if (!checked->files[i].read)
			continue;
		json_begin_object(json, NULL);
		print_file_json(json, &checked->files[i]);
		json_end_object(json);
	}
	json_end_array(json);
}

/* Command ------------------------------------------------------------------------------------- */

static bool check_mapped(struct util *util, struct checked_file *file, int fd, size_t size)
{
	void *data = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0) : NULL;

	if (data == MAP_FAILED) {
		util_fail(util, "%s: %s", file->path, strerror(errno));
		return false;
	}
	if (data)
		madvise(data, size, MADV_SEQUENTIAL);
	if (!check_bytes(&file->found, data, size))
		util_fail(util, "%s: offset %llu: %s", file->path,
			  (unsigned long long)file->found.offset, file->found.rule);
	if (data)
		munmap(data, size);
	return true;
}

static void check_file(struct util *util, struct checked_file *file)
{
	struct stat found;
	/* Without O_NONBLOCK a pipe would be waited for until somebody writes to it. */
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &found) < 0)
		util_fail(util, "%s: %s", file->path, strerror(errno));
	else if (!S_ISREG(found.st_mode))
		util_fail(util, "%s: it is no file that can be checked", file->path);
	else
		file->read = check_mapped(util, file, fd, (size_t)found.st_size);
	if (fd >= 0)
		close(fd);
}

static int run(struct util *util, int argc, char **argv)
{
	static const struct option options[] = { CAPTURE_OPTIONS };
	struct checked checked = { 0 };
	int option, status, done;

	while ((option = getopt_long(argc, argv, ":d:h", options, NULL)) != -1) {
		status = capture_option(util, &cmd_check, option, argv[optind - 1]);
		if (status >= 0)
			return status;
	}
	util->device = NULL;	/* no card is opened */
	checked.count = argc - optind;
	if (!checked.count)
		return util_usage(util, "check needs a file");
	checked.files = calloc((size_t)checked.count, sizeof(*checked.files));
	if (!checked.files)
		return EXIT_FAILED;
	for (done = 0; done < checked.count && !util_interrupted(); done++) {
		checked.files[done].path = argv[optind + done];
		check_file(util, &checked.files[done]);
	}
	if (done < checked.count)
		util_fail(util, "a signal came: the last %d of %d files were not checked",
			  checked.count - done, checked.count);
	status = util_finish(util, &checked, print_text, print_json);
	free(checked.files);
	return status;
}

static const char help[] =
	"check [--json] FILE...\n"
	"\n"
	"Walk through pcapng files and say what is in them. In any pcapng file every\n"
	"block must have its length at both ends, every packet and option must lie in\n"
	"its block, and every packet must be of an interface of its section.\n"
	"\n"
	"A recording of lanebox-capture is known by its fillers and seals. In it\n"
	"  - blocks are multiples of 8 bytes and lie in MBUFs of equal size\n"
	"  - each MBUF ends with its seal, and the seals' numbers follow each other\n"
	"  - times are in order\n"
	"  - each seal counts the packets and bytes of its MBUF, and in the first file\n"
	"    no fewer lost frames than the packets' drop counts\n"
	"  - fillers are zeros, and the file ends with a seal\n"
	"\n"
	"The first rule that is broken is told with the offset of its block in the file.\n"
	"\n"
	"examples:\n"
	"  lanebox-capture check a.pcapng\n"
	"  lanebox-capture check --json out/*.pcapng\n";

const struct command cmd_check = {
	.name = "check",
	.summary = "walk through pcapng files, and say what is wrong with them",
	.help = help,
	.run = run,
};
