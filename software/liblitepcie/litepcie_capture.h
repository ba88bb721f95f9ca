/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Capture of frames: the card writes them as pcapng blocks into a ring in host memory, and the
 * program uses the blocks in place. The header of litepcie_capture_header() with the ring's bytes
 * behind it is a file that Wireshark opens. So a recorder need not convert or inspect packets.
 *
 * The ring is divided into parts of equal size, the MBUFs. No block crosses their ends, and the
 * last block of each complete MBUF is its seal, which has the number of the MBUF and the counts so
 * far. A frame is a record: an Enhanced Packet Block with the time in ns by the card's clock. That
 * is the time since 1970 after a start that has set the clock from that of the host, and the time
 * since the card's reset until then. Frames for which the ring has no room are lost as a whole,
 * unless the setting lossless or newest is true. The card counts each lost frame once, by its
 * cause. The next record of the same port in the same ring has the number of that port's frames
 * that were lost before it.
 *
 * A card may have several queues, each with its own ring, status line (counts that the card writes
 * to host memory) and counts by port. A struct litepcie_capture is one queue, which one thread
 * uses. Rules and the spread, a table of queues, say which frames go to which queue
 * (litepcie_capture_sort()). All queues run together: start the others first, and then queue 0. The
 * start of queue 0 begins the run of all queues, and its stop ends the run.
 *
 * The errors are those of liblitepcie.h. A card needs the capture block, which is in gateware that
 * was built with --capture. All back ends can capture. Behind the kernel driver the ring is memory
 * of this process in huge pages, if there are any, and on the card's NUMA node, if that has room.
 *
 * The first member of each struct that is passed to the library, except struct litepcie_packet, is
 * its size, sizeof(struct ...). So the structs can grow, and programs that were compiled before
 * still run. liblitepcie.h says how the structs inside another struct and in arrays can grow.
 */
#ifndef LITEPCIE_CAPTURE_H
#define LITEPCIE_CAPTURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/*
 * LITEPCIE_CAPTURE_*_LEAST and _MOST: limits in bytes of a ring, an MBUF (a part of a ring), a
 * frame, and what a queue may use of the card's staging memory. LITEPCIE_CAPTURE_CELL: the unit of
 * the latter. LITEPCIE_CAPTURE_PORTS and _QUEUES: the most that a card has. LITEPCIE_CAPTURE_RULES,
 * LITEPCIE_RULE_WORDS and LITEPCIE_CAPTURE_SPREAD: rules of a card with several queues, 32-bit
 * words of a rule, and entries of the spread, a table of queues. LITEPCIE_CAPTURE_HEADER_BYTES:
 * bytes of the header of a recording's file. LITEPCIE_LINK_ETHERNET: link type of Ethernet frames.
 */
#include "litepcie_limits.h"
/* LITEPCIE_PCAPNG_RECORD, _SEAL and _FILLER: the types of pcapng blocks in a ring. */
#include "litepcie_capability.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes in bytes of a ring and of an MBUF (a part of the ring) that a 0 in the settings means. */
#define LITEPCIE_CAPTURE_RING_DEFAULT	(UINT64_C(64) << 20)
#define LITEPCIE_CAPTURE_MBUF_DEFAULT	(1u << 20)

/* Time in ms that @rest_ms of the settings of a capture or of the player means if it is 0. */
#define LITEPCIE_CAPTURE_REST_MS	30000

/* Sizes in bytes of the huge pages that a program may ask for, for the ring of a capture. */
#define LITEPCIE_CAPTURE_PAGES_2M	(UINT64_C(2) << 20)
#define LITEPCIE_CAPTURE_PAGES_1G	(UINT64_C(1) << 30)

/* value of wait_ns with which the card writes each record (frame) at once, not with later ones */
#define LITEPCIE_CAPTURE_AT_ONCE	UINT32_MAX

/* The first and the last link type for users' own frames. */
#define LITEPCIE_LINK_USER0		147u
#define LITEPCIE_LINK_USER15		162u

/* The card's clock at the start of queue 0: values of @clock in struct litepcie_capture_config. */
/* clock: _HOST, or _CARD with a simulated card, and with gateware or a driver that are too old */
#define LITEPCIE_CLOCK_AUTO	0u
/* clock: it goes on as it is; from the card's reset, until something sets it, it is device time */
#define LITEPCIE_CLOCK_CARD	1u
/* clock: it is set to the host's time, CLOCK_REALTIME, in ns since 1970 (UTC) */
#define LITEPCIE_CLOCK_HOST	2u

struct litepcie;
struct litepcie_capture;

