// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/root_complex.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

namespace {

constexpr Time kNever = ~Time{0};

}  // namespace

void RootComplex::handle(Tlp tlp) {
    if (tlp.pins_at < lost_before_ && !tlp.posted()) return;
    switch (tlp.type) {
        case TlpType::MemWrite: return memory.write(tlp);
        case TlpType::MemRead: return memory.read(tlp);
        case TlpType::Completion: return completion(tlp);
        case TlpType::Other: return;
    }
}

void RootComplex::completion(const Tlp &completion) {
    auto other = answers_.find(completion.requester);
    if (other != answers_.end()) return other->second(completion);
    cpu.completion(completion);
}

// Returns the queue of requests to the card whose first one has been ready for longest, or nullptr
// if no request is due.
std::deque<Timed> *RootComplex::next_request() {
    std::deque<Timed> *next = nullptr;
    for (auto *queue : {&cpu.requests, &others_})
        if (link.due(*queue) && (!next || queue->front().at < next->front().at)) next = queue;
    return next;
}

// Sends the completer's next completion to the card if it is due and was ready by `before`. Returns
// false if nothing was sent.
bool RootComplex::send_completion(Time before) {
    Completer &completer = memory.completer;
    if (completer.empty() || completer.next_at() > before) return false;
    Time ready = completer.next_at(), duration = link.downstream.duration(completer.next());
    bool timeout = completer.next().rc_error == kRcTimeout;
    if (ready > now_ + (timeout ? 0 : duration)) return false;
    if (timeout)
        link.report(completer.take());
    else
        link.to_card(ready - std::min(ready, duration), completer.take());
    return true;
}

// Sends the next TLP to the card. Returns false if no TLP is due.
bool RootComplex::send_next() {
    std::deque<Timed> *from = next_request();
    if (send_completion(from ? from->front().at : kNever)) return true;
    if (!from) return false;
    Time ready = from->front().held ? std::max(from->front().at, now_) : from->front().at;
    Tlp tlp = HostLink::take(*from);
    cpu.sent(tlp, link.to_card(ready, tlp));
    return true;
}

void RootComplex::run(Time now) {
    now_ = now;
    link.update();
    while (link.at_host() && !(link.next_at_host().posted() && memory.stalled()))
        handle(link.take_at_host());
    while (send_next()) {
    }
    cpu.run();
}

void RootComplex::configure() {
    memory.configure();
    link.configure();
}

void RootComplex::reset() {
    link.lose_all();
    memory.reset();
    others_.clear();
    cpu.lose();
    configure();
}

void RootComplex::function_reset() {
    lost_before_ = now_ + 1;
    memory.completer.reset();
    others_.clear();
    link.lose_to_card();
    cpu.lose();
}

}  // namespace lanebox
