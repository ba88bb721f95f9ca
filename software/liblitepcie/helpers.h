/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * Small functions that the whole library uses, for errors and their sentences, register accesses,
 * the description of a card, memory, and time.
 */
#ifndef LITEPCIE_HELPERS_H
#define LITEPCIE_HELPERS_H

/* errno.h has the error numbers that the functions of the library return. */
#include <errno.h>

#include "handle.h"

/*
 * Registers, the card's memory, its records and status lines, and the messages of a simulated board
 * are little-endian. The library uses their words as they are.
 */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the library needs a little-endian host");

/*
 * longest time in ms for which a waiting thread sleeps at once, before it looks again whether to
 * wait on
 */
#define LITEPCIE_WAIT_SLICE_MS	200

/* The lock, errors and their sentences --------------------------------------------------------- */

/* Return this thread's buffer of LITEPCIE_WHY_SIZE bytes for the sentence of its last error. */
char *litepcie_sentence(void);

static inline void litepcie_lock(struct litepcie *dev)
{
	pthread_mutex_lock(&dev->lock);
}

static inline void litepcie_unlock(struct litepcie *dev)
{
	pthread_mutex_unlock(&dev->lock);
}

/* Keep a sentence for litepcie_why() and return the -errno @error: `return litepcie_fail(...)`. */
__attribute__((format(printf, 2, 3)))
int litepcie_fail(int error, const char *format, ...);

/*
 * Keep a sentence that ends with a colon and the meaning of @error, a number of errno, and return
 * -@error.
 */
__attribute__((format(printf, 2, 3)))
int litepcie_fail_errno(int error, const char *format, ...);

/* Keep the sentence that the host has no @bytes of memory for @what, and return -ENOMEM. */
static inline int litepcie_fail_memory(const char *what, size_t bytes)
{
	return litepcie_fail(-ENOMEM, "no memory for %s: the program asked for %zu bytes more "
			     "than the host or a limit (ulimit -v) gives it", what, bytes);
}

/* Returns -ENODEV with a sentence if the kernel wants the card back, else 0. The lock is held. */
static inline int litepcie_check_wanted(struct litepcie *dev)
{
	if (!dev->backend->state || dev->backend->state(dev) >= 0)
		return 0;
	return litepcie_fail(-ENODEV, "%s is asked back: somebody unbinds or removes it, and waits "
			     "until this program has closed it", dev->name);
}

/*
 * Copy a struct that begins with its size in from the program. Members that the program's struct
 * does not have become 0. @size is the size of the library's struct. Returns 0, or -EINVAL with a
 * sentence if the program's struct says no possible size, or has bytes behind @size that are not 0.
 */
int litepcie_struct_in(void *ours, size_t size, const void *theirs, const char *name);

/*
 * Copy a struct that begins with its size out to the program, as far as the program's struct
 * reaches. Members that only the program's struct has become 0. Returns 0, or -EINVAL with a
 * sentence if the program's struct says no size.
 */
int litepcie_struct_out(void *theirs, const void *ours, size_t size, const char *name);

/* Accesses to registers ------------------------------------------------------------------------ */

/* Put a write of 4 bytes into the list entry @post. Returns the address of the next entry. */
static inline struct litepcie_post *litepcie_post_add(struct litepcie_post *post, uint32_t offset,
						      uint32_t value)
{
	post->offset = offset;
	post->bar = 0;
	post->size = 4;
	post->value = value;
	return post + 1;
}

/* Read or write registers of BAR0 from inside the library. The caller holds the handle's lock. */
int litepcie_get(struct litepcie *dev, uint32_t offset, uint32_t *value);
int litepcie_get64(struct litepcie *dev, uint32_t offset, uint64_t *value);
/*
 * Read a 64-bit counter from a copy that the card has made of its counters. The copy does not
 * change until the next one is made, so the counter's two words belong together.
 */
int litepcie_get_copy64(struct litepcie *dev, uint32_t offset, uint64_t *value);
int litepcie_put(struct litepcie *dev, uint32_t offset, uint32_t value);
/*
 * how many times at most the library reads a register that gives all ones, the value of a failed
 * PCIe read, before it takes all ones for the register's value or for a card that does not answer
 */
#define LITEPCIE_READS	3u
/*
 * Read a register whose value is never all ones. If each of LITEPCIE_READS reads gives all ones,
 * the function returns -EIO with the sentence that the card does not answer.
 */
int litepcie_get_answer(struct litepcie *dev, uint32_t offset, uint32_t *value);
/*
 * Read a register whose value is never all ones, clear its bits @clear, set its bits @set, and
 * write the result back.
 */
int litepcie_change(struct litepcie *dev, uint32_t offset, uint32_t clear, uint32_t set);
int litepcie_get_words(struct litepcie *dev, uint32_t offset, uint32_t *words, size_t count);

/*
 * Returns true if @status, the value read from a status register, has one of the bits @states set.
 * The value of all ones has none: the root port returns it for a read that has failed.
 */
static inline bool litepcie_says(uint32_t status, uint32_t states)
{
	return status != UINT32_MAX && status & states;
}

/* Returns the address of @offset in a BAR that is mapped. */
static inline uint8_t *litepcie_bar_place(const struct litepcie *dev, unsigned int bar,
					  uint64_t offset)
{
	return (uint8_t *)dev->bar[bar].base + offset;
}

/* Unmap all BARs of dev->bar. */
void litepcie_bars_unmap(struct litepcie *dev);

/*
 * Make one load or store of the CPU at a mapped BAR, of 1, 2, 4, 8, 16, 32 or 64 bytes. Returns 0,
 * or -EOPNOTSUPP with a sentence if the CPU cannot make an access of this size.
 */
