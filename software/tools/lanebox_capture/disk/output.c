/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Write the captured frames of a recording to files, by write() or io_uring. output.h says what
 * each function promises.
 */
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

/* Opening a file ------------------------------------------------------------------------------ */

static bool name_file(struct output *output, struct output_file *file)
{
	char *path;
	int length;

	if (output->folder)
		length = asprintf(&path, "%s/%s-%04zu.pcapng", output->target, output->stamp,
				  output->count);
	else
		length = asprintf(&path, "%s", output->target);
	if (length < 0)
		return failed(output, "%s", strerror(ENOMEM));
	file->path = path;
	return true;
}

/*
 * Open @path for a new file, by O_DIRECT if the filesystem supports that. A path that exists is
 * opened only if it is no regular file: a block device by O_DIRECT, and a pipe or any other device
 * without it. Returns false after a failure.
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
			/* open() may have made the file before it refused O_DIRECT: delete it. */
			unlink(path);
			output->direct = false;
			tell(output, "%s: this filesystem has no O_DIRECT, so the data goes "
			     "through the page cache", path);
			output->fd = open(path, flags | O_CREAT | O_EXCL, 0666);
		}
	} else {
		output->direct = S_ISBLK(there.st_mode);
		output->fd = open(path, flags | (output->direct ? O_DIRECT : 0));
	}
	return output->fd >= 0 || failed(output, "%s: %s", path, strerror(errno));
}

/* Writes that are awaited --------------------------------------------------------------------- */

static void leave_direct(struct output *output, const char *why)
{
	int flags = fcntl(output->fd, F_GETFL);

	fcntl(output->fd, F_SETFL, flags & ~O_DIRECT);
	output->direct = false;
	tell(output, "%s: %s, so the data goes through the page cache", last(output)->path, why);
}

/*
 * After the error @error of a write, cut the file after its last whole MBUF (part of the ring). A
 * pipe or a device cannot be cut, and a file whose header is not written is not cut. No later MBUF
 * is written: its write could succeed, and would leave a gap in the file. Returns false.
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
 * Write all @left bytes at @data to the open file by write(). A signal does not end the write,
 * since the file would then end inside an MBUF (part of the ring). If the filesystem refuses a
 * write by O_DIRECT, or a short write leaves a rest that is not a multiple of 4096 bytes, the file
 * goes through the page cache from then on. After another failure the function calls cut() and
 * returns false.
 */
static bool write_all(struct output *output, const void *data, size_t left)
{
	const uint8_t *from = data;

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
	return true;
}

/*
 * Count @bytes that were written to the last file: its header first, and then an MBUF (part of the
 * ring) each time.
 */
static void count(struct output *output, size_t bytes)
{
	struct output_file *file = last(output);

	if (file->bytes) {
		file->mbufs++;
		output->done++;
	}
	file->bytes += bytes;
}

/* Writes that go on while others begin -------------------------------------------------------- */

static struct output_write *write_of(struct output *output, uint64_t number)
{
	return &output->writes[number % OUTPUT_DEPTH];
}

/*
 * Take the ends of writes from io_uring, and count the MBUFs (parts of the ring) as written up to
 * the first one that has not ended, has failed or is not in the file as a whole.
 */
static void collect(struct output *output)
{
	struct uring_end end;

	while (uring_take(&output->uring, &end)) {
		struct output_write *write = write_of(output, end.number);

		write->result = end.result;
		write->ended = true;
		output->under_way--;
	}
	while (output->first < output->next) {
		struct output_write *write = write_of(output, output->first);

		if (!write->ended || write->result != (ssize_t)write->bytes)
			break;
		count(output, write->bytes);
		output->first++;
	}
}

/*
 * Write those bytes of @write by write() that io_uring has not written. @write is the first write
 * that is not counted as written. Returns false after a failure.
 */
static bool write_again(struct output *output, const struct output_write *write)
{
	size_t done = write->result > 0 ? (size_t)write->result : 0;

	if (lseek(output->fd, (off_t)(last(output)->bytes + done), SEEK_SET) < 0)
		return cut(output, errno);
	if (done % 4096 && output->direct)
		leave_direct(output, "a write by O_DIRECT was short");
	return write_all(output, write->data + done, write->bytes - done);
}

/*
 * io_uring has failed with @error while the kernel has writes that have not ended. The kernel may
 * still read the MBUFs (parts of the ring) of these writes, and write them to the file later, so no
 * further MBUF is counted as written. Returns false.
 */