struct litepcie_capture_config {
	size_t		struct_size;
	/*
	 * bytes of the ring: a power of two from LITEPCIE_CAPTURE_RING_LEAST to
	 * LITEPCIE_CAPTURE_RING_MOST; 0: LITEPCIE_CAPTURE_RING_DEFAULT
	 */
	uint64_t	ring_bytes;
	/*
	 * bytes of an MBUF, one of the equal parts of the ring: a power of two from
	 * LITEPCIE_CAPTURE_MBUF_LEAST to LITEPCIE_CAPTURE_MBUF_MOST, at most a quarter of the
	 * ring; 0: LITEPCIE_CAPTURE_MBUF_DEFAULT, or a quarter of the ring if that is less
	 */
	uint32_t	mbuf_bytes;
	/*
	 * most bytes of a frame that are recorded, at most LITEPCIE_CAPTURE_FRAME_MOST; 0: all. A
	 * frame is also cut to mbuf_bytes - 128 bytes.
	 */
	uint32_t	snap;
	/*
	 * longest time in ns that the card keeps complete records (frames) back, to write them
	 * together with later records; 0: 1000 ns, LITEPCIE_CAPTURE_AT_ONCE: none are kept back
	 */
	uint32_t	wait_ns;
	/* true: frames that their source marked as bad are recorded, too */
	bool		keep_bad;
	/*
	 * true: a frame that would be lost waits for room, so its source must be able to wait. A
	 * frame that waits holds up those of all queues. So if rules or spread send a frame to a
	 * queue that was not started, all queues stand still until litepcie_capture_stop() of queue
	 * 0, by which the frame is lost and counted.
	 */
	bool		lossless;
	/*
	 * true: the card overwrites the oldest data and does not wait for
	 * litepcie_capture_release(). lossless must then be false. The ring must be at least four
	 * times staging_bytes, the queue's part of the staging memory (the buffer before the ring):
	 * with 1 MiB of it and one queue the ring needs 4 MiB.
	 */
	bool		newest;
	/*
	 * link type of the frames, one of LITEPCIE_LINK_ or another of tcpdump.org's list up to
	 * 65535, for the header of a file; 0: Ethernet. For frames of no network, such as a
	 * sensor's, take one of LITEPCIE_LINK_USER0 to LITEPCIE_LINK_USER15.
	 */
	uint32_t	link_type;
	/*
	 * number of the queue, from 0. All queues of a run must have the same mbuf_bytes, keep_bad,
	 * lossless, newest and net. The snap and wait_ns of queue 0 hold for all queues. Except
	 * behind the kernel driver, all rings of a run must have the same size.
	 */
	uint32_t	queue;
	/*
	 * bytes of each of the ring's pages: LITEPCIE_CAPTURE_PAGES_2M or _1G, and at most the
	 * ring's bytes; without such free pages there is no ring. 0: the library chooses the pages.
	 */
	uint64_t	page_bytes;
	/*
	 * longest time in ms that each wait for the card takes in a call of this capture, until the
	 * card has come to rest or has copied its counts; 0: LITEPCIE_CAPTURE_REST_MS, -1: for
	 * ever. A call whose wait does not end in time returns -ETIMEDOUT. The kernel driver waits
	 * at the start, at the stop and for counts itself: it gives up after a second without
	 * progress of the card. The call then returns -ETIMEDOUT, too.
	 */
	int32_t		rest_ms;
	/*
	 * true: what the card's net device receives and sends is recorded, too, as frames of one
	 * port. The flags of such a frame say whether it was received or sent. Behind the kernel
	 * driver that needs CAP_NET_RAW.
	 */
	bool		net;
	/*
	 * what the start of queue 0 does with the card's clock, which gives frames their times: one
	 * of LITEPCIE_CLOCK_. The setting of another queue is not used. After that start
	 * litepcie_capture_settings() returns LITEPCIE_CLOCK_CARD or LITEPCIE_CLOCK_HOST, whatever
	 * LITEPCIE_CLOCK_AUTO has become.
	 */
	uint32_t	clock;
	/*
	 * most bytes of the card's staging memory (the buffer before the ring) that the queue uses
	 * at once: a multiple of LITEPCIE_CAPTURE_CELL from LITEPCIE_CAPTURE_STAGING_LEAST to
	 * LITEPCIE_CAPTURE_STAGING_MOST; 0: an equal part for each queue of the card. With more
	 * than that a queue can take longer bursts. If all queues together may use more than the
	 * memory has, a queue whose ring is full can make other queues lose frames.
	 */
	uint32_t	staging_bytes;
};

/*
 * Whole pcapng blocks in the ring, inside one MBUF (part of the ring). They stay as they are until
 * they are released, but with the setting `newest` the card may write over them at any time.
 */
