/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * liblitepcie: registers, MMIO and DMA of one Lanebox card.
 *
 * The same calls reach a card in three ways: through Lanebox's kernel driver, through VFIO without
 * a module of its own, or, for a simulated board, through a vfio-user socket without a machine
 * around it. The calls mean the same in each way. The card uses the buffers that it was given and
 * waits when it has none, so no data is lost or sent twice, however slow the program is. LitePCIe's
 * own driver cannot do that, so with it only registers and memory can be used. The card's
 * capability table says which blocks it has and where, so one library fits every build of the
 * gateware.
 *
 * Every call that can fail returns 0 or a count, or -errno; litepcie_why() then has a sentence. The
 * library prints nothing, touches no signal and makes no thread. Every call that can block takes a
 * timeout, or ends within the timeout of the device string.
 *
 * A timeout is in milliseconds, as poll()'s: with 0 a call looks and does not wait, with a negative
 * timeout it waits for ever. Every wait also ends
 *   with -ECANCELED  within a fifth of a second after another thread has stopped the DMA, by
 *                    litepcie_dma_stop(), or switched the user's interrupt off
 *   with -EINTR      when a signal is handled by the thread that sleeps. Of several threads that
 *                    wait on one handle only one sleeps, and a thread that is not asleep yet misses
 *                    the signal. A signal never ends a register access.
 *
 * The first member of a struct that is passed to the library is its size, sizeof(struct ...), as in
 * `struct litepcie_stats stats = { .struct_size = sizeof(stats) };`. So the structs can grow, and
 * programs that were compiled before still run. A call fails with -EINVAL if a struct does not say
 * its size. Only struct litepcie_c2h_record, which a program asks for with each buffer, has none.
 *
 * litepcie_diagnostics.h has the calls that measure the card, and litepcie_capture.h those that
 * capture frames.
 *
 * Handles are independent of each other. For one handle each call says which threads may be in it:
 *   Threads: any.           at any time, from any number of threads
 *   Threads: per direction. one thread for h2c and one for c2h, which may be two
 *   Threads: alone.         no other call on this handle at the same time
 *
 * Errors with a meaning of their own:
 *   -ENODEV     the card is gone: the board process left, or nothing is bound to the driver. From a
 *               wait through VFIO also: somebody unbinds or removes the card, and the kernel waits
 *               until this program closes it
 *   -EIO        the card does not answer (it reads all ones), or its counts cannot be true; or it
 *               was reset while a direction ran, which must be stopped and started again
 *   -ETIMEDOUT  nothing came in time
 *   -ECANCELED  another thread ended what this call waited for
 *   -EBUSY      another program, or another handle, runs this DMA direction
 *   -EPROTO     the peer does not speak the protocol, or the card is of another kind or version
 *   -EOPNOTSUPP this back end cannot make this access, or its driver has no held runs, in which
 *               the card waits for buffers
 *   -ENOENT     the card has no such block, register or BAR
 */
#ifndef LIBLITEPCIE_H
#define LIBLITEPCIE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Size in bytes of the longest sentence of litepcie_why(), with its terminating zero. */
#define LITEPCIE_WHY_SIZE	320

/* The directions of the DMA: host to card (h2c), and card to host (c2h). */
#define LITEPCIE_H2C	1u
#define LITEPCIE_C2H	2u

/* most parameters of a capability table entry that a struct litepcie_block can hold */
#define LITEPCIE_PARAMETERS	16
#define LITEPCIE_BARS		6	/* most BARs that a card may have */

/*
 * Limits of the shape of a ring: the smallest and largest size of a buffer in bytes, and the fewest
 * buffers. The largest number of buffers is table_depth of struct litepcie_card.
 */
#define LITEPCIE_BUFFER_SMALLEST	4096u
#define LITEPCIE_BUFFER_LARGEST		4194304u
#define LITEPCIE_BUFFERS_FEWEST		16u