static bool lose_writes(struct output *output, int error)
{
	const struct output_file *file = last(output);

	output->ended = true;
	return failed(output, "%s: io_uring: %s: only the first %llu MBUFs of the file are valid",
		      file->path, strerror(error), (unsigned long long)file->mbufs);
}

/*
 * Recover after a write by io_uring has failed, was short, or could not be handed to the kernel.
 * Wait for all other writes, then write the missing bytes in order by write(). If write() fails,
 * too, its error is the one that is reported. The rest of the open file is written without
 * io_uring. If io_uring itself has failed, later files are written without it as well. Returns
 * false if the missing bytes cannot be written, or if the writes cannot be waited for.
 */
static bool recover(struct output *output)
{
	int rc = 0;

	output->async = false;
	while (output->under_way && rc == 0) {
		rc = uring_submit(&output->uring, 1);
		collect(output);
	}
	if (output->under_way > output->uring.queued)
		return lose_writes(output, -rc);
	if (rc < 0)
		uring_close(&output->uring);
	for (; output->first < output->next; output->first++) {
		const struct output_write *write = write_of(output, output->first);

		if (write->result != (ssize_t)write->bytes && !write_again(output, write))
			return false;
		count(output, write->bytes);
	}
	output->under_way = 0;
	return lseek(output->fd, (off_t)last(output)->bytes, SEEK_SET) >= 0 || cut(output, errno);
}

/*
 * Returns true if a write by io_uring has failed or was short, and all writes before it are counted
 * as written. Call this after collect(), which counts the writes in order: if the first write that
 * it has not counted has ended, that write has failed or was short.
 */
static bool has_failed(struct output *output)
{
	return output->first < output->next && write_of(output, output->first)->ended;
}

/*
 * If the open file is written by io_uring, hand the writes that were begun to the kernel, and wait
 * until at most @most have not ended. Returns false after a failure of this or an earlier call.
 */
static bool settle(struct output *output, unsigned int most)
{
	while (output->async && !output->ended) {
		unsigned int over = output->under_way > most ? output->under_way - most : 0;
		int rc = uring_submit(&output->uring, over);

		collect(output);
		if (rc < 0 || has_failed(output))
			return recover(output);
		if (output->under_way <= most)
			break;
	}
	return !output->ended;
}

/*
 * number of bytes by which the reserved room of the open file grows at a time; less near the limit
 * of the file's size
 */
#define RESERVED_STEP	((uint64_t)256 << 20)

/*
 * Reserve room on the disk, so that the open file can have @end bytes or more. The file gets its
 * new length at once, before the bytes are written: on some filesystems only writes that do not
 * change a file's length can go on at the same time. If the filesystem refuses, no room is reserved
 * for this file any more, and its writes may be slower.
 */
static void reserve(struct output *output, uint64_t end)
{
	uint64_t from = output->reserved, step = RESERVED_STEP;

	if (!output->may_reserve || end <= from)
		return;
	if (output->limits.bytes && from + step > output->limits.bytes)
		step = output->limits.bytes > end ? output->limits.bytes - from : end - from;
	output->may_reserve = fallocate(output->fd, 0, (off_t)from, (off_t)step) == 0;
	output->reserved = from + step;
}

static bool begin_write(struct output *output, const void *mbuf, size_t bytes)
{
	reserve(output, output->offset + bytes);
	*write_of(output, output->next) = (struct output_write) { .data = mbuf, .bytes = bytes };
	uring_write(&output->uring, output->fd, mbuf, bytes, output->offset, output->next++);
	output->offset += bytes;
	output->under_way++;
	return output->uring.queued < output->batch || settle(output, OUTPUT_BUSY);
}

/*
 * A card that is as fast as the link fills a quarter of the ring while the recorder sleeps, so the
 * recorder then finds that much at once. A large ring has room enough for a quarter in one batch,
 * which halves the system calls. In a small ring OUTPUT_BUSY writes and a batch of a quarter could
 * be most of the ring.
 */
unsigned int output_batch(uint64_t mbufs)
{
	uint64_t batch = mbufs / (mbufs < 4 * OUTPUT_BATCH ? 8 : 4);

	return batch < 1 ? 1 : batch > OUTPUT_BATCH ? OUTPUT_BATCH : (unsigned int)batch;
}

void output_memory(struct output *output, const void *memory, size_t bytes, unsigned int batch)
{
	output->batch = batch < 1 ? 1 : batch > OUTPUT_BATCH ? OUTPUT_BATCH : batch;
	if (output->uring.rings && output_finish(output))
		uring_register(&output->uring, memory, bytes);
}

bool output_push(struct output *output)
{
	return settle(output, OUTPUT_DEPTH);
}