struct litepcie_span {
	size_t		struct_size;
	const uint8_t	*data;
	size_t		bytes;
	/* number of bytes in the ring before this span, since the start of the capture */
	uint64_t	position;
	/* number of the MBUF (part of the ring) that has this span, from 0 since the start */
	uint64_t	mbuf;
	/*
	 * true: the span ends with the seal, which is the last block of an MBUF (part of the ring)
	 */
	bool		sealed;
	/*
	 * values of the card's last status line, which may count data behind this span, too:
	 * @records: frames written to the ring since the start, @lost: frames lost since the start,
	 * @time_ns: time in ns by the card's clock at which the card wrote the line
	 */
	uint64_t	records;
	uint64_t	lost;
	uint64_t	time_ns;
};

/*
 * A frame of a span (whole blocks of the ring). Its data stays in the ring. litepcie_record_next()
 * is compiled into the program, and litepcie_records() is told the size of this struct, so later
 * members go to its end.
 */
struct litepcie_packet {
	const uint8_t	*data;
	uint64_t	time_ns;	/* time of the frame in ns, by the card's clock */
	uint32_t	port;
	uint32_t	kept;		/* bytes of the frame that are at @data */
	uint32_t	length;		/* bytes that the frame had at its source */
	uint32_t	flags;		/* pcapng's epb_flags; 0: the frame has none */
	/*
	 * number of frames of the same port and queue that were lost since the last record of that
	 * port in the queue's ring
	 */
	uint64_t	dropped;
};

/*
 * A number of frames, and the number of bytes that these frames had at their source. This struct
 * stays as it is. A further count becomes a member of the struct around it.
 */
struct litepcie_account {
	uint64_t	frames;
	uint64_t	bytes;
};

/*
 * What became of the frames of one port in the capture's queue. Each frame that was sorted into
 * this queue is counted in one member: it was delivered to the ring, or dropped because its source
 * marked it as bad, or lost because the ring had no room, or because the card's staging memory (the
 * buffer before the ring) had none.
 */
struct litepcie_port_accounts {
	struct litepcie_account	delivered, bad, lost_ring, lost_staging;
	struct litepcie_account	reserved[2];	/* 0, for later causes */
};

/*
 * Counts of a capture. The counts in @port are those of one moment. @position, @records, @lost and
 * @time_ns are from the last status line. Behind the kernel driver another program may have the
 * queue. @position and @released are then those of its capture, and the other three are 0.
 */
struct litepcie_capture_stats {
	size_t		struct_size;
	uint64_t	position;	/* bytes that came into the ring since the start */
	uint64_t	records;
	uint64_t	lost;		/* frames lost, as ring or card had no room */
	uint64_t	time_ns;	/* time by the card's clock at which it wrote the line */
	/* bytes that the program has given back; with `newest` skipped bytes count, too */
	uint64_t	released;
	/*
	 * with `newest`: bytes that litepcie_capture_next() has skipped and never gave, since the
	 * card has overwritten them or may soon do so
	 */
	uint64_t	overwritten;
	/* how often, since the start, the card was given a position up to which it may write */
	uint64_t	limits;
	struct litepcie_port_accounts port[LITEPCIE_CAPTURE_PORTS];
	/*
	 * frames of the net device that the card could not copy to the capture, since the start; at
	 * most 2^32 - 1. They are in no account. 0 unless the setting `net` is true
	 */
	uint64_t	net_lost;
};

/* How a card with several queues sorts frames into them. */
struct litepcie_sorting {
	size_t		struct_size;
	/*
	 * number of rules in use, from rule[0] on; the first rule that a frame matches is applied
	 */
	uint32_t	rules;
	/* true: a frame's entry of @spread is its port; false: a hash of addresses and ports */
	bool		by_port;
	/* the words of each rule, which litepcie_capture_rule() makes */
	uint32_t	rule[LITEPCIE_CAPTURE_RULES][LITEPCIE_RULE_WORDS];
	/*
	 * spread[n] is the number of the queue for frames whose entry is n, unless a rule names
	 * another queue; @by_port says which entry a frame has
	 */
	uint8_t		spread[LITEPCIE_CAPTURE_SPREAD];
};

/* Frames that rules have discarded, counted twice: the same frames by rule and by port. */
struct litepcie_discards {
	size_t		struct_size;
	struct litepcie_account rule[LITEPCIE_CAPTURE_RULES];
	struct litepcie_account port[LITEPCIE_CAPTURE_PORTS];
};

/*
 * The settings of the generator in the card. gateware/capture/generator/Generator.scala describes
 * its frames.
 */
