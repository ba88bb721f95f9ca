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
 * around it. Each of the three has a back end in the library, and the comments of the calls say
 * where the back ends differ. In a stream the card uses the buffers that it was given and waits
 * when it has none, so no data is lost or sent twice, however slow the program is. LitePCIe's own
 * driver cannot do that, so with it only BAR0 can be used. The card's capability table says which
 * blocks it has and where, so the library need not know the build of the gateware.
 *
 * Every call that can fail returns 0, a count or a descriptor, or -errno; litepcie_why() then has a
 * sentence, but not for the -EBADMSG of litepcie_record_next(), which is inline. The library
 * prints nothing, touches no signal and makes no thread. Only the calls of LitePCIe's own library,
 * which litepcie_helpers.h and litepcie_dma.h define, print and abort, as LitePCIe's do.
 *
 * Each call that may wait for longer than the card takes to answer has a limit of time:
 *   - A wait has the argument @timeout_ms: with 0 it looks and does not wait, with a negative
 *     timeout it waits for ever, as poll() does. A wait for buffers or for the user's interrupt may
 *     take up to a second longer, in which it finds out whether an interrupt was lost.
 *   - A call of a capture, or the start of the player, that waits until the card has come to rest
 *     has the setting @rest_ms of struct litepcie_capture_config or struct litepcie_player: 0 is
 *     LITEPCIE_CAPTURE_REST_MS, with -1 the call waits for ever.
 *   - litepcie_stream_stop(), and calls that stop a stream, take 3 s at most for each stream.
 *   - litepcie_reset() waits up to a second until the card answers again.
 * Any other call waits only for the card's answer. A simulated board may take as long for each
 * answer as the device string's timeout says, also while something is being stopped.
 *
 * The result of a call tells what the end of its time means. A call that gets something (buffers,
 * frames, an interrupt) returns 1 or a count, and 0 if nothing came in time: nothing has failed, so
 * call it again. A call that does something returns 0 when it is done, and -ETIMEDOUT if it was not
 * done in time: what it began goes on in the card, and litepcie_why() says what is missing. So it
 * is with litepcie_stream_drain(), and with calls that start or stop. A call with @timeout_ms also
 * ends
 *   with -ECANCELED  within a fifth of a second as a rule, after another thread has stopped the
 *                    stream, by litepcie_stream_stop(), or switched the user's interrupt off
 *   with -EINTR      when a signal is handled by the thread that sleeps. Except behind the kernel
 *                    driver, of several threads that wait for buffers or for the user's interrupt
 *                    on one handle only one sleeps. A thread that is not asleep yet misses the
 *                    signal. A signal never ends a register access.
 *
 * The first member of each struct that is passed to the library, except struct litepcie_packet, is
 * its size, sizeof(struct ...), as in
 * `struct litepcie_stats stats = { .struct_size = sizeof(stats) };`. So the structs can grow, and
 * programs that were compiled before still run. A call fails with -EINVAL if a struct does not say
 * its size. Structs inside another struct have reserved members for that, which are 0:
 * litepcie_tlp_stream, litepcie_slot_side and litepcie_port_accounts. Only struct litepcie_account,
 * two numbers, does not grow. litepcie_records(), which fills an array, is told the size of an
 * entry.
 *
 * litepcie_stream.h, which is included at the end of this file, has the streams of the DMA.
 * litepcie_diagnostics.h has the calls that measure the card, and litepcie_capture.h those that
 * capture frames.
 *
 * Handles are independent of each other. For one handle each call says which threads may be in it:
 *   Threads: any.           at any time, from any number of threads
 *   Threads: per direction. one thread for h2c and one for c2h, which may be two
 *   Threads: one.           one thread at a time in the calls of one capture or one player; other
 *                           threads may be in other calls on the same card
 *   Threads: alone.         no other call on this handle at the same time
 *
 * The comment of a call names the errors that say something about this call, and what they mean
 * there. A call whose comment says -errno may also return these, which mean the same everywhere:
 *   -ENODEV     the card is gone: the board process left, or nothing is bound to the driver. From a
 *               wait through VFIO also: somebody unbinds or removes the card, and the kernel waits
 *               until this program closes it
 *   -EIO        the card does not answer (it reads all ones), or its counts cannot be true; or it
 *               was reset while a direction or a capture ran, which must be stopped and started
 *               again
 *   -ETIMEDOUT  what the call does was not done in time, or a simulated board did not answer in
 *               time
 *   -EPROTO     the peer does not speak the protocol, or the card or a file is of another kind or
 *               version
 *   -ENOMEM     the host has not enough memory, or does not let this user lock so much
 * Behind a driver or VFIO it may also be another number that the kernel says by errno. The numbers
 * that several comments name have one meaning:
 *   -EINVAL     a value is not allowed, or the call makes no sense at this moment
 *   -ENOENT     there is no such device file or socket, or the card has no such block, register
 *               or BAR
 *   -EBUSY      this DMA direction, capture or card is in use, by this program or by another
 *   -ECANCELED  another thread ended what this call waited for
 *   -EOPNOTSUPP this CPU, back end, driver or card cannot do what the call asks for. LitePCIe's
 *               driver, for example, has no held runs, in which the card waits for buffers
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

