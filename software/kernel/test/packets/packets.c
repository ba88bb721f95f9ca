// SPDX-License-Identifier: BSD-2-Clause
/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 *
 * Tests packets (LITEPCIE_IOCTL_PACKETS) through the loopback of the DMA, by LITEPCIE_IOCTL_ADVANCE
 * and by read() and write().
 *
 *   packets held DEV COUNT SEED	at least COUNT packets of 1 byte to three c2h buffers, by
 * 					ADVANCE; their data and records are compared
 *   packets node DEV COUNT SEED	COUNT packets by one write() and one or two read() each;
 * 					their data is compared
 *   packets full DEV			write packets until the rings have no room, then read all
 *   packets bytes DEV			as full, but a stream without packets, by writes whose
 * 					length does not divide a buffer
 *   packets places DEV			a packet that needs more descriptors than the card's table
 * 					has room for is refused, and poll() waits for that room
 *   packets flush DEV			after the flush time a buffer ends, and an incomplete beat
 * 					is sent
 *   packets late DEV			an incomplete beat's flush time ends while the card's table
 * 					is full and fsync() waits: the beat is sent all the same
 *   packets bad DEV			the host fails the next read of the card: of three packets
 * 					the first is bad, and fsync() says so once
 *   packets bad_end DEV		as bad, with a packet whose bad end lies in a second buffer
 *   packets ended DEV			a thread ends the run while another thread's write() copies
 * 					a packet
 *   packets refuse DEV			calls that must be refused, each with its error
 *   packets off DEV REGISTER		the register at this offset of BAR0 must be 0
 *
 * Exit status: 0 if every check holds, 1 if one fails (with a message on stderr), 2 wrong usage.
 */
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

#include "uapi/litepcie_capability.h"
#include "packets.h"

int fd;
const struct litepcie_status *status;
static const struct litepcie_record *records;
static uint64_t entries;
static uint8_t *h2c, *c2h;

void need(bool true_, const char *what)
{
	if (!true_)
		fail("%s: %s", what, strerror(errno));
}

void refused(long rc, int error, const char *what)
{
	if (rc >= 0)
		fail("%s was not refused", what);
	if (errno != error)
		fail("%s: %s, not %s", what, strerror(errno), strerror(error));
}

static void on_alarm(int number)
{
	(void)number;
}

void interrupt_in(unsigned int us)
{
	struct itimerval timer = { .it_value = { .tv_usec = us } };
	struct sigaction action = { .sa_handler = on_alarm };

	need(!sigaction(SIGALRM, &action, NULL), "sigaction");
	need(!setitimer(ITIMER_REAL, &timer, NULL), "setitimer");
}

static uint32_t random_below(uint32_t limit)
{
	return (uint32_t)rand() % limit;
}

/* Calls of the driver ------------------------------------------------------------------------- */

int set_packets(unsigned int way, uint32_t flags, uint32_t flush_us)
{
	struct litepcie_packets packets = { .way = way, .flags = flags, .flush_us = flush_us };

	return ioctl(fd, LITEPCIE_IOCTL_PACKETS, &packets);
}

int advance(unsigned int way, uint32_t count, uint32_t bytes)
{
	struct litepcie_advance advance = {
		.way = way, .count = count, .flags = LITEPCIE_ADVANCE_NOTIFY,
		.lengths = bytes ? (uintptr_t)&bytes : 0,
	};

	return ioctl(fd, LITEPCIE_IOCTL_ADVANCE, &advance);
}

struct litepcie_ring_info info_of(unsigned int way)
{
	struct litepcie_ring_info info = { .way = way };

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_INFO, &info), "ring info");
	return info;
}

static void *map(uint64_t offset, size_t bytes, int prot)
{
	void *memory = mmap(NULL, bytes, prot, MAP_SHARED, fd, (off_t)offset);

	need(memory != MAP_FAILED, "mmap");
	return memory;
}