struct litepcie_generator {
	size_t		struct_size;
	uint32_t	size;		/* bytes of a frame: 1 to 16383 */
	/* time from frame to frame in 1/256 of a clock cycle; 0: as fast as the generator can */
	uint32_t	period;
	uint32_t	count;		/* number of frames to make; 0: without end */
	uint32_t	seed;		/* seed of the frames' data */
	uint32_t	port_mask;	/* frame n comes from port n & port_mask; 0 to 15 */
};

/*
 * Get a queue of the card's capture block ready: memory for its ring, and its settings. The card's
 * DMA may run at the same time. Nothing is captured before litepcie_capture_start(). While a
 * capture of a handle is open, litepcie_reset() of that handle is refused. If @config is NULL, all
 * settings are 0. litepcie_close() closes the capture, too.
 *
 * Behind the kernel driver the ring is allocated and locked in memory (ulimit -l) by the first
 * litepcie_capture_start(), litepcie_capture_sort() or start of the generator. Until then another
 * program may capture, and litepcie_capture_stats() returns the counts of that program's frames.
 * Elsewhere the call waits, for @rest_ms at most, until the capture of an earlier program has come
 * to rest.
 *
 * Returns 0 and the capture in @capture, or -errno; -EINVAL: a setting is out of its range,
 * -ENODEV: the card has no capture block, -EBUSY: this handle has a capture of this queue, or the
 * card may still write to the ring of an earlier one, -ENOMEM: there are no free pages of the size
 * page_bytes (behind the kernel driver litepcie_capture_start() returns this error), -EOPNOTSUPP:
 * the kernel driver is too old, or `net` is true and the card cannot capture the frames of a net
 * device, or the card's clock cannot be set, or the card gives each queue an equal part of the
 * staging memory, -ETIMEDOUT: the capture of an earlier program does not come to rest. Threads:
 * alone.
 */
int litepcie_capture_open(struct litepcie *dev, const struct litepcie_capture_config *config,
			  struct litepcie_capture **capture);

/*
 * Stop a capture that runs, with queue 0 also the generator, and free the capture's memory. Spans
 * of it are not valid any more. The call takes as long as litepcie_capture_stop(). @capture may be
 * NULL. The memory of another queue than 0 that ran is kept until queue 0 stops. Threads: alone.
 */
void litepcie_capture_close(struct litepcie_capture *capture);

/*
 * Get the settings of a capture, with the sizes that it really has. Returns 0, or -EINVAL if
 * @config does not say its size. Threads: any.
 */
int litepcie_capture_settings(const struct litepcie_capture *capture,
			      struct litepcie_capture_config *config);

/*
 * Begin to take frames, at position 0 and with all counts at 0. Data of an earlier start is lost.
 * A queue other than 0 begins when queue 0 is started after it. The start of queue 0 waits until
 * the card is at rest, and until it has cleared its counts, for @rest_ms each at most.
 *
 * Returns 0 or -errno; -EBUSY: this queue takes frames already, another program has it, or queue 0
 * runs already, -EINVAL: the settings of the started queues contradict each other, -EMSGSIZE:
 * behind the kernel driver the pages for the ring are too small for its MBUFs, -ENOMEM: no memory,
 * -EPERM: behind the kernel driver `net` needs CAP_NET_RAW, -EOPNOTSUPP: the kernel driver is too
 * old for `net`, `staging_bytes` or LITEPCIE_CLOCK_HOST, -ETIMEDOUT: the card does not come to rest, or does not
 * clear its counts, -EIO: the card does not answer. Threads: one.
 */
int litepcie_capture_start(struct litepcie_capture *capture);

/*
 * Get the next blocks of the ring, and wait up to @timeout_ms for them, for ever if it is negative.
 * Each call continues where the last one ended. With a timeout of 0 the call looks into memory and
 * does not wait. Behind the kernel driver a wait sleeps until the card's interrupt. Elsewhere a
 * wait sleeps for 10 us at first, and for 1 ms in the end. If nothing has come for a fifth of a
 * second, a wait also checks whether the card is still there. After litepcie_capture_stop() the
 * call does not wait, and returns 0 when all has been given.
 *
 * With `newest` the blocks that the card has written over, or is about to, are skipped.
 *
 * Returns 1 and the blocks in @span, 0 if none came in time, or -errno; -EINTR: a signal was
 * handled while the call slept, -EIO: the card was reset, or its status line cannot be true,
 * -EPIPE: queue 0 was stopped, and with it this queue, and all has been given. Threads: one.
 */
int litepcie_capture_next(struct litepcie_capture *capture, struct litepcie_span *span,
			  int timeout_ms);

