/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Test how lanebox-capture records several queues (record.c): each queue has a file of its own, and
 * each but the first a thread of its own. The test has stand-ins for the library's functions, with
 * a ring for each queue. The argument is an empty folder.
 */
#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "check.h"
#include "../../lanebox_capture/processor.c"
#include "../../lanebox_capture/disk/uring.c"
#include "../../lanebox_capture/disk/output.c"
#include "../../lanebox_capture/record/deal.c"
#include "../../lanebox_capture/record/files.c"

/* number of the thread from now on, from 1, that record.c cannot make; 0: none */
static unsigned int thread_refused;

static int make_thread(pthread_t *thread, void *(*work)(void *of), void *of)
{
	if (thread_refused && !--thread_refused)
		return EAGAIN;
	return pthread_create(thread, NULL, work, of);
}

#define pthread_create(_thread, _attributes, _work, _of)	make_thread(_thread, _work, _of)
#include "../../lanebox_capture/record/ended.c"
#include "../../lanebox_capture/record/newest.c"
#include "../../lanebox_capture/record/record.c"
#undef pthread_create
#include "capture_player.h"

#define QUEUES	4u
#define PAGE	((size_t)LITEPCIE_CAPTURE_HEADER_BYTES)
#define MBUF	((size_t)16384)
#define MBUFS	8u		/* number of MBUFs (parts of equal size) in a queue's ring */

/*
 * Stand-in for a queue of the card. All bytes of MBUF n (a part of the ring) are byte_of(queue, n).
 * Each MBUF, up to @full of them, comes when the ring has room for it.
 */
struct litepcie_capture {
	unsigned int	number, full, given, released;
	uint8_t		*ring;
	bool		started, closed;
};

static struct litepcie_capture captures[QUEUES];
/*
 * number of queues that have given all their MBUFs (parts of the ring); Ctrl-C comes when it is
 * QUEUES. A test begins the count with 1 if a queue never gives all its MBUFs, or if Ctrl-C is to
 * come while one queue still has some to give.
 */
static unsigned int done;
static bool runs, over;
/* true: the recording is one with the setting `newest`, which takes no MBUF before the stop */
static bool newest;
/* with @newest: how often the recorder has asked whether Ctrl-C has come */
static unsigned int asked;
/* true: the counts of queue 0 cannot be read */
static bool broken;
/* the queue in whose ring the generator's last frame needs room; NULL: the frame does not wait */
static struct litepcie_capture *awaited;
/* number of MBUFs (parts of the ring) that the queue @awaited had given when queue 0 was stopped */
static unsigned int given_at_stop;
/* the processors on which the process was allowed to run when it began */
static cpu_set_t allowed;
/* true: a test pins the thread of queue 0 to a processor */
static bool pins;

static uint8_t byte_of(const struct litepcie_capture *capture, unsigned int mbuf)
{
	return (uint8_t)(0x20 + 50 * capture->number + mbuf);
}

/*
 * Returns the number of threads of this process whose set of allowed processors differs from the
 * set @allowed that the process had when it began.
 */
static unsigned int pinned_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	unsigned int found = 0;

	while ((task = readdir(tasks))) {
		cpu_set_t set;

		if (*task->d_name != '.' &&
		    sched_getaffinity(atoi(task->d_name), sizeof(set), &set) == 0)
			found += !CPU_EQUAL(&set, &allowed);
	}
	closedir(tasks);
	return found;
}

/* Stand-ins for the library's functions ------------------------------------------------------ */

int litepcie_capture_settings(const struct litepcie_capture *capture,
			      struct litepcie_capture_config *config)
{
	config->ring_bytes = MBUFS * MBUF;
	config->mbuf_bytes = (uint32_t)MBUF;
	config->queue = capture->number;
	return 0;
}

int litepcie_capture_header(const struct litepcie_capture *capture, void *buffer, size_t bytes)
{
	const uint32_t section[] = { LITEPCIE_PCAPNG_SECTION, 28, 0, 0, 0, 0, 28 };
	const uint32_t filler[] = { LITEPCIE_PCAPNG_FILLER, (uint32_t)bytes - 28 };

	memset(buffer, (int)(0x11 * (capture->number + 1)), bytes);
	/*
	 * deal.c adds a comment to the section block in the header, and shortens the filler block
	 * of the header.
	 */
	memcpy(buffer, section, sizeof(section));
	memcpy((uint8_t *)buffer + 28, filler, sizeof(filler));
	memcpy((uint8_t *)buffer + bytes - 4, &filler[1], 4);
	return (int)bytes;
}