static void set_up(unsigned int way, uint32_t size)
{
	struct litepcie_ring_setup setup = {
		.way = way, .buffer_size = size, .buffer_count = COUNT, .buffers_per_interrupt = 1,
	};

	need(!ioctl(fd, LITEPCIE_IOCTL_RING_SETUP, &setup), "setup");
}

void take(void)
{
	struct litepcie_ioctl_lock lock = { .dma_reader_request = 1, .dma_writer_request = 1 };

	need(!ioctl(fd, LITEPCIE_IOCTL_LOCK, &lock) && lock.dma_reader_status &&
	     lock.dma_writer_status, "lock");
	loopback(fd, 1);
	set_up(LITEPCIE_WAY_H2C, H2C_SIZE);
	set_up(LITEPCIE_WAY_C2H, C2H_SIZE);
}

void map_all(void)
{
	struct litepcie_ring_info to = info_of(LITEPCIE_WAY_H2C), from = info_of(LITEPCIE_WAY_C2H);

	status = map(to.status_offset, 4096, PROT_READ);
	records = map(from.records_offset, from.records_bytes, PROT_READ);
	entries = from.records_bytes / sizeof(*records);
	h2c = map(to.ring_offset, to.ring_bytes, PROT_READ | PROT_WRITE);
	c2h = map(from.ring_offset, from.ring_bytes, PROT_READ | PROT_WRITE);
}

static void stop(void)
{
	struct litepcie_ioctl_dma_reader reader = { .enable = 0 };
	struct litepcie_ioctl_dma_writer writer = { .enable = 0 };

	need(!ioctl(fd, LITEPCIE_IOCTL_DMA_READER, &reader), "stop of h2c");
	need(!ioctl(fd, LITEPCIE_IOCTL_DMA_WRITER, &writer), "stop of c2h");
}

/* Tests of packets by the call ADVANCE -------------------------------------------------------- */

/*
 * numbers of buffers. @sent: h2c buffers that were sent. @taken: c2h buffers whose data was
 * checked. @given: c2h buffers that were handed over to the card.
 */
static uint64_t sent, taken, given;

/*
 * Wait for the record by which the card says that it has ended the next c2h buffer. The card itself
 * writes the record to host memory, so the program reads this memory again and again, without a
 * call of the driver.
 */
static const struct litepcie_record *next_record(void)
{
	const struct litepcie_record *record = &records[taken % entries];

	alarm(TIMEOUT_S);
	while (__atomic_load_n(&record->sequence, __ATOMIC_ACQUIRE) != taken + 1)
		;
	alarm(0);
	return record;
}

static void send_packet(const uint8_t *packet, uint32_t bytes)
{
	alarm(TIMEOUT_S);
	while (sent - __atomic_load_n(&status->way[LITEPCIE_WAY_H2C].buffers, __ATOMIC_ACQUIRE) ==
	       COUNT)
		;
	alarm(0);
	memcpy(h2c + sent % COUNT * H2C_SIZE, packet, bytes);
	need(!advance(LITEPCIE_WAY_H2C, 1, bytes), "advance of h2c");
	sent++;
}

/*
 * Check one received packet. All its c2h buffers but the last must be full, and only the record of
 * the last one must say that the packet ends.
 */
static void check_packet(const uint8_t *packet, uint32_t bytes)
{
	uint32_t at = 0;

	while (at < bytes) {
		const struct litepcie_record *record = next_record();
		uint8_t *buffer = c2h + taken % COUNT * C2H_SIZE;
		uint32_t part = bytes - at < C2H_SIZE ? bytes - at : C2H_SIZE;
		uint32_t flags = at + part == bytes ? LITEPCIE_RECORD_LAST : 0;

		if (record->bytes != part || record->flags != flags)
			fail("buffer %llu, at %u of %u: %u bytes, flags %u; not %u, %u",
			     (unsigned long long)taken, at, bytes, record->bytes, record->flags,
			     part, flags);
		if (memcmp(buffer, packet + at, part))
			fail("buffer %llu: other bytes", (unsigned long long)taken);
		memset(buffer, 0xa5, C2H_SIZE);
		at += part;
		taken++;
	}
}