int litepcie_load(const uint8_t *from, void *data, size_t size);
int litepcie_store(uint8_t *to, const void *data, size_t size);

/* Do what litepcie_time() does, for a caller that holds the handle's lock. */
int litepcie_time_read(struct litepcie *dev, uint64_t *ticks);

/* The description of a card -------------------------------------------------------------------- */

/*
 * litepcie_open() describes a card by four functions, in this order: litepcie_capability_read()
 * fills dev->blocks and dev->card, litepcie_registers_build() fills dev->registers,
 * litepcie_map_build() fills dev->map, and litepcie_identifier_read() fills dev->card.identifier.
 */
int litepcie_capability_read(struct litepcie *dev);
/*
 * Returns 0 if, after a reset, the checksum of the card's capability table is the same as at the
 * open, else -errno with a sentence. The function first waits up to a second until the card
 * answers.
 */
int litepcie_card_check(struct litepcie *dev);
int litepcie_registers_build(struct litepcie *dev);
int litepcie_map_build(struct litepcie *dev);
int litepcie_identifier_read(struct litepcie *dev);

/* Do what the back end's attach() does, if it has one. */
static inline int litepcie_attach(struct litepcie *dev)
{
	return dev->backend->attach ? dev->backend->attach(dev) : 0;
}

const struct litepcie_block *litepcie_find_block(const struct litepcie *dev, unsigned int type,
						 unsigned int index);

/*
 * Add a register to dev->registers, unless it is there already. Returns -EPROTO, without a
 * sentence, if a register of that name has another offset or size, or -ENOMEM with a sentence.
 */
int litepcie_register_add(struct litepcie *dev, const struct litepcie_register *entry);
void litepcie_registers_sort(struct litepcie *dev);

/* Write the name @pattern to @name, with @number in place of the sign #. */
void litepcie_register_name(char *name, size_t size, const char *pattern, unsigned int number);

/* Find the offset of a register by name. Returns -EPROTO if there is no such register. */
int litepcie_need(struct litepcie *dev, const char *name, uint32_t *offset);

/* Capture and pattern -------------------------------------------------------------------------- */

/* Returns true if a capture of this handle is open. */
bool litepcie_has_capture(const struct litepcie *dev);

/*
 * Switch off the capture block, its generator, its player, its sorting of frames, and its copies of
 * the net device's frames, which an earlier client may have left running. The function does not
 * wait until the block is idle.
 */
int litepcie_capture_quiesce(struct litepcie *dev);

/*
 * Switch the card's test pattern (dword i has the value i) on or off for the direction of a stream,
 * before or after the stream runs. The register's bits of the other direction stay as they are,
 * since another stream or another program may use that direction.
 */
int litepcie_pattern_set(struct litepcie_stream *stream, bool on);

/* Memory and huge pages ------------------------------------------------------------------------ */

/* Bytes of the huge pages that the kernel makes of small pages (transparent huge pages). */
#define LITEPCIE_HUGE_BYTES	((size_t)2 << 20)

/*
 * Returns the file descriptor of a new file in memory that has @size zero bytes. @flags are MFD_
 * flags. On failure it returns -1 and sets errno, without a sentence.
 */
int litepcie_memory_file(size_t size, unsigned int flags);

/*
 * Reserve @size bytes of addresses at a multiple of a huge page of 2 MiB. Returns private memory of
 * zero bytes with the rights of @protection, or MAP_FAILED.
 */
void *litepcie_memory_reserve(size_t size, int protection);

/*
 * Populate @memory, and ask the kernel to make huge pages of those parts of it that are aligned to
 * 2 MiB. Errors are ignored: the memory then has small pages.
 */
void litepcie_memory_huge(void *memory, size_t size);

/*
 * Make a struct litepcie_memory that owns the mapping at @base and the descriptor @fd of the mapped
 * file (-1: none). @placed: the mapping is the program's own memory, which is never unmapped.
 * Returns NULL with a sentence if there is no memory for the struct. The descriptor is then closed,
 * and a mapping that is not @placed is unmapped.
 */
struct litepcie_memory *litepcie_memory_new(void *base, size_t size, int fd, bool placed);

/* Time and waits ------------------------------------------------------------------------------- */

/*
 * Returns the timer's file descriptor, readable when it is time to poll the card, or -1 if poll_us
 * is 0 or the kernel driver polls.
 */
static inline int litepcie_timer(const struct litepcie *dev)
{
	return dev->poll_us ? dev->timer : -1;
}

/* Returns the time of the monotonic clock in milliseconds. */
int64_t litepcie_now_ms(void);

/*
 * Returns the time, on the clock of litepcie_now_ms(), at which a wait of @timeout_ms ends. It is
 * INT64_MAX if @timeout_ms is negative: the wait never ends.
 */
int64_t litepcie_deadline(int timeout_ms);

/*
 * Returns how many ms a thread that waits until @deadline may sleep at once: at most
 * LITEPCIE_WAIT_SLICE_MS. Returns 0 if @deadline has passed.
 */
int litepcie_slice(int64_t deadline);

/*
 * Call poll() for @count descriptors, with the handle's lock released meanwhile. Returns what
 * poll() returns, or -errno with a sentence.
 */
struct pollfd;
int litepcie_poll(struct litepcie *dev, struct pollfd *fds, unsigned int count, int timeout_ms);

/* Clear the eventfd or timer @fd. Returns how often it was raised; 0: not at all, or @fd is -1. */
uint64_t litepcie_take_event(int fd);

#endif /* LITEPCIE_HELPERS_H */