/* Queue 0 must be the last that is started. */
int litepcie_capture_start(struct litepcie_capture *capture)
{
	CHECK(!runs);
	capture->started = true;
	runs = capture->number == 0;
	for (unsigned int n = 0; runs && n < QUEUES; n++)
		CHECK(captures[n].started);
	return 0;
}

int litepcie_capture_next(struct litepcie_capture *capture, struct litepcie_span *span,
			  int timeout_ms)
{
	struct timespec nap = { .tv_nsec = 1000000 };
	unsigned int mbuf = capture->given;

	CHECK(!newest || __atomic_load_n(&over, __ATOMIC_ACQUIRE));
	if (mbuf == capture->full && capture->number && __atomic_load_n(&over, __ATOMIC_ACQUIRE))
		return -EPIPE;
	if (mbuf == capture->full || mbuf - capture->released == MBUFS) {
		if (timeout_ms)
			nanosleep(&nap, NULL);
		return 0;
	}
	*span = (struct litepcie_span) {
		.struct_size = sizeof(*span), .data = capture->ring + mbuf % MBUFS * MBUF,
		.bytes = MBUF, .position = mbuf * MBUF, .mbuf = mbuf, .sealed = true,
	};
	memset(capture->ring + mbuf % MBUFS * MBUF, byte_of(capture, mbuf), MBUF);
	if (__atomic_add_fetch(&capture->given, 1, __ATOMIC_RELEASE) == capture->full)
		__atomic_add_fetch(&done, 1, __ATOMIC_RELEASE);
	return 1;
}

/*
 * The stand-in for the card writes over MBUFs (parts of a ring) as soon as they are given back. If
 * an MBUF is given back before it is in the file, the file has wrong bytes.
 */
int litepcie_capture_release(struct litepcie_capture *capture, size_t bytes)
{
	for (; bytes; bytes -= MBUF)
		memset(capture->ring + capture->released++ % MBUFS * MBUF, 0xee, MBUF);
	return 0;
}

int litepcie_capture_stop(struct litepcie_capture *capture)
{
	CHECK_EQUAL(capture->number, 0);
	if (pins) {
		/*
		 * The thread of a folder inherits the pinning of queue 0's thread, and undoes it
		 * when it runs. It gets up to 10 s for that.
		 */
		for (unsigned int n = 0; n < 10000 && pinned_threads() > 1; n++)
			nanosleep(&(struct timespec) { .tv_nsec = 1000000 }, NULL);
		CHECK_EQUAL(pinned_threads(), 1);
	}
	if (awaited)
		given_at_stop = __atomic_load_n(&awaited->given, __ATOMIC_ACQUIRE);
	runs = false;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	return 0;
}

int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats)
{
	if (broken && !capture->number)
		return -EIO;
	stats->position = capture->full * MBUF;
	stats->records = capture->number;
	return 0;
}

/* Queue 0 must be the first that is closed. */
void litepcie_capture_close(struct litepcie_capture *capture)
{
	CHECK(!capture->number || captures[0].closed);
	capture->closed = true;
}

int litepcie_capture_sort(struct litepcie_capture *capture, const struct litepcie_sorting *sorting)
{
	(void)capture;
	(void)sorting;
	return 0;
}

int litepcie_capture_discards(struct litepcie_capture *capture, struct litepcie_discards *discards)
{
	(void)discards;
	CHECK_EQUAL(capture->number, 0);
	return 0;
}

int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_generator *generator)
{
	(void)capture;
	(void)generator;
	return 0;
}

int litepcie_capture_generate_stop(struct litepcie_capture *capture)
{
	(void)capture;
	return 0;
}

int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames)
{
	(void)capture;
	*frames = 0;
	return !awaited || __atomic_load_n(&awaited->given, __ATOMIC_ACQUIRE) == awaited->full;
}

/* Stand-ins for the utility ------------------------------------------------------------------- */

void util_fail(struct util *util, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (util->failed < UTIL_FAILURES)
		vsnprintf(util->failures[util->failed], UTIL_SENTENCE, format, args);
	va_end(args);
	util->failed++;
}

void util_check(struct util *util, int rc, const char *doing)
{
	if (rc < 0)
		util_fail(util, "%s: %s", doing, strerror(-rc));
}

/*
 * Ctrl-C comes when @done, the count of queues that have given all their data, has reached the
 * number of queues. With @newest it comes when the recorder has slept once, so that the threads of
 * the other queues have run before.
 */
bool util_interrupted(void)
{
	if (newest)
		return asked++;
	return __atomic_load_n(&done, __ATOMIC_ACQUIRE) == QUEUES;
}