static uint32_t random_length(void)
{
	static const uint32_t edges[] = { 1, 31, 32, 33, 64, C2H_SIZE - 1, C2H_SIZE, C2H_SIZE + 1,
					  2 * C2H_SIZE, 3 * C2H_SIZE };

	return random_below(2) ? edges[random_below(sizeof(edges) / sizeof(*edges))] :
				 1 + random_below(3 * C2H_SIZE);
}

static void fill(uint8_t *packet, uint32_t bytes)
{
	for (uint32_t i = 0; i < bytes; i++)
		packet[i] = (uint8_t)rand();
}

/*
 * Send packets by ADVANCE, one to four at a time, and check them. Before that, all free c2h buffers
 * are handed over to the card: always if they are more than four, and else at random.
 */
static int held(unsigned int count)
{
	enum { MOST = 4 };
	static uint8_t packet[MOST][3 * C2H_SIZE];
	uint32_t bytes[MOST];

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	map_all();
	for (unsigned int done = 0; done < count;) {
		unsigned int now = 1 + random_below(MOST);

		if (taken + COUNT - given && (random_below(2) || taken + COUNT - given > 4)) {
			need(!advance(LITEPCIE_WAY_C2H, (uint32_t)(taken + COUNT - given), 0),
			     "advance of c2h");
			given = taken + COUNT;
		}
		for (unsigned int i = 0; i < now; i++) {
			bytes[i] = random_length();
			fill(packet[i], bytes[i]);
			send_packet(packet[i], bytes[i]);
		}
		for (unsigned int i = 0; i < now; i++)
			check_packet(packet[i], bytes[i]);
		done += now;
	}
	/*
	 * The memory of the next record may still have the record of an older buffer. If ADVANCE
	 * took that record for the one of a buffer that the card has not filled yet, it would
	 * accept a buffer more than the ring has room for. ADVANCE must refuse that buffer.
	 */
	refused(advance(LITEPCIE_WAY_C2H, (uint32_t)(taken + COUNT - given) + 1, 0), EINVAL,
		"a buffer that the card still has");
	need(status->way[LITEPCIE_WAY_C2H].errors == 0 &&
	     status->way[LITEPCIE_WAY_H2C].errors == 0, "errors");
	stop();
	printf("held: %u packets compared\n", count);
	return 0;
}

/* Tests of packets by read() and write() ------------------------------------------------------ */

/*
 * Start c2h by a read() that finds no data. While c2h is off, the card drops the h2c data that the
 * loopback returns.
 */
void start_c2h(void)
{
	char byte;

	need(!fcntl(fd, F_SETFL, O_NONBLOCK), "O_NONBLOCK");
	refused(read(fd, &byte, 1), EAGAIN, "read() before there is a packet");
	need(!fcntl(fd, F_SETFL, 0), "blocking calls");
}

/*
 * If write() cannot read all of the packet's memory, no part of the packet is sent, and no part is
 * kept for the next packet.
 */
static void refuse_torn_memory(void)
{
	uint8_t *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

	need(memory != MAP_FAILED && !munmap(memory + 4096, 4096), "a page");
	refused(write(fd, memory + 4096 - 100, 200), EFAULT, "a packet whose memory ends");
}

/*
 * Send packets by write() and read each one before the next is sent, so no write() has to wait for
 * a read().
 */