/* Largest value of flush_us in struct litepcie_dma_config, in microseconds. */
#define LITEPCIE_FLUSH_US_LARGEST	1000000u

/*
 * Smallest and largest value of poll_us in struct litepcie_dma_config, in microseconds. 0 is
 * allowed, too, and means that the card interrupts.
 */
#define LITEPCIE_POLL_US_LEAST		10u
#define LITEPCIE_POLL_US_LARGEST	1000000u

/*
 * The reasons for which a c2h buffer has ended: flags of struct litepcie_c2h_record. If none is
 * set, the buffer is full.
 */
#define LITEPCIE_RECORD_LAST	1u	/* the c2h buffer ended because a packet ended */
/* the c2h buffer ended because no data came for the flush time */
#define LITEPCIE_RECORD_FLUSHED	2u
#define LITEPCIE_RECORD_ERROR	4u	/* the user's logic marked the c2h packet as bad */

/* What a card can do by the way it was opened: flags of litepcie_features(). */
/* streams in which the card waits for buffers, so all calls for DMA */
#define LITEPCIE_HAS_STREAMS		(UINT64_C(1) << 0)
/* streams with packets, and buffers of any length */
#define LITEPCIE_HAS_PACKETS		(UINT64_C(1) << 1)
/* interrupts of the user's logic, litepcie_user_wait() */
#define LITEPCIE_HAS_USER_INTERRUPT	(UINT64_C(1) << 2)
/* the monitor of the user slot, litepcie_slot() of litepcie_diagnostics.h */
#define LITEPCIE_HAS_SLOT_MONITOR	(UINT64_C(1) << 3)
/* BARs can be mapped, litepcie_bar_map(), if this user may and the host lets them */
#define LITEPCIE_HAS_BAR_MAP		(UINT64_C(1) << 4)

struct litepcie;
struct litepcie_memory;

/* The build of the card's gateware, as its capability table describes it. */
struct litepcie_card {
	size_t		struct_size;
	char		target[32];	/* name of the board that the gateware was built for */
	/* SHA-256 of the gateware's sources, in hexadecimal digits */
	char		digest[65];
	char		identifier[128];
	/* the gateware's endpoint: "litepcie", "lanebox" or "unknown" */
	char		endpoint[16];
	unsigned int	blocks;		/* number of entries in the capability table */
	unsigned int	channels;	/* number of DMA channels on the card */
	unsigned int	data_width;	/* width of the card's data path in bits */
	unsigned int	address_width;	/* width in bits of a host address that the DMA can use */
	/*
	 * most descriptors that the card's table holds for a direction, which limits a ring's
	 * buffers
	 */
	unsigned int	table_depth;
	/* most PCIe reads of host memory that the card can have in flight */
	unsigned int	read_tags;
	uint32_t	clock_hz;
	uint32_t	tick_ps;	/* length of a tick of device time in ps, never 0 */
};

/*
 * An entry of the capability table: one block of the gateware.
 * software/uapi/litepcie_capability.h has the types and their parameters.
 */
struct litepcie_block {
	size_t		struct_size;
	unsigned int	type;
	unsigned int	version;
	/* number of this block among the blocks of its type, from 0 */
	unsigned int	index;
	unsigned int	bar;
	uint32_t	offset;		/* offset of the block's first byte in BAR @bar, in bytes */
	uint32_t	size;		/* length of the block's registers or memory in bytes */
	unsigned int	parameters;
	uint32_t	parameter[LITEPCIE_PARAMETERS];
};

/*
 * A register, by the name that LiteX gives it. A register of two words (64 bits) has its upper half
 * at @offset and its lower half 4 bytes behind.
 */
struct litepcie_register {
	size_t		struct_size;
	char		name[64];
	uint32_t	offset;		/* offset of the register in BAR0, in bytes */
	unsigned int	words;		/* number of the register's 32-bit words: 1 or 2 */
	bool		writable;
};