/* Recordings by several threads --------------------------------------------------------------- */

static char paths[QUEUES][256], copy[256];
static struct recording recordings[QUEUES];
static struct util util;

static void make(const char *folder, unsigned int full)
{
	memset(&util, 0, sizeof(util));
	done = 0;
	runs = over = false;
	awaited = NULL;
	for (unsigned int n = 0; n < QUEUES; n++) {
		captures[n] = (struct litepcie_capture) {
			.number = n, .full = full + 3 * n, .ring = aligned_alloc(PAGE, MBUFS * MBUF),
		};
		if (!*paths[n])
			snprintf(paths[n], sizeof(paths[n]), "%s/%u", folder, n);
		recordings[n] = (struct recording) {
			.target = paths[n], .output.fd = -1, .capture = &captures[n],
			.pinned = recordings[n].pinned, .cpu = recordings[n].cpu,
		};
	}
}

/*
 * Check that the file of @queue has its header, then the first @count MBUFs (parts of the ring) of
 * the queue, and nothing behind them.
 */
static void has_mbufs(unsigned int queue, unsigned int count)
{
	uint8_t *data = malloc(MBUF);
	int fd = open(paths[queue], O_RDONLY);

	CHECK_EQUAL(read(fd, data, PAGE), PAGE);
	CHECK_EQUAL(data[PAGE - 5], 0x11 * (queue + 1));
	for (unsigned int mbuf = 0; mbuf < count; mbuf++) {
		CHECK_EQUAL(read(fd, data, MBUF), MBUF);
		for (size_t n = 0; n < MBUF; n += MBUF - 1)
			CHECK_EQUAL(data[n], byte_of(&captures[queue], mbuf));
	}
	CHECK_EQUAL(read(fd, data, 1), 0);
	close(fd);
	free(data);
}

static void clean(void)
{
	for (unsigned int n = 0; n < QUEUES; n++) {
		CHECK(captures[n].closed);
		unlink(paths[n]);
		*paths[n] = '\0';
		output_free(&recordings[n].output);
		free(recordings[n].header);
		free(captures[n].ring);
		recordings[n].pinned = false;
	}
}

/* The file of each queue must have all MBUFs (parts of the ring) of the queue. */
static void each_queue_has_its_file(const char *folder)
{
	make(folder, 20);
	CHECK(record(&util, recordings, QUEUES));
	CHECK_EQUAL(util.failed, 0);
	for (unsigned int n = 0; n < QUEUES; n++) {
		has_mbufs(n, 20 + 3 * n);
		CHECK_EQUAL(captures[n].released, captures[n].full);
		CHECK_EQUAL(recordings[n].stats.records, n);
	}
	clean();
}

/*
 * With the setting `newest` no queue's thread may take an MBUF (part of the ring) before queue 0
 * was stopped. The file of each queue then gets the MBUFs that are left.
 */
static void newest_mbufs_are_taken_after_the_stop(const char *folder)
{
	make(folder, 5);
	asked = 0;
	newest = true;
	for (unsigned int n = 0; n < QUEUES; n++)
		recordings[n].config.newest = true;
	CHECK(record(&util, recordings, QUEUES));
	CHECK_EQUAL(util.failed, 0);
	for (unsigned int n = 0; n < QUEUES; n++) {
		has_mbufs(n, 5 + 3 * n);
		CHECK_EQUAL(captures[n].released, captures[n].full);
	}
	newest = false;
	clean();
}

/*
 * With the setting `newest` the counts of queue 0 cannot be read, so its recording fails. The
 * threads of the other queues wait for the end of that recording. They must write their files and
 * end. If one waits for ever, the test ends by SIGALRM.
 */
static void a_failure_ends_the_wait_of_the_other_queues(const char *folder)
{
	make(folder, 5);
	asked = 0;
	newest = broken = true;
	for (unsigned int n = 0; n < QUEUES; n++)
		recordings[n].config.newest = true;
	alarm(20);
	CHECK(record(&util, recordings, QUEUES));
	alarm(0);
	CHECK_EQUAL(util.failed, 2);
	CHECK(strstr(util.failures[0], "recording: ") == util.failures[0]);
	for (unsigned int n = 1; n < QUEUES; n++)
		has_mbufs(n, 5 + 3 * n);
	newest = broken = false;
	clean();
}

/* Thread that reads the header and one MBUF (part of the ring) from a pipe, and closes the pipe. */
static void *read_a_little(void *path)
{
	uint8_t byte;
	int fd = open(path, O_RDONLY);

	for (size_t n = 0; n < PAGE + MBUF; n++)
		CHECK_EQUAL(read(fd, &byte, 1), 1);
	close(fd);
	return NULL;
}

