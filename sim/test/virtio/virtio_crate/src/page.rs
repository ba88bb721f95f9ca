// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

//! The transport: the page of registers of a virtio device, which are those of virtio-mmio
//! version 2. The program that has started this one makes each access. It is asked on the standard
//! output, `r OFFSET` or `w OFFSET VALUE`, and answers with a line on the standard input.

use std::io::{self, BufRead, Write};

use virtio_drivers::transport::{DeviceStatus, DeviceType, InterruptStatus, Transport};
use virtio_drivers::{PhysAddr, Result};
use zerocopy::{FromBytes, Immutable, IntoBytes};

const DEVICE_ID: u32 = 0x008;
const DEVICE_FEATURES: u32 = 0x010;
const DEVICE_FEATURES_SEL: u32 = 0x014;
const DRIVER_FEATURES: u32 = 0x020;
const DRIVER_FEATURES_SEL: u32 = 0x024;
const QUEUE_SEL: u32 = 0x030;
const QUEUE_NUM_MAX: u32 = 0x034;
const QUEUE_NUM: u32 = 0x038;
const QUEUE_READY: u32 = 0x044;
const QUEUE_NOTIFY: u32 = 0x050;
const INTERRUPT_STATUS: u32 = 0x060;
const INTERRUPT_ACK: u32 = 0x064;
const STATUS: u32 = 0x070;
const QUEUE_DESC: u32 = 0x080;
const QUEUE_DRIVER: u32 = 0x090;
const QUEUE_DEVICE: u32 = 0x0a0;
const GENERATION: u32 = 0x0fc;
const CONFIG: u32 = 0x100;

pub struct Page;

impl Page {
    fn ask(question: &str) -> u32 {
        let mut answer = String::new();
        println!("{question}");
        io::stdout().flush().expect("standard output");
        io::stdin()
            .lock()
            .read_line(&mut answer)
            .expect("standard input");
        answer.trim().parse().expect("a number for an answer")
    }

    fn read(&self, offset: u32) -> u32 {
        Self::ask(&format!("r {offset}"))
    }

    fn write(&self, offset: u32, value: u32) {
        Self::ask(&format!("w {offset} {value}"));
    }

    fn write_address(&self, offset: u32, address: PhysAddr) {
        self.write(offset, address as u32);
        self.write(offset + 4, (address >> 32) as u32);
    }
}

impl Transport for Page {
    fn device_type(&self) -> DeviceType {
        DeviceType::try_from(self.read(DEVICE_ID)).expect("a known type of device")
    }

    fn read_device_features(&mut self) -> u64 {
        (0..2).fold(0, |features, half| {
            self.write(DEVICE_FEATURES_SEL, half);
            features | u64::from(self.read(DEVICE_FEATURES)) << (32 * half)
        })
    }

    fn write_driver_features(&mut self, features: u64) {
        for half in 0..2 {
            self.write(DRIVER_FEATURES_SEL, half);
            self.write(DRIVER_FEATURES, (features >> (32 * half)) as u32);
        }
    }

    fn max_queue_size(&mut self, queue: u16) -> u32 {
        self.write(QUEUE_SEL, queue.into());
        self.read(QUEUE_NUM_MAX)
    }

    fn notify(&mut self, queue: u16) {
        self.write(QUEUE_NOTIFY, queue.into());
    }

    fn get_status(&self) -> DeviceStatus {
        DeviceStatus::from_bits_truncate(self.read(STATUS))
    }

    fn set_status(&mut self, status: DeviceStatus) {
        self.write(STATUS, status.bits());
        // A reset has ended when the status reads 0.
        while status.is_empty() && self.read(STATUS) != 0 {}
    }

    fn set_guest_page_size(&mut self, _: u32) {}

    fn requires_legacy_layout(&self) -> bool {
        false
    }

    fn queue_set(
        &mut self,
        queue: u16,
        size: u32,
        descriptors: PhysAddr,
        driver_area: PhysAddr,
        device_area: PhysAddr,
    ) {
        self.write(QUEUE_SEL, queue.into());
        self.write(QUEUE_NUM, size);
        self.write_address(QUEUE_DESC, descriptors);
        self.write_address(QUEUE_DRIVER, driver_area);
        self.write_address(QUEUE_DEVICE, device_area);
        self.write(QUEUE_READY, 1);
    }

    fn queue_unset(&mut self, queue: u16) {
        self.write(QUEUE_SEL, queue.into());
        self.write(QUEUE_READY, 0);
        while self.read(QUEUE_READY) != 0 {}
    }

    fn queue_used(&mut self, queue: u16) -> bool {
        self.write(QUEUE_SEL, queue.into());
        self.read(QUEUE_READY) != 0
    }

    fn ack_interrupt(&mut self) -> InterruptStatus {
        let status = self.read(INTERRUPT_STATUS);
        self.write(INTERRUPT_ACK, status);
        InterruptStatus::from_bits_truncate(status)
    }

    fn read_config_generation(&self) -> u32 {
        self.read(GENERATION)
    }

    fn read_config_space<T: FromBytes + IntoBytes>(&self, offset: usize) -> Result<T> {
        let mut value = T::new_zeroed();
        for (n, byte) in value.as_mut_bytes().iter_mut().enumerate() {
            let at = (offset + n) as u32;
            *byte = self.read(CONFIG + at / 4 * 4).to_le_bytes()[at as usize % 4];
        }
        Ok(value)
    }

    fn write_config_space<T: IntoBytes + Immutable>(&mut self, _: usize, _: T) -> Result<()> {
        unimplemented!("a console's driver writes no configuration")
    }
}