bool output_await(struct output *output, unsigned int most)
{
	return settle(output, most);
}

bool output_finish(struct output *output)
{
	return output_await(output, 0);
}

unsigned int output_done(struct output *output)
{
	unsigned int done;

	if (output->async)
		collect(output);
	done = output->done;
	output->done = 0;
	return done;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* The files of a recording, one after the other ----------------------------------------------- */

/*
 * Close and delete the last file, whose header could not be written: without it the file would not
 * be valid. A pipe or a device is closed and not deleted. Returns false.
 */
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

	output->async = false;
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
	if (!write_all(output, output->header, output->header_bytes))
		return drop_file(output);
	count(output, output->header_bytes);
	output->begun_ms = now_ms();
	output->async = output->direct && output->uring.rings;
	output->offset = output->reserved = last(output)->bytes;
	output->may_reserve = output->async;
	return true;
}

bool output_open(struct output *output, const char *target, struct output_limits limits,
		 void *header, size_t header_bytes)
{
	time_t now = time(NULL);
	struct stat there;
	struct tm local;

	*output = (struct output) {
		.target = target, .limits = limits, .header = header, .header_bytes = header_bytes,
		.fd = -1, .batch = 1,
	};
	/*
	 * If the kernel refuses io_uring, output->uring.rings stays NULL, and output_write() waits
	 * for each write.
	 */
	uring_open(&output->uring, OUTPUT_DEPTH);
	output->folder = stat(target, &there) == 0 && S_ISDIR(there.st_mode);
	if (!output->folder && *target && target[strlen(target) - 1] == '/') {
		if (mkdir(target, 0777) < 0)
			return failed(output, "%s: %s", target, strerror(errno));
		output->folder = output->made = true;
	}
	if ((limits.bytes || limits.seconds > 0) && !output->folder)
		return failed(output, "%s: files of a limited size or time need a folder to be "
			      "in: make it, or put a / behind its name", target);
	localtime_r(&now, &local);
	strftime(output->stamp, sizeof(output->stamp), "%Y%m%d-%H%M%S", &local);
	return next_file(output);
}

/*
 * Returns the number of bytes of the header and of all MBUFs (parts of the ring) in the open file,
 * with those whose writes were begun. The file itself may be longer by the reserved room.
 */
static uint64_t end_of(const struct output *output)
{
	return output->async ? output->offset : last(output)->bytes;
}

/* True if an MBUF (part of the ring) of @bytes must go into a new file, by the limits of a file. */
static bool is_full(const struct output *output, size_t bytes)
{
	const struct output_limits *limits = &output->limits;

	if (end_of(output) <= output->header_bytes)
		return false;
	return (limits->bytes && end_of(output) + bytes > limits->bytes) ||
	       (limits->seconds > 0 &&
		(double)(now_ms() - output->begun_ms) >= 1000 * limits->seconds);
}

bool output_next(struct output *output)
{
	if (!output->ended && (!output_close(output) || !next_file(output)))
		output->ended = true;
	return !output->ended;
}

bool output_write(struct output *output, const void *mbuf, size_t bytes)
{
	if (output->ended)
		return false;
	if (is_full(output, bytes) && !output_next(output))
		return false;
	/*
	 * The array output->writes is full. Its entries become free in order, so wait until the
	 * oldest write has ended, even if later writes have ended before.
	 */
	while (output->async && output->next - output->first == OUTPUT_DEPTH)
		if (!settle(output, output->under_way - 1))
			return false;
	/*
	 * If a write has failed in the loop above, recover() has set output->async to false, and
	 * this MBUF (part of the ring) is written by write().
	 */
	if (output->async)
		return begin_write(output, mbuf, bytes);
	if (!write_all(output, mbuf, bytes))
		return false;
	count(output, bytes);
	return true;
}

bool output_close(struct output *output)
{
	bool right = output->fd < 0 || output->ended || output_finish(output);
	int fd = output->fd;

	output->fd = -1;
	/* Cut off the room behind the last MBUF (part of the ring) that reserve() has reserved. */
	if (fd >= 0 && right && output->regular && output->reserved > last(output)->bytes &&
	    ftruncate(fd, (off_t)last(output)->bytes) < 0)
		right = failed(output, "%s: %s", last(output)->path, strerror(errno));
	if (fd >= 0 && close(fd) < 0)
		right = failed(output, "%s: %s", last(output)->path, strerror(errno));
	return right;
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
	if (output->uring.rings)
		uring_close(&output->uring);
	for (size_t i = 0; i < output->count; i++)
		free(output->files[i].path);
	free(output->files);
	output->files = NULL;
}