/* A BAR of the card that is mapped into this process's memory. */
struct litepcie_window {
	size_t		struct_size;
	volatile void	*base;
	size_t		size;
	/* true: the CPU may merge stores to the BAR; false: each access is one TLP */
	bool		write_combining;
	/* true: some pages of the BAR are read-only: a store to them ends in SIGSEGV */
	bool		partial;
};

struct litepcie_dma_config {
	size_t		struct_size;
	/* the directions to start: LITEPCIE_H2C, LITEPCIE_C2H, or their sum for both */
	unsigned int	directions;
	/* true: the DMA itself sends its h2c data back as c2h data */
	bool		loopback;
	/*
	 * The card's pattern replaces the streams of the user slot: dword i has the value i. In c2h
	 * the card sends the pattern from dword 0 on, in h2c it compares the data with the pattern.
	 */
	bool		pattern;
	/*
	 * Each h2c buffer is a packet, whose end the user's logic sees. When the user's logic ends
	 * a packet, the c2h buffer ends, too. A packet that is longer than a buffer continues in
	 * the next buffer. Without packets h2c is a stream without ends, and c2h buffers are always
	 * full. Packets need a card with records (block type 16 of the capability table).
	 */
	bool		packets;
	/*
	 * The most c2h buffers that the card gets in this run. 0: no limit. The last of them raises
	 * an interrupt.
	 */
	uint64_t	c2h_limit;
	/*
	 * The number of buffers from one interrupt of a direction to the next, at most all buffers
	 * of the ring. 0: 32, or half the ring if that is less. With a smaller number the program
	 * hears of a single buffer sooner, and the card interrupts more often.
	 */
	unsigned int	interrupt_every;
	/*
	 * How many released or submitted buffers the card is told of at once, at most half the
	 * ring. 0: 1. A larger number saves messages, or writes to the card. Up to batch - 1
	 * buffers are kept back: until there are enough, until a wait at which the card has less
	 * than half a ring left, or until a call of litepcie_dma_flush() or litepcie_h2c_drain().
	 */
	unsigned int	batch;
	/*
	 * With packets: a partly filled c2h buffer ends when no more data has come for so many
	 * microseconds, at most LITEPCIE_FLUSH_US_LARGEST. 0: it does not end for this reason.
	 */
	unsigned int	flush_us;
	/*
	 * 0: the card interrupts when buffers are done. Otherwise the card raises no interrupts,
	 * and a wait sleeps and looks at the card's progress every poll_us microseconds:
	 * LITEPCIE_POLL_US_LEAST to LITEPCIE_POLL_US_LARGEST. Behind the kernel driver it is the
	 * driver that looks. A look reads memory, or a register of a card without records. With
	 * poll_us interrupt_every has no meaning.
	 */
	unsigned int	poll_us;
	/*
	 * For poll_us: the looks begin after an interrupt, which switches the card's interrupts
	 * off. When a look finds no further buffer done, the looks end and the interrupts are on
	 * again.
	 */
	bool		adaptive;
};

/* The card's report of how a c2h buffer that the card filled has ended. */
struct litepcie_c2h_record {
	/* number of valid bytes, from the start of the c2h buffer on */
	uint32_t	bytes;
	/* why the c2h buffer ended: sum of LITEPCIE_RECORD_ values; 0: it is full */
	uint32_t	flags;
};

/* Device -------------------------------------------------------------------------------------- */

