/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/* The files of a recording. output.h says what each function promises. */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

__attribute__((format(printf, 2, 3)))
static bool failed(struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(output->why, sizeof(output->why), format, args);
	va_end(args);
	return false;
}

__attribute__((format(printf, 2, 3)))
static void tell(struct output *output, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(output->note, sizeof(output->note), format, args);
	va_end(args);
}

static struct output_file *last(const struct output *output)
{
	return &output->files[output->count - 1];
}

/* Opening ------------------------------------------------------------------------------------- */

static bool name_file(struct output *output, struct output_file *file)
{
	int length;

	if (output->folder)
		length = asprintf(&file->path, "%s/%s-%04zu.pcapng", output->target, output->stamp,
				  output->count);
	else
		length = asprintf(&file->path, "%s", output->target);
	if (length < 0)
		file->path = NULL;
	return file->path || failed(output, "%s", strerror(ENOMEM));
}

/*
 * Open a new file, by O_DIRECT if the filesystem has it. A path that exists is opened only if it is
 * no file, as a pipe or a device is: those are written in the ordinary way.
 */
static bool open_path(struct output *output, const char *path)
{
	const int flags = O_WRONLY | O_CLOEXEC;
	struct stat there;

	output->regular = stat(path, &there) < 0;
	if (!output->regular && S_ISREG(there.st_mode))
		return failed(output, "%s: the file exists: choose another name, or delete it "
			      "first",
			      path);
	output->direct = output->regular;
	if (output->regular) {
		output->fd = open(path, flags | O_CREAT | O_EXCL | O_DIRECT, 0666);
		if (output->fd < 0 && errno == EINVAL) {
			/* The file may have been made before O_DIRECT was refused. */
			unlink(path);
			output->direct = false;
			tell(output, "%s: this filesystem has no O_DIRECT, so the data goes "
			     "through the page cache", path);
			output->fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		}
	} else {
		output->fd = open(path, flags);
	}
	return output->fd >= 0 || failed(output, "%s: %s", path, strerror(errno));
}

/* Writing ------------------------------------------------------------------------------------- */

static void leave_direct(struct output *output, const char *why)
{
	int flags = fcntl(output->fd, F_GETFL);

	fcntl(output->fd, F_SETFL, flags & ~O_DIRECT);
	output->direct = false;
	tell(output, "%s: %s, so the data goes through the page cache", last(output)->path, why);
}

/*
 * Cut the file behind its last whole MBUF. A pipe keeps what it has. A later write could succeed,
 * but it would leave a gap, so there is none.
 */
static bool cut(struct output *output, int error)
{
	const struct output_file *file = last(output);

	output->ended = true;
	if (!file->bytes)
		return failed(output, "%s: %s: the file's header cannot be written", file->path,
			      strerror(error));
	if (output->regular && ftruncate(output->fd, (off_t)file->bytes) < 0)
		return failed(output, "%s: %s, and then %s: the file ends inside an MBUF",
			      file->path,
			      strerror(error), strerror(errno));
	return failed(output, "%s: %s: the file ends after %llu MBUFs", file->path, strerror(error),
		      (unsigned long long)file->mbufs);
}

/*
 * Write all bytes. A signal does not end this: the file would end inside an MBUF. A rest that is
 * left by a short write is not aligned, so it goes through the page cache.
 */
static bool write_all(struct output *output, const void *data, size_t bytes)
{
	const uint8_t *from = data;
	size_t left = bytes;

	while (left) {
		ssize_t written = write(output->fd, from, left);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0 && errno == EINVAL && output->direct) {
			leave_direct(output, "the filesystem refuses a write by O_DIRECT");
			continue;
		}
		if (written <= 0)
			return cut(output, written < 0 ? errno : ENOSPC);
		from += written;
		left -= (size_t)written;
		if (left % 4096 && output->direct)
			leave_direct(output, "a write by O_DIRECT was short");
	}
	last(output)->bytes += bytes;
	return true;
}

/* Forget the last file, whose header could not be written: it would not be valid. */
static bool drop_file(struct output *output)
{
	if (output->regular)
		unlink(last(output)->path);
	close(output->fd);
	output->fd = -1;
	free(last(output)->path);
	output->count--;
	return false;
}

static bool next_file(struct output *output)
{
	struct output_file *grown = realloc(output->files, (output->count + 1) * sizeof(*grown));

	if (!grown)
		return failed(output, "%s", strerror(ENOMEM));
	output->files = grown;
	memset(&grown[output->count], 0, sizeof(*grown));
	if (!name_file(output, &grown[output->count]) ||
	    !open_path(output, grown[output->count].path)) {
		free(grown[output->count].path);
		return false;
	}
	output->count++;
	return write_all(output, output->header, output->header_bytes) || drop_file(output);
}

bool output_open(struct output *output, const char *target, uint64_t most, void *header,
		 size_t header_bytes)
{
	time_t now = time(NULL);
	struct stat there;
	struct tm local;

	*output = (struct output) {
		.target = target, .most = most, .header = header, .header_bytes = header_bytes,
		.fd = -1,
	};
	output->folder = stat(target, &there) == 0 && S_ISDIR(there.st_mode);
	if (!output->folder && *target && target[strlen(target) - 1] == '/') {
		if (mkdir(target, 0777) < 0)
			return failed(output, "%s: %s", target, strerror(errno));
		output->folder = output->made = true;
	}
	if (most && !output->folder)
		return failed(output, "%s: files of a limited size need a folder to be in: make "
			      "it, or put a / behind its name", target);
	localtime_r(&now, &local);
	strftime(output->stamp, sizeof(output->stamp), "%Y%m%d-%H%M%S", &local);
	return next_file(output);
}

bool output_write(struct output *output, const void *mbuf, size_t bytes)
{
	if (output->ended)
		return false;
	if (output->most && last(output)->mbufs && last(output)->bytes + bytes > output->most &&
	    (!output_close(output) || !next_file(output))) {
		output->ended = true;
		return false;
	}
	if (!write_all(output, mbuf, bytes))
		return false;
	last(output)->mbufs++;
	return true;
}

bool output_close(struct output *output)
{
	int fd = output->fd;

	output->fd = -1;
	if (fd >= 0 && close(fd) < 0)
		return failed(output, "%s: %s", last(output)->path, strerror(errno));
	return true;
}

void output_discard(struct output *output)
{
	if (output->fd >= 0 && output->regular)
		unlink(last(output)->path);
	output_close(output);
	if (output->made)
		rmdir(output->target);
}

void output_free(struct output *output)
{
	output_close(output);
	for (size_t i = 0; i < output->count; i++)
		free(output->files[i].path);
	free(output->files);
	output->files = NULL;
}
