// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The vfio-user server. It serves one client at a time, messages in order. BAR reads are answered
// when the device has the data. When a client leaves, its mappings and interrupts are dropped, and
// the next client may come. Nothing that a client sends ends the process: a request that cannot
// work is refused, or ends the connection, and the log says why.
//
// Supported: BARs, configuration space, one MSI vector, MSI-X, DMA through mapped descriptors.
// Not supported: INTx, migration, DMA by messages (which only the check of private_copy.hpp uses).
#pragma once

#include <string>
#include <vector>

#include "vfio_user/callers.hpp"
#include "vfio_user/client_log.hpp"
#include "vfio_user/device.hpp"
#include "vfio_user/guest_memory.hpp"
#include "vfio_user/private_copy.hpp"
#include "vfio_user/protocol.hpp"
#include "vfio_user/socket.hpp"

namespace lanebox::vfio_user {

class Server {
public:
    Server(const std::string &path, Device &device, const Shape &shape, GuestMemory &memory,
           ClientLog &log);

    // Descriptors for poll() to watch for reading. client_fd() is -1 while the board has no client.
    int callers_fd() const { return callers_.fd(); }
    int client_fd() const { return client_.get(); }
    // Serves the callers' socket. Returns true if a caller has become the client.
    bool answer_callers();
    // Serves one message that has arrived. Returns false if the client has left.
    bool serve();

    // Returns true if the present client, or the last one, has sent VERSION.
    bool greeted() const { return greeted_; }
    // Raises the MSI. Returns false if the client has no eventfd for it.
    bool interrupt();
    // Raises an MSI-X vector. Returns false if the client has no eventfd for it.
    bool interrupt(unsigned vector);
    // Begins the check whether the client's memory is a private copy of its file. Call it when the
    // host switches bus mastering on.
    void look_for_private_copy();

private:
    bool handle(Message &message);
    bool send(const void *data, size_t bytes);
    bool reply(const Header &request, const void *body, size_t bytes);
    bool reply_error(const Header &request, int error);
    bool version(const Message &message);
    bool dma_map(const Message &message);
    bool dma_unmap(const Message &message);
    bool device_info(const Message &message);
    bool region_info(const Message &message);
    bool irq_info(const Message &message);
    bool set_irqs(Message &message);
    int check_irqs(const Message &message, const IrqSet &request);
    void set_msi(Message &message, const IrqSet &request);
    void set_msix(Message &message, const IrqSet &request);
    uint32_t vectors(uint32_t index) const;
    bool region_read(const Message &message);
    bool region_write(const Message &message);
    bool region_write_multi(const Message &message);
    bool server_reply(const Message &message);
    int check_access(const RegionAccess &access) const;
    void write(const RegionAccess &access, const uint8_t *data);
    uint64_t region_bytes(uint32_t region) const;
    void ask();
    void drop();

    Device &device_;
    const Shape shape_;
    GuestMemory &memory_;
    ClientLog &log_;
    Callers callers_;
    Fd client_, msi_;
    std::vector<Fd> msix_;
    // The number of clients so far. It keeps a late BAR read from answering the next client.
    uint64_t session_ = 0;
    bool greeted_ = false;
    bool asks_allowed_ = false;
    PrivateCopyCheck check_;
};

}  // namespace lanebox::vfio_user
