// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

//! Memory that the card can reach: the file of an open descriptor, mapped at a bus address. Buffers
//! elsewhere are copied to it while the device may use them.

use std::ptr::{self, NonNull};
use std::sync::Mutex;

use virtio_drivers::{BufferDirection, Hal, PAGE_SIZE, PhysAddr};

/// The mapped memory. `free` has a bit for each page, which is true if nothing is in it.
struct Pool {
    start: usize,
    bus: PhysAddr,
    free: Vec<bool>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

pub struct Memory;

impl Memory {
    /// Maps `pages` pages of the open file `descriptor`, which the card reaches from `bus` on.
    pub fn map(descriptor: i32, pages: usize, bus: PhysAddr) {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses a place at which nothing else is.
        let start = unsafe {
            let bytes = pages * PAGE_SIZE;
            libc::mmap(
                ptr::null_mut(),
                bytes,
                access,
                libc::MAP_SHARED,
                descriptor,
                0,
            )
        };
        assert_ne!(
            start,
            libc::MAP_FAILED,
            "descriptor {descriptor} cannot be mapped"
        );
        let pool = Pool {
            start: start as usize,
            bus,
            free: vec![true; pages],
        };
        *POOL.lock().unwrap() = Some(pool);
    }

    /// Calls `act` with the memory, after map().
    fn with<T>(act: impl FnOnce(&mut Pool) -> T) -> T {
        act(POOL.lock().unwrap().as_mut().expect("the memory is mapped"))
    }

    fn pages_of(buffer: NonNull<[u8]>) -> usize {
        buffer.len().div_ceil(PAGE_SIZE)
    }
}

impl Pool {
    fn set_free(&mut self, bus: PhysAddr, pages: usize, free: bool) {
        let first = (bus - self.bus) as usize / PAGE_SIZE;
        self.free[first..first + pages].fill(free);
    }

    fn place(&self, bus: PhysAddr) -> NonNull<u8> {
        NonNull::new((self.start + (bus - self.bus) as usize) as *mut u8).unwrap()
    }
}

// SAFETY: pages are given to one owner at a time, whole and aligned.
unsafe impl Hal for Memory {
    fn dma_alloc(pages: usize, _: BufferDirection) -> (PhysAddr, NonNull<u8>) {
        Self::with(|pool| {
            let runs = pool.free.windows(pages);
            let first = { runs }.position(|run| run.iter().all(|&free| free));
            let bus = pool.bus + (first.expect("free pages") * PAGE_SIZE) as PhysAddr;
            pool.set_free(bus, pages, false);
            let place = pool.place(bus);
            // SAFETY: the pages are mapped, and nobody else has them.
            unsafe { place.write_bytes(0, pages * PAGE_SIZE) };
            (bus, place)
        })
    }

    unsafe fn dma_dealloc(bus: PhysAddr, _: NonNull<u8>, pages: usize) -> i32 {
        Self::with(|pool| pool.set_free(bus, pages, true));
        0
    }

    unsafe fn mmio_phys_to_virt(_: PhysAddr, _: usize) -> NonNull<u8> {
        unimplemented!("the registers are not in memory")
    }

    unsafe fn share(buffer: NonNull<[u8]>, direction: BufferDirection) -> PhysAddr {
        let (bus, place) = Self::dma_alloc(Self::pages_of(buffer), direction);
        if direction != BufferDirection::DeviceToDriver {
            // SAFETY: the caller says that the buffer is valid, and the pages are as long.
            unsafe { place.copy_from_nonoverlapping(buffer.cast(), buffer.len()) };
        }
        bus
    }

    unsafe fn unshare(bus: PhysAddr, buffer: NonNull<[u8]>, direction: BufferDirection) {
        Self::with(|pool| {
            if direction != BufferDirection::DriverToDevice {
                // SAFETY: as in share(); the device has given the buffer back.
                unsafe { buffer.cast::<u8>().copy_from(pool.place(bus), buffer.len()) };
            }
            pool.set_free(bus, Self::pages_of(buffer), true);
        })
    }
}