/*
 * Release the oldest @bytes of the spans that litepcie_capture_next() has returned, so that the
 * card may write there again. The library tells the card only when an eighth of the ring (a quarter
 * from 256 MiB on) or an MBUF (part of the ring) has been released, whichever is more. With
 * `newest` the card does not wait for releases, and they only tell what was overwritten. Returns 0
 * or -errno; -EINVAL: the program holds fewer bytes, -EOVERFLOW: with `newest` the card has
 * overwritten a part of these bytes, so the data that the program has read there may be wrong.
 * Threads: one.
 */
int litepcie_capture_release(struct litepcie_capture *capture, size_t bytes);

/*
 * Stop the capture. The stop of queue 0 ends all queues: the card takes no more frames, writes all
 * earlier frames to the rings, seals (completes) the last MBUF (part) of each ring, and then writes
 * no more. The stop of another queue ends that queue only: its MBUF is sealed, and what the card
 * writes to its ring behind that MBUF is not given. litepcie_capture_next() gives what is left. If
 * the ring is full, a frame that waits for room, with `lossless`, is lost and counted at the stop
 * of queue 0. Frames that come while nothing is captured are not counted.
 *
 * The stop of queue 0 waits until the card has come to rest, and then for the last status line of
 * each queue, for @rest_ms each at most. The stop of another queue waits for the status line of its
 * last MBUF. After -ETIMEDOUT the card may still write to the rings. Their memory is then kept
 * until the card is seen at rest, or the handle is closed. Returns 0 or -errno; -ETIMEDOUT: the
 * card does not come to rest, so it must be reset, -EIO: it does not answer, its status line cannot
 * be true, or it ended inside an MBUF. Threads: one.
 */
int litepcie_capture_stop(struct litepcie_capture *capture);

/*
 * Get the counts of the queue's frames since the start, and the card's position in its ring. The
 * counts of all ports are copied at one moment. The call waits for that copy, for @rest_ms at most.
 * Returns 0 or -errno; -ETIMEDOUT: the card does not end the copy. Threads: one.
 */
int litepcie_capture_stats(struct litepcie_capture *capture, struct litepcie_capture_stats *stats);

/*
 * Find out how many capture queues the card has. Returns their number, 1 to 16, or -errno; -ENODEV:
 * the card has no capture block. Threads: any.
 */
int litepcie_capture_queues(struct litepcie *dev);

/*
 * Set which frames go to which queue, from the next start of queue 0 on until queue 0 is closed.
 * @capture must be that of queue 0. If @sorting is NULL, and without this call, all frames go to
 * queue 0. Frames for a queue that is not started are lost and counted. With `lossless` these
 * frames wait, and hold up all other frames.
 *
 * Returns 0 or -errno; -EINVAL: a rule or an entry names a queue that the card does not have, or
 * this is another queue than 0, -EBUSY: frames are being taken, or another program has queue 0,
 * -EOPNOTSUPP: the card has one queue, -EMSGSIZE or -ENOMEM: as of litepcie_capture_start().
 * Threads: one.
 */
int litepcie_capture_sort(struct litepcie_capture *capture, const struct litepcie_sorting *sorting);

/*
 * Make a rule from @text of at most 255 characters. Its words, with blanks or commas between them,
 * say which frames match the rule, and what the card does with these frames.
 *
 * A frame must match each of these words that is given: port=N, vlan=N, ethertype=N, proto=N or one
 * of proto=tcp, udp, sctp and icmp, flags=N/MASK for those of TCP, length=N-M, sport=N-M,
 * dport=N-M, src=ADDRESS/BITS and dst=ADDRESS/BITS. -M, /MASK and /BITS may be left out. The words
 * ipv4, ipv6, tagged, fragment and ports match a frame of that version of IP, with a VLAN tag, that
 * is a fragment, or that has port numbers. One of these five words with ! before it matches all
 * other frames. Of an IPv6 address the first 64 bits are compared at most.
 *
 * The frame goes to the queue of queue=N, and not where the spread sends it. snap=N keeps N bytes
 * of the frame. The word discard, without these two, drops the frame and counts it. A rule needs at
 * least one of the words queue, snap and discard.
 *
 * Returns 0 and the words of the rule in @words, or -EINVAL if the text is no rule. Threads: any.
 */
int litepcie_capture_rule(struct litepcie *dev, const char *text,
			  uint32_t words[LITEPCIE_RULE_WORDS]);

/*
 * Get the frames that rules have discarded since the start, as of one moment. All counts are 0 on a
 * card with one queue, which has no rules. The call waits for the card's copy of the counts, for
 * @rest_ms at most. Returns 0 or -errno; -ETIMEDOUT: the card does not end the copy. Threads: one.
 */
