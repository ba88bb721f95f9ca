/*
 * This file is part of Lanebox.
 * Copyright (c) 2026 Lanebox contributors
 * SPDX-License-Identifier: BSD-2-Clause
 */

/*
 * A stand-in for the kernel driver: the library's calls on the driver's device file are answered in
 * this process. In place of /dev/litepcieN tests open DRIVER_DEVICE, a device file of Linux itself.
 * The linker replaces ioctl(), mmap(), poll() and fopen() by those of the stand-in.
 */
#ifndef LITEPCIE_TEST_DRIVER_H
#define LITEPCIE_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>

#define DRIVER_DEVICE	"/dev/full"
#define DRIVER_PAGE	4096u
#define DRIVER_BAR0	0x20000u
#define DRIVER_RECORDS	256u	/* number of entries in the ring of records, which has one page */

struct driver {
	/*
	 * true: the stand-in is LitePCIe's driver, which knows none of the ioctls that Lanebox's
	 * driver has in addition
	 */
	bool		stock;
	/* true: the card writes records (its reports of finished c2h buffers) */
	bool		records;
	bool		combining;	/* true: the ioctl BAR says that BAR0 is write-combining */
	/*
	 * true: the program has no CAP_SYS_RAWIO, so it may map only the pages of @allowed for
	 * writing
	 */
	bool		user;
	/* for h2c [0] and c2h [1]: true if another program owns the direction */
	bool		taken[2];
	/* for h2c [0] and c2h [1]: true if the library's handle owns the direction */
	bool		owned[2];
	/*
	 * true: the ioctl RING_SETUP fails with ENOMEM if the handle owns the direction, and so
	 * does RING_MEMORY if @place_error is 0
	 */
	bool		no_memory;
	/* errno with which the ioctl RING_MEMORY fails; 0: it fails only where RING_SETUP would */
	int		place_error;
	/*
	 * for h2c [0] and c2h [1]: address of the ring in the program's memory; 0: the ring is in
	 * the driver's memory
	 */
	uint64_t	place[2];
	/*
	 * for h2c [0] and c2h [1]: mode of the ring and interval of its timer in us, as the library
	 * set them
	 */
	uint32_t	mode[2], interval_us[2];
	/*
	 * true: another program has put the rings into its own memory; a RING_SETUP or RING_MEMORY
	 * of the library that succeeds sets this to false
	 */
	bool		foreign;
	/* for h2c [0] and c2h [1]: size in bytes of a buffer of the ring, and number of buffers */
	uint32_t	size[2], count[2];
	uint32_t	per_interrupt[2], flags[2];
	/*
	 * for h2c [0] and c2h [1]: number of buffers that the library has handed to the driver in
	 * the current run or, after its end, in the last run
	 */
	uint64_t	advanced[2];
	/*
	 * for h2c [0] and c2h [1]: number of the library's calls of the ioctl ADVANCE that have
	 * handed over at least one buffer, in all runs since driver_reset()
	 */
	unsigned int	advances[2];
	/*
	 * bytes to send of each h2c buffer that the library has handed over, by the buffer's number
	 * modulo DRIVER_RECORDS; 0: the library gave no length, so the whole buffer is sent
	 */
	uint32_t	lengths[DRIVER_RECORDS];
	/*
	 * for h2c [0] and c2h [1]: whether packets are on, and flush time in us, as the library set
	 * them
	 */
	uint32_t	packets[2], flush_us[2];
	/*
	 * for h2c [0] and c2h [1]: true if the library's last ioctl ADVANCE asked for an interrupt
	 */
	bool		notify[2];
	/*
	 * for h2c [0] and c2h [1]: number of buffers that the stand-in's card has finished in this
	 * run
	 */
	uint64_t	hardware[2];
	/* for h2c [0] and c2h [1]: number of interrupts that the stand-in's sysfs shows */
	int64_t		interrupts[2];
	/*
	 * eventfd that the library has given for h2c [0], c2h [1] and the user's interrupt [2]; -1:
	 * none
	 */
	int		event[3];
	/*
	 * true: the library has started a direction by LitePCIe's ioctl DMA_READER or DMA_WRITER.
	 * It must never do that: in such a run the card does not wait for software.
	 */
	bool		looped;
	/*
	 * true: sysfs has the driver's counts of interrupts, unless @stock is true; false: their
	 * files do not exist
	 */
	bool		counts;
	/* true: the card does not answer, so the ioctls REG and COUNTS fail with EIO */
	bool		silent;
	/*
	 * true: the card is removed, so ioctl()s on the device fail with ENODEV, and poll() finds
	 * POLLERR and POLLHUP
	 */
	bool		gone;
	/* number of the library's calls of ioctl() on the device */
	unsigned int	calls;
	/*
	 * Number of the library's calls of poll() on the device. A thread may look at it while
	 * another is in poll().
	 */
	_Atomic unsigned int polls;
	/*
	 * ms for which the stand-in's poll() sleeps before it checks the counts again, so that a
	 * thread wakes late; 0: 1 ms. It may be changed while a thread is in poll().
	 */
	_Atomic int	doze_ms;
	/* number of register reads and writes that the library has made by ioctl() */
	unsigned int	reads, writes;
	/* for each page of BAR0: true if a program without CAP_SYS_RAWIO may map it for writing */
	bool		allowed[DRIVER_BAR0 / DRIVER_PAGE];
};

extern struct driver driver;

/* Take the contents of the card's BAR0 from the file @path. Returns false if that fails. */
bool driver_load(const char *path);

/* Return the address of the card's register at @offset in BAR0. */
volatile uint32_t *driver_register(uint32_t offset);

/*
 * Set the stand-in to its initial state: it is Lanebox's driver, the program is root, and no other
 * program uses the card. BAR0 keeps its contents.
 */
void driver_reset(void);

/*
 * Let the stand-in's card write the record of c2h buffer @number. A card does that before the
 * status page counts the buffer.
 */
void driver_record(uint64_t number, uint32_t bytes, uint32_t flags);

/* Set the count of buffers with errors in direction @way (0: h2c, 1: c2h) in the status page. */
void driver_errors(int way, uint64_t errors);

/*
 * Let the stand-in's card finish @buffers more in direction @way (0: h2c, 1: c2h) and raise an
 * interrupt. The status page then has the new count.
 */
void driver_finish(int way, uint64_t buffers);

/*
 * Put @error (-errno, or 0) into the status page for each direction that has a held run, in which
 * the card waits for buffers (state LITEPCIE_RUN_HELD). If @rests is true, the driver has stopped
 * the run, so its state becomes LITEPCIE_RUN_REST. Otherwise the state stays.
 */
void driver_abort(int error, bool rests);

/* Let the logic in the user slot of the stand-in's card raise its interrupt. */
void driver_call(void);

#endif /* LITEPCIE_TEST_DRIVER_H */