/* most parameters of a capability table entry that a struct litepcie_block can hold */
#define LITEPCIE_PARAMETERS	16
#define LITEPCIE_BARS		6	/* most BARs that a card may have */

/* The flags of litepcie_features(): features that a program can use with the card as opened. */
/* feature flag: litepcie_stream_open() can open streams, in which the card waits for buffers */
#define LITEPCIE_HAS_STREAMS		(UINT64_C(1) << 0)
/* feature flag: streams can be opened with the option packets */
#define LITEPCIE_HAS_PACKETS		(UINT64_C(1) << 1)
/* feature flag: interrupts of the user's logic, for which litepcie_user_wait() waits */
#define LITEPCIE_HAS_USER_INTERRUPT	(UINT64_C(1) << 2)
/*
 * feature flag: the card counts the beats (words), packets and stalls of the two data streams of
 * the user slot (the place of the user's logic). litepcie_slot() reads these counts.
 */
#define LITEPCIE_HAS_SLOT_MONITOR	(UINT64_C(1) << 3)
/* feature flag: litepcie_bar_map() can map BARs, if the user has the right and the host allows */
#define LITEPCIE_HAS_BAR_MAP		(UINT64_C(1) << 4)

struct litepcie;

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
	/*
	 * number of the register's 32-bit words: 1 or 2; a register of litepcie_csr_load() may have
	 * more, and can then be read only word by word
	 */
	unsigned int	words;
	bool		writable;
};

/* A BAR of the card that is mapped into this process's memory. */
struct litepcie_window {
	size_t		struct_size;
	volatile void	*base;
	size_t		size;
	/* true: the CPU may merge stores to the BAR; false: it makes each store on its own */
	bool		write_combining;
	/* true: some pages of the BAR are read-only: a store to them ends in SIGSEGV */
	bool		partial;
};

/* Opening a card, and errors ------------------------------------------------------------------ */

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
 * addresses, maximum sizes (by default what the card advertises as payload, and 512 for reads) and
 * MSI, and lets it be bus master. The card gets memory when a stream or a capture is opened.
 *
 * Returns 0 and the handle in @dev, or -errno; @why, if not NULL, then gets the reason in a
 * sentence, cut to @why_size bytes and always terminated. LITEPCIE_WHY_SIZE bytes are enough for
 * each sentence. The numbers are -EINVAL: the string or an option in it has another form, or the
 * board advertises less than mps, -ENOENT: there is no such device file or socket, -ENODEV: the
 * file is no device file, or the PCI device does not exist, is not bound to vfio-pci or is not
 * behind an IOMMU, -EACCES: the user may not open the card, -EPERM: drivers of the host have other
 * devices of the card's IOMMU group, -EBUSY: another program has the card, -EPROTO: the device is
 * no Lanebox card, or of a version that the library does not know, -EOPNOTSUPP: this kernel lacks
 * that interface of VFIO, or VFIO offers no MSI of the card, -ENOTSOCK: the file is no socket,
 * -ENAMETOOLONG: no socket can have so long a path. Threads: any.
 */