int litepcie_capture_discards(struct litepcie_capture *capture, struct litepcie_discards *discards);

/*
 * Write the header of a file to @buffer: LITEPCIE_CAPTURE_HEADER_BYTES with a section, an interface
 * for each port, and a filler. Whole MBUFs (parts of the ring) behind it make a valid pcapng file.
 * Returns the number of bytes, or -EINVAL if @bytes is less. Threads: any.
 */
int litepcie_capture_header(const struct litepcie_capture *capture, void *buffer, size_t bytes);

/*
 * Start the generator in the card, from frame 0 on. A generator that runs is stopped first. With
 * `lossless` a frame of the generator may wait for room: the generator stops only after
 * litepcie_capture_release() has made room for that frame. The call waits for such a frame for
 * @rest_ms at most. Only the capture of queue 0 may call this.
 *
 * Returns 0 or -errno; -EINVAL: a setting is out of its range, or this is another queue,
 * -ETIMEDOUT: the last frame of an earlier start still waits for room in the ring, -EBUSY: another
 * program has queue 0, -EMSGSIZE or -ENOMEM: as of litepcie_capture_start(). Threads: one.
 */
int litepcie_capture_generate(struct litepcie_capture *capture,
			      const struct litepcie_generator *generator);

/*
 * Let the generator make no more frames. The call waits for nothing: a frame that has begun still
 * leaves, and litepcie_capture_generated() returns 1 when it has left. A generator that does not
 * run stays as it is. Returns 0 or -errno; -EINVAL: this is another queue than 0, -EBUSY: another
 * program has queue 0. Threads: one.
 */
int litepcie_capture_generate_stop(struct litepcie_capture *capture);

/*
 * Find out how many frames the generator has made since its start. The capture may not have counted
 * the last of them yet. After litepcie_capture_generate_stop() the number becomes 0. Returns 1 if
 * no frame is being made, 0 if one is, or -errno. Threads: one.
 */
int litepcie_capture_generated(struct litepcie_capture *capture, uint64_t *frames);

/* Player of frames ---------------------------------------------------------------------------- */

/* The pace of the player's frames: values of @pace in struct litepcie_player. */
/* pace: frames follow each other as fast as the capture block takes them */
#define LITEPCIE_PACE_FAST	0u
/* pace: frames follow each other at the distances in time at which they were recorded */
#define LITEPCIE_PACE_RECORDED	1u
/*
 * pace: frames follow each other as on a line with @bytes_per_s, @overhead and @least; an Ethernet
 * line has LITEPCIE_LINE_OVERHEAD and LITEPCIE_LINE_LEAST
 */
#define LITEPCIE_PACE_LINE	2u
/* pace: @packets_per_s frames a second, whatever their lengths */
#define LITEPCIE_PACE_PACKETS	3u

/*
 * Bytes that a frame takes on an Ethernet line beside its own: preamble 8, checksum 4 and gap 12.
 * A frame of less than 60 bytes is padded to 60.
 */
#define LITEPCIE_LINE_OVERHEAD	24u
#define LITEPCIE_LINE_LEAST	60u

/* The settings of the player in the card. */
struct litepcie_player {
	size_t		struct_size;
	uint32_t	pace;		/* one of LITEPCIE_PACE_ */
	uint32_t	port;		/* port that all frames come from, if @fixed_port is set */
	/* true: all frames come from @port; false: from the number of their pcapng interface */
	bool		fixed_port;
	/* true: frames keep their recorded times; false: they get the times at which they leave */
	bool		keep_time;
	/* with LITEPCIE_PACE_LINE: speed of the line in bytes a second */
	uint64_t	bytes_per_s;
	/*
	 * with LITEPCIE_PACE_LINE: a frame takes the time of so many bytes on the line in addition
	 * to its own bytes; at most 255
	 */
	uint32_t	overhead;
	/*
	 * with LITEPCIE_PACE_LINE: a frame of fewer bytes than @least takes the time of @least
	 * bytes; at most 255
	 */
	uint32_t	least;
	/* with LITEPCIE_PACE_PACKETS: number of frames a second */
	double		packets_per_s;
	/*
	 * longest time in ms that the start waits for a frame of an earlier start; 0:
	 * LITEPCIE_CAPTURE_REST_MS, -1: for ever
	 */
	int32_t		rest_ms;
};

