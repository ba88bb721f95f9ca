// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

//! The device's side of a split virtqueue by the crate `virtio-queue`, for RingReference.scala.
//!
//! Each line of standard input is a command, with numbers in decimal and bytes in hex:
//!
//! queue SIZE EVENTS BASE BYTES TABLE AVAILABLE USED START
//!                    begins a queue in new memory, with EVENT_IDX if EVENTS is 1
//! put ADDRESS BYTES  writes memory
//! get ADDRESS COUNT  prints the bytes of memory
//! serve              prints each chain that is available and was not printed before, as
//!                    `HEAD ADDRESS:LENGTH:WRITE ...`, and then an empty line
//! use HEAD LENGTH    shows the driver that the device has used a chain
//! interrupts         prints 1 if the driver wants an interrupt for what was used since the last
//!                    such command, or 0
//! listen ON          asks the driver for notifications, or for none

use std::io::{BufRead, Write, stdin, stdout};

use virtio_queue::{Queue, QueueT};
use vm_memory::{Bytes, GuestAddress, GuestMemoryMmap};

fn halves(address: u64) -> (Option<u32>, Option<u32>) {
    (Some(address as u32), Some((address >> 32) as u32))
}

fn begin(n: &[u64]) -> (GuestMemoryMmap, Queue) {
    let memory = GuestMemoryMmap::from_ranges(&[(GuestAddress(n[2]), n[3] as usize)]).unwrap();
    let mut queue = Queue::new(n[0] as u16).unwrap();
    queue.set_size(n[0] as u16);
    queue.set_event_idx(n[1] == 1);
    let (low, high) = halves(n[4]);
    queue.set_desc_table_address(low, high);
    let (low, high) = halves(n[5]);
    queue.set_avail_ring_address(low, high);
    let (low, high) = halves(n[6]);
    queue.set_used_ring_address(low, high);
    queue.set_next_avail(n[7] as u16);
    queue.set_next_used(n[7] as u16);
    queue.set_ready(true);
    assert!(queue.is_valid(&memory), "the queue is not valid");
    (memory, queue)
}

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap())
        .collect()
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn serve(memory: &GuestMemoryMmap, queue: &mut Queue, to: &mut impl Write) {
    while let Some(chain) = queue.pop_descriptor_chain(memory) {
        write!(to, "{}", chain.head_index()).unwrap();
        for part in chain {
            let write = part.is_write_only() as u8;
            write!(to, " {}:{}:{write}", part.addr().0, part.len()).unwrap();
        }
        writeln!(to).unwrap();
    }
    writeln!(to).unwrap();
}

fn main() {
    let mut to = stdout().lock();
    let mut state: Option<(GuestMemoryMmap, Queue)> = None;
    for line in stdin().lock().lines() {
        let line = line.unwrap();
        let words: Vec<&str> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u64>().unwrap();
        if words[0] == "queue" {
            state = Some(begin(&(1..9).map(number).collect::<Vec<u64>>()));
            continue;
        }
        let (memory, queue) = state.as_mut().expect("a command before the first queue");
        match words[0] {
            "put" => memory
                .write_slice(&bytes(words[2]), GuestAddress(number(1)))
                .unwrap(),
            "get" => {
                let mut data = vec![0; number(2) as usize];
                memory
                    .read_slice(&mut data, GuestAddress(number(1)))
                    .unwrap();
                writeln!(to, "{}", hex(&data)).unwrap();
            }
            "serve" => serve(memory, queue, &mut to),
            "use" => queue
                .add_used(memory, number(1) as u16, number(2) as u32)
                .unwrap(),
            "interrupts" => {
                writeln!(to, "{}", queue.needs_notification(memory).unwrap() as u8).unwrap()
            }
            "listen" if number(1) == 1 => drop(queue.enable_notification(memory).unwrap()),
            "listen" => queue.disable_notification(memory).unwrap(),
            other => panic!("no command is called {other}"),
        }
        to.flush().unwrap();
    }
}