int litepcie_open(struct litepcie **dev, const char *name, char *why, size_t why_size);

/*
 * Close all captures and streams of the handle, switch the interrupts of the user's logic off, and
 * free the handle. The call takes as long as litepcie_capture_close() and litepcie_stream_close()
 * take for each capture and stream that still runs. @dev may be NULL. Threads: alone.
 */
void litepcie_close(struct litepcie *dev);

/*
 * Reset the card, as after power-on, and get it ready again: registers lose their values, open
 * streams stay open. No stream of this handle may run, and none of its captures may be open.
 * Through the kernel driver only root may reset. Returns 0 or -errno; -EBUSY: a stream runs or a
 * capture is open, -EOPNOTSUPP: the host cannot reset this card. Threads: alone.
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
 * been litepcie_open(), and @dev may be NULL. This thread's next call of the library may replace
 * the text. Threads: any.
 */
const char *litepcie_why(const struct litepcie *dev);

/*
 * Returns what the error number @error of this library means. @error may be positive or negative.
 * The text is more general than the sentence of litepcie_why(). Threads: any.
 */
const char *litepcie_strerror(int error);

/* The card's description ----------------------------------------------------------------------- */

/*
 * Get the description of the card, which the library read when it opened the card. Returns 0, or
 * -EINVAL if @card does not say its size. Threads: any.
 */
int litepcie_card(const struct litepcie *dev, struct litepcie_card *card);

/*
 * Returns what a program can do with this card through the back end that opened it: a sum of
 * LITEPCIE_HAS_ flags. A flag that the program does not know is that of a newer library. The flags
 * stay as they are until the card is closed. Threads: any.
 */
uint64_t litepcie_features(const struct litepcie *dev);

/*
 * Get block @number of the capability table, counted from 0. Returns 0, -ENOENT if the table has no
 * more blocks, or -EINVAL if @block does not say its size. Threads: any.
 */
int litepcie_block(struct litepcie *dev, unsigned int number, struct litepcie_block *block);

/*
 * Get block number @index among the blocks of type @type, counted from 0. Returns 0, -ENOENT if the
 * card has no such block, or -EINVAL if @block does not say its size. Threads: any.
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

/* Registers and memory of the card ------------------------------------------------------------ */

/*
 * One family of calls, litepcie_bar_*(), reaches registers and memory at their place: an offset in
 * any BAR. litepcie_bar_read() and litepcie_bar_write() make one access of a chosen size. The other
 * calls that read or write are conveniences of this family: they make the same accesses, of 4 bytes
 * in BAR0, where LiteX has its registers.
 *   litepcie_readl(), litepcie_writel()
 *               one access
 *   litepcie_readq(), litepcie_writeq()
 *               several accesses, since LiteX has a register of 64 bits in two words; an access of
 *               8 bytes would swap the two
 *   litepcie_register_read(), litepcie_register_write()
 *               the accesses of litepcie_readl() to litepcie_writeq() at the place of a register
 *               that the library knows by its name
 *
 * The same rules hold for all of them. The place must lie inside the BAR and be aligned, else the
 * error is -EINVAL and no access is made. Lanebox's driver lets a user without CAP_SYS_RAWIO write
 * the same registers by each access of 4 bytes, and refuses others with -EPERM. A card that has gone
 * reads as all ones. So after all ones the library asks the kernel for the card, and the read
 * returns -ENODEV if it has gone. A write to such a card may be lost without an error.
 *
 * Lanebox's driver takes a mapping away when the card goes, and while it is reset. An access by the
 * mapping then ends in SIGBUS. Behind that driver litepcie_bar_read() and litepcie_bar_write() use
 * the mapping where there is one. The conveniences never do, and return an error instead.
 */

