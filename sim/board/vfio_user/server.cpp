// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "vfio_user/server.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "vfio_user/eventfd.hpp"

namespace lanebox::vfio_user {

namespace {

static_assert(std::tuple_size_v<decltype(Shape::bar_bytes)> == kBars);

constexpr size_t kMaxTransfer = 1u << 20;
// The most bytes of an access to a BAR. If the host's read requests have 128 bytes at most, a read
// of 4096 bytes takes up to 33 of its 256 tags. A much longer read would find no free tag.
constexpr uint32_t kMaxBarAccess = 4096;

std::string capabilities() {
    return R"({"capabilities":{"max_msg_fds":16,"max_data_xfer_size":)" +
           std::to_string(kMaxTransfer) + R"(,"write_multiple":true}})";
}

template <typename Body>
bool parse(const Message &message, Body &body) {
    if (message.body.size() < sizeof body) return false;
    memcpy(&body, message.body.data(), sizeof body);
    return true;
}

}  // namespace

Server::Server(const std::string &path, Device &device, const Shape &shape, GuestMemory &memory,
               ClientLog &log)
    : device_(device),
      shape_(shape),
      memory_(memory),
      log_(log),
      callers_(path, log),
      msix_(shape.msix_vectors) {}

bool Server::answer_callers() {
    Fd chosen = callers_.look(client_);
    if (!chosen) return false;
    client_ = std::move(chosen);
    greeted_ = asks_allowed_ = false;
    log_.next_client();
    return true;
}

void Server::drop() {
    session_++;
    check_.stop();
    memory_.clear();
    msi_ = Fd();
    for (Fd &vector : msix_) vector = Fd();
    client_ = Fd();
    device_.left();
}

bool Server::serve() {
    Message message;
    if (receive(client_.get(), message) && handle(message)) return true;
    drop();
    return false;
}

// Sends a message. If only a part of it could be sent, the client could not find the start of the
// next message, so the connection ends.
bool Server::send(const void *data, size_t bytes) {
    if (send_all(client_.get(), data, bytes)) return true;
    shutdown(client_.get(), SHUT_RDWR);
    return false;
}

bool Server::reply(const Header &request, const void *body, size_t bytes) {
    if (request.flags & kFlagNoReply) return true;
    std::vector<uint8_t> out(sizeof(Header) + bytes);
    Header header = request;
    header.size = static_cast<uint32_t>(out.size());
    header.flags = kFlagReply;
    header.error = 0;
    memcpy(out.data(), &header, sizeof header);
    if (bytes) memcpy(out.data() + sizeof header, body, bytes);
    return send(out.data(), out.size());
}

bool Server::reply_error(const Header &request, int error) {
    if (request.flags & kFlagNoReply) return true;
    Header header = request;
    header.size = sizeof header;
    header.flags = kFlagReply | kFlagError;
    header.error = static_cast<uint32_t>(error);
    return send(&header, sizeof header);
}

bool Server::handle(Message &message) {
    if ((message.header.flags & kFlagTypeMask) == kFlagReply) return server_reply(message);
    switch (static_cast<Command>(message.header.command)) {
        case Command::Version: return version(message);
        case Command::DmaMap: return dma_map(message);
        case Command::DmaUnmap: return dma_unmap(message);
        case Command::GetInfo: return device_info(message);
        case Command::GetRegionInfo: return region_info(message);
        case Command::GetIrqInfo: return irq_info(message);
        case Command::SetIrqs: return set_irqs(message);
        case Command::RegionRead: return region_read(message);
        case Command::RegionWrite: return region_write(message);
        case Command::RegionWriteMulti: return region_write_multi(message);
        case Command::Reset:
            return device_.reset() ? reply(message.header, nullptr, 0)
                                   : reply_error(message.header, ETIMEDOUT);
        default: return reply_error(message.header, ENOTSUP);
    }
}

bool Server::version(const Message &message) {
    uint16_t proposed[2];
    if (!parse(message, proposed)) return false;
    if (proposed[0] != 0) return reply_error(message.header, EINVAL);
    greeted_ = true;
    std::string text(message.body.begin() + 4, message.body.end());
    // A client that does not announce max_data_xfer_size does not expect requests from the server.
    asks_allowed_ = text.find("max_data_xfer_size") != std::string::npos;
    const std::string offered = capabilities();
    // Behind the version, 0.0, are the capabilities with the 0 that ends the text.
    std::vector<uint8_t> body(4 + offered.size() + 1);
    memcpy(body.data() + 4, offered.c_str(), offered.size() + 1);
    return reply(message.header, body.data(), body.size());
}

bool Server::dma_map(const Message &message) {
    DmaMap request;
    if (!parse(message, request)) return reply_error(message.header, EINVAL);
    if (message.fds.empty() && request.flags & kDmaWritable) {
        log_.say("the client announced " + std::to_string(request.size >> 10) +
                 " KiB of writable memory without a descriptor, which was refused: no DMA could "
                 "reach it; start QEMU with -object memory-backend-memfd,share=on");
        return reply_error(message.header, EINVAL);
    }
    int error = memory_.map(request, message.fds.empty() ? -1 : message.fds.front().get());
    return error ? reply_error(message.header, error) : reply(message.header, nullptr, 0);
}

bool Server::dma_unmap(const Message &message) {
    DmaUnmap request;
    if (!parse(message, request)) return reply_error(message.header, EINVAL);
    memory_.unmap(request);
    return reply(message.header, &request, sizeof request);
}

bool Server::device_info(const Message &message) {
    DeviceInfo info{sizeof info, kDeviceReset | kDevicePci, kRegionCount, kIrqCount};
    return reply(message.header, &info, sizeof info);
}

uint64_t Server::region_bytes(uint32_t region) const {
    if (region < kBars) return shape_.bar_bytes[region];
    return region == kRegionConfig ? shape_.config_bytes : 0;
}

bool Server::region_info(const Message &message) {
    RegionInfo info;
    if (!parse(message, info) || info.index >= kRegionCount)
        return reply_error(message.header, EINVAL);
    uint64_t bytes = region_bytes(info.index);
    info = {sizeof info, bytes ? kRegionReadable | kRegionWritable : 0, info.index, 0, bytes, 0};
    return reply(message.header, &info, sizeof info);
}

uint32_t Server::vectors(uint32_t index) const {
    if (index == kIrqMsix) return static_cast<uint32_t>(msix_.size());
    return index == kIrqMsi ? 1 : 0;
}

bool Server::irq_info(const Message &message) {
    IrqInfo info;
    if (!parse(message, info) || info.index >= kIrqCount)
        return reply_error(message.header, EINVAL);
    info = {sizeof info, kIrqEventfd | kIrqNoResize, info.index, vectors(info.index)};
    return reply(message.header, &info, sizeof info);
}

int Server::check_irqs(const Message &message, const IrqSet &request) {
    if (request.index >= kIrqCount ||
        uint64_t{request.start} + request.count > vectors(request.index))
        return EINVAL;
    bool none = request.flags & kSetIrqDataNone, eventfds = request.flags & kSetIrqDataEventfd;
    if (request.flags & kSetIrqActionTrigger && none == eventfds) return EINVAL;
    if (!eventfds) return 0;
    // The client sends one eventfd for each vector. Without any, it takes its eventfds back.
    size_t fds = message.fds.size();
    if (fds && fds != request.count) return EINVAL;
    if (std::all_of(message.fds.begin(), message.fds.end(), is_eventfd)) return 0;
    log_.say(
        "the client handed over a descriptor that is no eventfd for an interrupt, which was "
        "refused: a write to it could stop the board");
    return EINVAL;
}

bool Server::set_irqs(Message &message) {
    IrqSet request;
    if (!parse(message, request)) return reply_error(message.header, EINVAL);
    if (int error = check_irqs(message, request)) return reply_error(message.header, error);
    if (request.flags & kSetIrqActionTrigger) {
        if (request.index == kIrqMsi) set_msi(message, request);
        if (request.index == kIrqMsix) set_msix(message, request);
    }
    return reply(message.header, nullptr, 0);
}

void Server::set_msi(Message &message, const IrqSet &request) {
    if (request.flags & kSetIrqDataEventfd) {
        if (request.count) msi_ = message.fds.empty() ? Fd() : std::move(message.fds.front());
    } else if (request.flags & kSetIrqDataNone) {
        if (request.count == 0)
            msi_ = Fd();
        else
            interrupt();
    }
}

void Server::set_msix(Message &message, const IrqSet &request) {
    bool none = request.flags & kSetIrqDataNone;
    // A message with no data and a count of 0 takes the eventfds of all vectors back.
    bool off = none && request.count == 0;
    uint32_t end = off ? static_cast<uint32_t>(msix_.size()) : request.start + request.count;
    for (uint32_t vector = off ? 0 : request.start; vector < end; vector++) {
        if (none && !off) {
            interrupt(vector);
            continue;
        }
        bool used = !none && !message.fds.empty();
        msix_[vector] = used ? std::move(message.fds[vector - request.start]) : Fd();
        device_.msix_vector(vector, used);
    }
}

int Server::check_access(const RegionAccess &access) const {
    uint64_t bytes = region_bytes(access.region);
    if (access.count > kMaxTransfer || access.offset > bytes ||
        access.count > bytes - access.offset)
        return EINVAL;
    if (access.region == kRegionConfig) return 0;
    return access.count >= 1 && access.count <= kMaxBarAccess ? 0 : EINVAL;
}

bool Server::region_read(const Message &message) {
    RegionAccess access;
    if (!parse(message, access)) return reply_error(message.header, EINVAL);
    if (int error = check_access(access)) return reply_error(message.header, error);
    if (access.region == kRegionConfig) {
        std::vector<uint8_t> body(sizeof access + access.count);
        memcpy(body.data(), &access, sizeof access);
        device_.config_read(static_cast<unsigned>(access.offset), body.data() + sizeof access,
                            access.count);
        return reply(message.header, body.data(), body.size());
    }
    Header header = message.header;
    device_.bar_read(access.region, access.offset, access.count,
                     [this, header, access, session = session_](const uint8_t *data) {
                         if (session != session_) return;
                         std::vector<uint8_t> body(sizeof access + access.count);
                         memcpy(body.data(), &access, sizeof access);
                         memcpy(body.data() + sizeof access, data, access.count);
                         reply(header, body.data(), body.size());
                     });
    return true;
}

void Server::write(const RegionAccess &access, const uint8_t *data) {
    if (access.region == kRegionConfig)
        device_.config_write(static_cast<unsigned>(access.offset), data, access.count);
    else
        device_.bar_write(access.region, access.offset, data, access.count);
}

bool Server::region_write(const Message &message) {
    RegionAccess access;
    if (!parse(message, access)) return reply_error(message.header, EINVAL);
    int error = check_access(access);
    if (!error && message.body.size() < sizeof access + access.count) error = EINVAL;
    if (error) return reply_error(message.header, error);
    write(access, message.body.data() + sizeof access);
    return reply(message.header, &access, sizeof access);
}

bool Server::region_write_multi(const Message &message) {
    uint64_t count;
    if (!parse(message, count)) return reply_error(message.header, EINVAL);
    if (count > (message.body.size() - sizeof count) / sizeof(WriteMultiEntry))
        return reply_error(message.header, EINVAL);
    for (uint64_t i = 0; i < count; i++) {
        WriteMultiEntry entry;
        memcpy(&entry, message.body.data() + sizeof count + i * sizeof entry, sizeof entry);
        if (entry.access.count > sizeof entry.data || check_access(entry.access)) continue;
        write(entry.access, reinterpret_cast<const uint8_t *>(&entry.data));
    }
    return reply(message.header, nullptr, 0);
}

bool Server::interrupt() {
    return raise(msi_);
}

bool Server::interrupt(unsigned vector) {
    return vector < msix_.size() && raise(msix_[vector]);
}

// --- requests from this side ---------------------------------------------------------------------

void Server::look_for_private_copy() {
    if (!client_ || !asks_allowed_ || check_.running()) return;
    check_.start(memory_);
    if (check_.running()) ask();
}

void Server::ask() {
    DmaAccess access = check_.next();
    Header header{0xffff, static_cast<uint16_t>(Command::DmaRead),
                  static_cast<uint32_t>(sizeof(Header) + sizeof access), 0, 0};
    uint8_t out[sizeof header + sizeof access];
    memcpy(out, &header, sizeof header);
    memcpy(out + sizeof header, &access, sizeof access);
    send(out, sizeof out);
}

bool Server::server_reply(const Message &message) {
    constexpr size_t kBody = sizeof(DmaAccess) + PrivateCopyCheck::kSampleBytes;
    if (!check_.running()) return true;
    if (message.header.flags & kFlagError || message.body.size() < kBody) {
        check_.stop();
        return true;
    }
    auto verdict = check_.compare(memory_, message.body.data() + sizeof(DmaAccess));
    if (verdict == PrivateCopyCheck::Verdict::Private) {
        log_.say(
            "the client's memory is a private copy (share=off), and its connection ends: what the "
            "card writes would never be seen; start QEMU with -object "
            "memory-backend-memfd,share=on");
        return false;
    }
    if (check_.running()) ask();
    return true;
}

}  // namespace lanebox::vfio_user