/* What the player has done since its start. */
struct litepcie_played {
	size_t		struct_size;
	uint64_t	packets;	/* number of frames that the player has begun to send */
	uint64_t	bytes;		/* number of bytes of these frames */
	/* number of blocks that were whole and broke none of the player's rules */
	uint32_t	passed;
	uint32_t	skipped;	/* number of blocks of @passed that have no packet */
	/* number of blocks of @passed whose packet has no bytes, so that it becomes no frame */
	uint32_t	empty;
	/*
	 * number of the player's rule for pcapng blocks that a block broke, at which the player
	 * stopped; 0: none did
	 */
	uint32_t	error;
	bool		in_block;	/* true: the stream so far ends inside a block */
	bool		idle;		/* true: no frame is leaving the player now */
	uint64_t	begun_ns;	/* device time in ns at which the first frame began */
	uint64_t	ended_ns;	/* device time in ns at which the last frame ended */
};

/*
 * Start the player. A player that runs takes the h2c stream from the user slot, and makes a frame
 * of each packet in that stream. So the program sends pcapng through the ring of h2c: little
 * endian, with times in ns, from the beginning of a block on, and every buffer filled with a
 * multiple of 32 bytes. h2c must not run when the player is started or stopped. A block that breaks
 * a rule stops the player: it plays the frames before that block, and drops what comes behind. A
 * frame that waits for room in the capture block keeps the player busy: release a part of the
 * capture's ring before the player is started again. The call waits for a frame of an earlier start
 * for @rest_ms at most.
 *
 * Returns 0 or -errno; -EINVAL: a setting is out of its range, -ENODEV: the card has no player,
 * -ETIMEDOUT: a frame of the last start is still leaving. Threads: one.
 */
int litepcie_play(struct litepcie *dev, const struct litepcie_player *player);

/*
 * Stop the player and give the h2c stream back to the user slot. h2c must not run. The call waits
 * for nothing: a frame that has begun still leaves. A player that does not run stays as it is.
 * Returns 0 or -errno; -ENODEV: the card has no player. Threads: one.
 */
int litepcie_play_stop(struct litepcie *dev);

/*
 * Get what the player has done since its start. Returns 0 or -errno. Threads: one.
 */
int litepcie_played(struct litepcie *dev, struct litepcie_played *played);

/*
 * Returns a sentence about one of the player's rules for pcapng blocks: the rule that a block has
 * broken. @error is that of struct litepcie_played. Threads: any.
 */
const char *litepcie_play_error(uint32_t error);

/* The records of a span, in place ------------------------------------------------------------- */

/* Used by litepcie_record_next(): load 32 bits of a block. Block and host are little-endian. */
static inline uint32_t litepcie_record_word(const uint8_t *data)
{
	uint32_t word;

	memcpy(&word, data, sizeof(word));
	return word;
}

/*
 * Used by litepcie_record_next(): take over the options of a record from @data to @end. Returns 1,
 * or -EBADMSG if an option reaches beyond the end.
 */
static inline int litepcie_record_options(const uint8_t *data, const uint8_t *end,
					  struct litepcie_packet *packet)
{
	while (end - data >= 4) {
		uint32_t head = litepcie_record_word(data), bytes = head >> 16;

		data += 4;
		if ((head & 0xffff) == 0)
			break;
		if (bytes > (size_t)(end - data))
			return -EBADMSG;
		if (head == (4u << 16 | LITEPCIE_PCAPNG_FLAGS))
			packet->flags = litepcie_record_word(data);
		else if (head == (8u << 16 | LITEPCIE_PCAPNG_DROPPED))
			packet->dropped = litepcie_record_word(data) |
					  (uint64_t)litepcie_record_word(data + 4) << 32;
		bytes = (bytes + 3) & ~3u;
		if (bytes > (size_t)(end - data))
			return -EBADMSG;
		data += bytes;
	}
	return 1;
}

/* Used by litepcie_record_next(): get the next frame, whatever the block at *@at is. */
static __attribute__((noinline, unused)) int litepcie_record_other(
	const struct litepcie_span *span, size_t *at, struct litepcie_packet *packet)
{
	while (*at < span->bytes) {
		const uint8_t *block = span->data + *at;
		size_t left = span->bytes - *at;
		uint32_t length, kept;

		if (left < LITEPCIE_PCAPNG_BLOCK_LEAST)
			return -EBADMSG;
		length = litepcie_record_word(block + 4);
		if (length < LITEPCIE_PCAPNG_BLOCK_LEAST || length % 4 || length > left ||
		    litepcie_record_word(block + length - 4) != length)
			return -EBADMSG;
		if (litepcie_record_word(block) != LITEPCIE_PCAPNG_RECORD) {
			*at += length;
			continue;
		}
		if (length < LITEPCIE_PCAPNG_RECORD_LEAST)
			return -EBADMSG;
		kept = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
		if (kept > length - LITEPCIE_PCAPNG_RECORD_LEAST)
			return -EBADMSG;
		packet->port = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_PORT);
		packet->time_ns =
			(uint64_t)litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_TIME) << 32 |
			litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_TIME + 4);
		packet->kept = kept;
		packet->length = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_LENGTH);
		packet->data = block + LITEPCIE_PCAPNG_RECORD_AT_DATA;
		packet->flags = 0;
		packet->dropped = 0;
		kept = (kept + 3) & ~3u;
		/*
		 * If at most four bytes follow the padded data, the record has no options: four
		 * bytes are just the mark that ends the options.
		 */
		if (length - LITEPCIE_PCAPNG_RECORD_LEAST > kept + 4 &&
		    litepcie_record_options(block + LITEPCIE_PCAPNG_RECORD_AT_DATA + kept, block + length - 4,
					    packet) < 0)
			return -EBADMSG;
		*at += length;
		return 1;
	}
	return 0;
}