/*
 * The file of queue 2 is a pipe that is closed early. The failure must name queue 2, and the files
 * of the other queues must be whole.
 */
static void a_queue_that_fails_costs_the_others_nothing(const char *folder)
{
	pthread_t reader;

	make(folder, 12);
	/*
	 * Queue 2, which fails, never gives all its MBUFs (parts of the ring). So the test counts
	 * it as done from the beginning, and Ctrl-C comes when the other queues are done.
	 */
	done = 1;
	captures[2].full = UINT32_MAX;
	CHECK_EQUAL(mkfifo(paths[2], 0600), 0);
	pthread_create(&reader, NULL, read_a_little, paths[2]);
	CHECK(record(&util, recordings, QUEUES));
	pthread_join(reader, NULL);
	CHECK_EQUAL(util.failed, 1);
	CHECK(strstr(util.failures[0], "queue 2: ") == util.failures[0]);
	CHECK(strstr(util.failures[0], "Broken pipe: the file ends after"));
	for (unsigned int n = 0; n < QUEUES; n++)
		if (n != 2)
			has_mbufs(n, 12 + 3 * n);
	clean();
}

/*
 * Thread that copies a pipe to the file @copy: it reads a little, then nothing for almost a second
 * longer than STUCK_S, then all the rest.
 */
static void *read_with_a_pause(void *path)
{
	const struct timespec pause = { .tv_sec = (time_t)STUCK_S, .tv_nsec = 900000000 };
	int from = open(path, O_RDONLY), to = open(copy, O_WRONLY | O_CREAT, 0600);
	uint8_t *data = malloc(MBUF);
	ssize_t bytes = read(from, data, MBUF);

	nanosleep(&pause, NULL);
	for (; bytes > 0; bytes = read(from, data, MBUF))
		CHECK_EQUAL(write(to, data, (size_t)bytes), bytes);
	free(data);
	close(from);
	close(to);
	return NULL;
}

/*
 * Let the generator's last frame wait for room in the ring of @queue. The file of this queue is a
 * pipe, which @reader reads in a thread.
 */
static void wait_for(unsigned int queue, void *(*reader)(void *path), pthread_t *thread)
{
	/*
	 * The count @done of queues that have given all their MBUFs (parts of the ring) begins with
	 * 1. So Ctrl-C comes when the three other queues have given all theirs, while the slow
	 * queue @queue still has some to give.
	 */
	done = 1;
	recordings[0].generates = true;
	awaited = &captures[queue];
	CHECK_EQUAL(mkfifo(paths[queue], 0600), 0);
	pthread_create(thread, NULL, reader, paths[queue]);
}

/*
 * The generator's last frame waits for room in the ring of a queue whose disk stalls for a while.
 * The recorder must wait until the frame is delivered, and only then stop the capture.
 */
static void the_last_frame_waits_for_a_slow_disk(const char *folder)
{
	pthread_t reader;

	make(folder, 20);
	snprintf(copy, sizeof(copy), "%s/copy", folder);
	wait_for(2, read_with_a_pause, &reader);
	CHECK(record(&util, recordings, QUEUES));
	pthread_join(reader, NULL);
	CHECK_EQUAL(util.failed, 0);
	CHECK_EQUAL(given_at_stop, captures[2].full);
	CHECK_EQUAL(rename(copy, paths[2]), 0);
	for (unsigned int n = 0; n < QUEUES; n++)
		has_mbufs(n, 20 + 3 * n);
	clean();
}

/*
 * The generator's last frame waits for room in the ring of a queue whose disk has failed. The
 * recorder must end without that frame.
 */
static void a_last_frame_for_a_failed_disk_is_given_up(const char *folder)
{
	pthread_t reader;

	make(folder, 12);
	wait_for(2, read_a_little, &reader);
	captures[2].full = UINT32_MAX;
	CHECK(record(&util, recordings, QUEUES));
	pthread_join(reader, NULL);
	CHECK_EQUAL(util.failed, 1);
	CHECK(strstr(util.failures[0], "Broken pipe: the file ends after"));
	clean();
}

/*
 * The machine does not have the processor on which the thread of queue 1 is to run. A failure must
 * name the processor, and the queue must be recorded nevertheless.
 */
static void a_processor_that_is_none_is_told(const char *folder)
{
	recordings[1].pinned = true;
	recordings[1].cpu = 99999;
	make(folder, 5);
	CHECK(record(&util, recordings, QUEUES));
	CHECK_EQUAL(util.failed, 1);
	CHECK(strstr(util.failures[0], "queue 1: --cpu 99999: this machine has no such processor"));
	has_mbufs(1, 8);
	clean();
}