/*
 * Get the size of a BAR in bytes, as the library found it when it opened the card. An error leaves
 * @size as it is. Returns 0 or -errno; -EINVAL: no card has a BAR of this number, -ENOENT: the card
 * has no such BAR, or this back end cannot reach it. Threads: any.
 */
int litepcie_bar_size(struct litepcie *dev, unsigned int bar, uint64_t *size);

/*
 * Make one read of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to @size, from any BAR. With
 * "sim:" the read is one TLP. If the BAR is mapped, the read is one load of the CPU, which between
 * a guest's CPU and a simulated card arrives in pieces of at most 8 bytes. If a driver does not map
 * BAR0, only 4 bytes of BAR0 can be read. Returns 0 or -errno; -EINVAL: the access has another
 * size, is not aligned or lies beyond the BAR, -ENOENT: the card has no such BAR, -EOPNOTSUPP: this
 * CPU (without vector instructions) or this back end cannot make such an access. Threads: any.
 */
int litepcie_bar_read(struct litepcie *dev, unsigned int bar, uint64_t offset, void *data,
		      size_t size);

/*
 * Make one write of @size 1, 2, 4, 8, 16, 32 or 64 bytes, aligned to @size, to any BAR, as
 * litepcie_bar_read() makes a read. To a page that a driver maps for reading only, only 4 bytes can
 * be written, and only in BAR0. Returns 0 or -errno; -EINVAL: the access has another size, is not
 * aligned or lies beyond the BAR, -ENOENT: the card has no such BAR, -EOPNOTSUPP: this CPU or this
 * back end cannot make such an access. Threads: any.
 */
int litepcie_bar_write(struct litepcie *dev, unsigned int bar, uint64_t offset, const void *data,
		       size_t size);

/*
 * Make @count writes of @size bytes (4 or 8) to any BAR, at @offset, @offset + @stride and so on,
 * back to back if the back end can do so for this BAR. Write n has the lower bytes of @values[n]. A
 * @stride of 0 writes to the same place again and again. Returns 0 or -errno; -EINVAL: the size,
 * the alignment or the place of a write is not allowed, -ENOENT: the card has no such BAR,
 * -EOPNOTSUPP: this back end cannot make such a write. Threads: any.
 */
int litepcie_bar_write_burst(struct litepcie *dev, unsigned int bar, uint64_t offset, size_t size,
			     size_t stride, const uint64_t *values, size_t count);

/*
 * Get the mapping of a whole BAR into this process's memory, which stays until the handle is
 * closed. Lanebox's driver maps BAR0 uncached and BARs of prefetchable memory write-combining;
 * other BARs it does not offer. VFIO maps every BAR uncached. LitePCIe's driver leaves BAR0 to
 * sysfs, which maps it uncached. The BARs of a simulated board cannot be mapped.
 *
 * To a user without CAP_SYS_RAWIO Lanebox's driver maps for writing only those pages that belong to
 * memories and to the user slot, and none of a slot whose logic can send commands to read or write
 * host memory. @window then says that it is partial: a store to another page ends in SIGSEGV.
 * litepcie_writel() reaches the other registers that are allowed. Returns 0 or -errno; -EINVAL: no
 * card has a BAR of this number, -ENOENT: the card has no such BAR, -EOPNOTSUPP: the BAR cannot be
 * mapped in this way. Threads: any.
 */
int litepcie_bar_map(struct litepcie *dev, unsigned int bar, struct litepcie_window *window);

/*
 * Read 32 bits at @offset in BAR0, as litepcie_bar_read() of 4 bytes does. Returns 0 or -errno;
 * -EINVAL: @offset is not aligned or lies beyond BAR0. Threads: any.
 */