/*
 * Used by litepcie_record_next() for all blocks but records without options.
 * litepcie_record_other() gets copies of *@at and *@packet. So the compiler can keep the program's
 * own variables in CPU registers.
 */
static inline __attribute__((always_inline)) int litepcie_record_apart(
	const struct litepcie_span *span, size_t *at, struct litepcie_packet *packet)
{
	struct litepcie_packet found;
	size_t place = *at;
	int rc;

	memset(&found, 0, sizeof(found));
	rc = litepcie_record_other(span, &place, &found);
	*at = place;
	if (rc == 1)
		*packet = found;
	return rc;
}

/*
 * Get the next frame of a span. *@at is the place in the span in bytes, 0 at first, and is moved
 * behind the frame. Fillers and seals are skipped. Nothing outside the span is read, whatever its
 * bytes are. Returns 1 and the frame in @packet, 0 at the end of the span, or -EBADMSG if the block
 * at *@at is no valid pcapng block. For speed the length at the end of a record without options is
 * not compared with the one at its start. Threads: any.
 */
static inline __attribute__((always_inline)) int litepcie_record_next(
	const struct litepcie_span *span, size_t *at, struct litepcie_packet *packet)
{
	const uint8_t *block = span->data + *at;
	uint64_t time, rest;
	uint32_t length;
	size_t next;

	/*
	 * Nearly all blocks are records without options, which this fast path takes. Its checks:
	 * the span has room for the shortest record, at most padding and an end of options follow
	 * the data, the block is a record, and it ends inside the span. So nothing outside the span
	 * is read. The length at the end of the block is not compared here:
	 * `lanebox-capture check` does that.
	 */
	if (__builtin_expect((int64_t)*at > (int64_t)span->bytes - LITEPCIE_PCAPNG_RECORD_LEAST, 0))
		return litepcie_record_apart(span, at, packet);
	length = litepcie_record_word(block + 4);
	next = *at + length;
	packet->kept = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_KEPT);
	/* If the block's length is too small for the data, @rest wraps to a very large number. */
	rest = (uint64_t)length - LITEPCIE_PCAPNG_RECORD_LEAST - packet->kept;
	if (__builtin_expect(rest >= 8, 0))
		return litepcie_record_apart(span, at, packet);
	if (__builtin_expect(litepcie_record_word(block) != LITEPCIE_PCAPNG_RECORD, 0))
		return litepcie_record_apart(span, at, packet);
	if (__builtin_expect(next > span->bytes, 0))
		return litepcie_record_apart(span, at, packet);
	memcpy(&time, block + LITEPCIE_PCAPNG_RECORD_AT_TIME, sizeof(time));
	packet->time_ns = time << 32 | time >> 32;
	packet->port = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_PORT);
	packet->length = litepcie_record_word(block + LITEPCIE_PCAPNG_RECORD_AT_LENGTH);
	packet->data = block + LITEPCIE_PCAPNG_RECORD_AT_DATA;
	packet->flags = 0;
	packet->dropped = 0;
	*at = next;
	return 1;
}

/*
 * Get up to @count frames of a span as a table, for languages in which a call for each frame is
 * slow. An entry of the table @packets has @size bytes, sizeof(struct litepcie_packet). *@at is the
 * place in the span, as for litepcie_record_next(). Returns the number of frames in @packets, 0 at
 * the end of the span, or -errno; -EBADMSG: no valid block begins at *@at, -EINVAL: @size is
 * smaller than the first struct litepcie_packet was. Threads: any.
 */
int litepcie_records(const struct litepcie_span *span, size_t *at, struct litepcie_packet *packets,
		     unsigned int count, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* LITEPCIE_CAPTURE_H */