/*
 * The thread of queue 0 is pinned to a processor. The threads of the other queues, and those of the
 * folders of queue 0, must still be allowed to run on all processors of the process. If the process
 * may run on a single processor only, this is not checked.
 */
static void a_pinned_thread_pins_no_other(const char *folder)
{
	char names[2][256], *folders[] = { names[0], names[1] };
	unsigned int cpu = 0;

	while (!CPU_ISSET(cpu, &allowed))
		cpu++;
	recordings[0].pinned = true;
	recordings[0].cpu = cpu;
	make(folder, 20);
	for (unsigned int n = 0; n < 2; n++) {
		snprintf(names[n], sizeof(names[n]), "%s/folder%u", folder, n);
		CHECK_EQUAL(mkdir(names[n], 0700), 0);
	}
	recordings[0].folders = folders;
	recordings[0].folder_count = 2;
	pins = CPU_COUNT(&allowed) > 1;
	CHECK(record(&util, recordings, QUEUES));
	CHECK_EQUAL(util.failed, 0);
	pins = false;
	CHECK_EQUAL(sched_setaffinity(0, sizeof(allowed), &allowed), 0);
	CHECK_EQUAL(captures[0].released, captures[0].full);
	has_mbufs(1, 23);
	deal_free(&recordings[0].deal);
	clean();
}

/*
 * Queue 1 has failed when two of the four MBUFs (parts of the ring) that it had taken were in its
 * file and not yet given back. The message of drop() must not count these two as dropped. Queue 2
 * has failed when its two folders had written three of four MBUFs, which must not be counted
 * either.
 */
static void what_is_in_a_file_is_not_told_as_dropped(const char *folder)
{
	uint8_t states[MBUFS] = {
		DEAL_WRITTEN, DEAL_WAITS, DEAL_WRITTEN, DEAL_WRITTEN,
	};
	char text[64];

	make(folder, 5);
	over = true;
	for (unsigned int n = 1; n < 3; n++) {
		captures[n].given = 4;
		recordings[n].taken = 4 * MBUF;
		litepcie_capture_settings(&captures[n], &recordings[n].config);
	}
	recordings[1].output.done = 2;
	recordings[2].folders = (char *[]) { paths[2], paths[3] };
	pthread_mutex_init(&recordings[2].deal.lock, NULL);
	recordings[2].deal.states = states;
	recordings[2].deal.mbufs = MBUFS;
	recordings[2].deal.given = 4;
	for (unsigned int n = 1; n < 3; n++) {
		unsigned int left = captures[n].full - (n == 1 ? 2 : 3);

		memset(&util, 0, sizeof(util));
		drop(&util, &recordings[n]);
		snprintf(text, sizeof(text), "%zu bytes behind the file's end", left * MBUF);
		CHECK_EQUAL(util.failed, 1);
		CHECK(strstr(util.failures[0], text) == util.failures[0]);
		CHECK_EQUAL(captures[n].released, captures[n].full);
	}
	for (unsigned int n = 0; n < QUEUES; n++)
		free(captures[n].ring);
}

/* If the thread of a queue cannot be made, no capture may be started, and no file may be left. */
static void a_thread_that_cannot_be_made_starts_nothing(const char *folder)
{
	make(folder, 5);
	thread_refused = 3;
	CHECK(!record(&util, recordings, QUEUES));
	CHECK_EQUAL(util.failed, 1);
	CHECK(strstr(util.failures[0], "the thread of queue 3: "));
	for (unsigned int n = 0; n < QUEUES; n++)
		CHECK(!captures[n].started && access(paths[n], F_OK) < 0);
	clean();
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	signal(SIGPIPE, SIG_IGN);
	CHECK_EQUAL(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	each_queue_has_its_file(argv[1]);
	newest_mbufs_are_taken_after_the_stop(argv[1]);
	a_failure_ends_the_wait_of_the_other_queues(argv[1]);
	a_queue_that_fails_costs_the_others_nothing(argv[1]);
	the_last_frame_waits_for_a_slow_disk(argv[1]);
	a_last_frame_for_a_failed_disk_is_given_up(argv[1]);
	a_processor_that_is_none_is_told(argv[1]);
	a_thread_that_cannot_be_made_starts_nothing(argv[1]);
	a_pinned_thread_pins_no_other(argv[1]);
	what_is_in_a_file_is_not_told_as_dropped(argv[1]);
	return failed_checks != 0;
}