/*
 * Open the card named @name: "/dev/litepcieN", "vfio:ADDRESS[,channel=N][,type1|,iommufd]", or
 * "sim:SOCKET[,mps=BYTES][,mrrs=BYTES][,timeout=SECONDS]".
 *
 * With "vfio:", like "vfio:0000:22:00.0", the card must be bound to vfio-pci and be behind an
 * IOMMU. The card needs no kernel module of its own. The library uses the kernel's iommufd
 * interface if there is one and the user may open its files, else type1, unless the string names
 * one of them. All BARs are then mapped uncached, memory too, and each access is a TLP of its own.
 * Fast transfers need DMA, or the kernel driver, which can map memory write-combining.
 *
 * With "sim:" the caller is the whole host of a simulated board: this call gives the card its BAR
 * addresses, maximum sizes (by default what the card advertises as payload, and 512 for reads), MSI
 * and DMA memory.
 *
 * Returns 0 and the handle in @dev, or -errno; @why, if not NULL, then gets a sentence of at most
 * LITEPCIE_WHY_SIZE bytes. Threads: any.
 */
int litepcie_open(struct litepcie **dev, const char *name, char *why);

/*
 * Stop all directions, leave the card quiet and free everything. @dev may be NULL. Threads: alone.
 */
void litepcie_close(struct litepcie *dev);

/*
 * Reset the card, as after power-on, and get it ready again: registers lose their values, rings
 * keep their shape. No direction may run. Through the kernel driver only root may reset. Returns 0
 * or -errno: -EBUSY while DMA runs, -EOPNOTSUPP if the host cannot reset this card. Threads: alone.
 */
int litepcie_reset(struct litepcie *dev);

/*
 * Returns the name that the card was opened by. Threads: any.
 */
const char *litepcie_name(const struct litepcie *dev);

/*
 * Returns the name of the back end that reaches the card: "kernel", "vfio" or "sim". Threads: any.
 */
const char *litepcie_backend(const struct litepcie *dev);

/*
 * Returns the reason why this thread's last failing call failed, in a sentence. That call may have
 * been litepcie_open(), and @dev may be NULL. The text is valid until this thread's next failing
 * call. Threads: any.
 */
const char *litepcie_why(const struct litepcie *dev);

/*
 * Returns what the error number @error of this library means. It may be positive or negative. The
 * text is more general than the sentence of litepcie_why(). Threads: any.
 */
const char *litepcie_strerror(int error);

/* The card's description ----------------------------------------------------------------------- */

/*
 * Get the description of the card, which the library read when it opened the card. Returns 0, or
 * -EINVAL if @card does not say its size. Threads: any.
 */
int litepcie_card(const struct litepcie *dev, struct litepcie_card *card);

/*
 * Returns what this card can do by the way it was opened: a sum of LITEPCIE_HAS_ flags. A flag that
 * the program does not know is that of a newer library. The flags stay as they are until the card
 * is closed. Threads: any.
 */
uint64_t litepcie_features(const struct litepcie *dev);

/*
 * Get block @number of the capability table, counted from 0. Returns 0, or -ENOENT if the table has
 * no more blocks. Threads: any.
 */
int litepcie_block(struct litepcie *dev, unsigned int number, struct litepcie_block *block);

/*
 * Get block number @index among the blocks of type @type, counted from 0. Returns 0, or -ENOENT if
 * the card has no such block. Threads: any.
 */
int litepcie_block_find(struct litepcie *dev, unsigned int type, unsigned int index,
			struct litepcie_block *block);

/*
 * Get the gateware's identifier as @text, cut to @size bytes and always terminated. Returns 0.
 * Threads: any.
 */
int litepcie_identifier(struct litepcie *dev, char *text, size_t size);

/*
 * Get device time in ticks, which a card counts from its own power-on or reset. Returns 0 or
 * -errno. Threads: any.
 */
int litepcie_time(struct litepcie *dev, uint64_t *ticks);

/* Registers ----------------------------------------------------------------------------------- */

/*
 * A register is reached by its offset in BAR0, litepcie_readl() and the calls next to it, or by its
 * name, litepcie_register_read() and litepcie_register_write(). litepcie_bar_read() and
 * litepcie_bar_write() make an access of a chosen size to any BAR, for memory and for whatever the
 * user's logic has.
 */