static int node(unsigned int count)
{
	static uint8_t packet[H2C_SIZE * COUNT], got[3 * C2H_SIZE + 1];

	take();
	need(!set_packets(LITEPCIE_WAY_H2C, LITEPCIE_PACKETS_ON, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 0), "packets of c2h");
	start_c2h();
	refused(write(fd, packet, sizeof(packet)), EMSGSIZE, "a packet of a whole ring");
	refuse_torn_memory();
	for (unsigned int done = 0; done < count; done++) {
		uint32_t bytes = random_length(), first = bytes > 1 && !random_below(4) ?
							  1 + random_below(bytes - 1) : bytes;
		ssize_t part;

		fill(packet, bytes);
		alarm(TIMEOUT_S);
		need(write(fd, packet, bytes) == (ssize_t)bytes, "write");
		part = read(fd, got, first < bytes ? first : sizeof(got));
		if (part != (ssize_t)first)
			fail("packet %u of %u bytes: read %zd of %u", done, bytes, part, first);
		if (first < bytes && read(fd, got + first, sizeof(got) - first) !=
				     (ssize_t)(bytes - first))
			fail("packet %u of %u bytes: wrong length of its rest", done, bytes);
		if (memcmp(packet, got, bytes))
			fail("packet %u of %u bytes: other bytes", done, bytes);
		alarm(0);
	}
	printf("node: %u packets compared\n", count);
	return 0;
}

/* Tests of the flush times of c2h and h2c ----------------------------------------------------- */

/*
 * The flush time of c2h (LITEPCIE_IOCTL_PACKETS) ends a buffer that is not full when no more data
 * has come for so long. The data is sent with packets of h2c off, so no end of a packet ends the
 * buffer.
 */