int litepcie_readl(struct litepcie *dev, uint32_t offset, uint32_t *value);

/*
 * Read a register of two words at @offset in BAR0, in accesses of 4 bytes, which are repeated until
 * both halves belong to the same value. Returns 0 or -errno; -EINVAL: @offset is not aligned or
 * lies beyond BAR0. Threads: any.
 */
int litepcie_readq(struct litepcie *dev, uint32_t offset, uint64_t *value);

/*
 * Write 32 bits at @offset in BAR0, as litepcie_bar_write() of 4 bytes does. The write may still be
 * on its way to the card when this call returns. A later read comes after the write. Returns 0 or
 * -errno; -EINVAL: @offset is not aligned or lies beyond BAR0. Threads: any.
 */
int litepcie_writel(struct litepcie *dev, uint32_t offset, uint32_t value);

/*
 * Write a register of two words at @offset in BAR0: its upper half first, its lower half last. No
 * litepcie_writel() or litepcie_writeq() of another thread on this handle comes between the two.
 * Returns 0 or -errno; -EINVAL: @offset is not aligned or lies beyond BAR0. Threads: any.
 */
int litepcie_writeq(struct litepcie *dev, uint32_t offset, uint64_t value);

/*
 * Take in the names of all registers from the csr.json that LiteX writes when it builds the
 * gateware. Without the file the library knows the registers of the blocks in the capability table.
 * With the file the library also knows all others, such as those of the user's logic. The call can
 * be made again. Returns 0 or -errno; -ENOENT: there is no such file, -EINVAL: it is no regular
 * file, -EFBIG: it is too large for a csr.json, -EPROTO: the file is of another build, or LiteX did
 * not write it. After an error the library knows the same registers as before. Threads: alone.
 */
int litepcie_csr_load(struct litepcie *dev, const char *path);

/*
 * Get register @number of the registers sorted by their offset in BAR0, counted from 0. Returns 0,
 * -ENOENT if the library knows no more registers, or -EINVAL if @found does not say its size.
 * Threads: any.
 */
int litepcie_register(struct litepcie *dev, unsigned int number, struct litepcie_register *found);

/*
 * Find the register with the name @name, like "ctrl_scratch". Returns 0, -ENOENT if no register has
 * this name (the sentence of litepcie_why() then has the nearest one), or -EINVAL if @found does
 * not say its size. Threads: any.
 */
int litepcie_register_find(struct litepcie *dev, const char *name,
			   struct litepcie_register *found);

/*
 * Read a register by name. A register of two words gives 64 bits, which belong to the same value.
 * Returns 0 or -errno; -ENOENT: no register has this name, -EOPNOTSUPP: the register has more than
 * two words. Threads: any.
 */
int litepcie_register_read(struct litepcie *dev, const char *name, uint64_t *value);

/*
 * Write a register by name. A register of two words gets its upper half first, its lower half last.
 * Returns 0 or -errno; -ENOENT: no register has this name, -EACCES: the register is read-only,
 * -ERANGE: @value has more than 32 bits and the register has one word, -EOPNOTSUPP: the register
 * has more than two words. Threads: any.
 */
int litepcie_register_write(struct litepcie *dev, const char *name, uint64_t value);

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
 * An interrupt since litepcie_user_enable() or the last return of 1 counts, too. Interrupts that no
 * wait has returned yet count as one, and end the wait of one thread. The DMA may run at the same
 * time.
 * Returns 1, 0 when no interrupt came in time, or -errno; -EINVAL: the interrupts are not enabled,
 * -ENOENT: the card has none, -ECANCELED: another thread has switched them off. Threads: any.
 */
int litepcie_user_wait(struct litepcie *dev, int timeout_ms);

#ifdef __cplusplus
}
#endif

#include "litepcie_stream.h"

#endif /* LIBLITEPCIE_H */
