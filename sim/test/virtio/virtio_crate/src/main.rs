// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

//! Drives the card's virtio console with the crate `virtio-drivers`, which was written by others and
//! knows nothing of Lanebox. `virtio_crate DESCRIPTOR PAGES BUS_ADDRESS MESSAGES`: see page.rs and
//! memory.rs. It prints `columns COLUMNS rows ROWS`, and `echoed BYTES` at the end.

mod memory;
mod page;

use memory::Memory;
use page::Page;
use virtio_drivers::device::console::VirtIOConsole;
use virtio_drivers::transport::{DeviceType, Transport};

/// Sizes in bytes of the messages, in turn. The largest fills the driver's receive buffer.
const SIZES: [usize; 8] = [1, 3, 64, 255, 1024, 1500, 4095, 4096];

fn main() {
    let words: Vec<u64> = std::env::args()
        .skip(1)
        .map(|word| word.parse().unwrap())
        .collect();
    let [descriptor, pages, bus, messages] = words[..] else {
        panic!("usage: virtio_crate DESCRIPTOR PAGES BUS_ADDRESS MESSAGES");
    };
    Memory::map(descriptor as i32, pages as usize, bus);
    assert_eq!(Page.device_type(), DeviceType::Console);
    let mut console = VirtIOConsole::<Memory, Page>::new(Page).expect("a console");
    let size = console.size().unwrap().expect("the feature SIZE");
    println!("columns {} rows {}", size.columns, size.rows);
    let mut total = 0;
    for number in 0..messages as usize {
        let length = SIZES[number % SIZES.len()];
        let sent: Vec<u8> = (0..length).map(|n| (n * 7 + number) as u8).collect();
        console.send_bytes(&sent).expect("sent");
        let received: Vec<u8> = (0..length).map(|_| next(&mut console)).collect();
        assert_eq!(received, sent, "message {number} of {length} bytes");
        total += length;
    }
    println!("echoed {total}");
}

/// Returns the next byte of the console. The driver looks at its queue in memory until it is there.
fn next(console: &mut VirtIOConsole<Memory, Page>) -> u8 {
    loop {
        if let Some(byte) = console.recv(true).expect("received") {
            return byte;
        }
        std::hint::spin_loop();
    }
}