static void flush_held(void)
{
	take();
	need(!set_packets(LITEPCIE_WAY_H2C, 0, 0), "packets of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, LITEPCIE_PACKETS_ON, 50), "packets of c2h");
	map_all();
	need(!advance(LITEPCIE_WAY_C2H, COUNT, 0), "advance of c2h");
	memset(h2c, 0x5a, 64);
	need(!advance(LITEPCIE_WAY_H2C, 1, 64), "advance of h2c");
	if (next_record()->bytes != 64 || records->flags != LITEPCIE_RECORD_FLUSHED)
		fail("%u bytes, flags %u", records->bytes, records->flags);
	stop();
}

/*
 * A write() of 5 bytes leaves an incomplete beat. The driver sends it after the flush time of h2c
 * (LITEPCIE_IOCTL_PACKETS), and read() returns the 5 bytes.
 */
static void flush_node(void)
{
	char got[16];

	need(!set_packets(LITEPCIE_WAY_H2C, 0, 1000), "flush time of h2c");
	need(!set_packets(LITEPCIE_WAY_C2H, 0, 1000), "flush time of c2h");
	start_c2h();
	for (int i = 0; i < 3; i++) {
		alarm(TIMEOUT_S);
		need(write(fd, "hello", 5) == 5, "write");
		need(read(fd, got, sizeof(got)) == 5 && !memcmp(got, "hello", 5), "read");
		alarm(0);
	}
}

static int flush(void)
{
	flush_held();
	flush_node();
	printf("flush: ok\n");
	return 0;
}

/* Tests of calls that the driver must refuse -------------------------------------------------- */

static void refuse_map(uint64_t offset, size_t bytes, int prot, int flags, int error,
		       const char *what)
{
	refused(mmap(NULL, bytes, prot, flags, fd, (off_t)offset) == MAP_FAILED ? -1 : 0, error,
		what);
}

/*
 * The ioctl FEATURES reports the ABI's version and the feature PACKETS, which the driver has for a
 * card that writes records of c2h buffers, as this one does. FEATURES refuses an argument in which
 * a word is not 0.
 */
static void features(void)
{
	const uint64_t wanted = LITEPCIE_FEATURE_HELD | LITEPCIE_FEATURE_MEMORY |
				LITEPCIE_FEATURE_EXPORT | LITEPCIE_FEATURE_PACKETS;
	struct litepcie_features told = { 0 }, odd = { .reserved2 = { [5] = 1 } };

	need(!ioctl(fd, LITEPCIE_IOCTL_FEATURES, &told), "features");
	if (told.version != LITEPCIE_VERSION || (told.flags & wanted) != wanted)
		fail("version %u of the ABI with the flags %#llx", told.version,
		     (unsigned long long)told.flags);
	refused(ioctl(fd, LITEPCIE_IOCTL_FEATURES, &odd), EINVAL, "a reserved word of FEATURES");
	odd = (struct litepcie_features){ .version = 1 };
	refused(ioctl(fd, LITEPCIE_IOCTL_FEATURES, &odd), EINVAL, "a version that is asked for");
}

static int refuse(void)
{
	struct litepcie_packets bad = { .way = LITEPCIE_WAY_C2H, .reserved = { [4] = 1 } };
	struct litepcie_ring_info info = info_of(LITEPCIE_WAY_C2H);
	uint64_t at = info.records_offset;
	size_t bytes = info.records_bytes;

	features();
	refused(set_packets(2, 0, 0), EINVAL, "a third direction");
	refused(set_packets(LITEPCIE_WAY_C2H, 2, 0), EINVAL, "an unknown flag");
	refused(set_packets(LITEPCIE_WAY_C2H, 1, 1000001), EINVAL, "a flush time of more than 1 s");
	refused(ioctl(fd, LITEPCIE_IOCTL_PACKETS, &bad), EINVAL, "a reserved word");
	need(!set_packets(LITEPCIE_WAY_C2H, 1, 1000000), "a flush time of 1 s");
	need(info.records_bytes >= info.table_depth * sizeof(*records), "a ring that can overflow");
	if (info_of(LITEPCIE_WAY_H2C).records_bytes)
		fail("h2c has records");
	refuse_map(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, EPERM, "records to write to");
	refuse_map(at, bytes, PROT_READ, MAP_PRIVATE, EINVAL, "a copy of the records");
	refuse_map(at, bytes + 4096, PROT_READ, MAP_SHARED, EINVAL, "more than the records");
	refuse_map(at + 4096, bytes - 4096, PROT_READ, MAP_SHARED, EINVAL, "the end of the records");
	need(mprotect(map(at, bytes, PROT_READ), bytes, PROT_READ | PROT_WRITE) &&
	     errno == EACCES, "records that became writable");
	printf("refuse: ok\n");
	return 0;
}

static int off(uint32_t address)
{
	struct litepcie_ioctl_reg reg = { .addr = address };

	need(!ioctl(fd, LITEPCIE_IOCTL_REG, &reg), "register");
	if (reg.val)
		fail("register %#x has %#x", address, reg.val);
	printf("off: ok\n");
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: packets PART DEV [ARGUMENT...]: see the head of packets.c\n");
	return 2;
}

int main(int argc, char **argv)
{
	unsigned int seed = argc == 5 ? (unsigned int)strtoul(argv[4], NULL, 0) : 0;
	unsigned int count = argc == 5 ? (unsigned int)strtoul(argv[3], NULL, 0) : 0;

	if (argc < 3)
		return usage();
	fd = open(argv[2], O_RDWR | O_CLOEXEC);
	need(fd >= 0, argv[2]);
	srand(seed);
	if (argc == 5)
		printf("seed %u\n", seed);
	if (argc == 5 && !strcmp(argv[1], "held"))
		return held(count);
	if (argc == 5 && !strcmp(argv[1], "node"))
		return node(count);
	if (argc == 3 && !strcmp(argv[1], "flush"))
		return flush();
	if (argc == 3 && !strcmp(argv[1], "full"))
		return full();
	if (argc == 3 && !strcmp(argv[1], "bytes"))
		return bytes();
	if (argc == 3 && !strcmp(argv[1], "places"))
		return places();
	if (argc == 3 && !strcmp(argv[1], "late"))
		return late();
	if (argc == 3 && !strcmp(argv[1], "bad"))
		return bad();
	if (argc == 3 && !strcmp(argv[1], "bad_end"))
		return bad_end();
	if (argc == 3 && !strcmp(argv[1], "ended"))
		return ended();
	if (argc == 3 && !strcmp(argv[1], "refuse"))
		return refuse();
	if (argc == 4 && !strcmp(argv[1], "off"))
		return off((uint32_t)strtoul(argv[3], NULL, 0));
	return usage();
}