/*
 * Read 32 bits at @offset in BAR0. Returns 0 or -errno. Threads: any.
 */
int litepcie_readl(struct litepcie *dev, uint32_t offset, uint32_t *value);

/*
 * Read a register of two words at @offset in BAR0. The read is repeated until both halves belong to
 * the same value. Returns 0 or -errno. Threads: any.
 */
int litepcie_readq(struct litepcie *dev, uint32_t offset, uint64_t *value);

/*
 * Write 32 bits at @offset in BAR0. The write may still be on its way to the card when this call
 * returns. A later read comes after the write. Returns 0 or -errno. Threads: any.
 */
int litepcie_writel(struct litepcie *dev, uint32_t offset, uint32_t value);

/*
 * Write a register of two words at @offset in BAR0: its upper half first, its lower half last, with
 * no other write of this handle between them. Returns 0 or -errno. Threads: any.
 */
int litepcie_writeq(struct litepcie *dev, uint32_t offset, uint64_t value);

/*
 * Take in the names of all registers from the csr.json that LiteX writes when it builds the
 * gateware. Without the file the library knows the registers of the blocks in the capability table.
 * With the file the library also knows those of the user's logic and of the endpoint. The call can
 * be made again. Returns 0 or -errno; -EPROTO: the file is of another build, or not LiteX's, and
 * nothing has changed. Threads: alone.
 */
int litepcie_csr_load(struct litepcie *dev, const char *path);

/*
 * Get register @number of the registers sorted by their offset in BAR0, counted from 0. Returns 0,
 * or -ENOENT if the library knows no more registers. Threads: any.
 */
int litepcie_register(struct litepcie *dev, unsigned int number, struct litepcie_register *found);

/*
 * Find the register with the name @name, like "ctrl_scratch". Returns 0, or -ENOENT if no register
 * has this name; the sentence of litepcie_why() then has the nearest name. Threads: any.
 */
int litepcie_register_find(struct litepcie *dev, const char *name,
			   struct litepcie_register *found);

/*
 * Read a register by name. A register of two words gives 64 bits, which belong to the same value.
 * Returns 0 or -errno. Threads: any.
 */
int litepcie_register_read(struct litepcie *dev, const char *name, uint64_t *value);

/*
 * Write a register by name. A register of two words gets its upper half first, its lower half last.
 * Returns 0 or -errno; -EACCES: the register is read-only, -ERANGE: @value has more bits than the
 * register. Threads: any.
 */
int litepcie_register_write(struct litepcie *dev, const char *name, uint64_t value);

/*
 * Returns the size of a BAR in bytes. It is 0 if the card has no such BAR, or if this back end
 * cannot reach the BAR. Threads: any.
 */
uint64_t litepcie_bar_size(const struct litepcie *dev, unsigned int bar);

/*
 * Make one read of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to @size, from any BAR. With
 * "sim:" the read is one TLP. If the BAR is mapped, the read is one load of the CPU, which between
 * a guest's CPU and a simulated card arrives in pieces of at most 8 bytes. Returns 0 or -errno;
 * -EOPNOTSUPP: this CPU (without vector instructions) or this back end cannot make such an access.
 * Threads: any.
 */
int litepcie_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		      size_t size);

/*
 * Make one write of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to @size, to any BAR, in the same
 * way as the reads of litepcie_bar_read(). Returns 0 or -errno. Threads: any.
 */
int litepcie_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
		       size_t size);

/*
 * Map the whole BAR as memory of this process, until the handle is closed. Lanebox's driver maps
 * memory write-combining and registers uncached. VFIO maps everything uncached. LitePCIe's driver
 * leaves BAR0 to sysfs, which maps it uncached. The BARs of a simulated board cannot be mapped.
 *
 * To a user without CAP_SYS_RAWIO Lanebox's driver maps for writing only those pages that belong to
 * memories and to the user slot. @window then says that it is partial: a store to another page ends
 * in SIGSEGV. litepcie_writel() reaches the other registers that are allowed. Returns 0 or -errno;
 * -EOPNOTSUPP: the BAR cannot be mapped in this way. Threads: any.
 */
