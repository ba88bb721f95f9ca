/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * The command check: check pcapng files, and print what each has and the first rule that it breaks.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "capture.h"
#include "check.h"

struct checked_file {
	const char	*path;
	/* true: the file could be read, and @found has the result of the check */
	bool		read;
	struct check	found;
};

struct checked {
	struct checked_file	*files;
	int			count;
};

/* Printing the results of files --------------------------------------------------------------- */

static void emit_mbufs(const struct emit *out, const struct check *found)
{
	emit_unsigned(out, "mbufs", "  MBUFs        %llu", found->mbufs);
	emit_unsigned(out, "mbuf_bytes", " of %llu bytes", found->mbuf_bytes);
	emit_unsigned(out, "first_mbuf", ", from number %llu on\n", found->first_mbuf);
	emit_unsigned(out, "lost_ring", "  lost so far  %llu for the ring", found->lost_ring);
	emit_unsigned(out, "lost_staging", ", %llu for the staging memory\n",
		      found->lost_staging);
	/*
	 * If the last seal (block with counts) of a file does not say that the recording was
	 * stopped, the recording goes on in another file, or has ended without a stop, as after a
	 * failure.
	 */
	emit_bool(out, "stopped", found->stopped);
	emit_text(out, "  end          %s\n",
		  found->stopped ? "stopped" : "goes on in another file, or was cut");
}

static void emit_ours(const struct emit *out, const struct check *found)
{
	static const char *const keys[] = {
		"mbufs", "mbuf_bytes", "first_mbuf", "lost_ring", "lost_staging", "stopped",
	};

	emit_bool(out, "recording", found->ours);
	if (found->ours && found->mbufs) {
		emit_mbufs(out, found);
		return;
	}
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		emit_null(out, keys[i]);
	emit_text(out, found->ours ? "  MBUFs        none\n" :
		  "  checked      blocks, packets and their options. MBUFs, seals and their "
		  "counts are\n"
		  "               in recordings of lanebox-capture only\n");
}

static void emit_times(const struct emit *out, const struct check *found)
{
	if (!found->timed) {
		emit_null(out, "first_ns");
		emit_null(out, "last_ns");
		emit_null(out, "ordered");
		return;
	}
	emit_unsigned(out, "first_ns", NULL, found->first_ns);
	emit_unsigned(out, "last_ns", NULL, found->last_ns);
	emit_bool(out, "ordered", !found->unordered);
	emit_text(out, "  time         %llu.%09llu to %llu.%09llu s%s\n",
		  (unsigned long long)found->first_ns / 1000000000,
		  (unsigned long long)found->first_ns % 1000000000,
		  (unsigned long long)found->last_ns / 1000000000,
		  (unsigned long long)found->last_ns % 1000000000,
		  found->unordered ? ", not in order" : ", in order");
}

static void emit_file(const struct emit *out, const struct checked_file *file)
{
	const struct check *found = &file->found;

	emit_string(out, "path", "%s\n", file->path);
	emit_unsigned(out, "packets", "  packets      %llu", found->packets);
	emit_unsigned(out, "bytes", ", %llu bytes", found->bytes);
	emit_unsigned(out, "kept_bytes", ", of which %llu are in the file\n", found->kept_bytes);
	emit_unsigned(out, "lost", "  lost         %llu by the packets' drop counts\n",
		      found->lost);
	emit_unsigned(out, "interfaces", NULL, found->interfaces);
	emit_times(out, found);
	emit_ours(out, found);
	if (found->broken)
		emit_unsigned(out, "offset_bytes", NULL, found->offset);
	else
		emit_null(out, "offset_bytes");
	emit_string(out, "rule", NULL, found->broken ? found->rule : NULL);
	emit_text(out, "  result       %s\n", found->broken ? "broken" : "no rule is broken");
}

static void print(const struct emit *out, const void *result)
{
	const struct checked *checked = result;

	emit_array(out, "files");
	for (int i = 0; i < checked->count; i++) {
		if (!checked->files[i].read)
			continue;
		emit_object(out, NULL);
		emit_file(out, &checked->files[i]);
		emit_object_end(out);
	}
	emit_array_end(out);
}

/* The command check --------------------------------------------------------------------------- */

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
	/*
	 * Without O_NONBLOCK, open() of a pipe would wait until a program opens the pipe for
	 * writing.
	 */
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0 || fstat(fd, &found) < 0)
		util_fail(util, "%s: %s", file->path, strerror(errno));
	else if (!S_ISREG(found.st_mode))
		util_fail(util, "%s: a pipe, folder or device cannot be checked, only a regular "
			  "file", file->path);
	else
		file->read = check_mapped(util, file, fd, (size_t)found.st_size);
	if (fd >= 0)
		close(fd);
}

static int run(struct util *util)
{
	struct checked checked = { .count = util->word_count };
	int status, done;

	util->device = NULL;	/* the command check opens no card */
	checked.files = calloc((size_t)checked.count, sizeof(*checked.files));
	if (!checked.files) {
		util_fail(util, "no memory for the results of %d files", checked.count);
		return util_emit(util, NULL, print);
	}
	for (done = 0; done < checked.count && !util_interrupted(); done++) {
		checked.files[done].path = util->words[done];
		check_file(util, &checked.files[done]);
	}
	if (done < checked.count)
		util_fail(util, "a signal came: the last %d of %d files were not checked",
			  checked.count - done, checked.count);
	status = util_emit(util, &checked, print);
	free(checked.files);
	return status;
}

static const struct util_option options[] = { JSON_OPTION };

const struct command cmd_check = {
	.name = "check",
	.summary = "walk through pcapng files, and say what is wrong with them",
	.usage = "check [--json] FILE...",
	.about =
		"Walk through pcapng files and say what is in them. In any pcapng file every\n"
		"block must have its length at both ends, every packet and option must lie in\n"
		"its block, and every packet must be of an interface of its section.\n"
		"\n"
		"A recording of lanebox-capture is known by its fillers and seals. In it\n"
		"  - blocks are multiples of 8 bytes and lie in MBUFs of equal size\n"
		"  - each MBUF ends with its seal, and the seals' numbers follow each other\n"
		"  - the times of the seals are in order; those of the packets need not be, since\n"
		"    play --keep-time gives frames the times of a file\n"
		"  - each seal counts the packets and bytes of its MBUF, and in the first file\n"
		"    no fewer lost frames than the packets' drop counts\n"
		"  - fillers are zeros, and the file ends with a seal\n"
		"\n"
		"The first rule that is broken is told with the offset of its block in the file.\n",
	.examples =
		"  lanebox-capture check a.pcapng\n"
		"  lanebox-capture check --json out/*.pcapng\n",
	.options = options,
	.least = 1,
	.most = CAPTURE_FILES,
	.takes = "one file or more",
	.run = run,
};
