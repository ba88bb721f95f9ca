// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// What the devices of the software card answer to a message that the driver transmits.
#pragma once

#include <cstdint>
#include <vector>

namespace lanebox::virtio {

using Bytes = std::vector<uint8_t>;

// The console sends each byte back as it came.
Bytes console_answer(Bytes message);

// The net device's far side is a host with the MAC address 02:00:00:00:00:02 and every IPv4
// address. It answers ARP requests and pings, and sends UDP datagrams back. The answer to all other
// frames is empty. A message is a virtio_net_hdr of 12 bytes and a frame.
Bytes net_answer(Bytes message);

}  // namespace lanebox::virtio