int litepcie_bar_map(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);

/* Interrupts of the user's logic -------------------------------------------------------------- */

/*
 * Switch the interrupts of the logic in the user slot on or off. An interrupt that was raised
 * before this call is forgotten. A reset switches the interrupts off. Returns 0 or -errno; -ENOENT:
 * the capability table names no interrupt, since the logic in the slot has no registers, -EBUSY:
 * another program has the interrupts through the kernel driver, -EOPNOTSUPP: LitePCIe's driver does
 * not support them. Threads: any.
 */
int litepcie_user_enable(struct litepcie *dev, bool on);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the user's logic raises its interrupt.
 * An interrupt since the last return of 1 counts, too. Several interrupts count as one, and end the
 * wait of one thread. A direction of the DMA may run at the same time. Returns 1, 0 when no
 * interrupt came in time, or -errno; -EINVAL: the interrupts are not enabled, -ECANCELED: another
 * thread has switched them off. Threads: any.
 */
int litepcie_user_wait(struct litepcie *dev, int timeout_ms);

/* DMA ----------------------------------------------------------------------------------------- */

/*
 * A direction is a ring of buffers of equal size, numbered from 0 since its start. The user owns a
 * c2h buffer from peek to release, and an h2c buffer from get to submit. In between the program
 * uses the buffer in place. Data of a released or submitted buffer must not be touched.
 */

/*
 * Give the rings another shape: @count buffers of @size bytes each way, both powers of two, within
 * the LITEPCIE_BUFFER limits. The data in the rings is lost, and their addresses are known from the
 * next start on. No direction may run. After an error the next start has rings of the old shape. A
 * ring with a place of litepcie_ring_place() stays there. Returns 0 or -errno; -EINVAL: a ring
 * cannot have this shape, or does not fit into that place, -EOPNOTSUPP: LitePCIe's driver has no
 * held runs. Threads: alone.
 */
int litepcie_ring_setup(struct litepcie *dev, size_t size, unsigned int count);

/*
 * Returns the size of a buffer in bytes, which is the same in both directions. Threads: any.
 */
size_t litepcie_buffer_size(const struct litepcie *dev);

/*
 * Returns the number of buffers in a ring, which is the same in both directions. Threads: any.
 */
unsigned int litepcie_buffer_count(const struct litepcie *dev);

/*
 * Returns the address of h2c buffer @number, or NULL before the first start. Behind the kernel
 * driver a ring belongs to the program that runs it, so its address may change at each start.
 * Threads: any.
 */
void *litepcie_h2c_buffer(struct litepcie *dev, uint64_t number);

/*
 * Returns the address of c2h buffer @number, or NULL before the first start. The address may change
 * at each start, as that of an h2c buffer may. Threads: any.
 */
void *litepcie_c2h_buffer(struct litepcie *dev, uint64_t number);

/*
 * Put one direction's ring into the program's own memory, from the next start on: @memory is a
 * multiple of the page size, and its @bytes have room for the ring. If @memory is NULL, the ring
 * lies in the library's memory again. No direction may run. The buffers follow each other from
 * @memory on, and data in the memory stays there until the card or the program overwrites it.
 *
 * The memory must stay mapped until the ring has another place or the handle is closed, and no
 * other thread may write to it during a start. It is pinned and counts as locked memory: through
 * VFIO until the ring has another place or the handle is closed, behind the kernel driver while the
 * direction runs.
 *
 * Behind the kernel driver each buffer must lie in one page, so buffers of more than 4 KiB take
 * huge pages. This call asks the kernel to make huge pages, which works if @memory and @bytes are
 * multiples of 2 MiB. Before Linux 6.1 the program must call madvise(MADV_HUGEPAGE) before the
 * first use of the memory. The kernel driver refuses memory of a file, and shared memory other than
 * hugetlbfs's. A simulated board takes private memory only. It gives that memory other pages, which
 * the child of a fork() shares.
 *
 * Returns 0 or -errno; -EINVAL: the memory is not aligned, too small, or the other ring's, -EFAULT:
 * it may not be read and written, -EBUSY: a direction runs, -EOPNOTSUPP: shared memory for a
 * simulated board, or LitePCIe's driver has no held runs. The kernel checks the memory when a
 * direction starts, and litepcie_dma_start() then returns its errors: -EMSGSIZE: a buffer in more
 * than one page, -EOPNOTSUPP: memory of another kind, -ENOMEM: more than may be locked. Threads:
 * alone.
 */
