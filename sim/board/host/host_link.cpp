// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "host/host_link.hpp"

#include <algorithm>
#include <utility>

namespace lanebox {

Tlp HostLink::take(std::deque<Timed> &queue) {
    Tlp tlp = std::move(queue.front().tlp);
    queue.pop_front();
    return tlp;
}

void HostLink::configure() {
    for (LinkDirection *direction : {&upstream, &downstream}) {
        direction->train(config_.link());
        direction->set_mps(config_.mps());
    }
}

// --- towards the host ----------------------------------------------------------------------------

void HostLink::to_host(Time ready, Tlp tlp) {
    upstream_credits.consume(tlp);
    if (faults_.replay_up()) upstream.corrupt_next();
    Time at = upstream.send(ready, tlp);
    to_host_.push_back({at, std::move(tlp)});
    if (to_host_.back().tlp.relaxed()) overtake();
}

// A posted request with relaxed ordering may pass everything before it (base specification,
// ordering table). In the model it overtakes a random number of the TLPs that are on the link
// before it.
void HostLink::overtake() {
    if (!timing_.reorder || !config_.relaxed_ordering() || !to_host_.back().tlp.posted()) return;
    for (size_t i = to_host_.size() - 1; i > 0 && random_() % 2; i--) {
        std::swap(to_host_[i].tlp, to_host_[i - 1].tlp);
        counters_.overtaken++;
    }
}

Tlp HostLink::take_at_host() {
    upstream_credits.release(to_host_.front().tlp, now_ + downstream.update_latency());
    return take(to_host_);
}

// --- towards the card ----------------------------------------------------------------------------

bool HostLink::due(std::deque<Timed> &queue) {
    if (queue.empty()) return false;
    Timed &next = queue.front();
    if (next.at > now_ + downstream.duration(next.tlp)) return false;
    bool allowed = downstream_credits.allows(next.tlp);
    next.held |= !allowed;
    return allowed;
}

Time HostLink::to_card(Time ready, Tlp tlp) {
    bool completion = tlp.type == TlpType::Completion;
    downstream_credits.consume(tlp);
    tlp.replayed = faults_.replay_down();
    tlp.malformed |= !completion && faults_.malformed();
    if (tlp.replayed) downstream.corrupt_next();
    Time at = downstream.send(ready, tlp);
    (completion ? completions_ : requests_).push_back({at, std::move(tlp)});
    return at;
}

void HostLink::report(Tlp end) {
    Time at = completions_.empty() ? now_ : std::max(now_, completions_.back().at);
    completions_.push_back({at, std::move(end)});
}

size_t HostLink::deliverable(bool reads) const {
    for (size_t i = 0; i < requests_.size() && requests_[i].at <= now_; i++)
        if (reads || requests_[i].tlp.posted()) return i;
    return kNone;
}

Tlp HostLink::take_request(bool reads) {
    auto found = requests_.begin() + static_cast<std::ptrdiff_t>(deliverable(reads));
    Tlp tlp = std::move(found->tlp);
    requests_.erase(found);
    downstream_credits.release(tlp, now_ + upstream.update_latency());
    return tlp;
}

size_t HostLink::completions_at_card() const {
    auto later = [](Time time, const Timed &timed) { return time < timed.at; };
    auto end = std::upper_bound(completions_.begin(), completions_.end(), now_, later);
    return static_cast<size_t>(end - completions_.begin());
}

// --- resets --------------------------------------------------------------------------------------

void HostLink::lose_all() {
    to_host_.clear();
    completions_.clear();
    requests_.clear();
    upstream_credits.reset();
    downstream_credits.reset();
}

void HostLink::lose_to_card() {
    completions_.clear();
    for (const Timed &lost : requests_)
        downstream_credits.release(lost.tlp, now_ + upstream.update_latency());
    requests_.clear();
}

}  // namespace lanebox