int litepcie_ring_place(struct litepcie *dev, unsigned int direction, void *memory, size_t bytes);

/*
 * Get a descriptor of the memory of a running direction's ring, for another process or another
 * device. A shared mmap() of the descriptor has buffer 0 at its beginning. Behind the kernel driver
 * the descriptor is a dma-buf, else a file of memfd_create(). The memory exists until the
 * descriptor is closed everywhere, but the next start may use other memory. A process that has the
 * descriptor sees the data that the card writes, and can write data that the card reads. Only this
 * process knows how far the card is. The caller closes the descriptor.
 *
 * Returns 0 and the descriptor in @fd, or -errno: -EINVAL: the direction does not run, -EADDRINUSE:
 * the ring lies in the program's own memory, -EOPNOTSUPP: LitePCIe's driver has no held runs.
 * Threads: any.
 */
int litepcie_ring_export(struct litepcie *dev, unsigned int direction, int *fd);

/*
 * Keep the memory of one direction's ring mapped for this process until litepcie_ring_drop() of
 * @memory: over the end of the run, a ring of another shape and litepcie_close(). The device file
 * counts as used until then. For a ring in the program's own memory the call keeps nothing. Returns
 * 0 or -errno; -EINVAL: the ring has no memory before its first start. Threads: any.
 */
int litepcie_ring_keep(struct litepcie *dev, unsigned int direction,
		       struct litepcie_memory **memory);

/*
 * Give up memory that litepcie_ring_keep() returned. The memory is unmapped when nothing else keeps
 * it and the library no longer needs it. The card may have been closed before. If @memory is NULL,
 * nothing happens. Threads: any.
 */
void litepcie_ring_drop(struct litepcie_memory *memory);

/*
 * Reserve the directions of @config for this handle and start them. The card gets all buffers of
 * the c2h ring, and the h2c buffers that are submitted from now on. Returns 0 or -errno; -EBUSY:
 * another program runs one of the directions, and litepcie_why() names the programs that have the
 * card open, -EOPNOTSUPP: LitePCIe's driver has no held runs (in which the card waits for buffers),
 * or the card or the driver does not support packets. Threads: alone.
 */
int litepcie_dma_start(struct litepcie *dev, const struct litepcie_dma_config *config);

/*
 * Stop all directions. Data in the rings is lost. litepcie_stats() keeps its counts. If another
 * thread waits for a buffer, its call ends with -ECANCELED. Returns 0 or -errno. Threads: any.
 */
int litepcie_dma_stop(struct litepcie *dev);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has finished a further buffer
 * in one of @directions. Buffers of @directions that are kept back for a batch go to the card first
 * if it would run short of buffers. Buffers of other directions are kept back. If an interrupt is
 * lost, the wait ends less than a second later. While a card with records has finished buffers that
 * the program has not seen, this call reads no register: a program that looks again and again, with
 * a timeout of 0, reads memory. Returns 1, or 0 when the time is over, or -errno: -ECANCELED after
 * a stop by another thread, -EIO when the card was reset, -ENODEV when the card is gone, or through
 * VFIO when the kernel wants the card back. In that case stop and close the card, since the kernel
 * waits for that. Threads: per direction.
 */
int litepcie_dma_wait(struct litepcie *dev, unsigned int directions, int timeout_ms);

/*
 * Tell the card now of the buffers of @directions that are kept back for a batch. Returns 0 or
 * -errno. Threads: per direction.
 */
int litepcie_dma_flush(struct litepcie *dev, unsigned int directions);

/*
 * Get a descriptor for poll(). It is readable when a running direction may have finished buffers,
 * or with poll_us when a look is due. It stays readable until the next litepcie_dma_wait(), whose
 * timeout may be 0. Each wait, in any call, takes the news of both directions and clears the
 * descriptor. So look in both directions with a timeout of 0, which clears nothing, and call poll()
 * only if no direction has buffers. The descriptor belongs to the library and must be neither read
 * nor closed. It is valid for the run that has been started. Returns the descriptor, or -errno.
 * Threads: any.
 */
int litepcie_dma_fd(struct litepcie *dev);

/*
 * Look for filled c2h buffers, and wait up to @timeout_ms for the first, for ever if that is
 * negative. With a timeout of 0 the call looks at the card's progress and does not wait: it reads
 * memory on a card with records, else registers. While the user has buffers, the call does not look
 * at the card. Returns the number of filled buffers, with the first one's number in @first, or 0 if
 * there is none, or -errno. Threads: per direction.
 */
int litepcie_c2h_peek(struct litepcie *dev, uint64_t *first, int timeout_ms);

/*
 * Find out how filled c2h buffer @number has ended, and after how many bytes. The buffer must be
 * one that litepcie_c2h_peek() has returned and that has not been released. On a card without
 * records each buffer is full. Returns 0 or -errno. Threads: per direction.
 */
int litepcie_c2h_record(struct litepcie *dev, uint64_t number,
			struct litepcie_c2h_record *record);

/*
 * Give the @count oldest of the filled c2h buffers back to the card. Returns 0 or -errno. Threads:
 * per direction.
 */
int litepcie_c2h_release(struct litepcie *dev, unsigned int count);

/*
 * Look for free h2c buffers, and wait up to @timeout_ms for the first, for ever if that is
 * negative. With a timeout of 0 the call looks at the card's progress, as litepcie_c2h_peek() does.
 * Returns the number of free buffers, with the first one's number in @first, or 0 if there is none,
 * or -errno. Threads: per direction.
 */
int litepcie_h2c_get(struct litepcie *dev, uint64_t *first, int timeout_ms);

/*
 * Send the @count oldest of the free h2c buffers to the card, each as a whole. Returns 0 or -errno.
 * Threads: per direction.
 */
int litepcie_h2c_submit(struct litepcie *dev, unsigned int count);

/*
 * Send the first @bytes of the oldest free h2c buffer to the card: at least 1 byte, at most the
 * whole buffer. With packets these bytes are a packet. Without packets the next buffer continues
 * the stream at a new beat, and the bytes of this buffer's last beat that were not sent are
 * undefined. LitePCIe's endpoint moves whole beats, so with that endpoint @bytes must be a multiple
 * of 32, a beat. Returns 0 or -errno. Threads: per direction.
 */
int litepcie_h2c_send(struct litepcie *dev, size_t bytes);

/*
 * Wait up to @timeout_ms, for ever if it is negative, until the card has received the data of every
 * submitted h2c buffer, and the logic in its user slot has taken the data. A stop then loses no
 * data. LitePCIe's endpoint reports neither of the two. With that endpoint the call goes by the
 * card's count of received bytes, and the logic may not have taken the last data yet. Returns 0 or
 * -errno; -ETIMEDOUT: the data is not yet received and taken. Threads: per direction.
 */
int litepcie_h2c_drain(struct litepcie *dev, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* LIBLITEPCIE_H */
