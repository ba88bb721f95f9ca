// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "port/wire.hpp"

#include <algorithm>
#include <cstring>

namespace lanebox {

namespace {

constexpr size_t kBeat = WireBeat::kBytes;
constexpr size_t kAhead = 2;  // the most frames that wait in the MAC, in each direction
// Device time runs for this many cycles after the link has changed or a frame was given to the net
// device. From then on the net device itself says whether it has work.
constexpr unsigned kSettle = 64;

}  // namespace

Wire::Wire(const WireOptions &options)
    : options_(options), up_(options.gigabits), down_(options.gigabits) {}

void Wire::open() {
    if (options_.path.empty()) return;
    if (options_.listens)
        socket_.listen(options_.path);
    else
        socket_.connect(options_.path);
}

bool Wire::working() const {
    if (!bound_ || in_reset_) return false;
    return !leaving_.empty() || !coming_.empty() || !socket_.empty() || settling_ ||
           link_ != socket_.connected();
}

void Wire::clear() {
    h2c_ = c2h_ = {};
    socket_.counters = {};
}

void Wire::run(Time now) {
    now_ = now;
    while (!leaving_.empty() && leaving_.front().slot.end <= now) {
        socket_.send(leaving_.front().frame);
        leaving_.pop_front();
    }
    while (!socket_.empty() && coming_.size() < kAhead) {
        Frame frame = socket_.take();
        Line::Slot slot = down_.send(frame.size(), now);
        coming_.push_back({slot, std::move(frame)});
    }
}

// Call it while the gateware is in reset. It then has lost the frame that it was sending, and the
// one that it was taking.
void Wire::reset() {
    taken_.clear();
    given_ = 0;
    taking_ = giving_ = false;
}

void Wire::take_beat(const WireInputs &inputs) {
    const WireBeat &beat = inputs.h2c;
    size_t bytes = beat.last && beat.bytes ? beat.bytes : kBeat;
    taken_.insert(taken_.end(), beat.data, beat.data + bytes);
    if (!beat.last) return;
    if (beat.error) {
        h2c_.bad++;
    } else {
        h2c_.frames++;
        h2c_.bytes += taken_.size();
        Line::Slot slot = up_.send(taken_.size(), now_);
        leaving_.push_back({slot, std::move(taken_)});
    }
    taken_.clear();
}

void Wire::give_beat(WireOutputs &outputs) const {
    const Frame &frame = coming_.front().frame;
    size_t bytes = std::min(frame.size() - given_, kBeat);
    WireBeat &beat = outputs.c2h;
    memcpy(beat.data, frame.data() + given_, bytes);
    beat.valid = true;
    beat.last = given_ + bytes == frame.size();
    beat.bytes = static_cast<unsigned>(bytes % kBeat);
    outputs.kept = static_cast<unsigned>(frame.size());
    outputs.time = coming_.front().slot.start / kNanosecond;
}

void Wire::beat_given() {
    size_t bytes = coming_.front().frame.size();
    given_ += kBeat;
    if (given_ < bytes) return;
    c2h_.frames++;
    c2h_.bytes += bytes;
    coming_.pop_front();
    given_ = 0;
    settling_ = kSettle;
}

void Wire::step(const WireInputs &inputs, WireOutputs &outputs) {
    outputs = {};
    in_reset_ = inputs.reset;
    if (in_reset_) reset();
    if (taking_ && inputs.h2c.valid) take_beat(inputs);
    if (settling_) settling_--;
    if (giving_ && inputs.c2h_ready) beat_given();
    if (link_ != socket_.connected()) settling_ = kSettle;
    link_ = socket_.connected();
    // The MAC takes a beat if at most one frame waits for the line.
    taking_ = !in_reset_ &&
              (leaving_.size() < kAhead || leaving_[leaving_.size() - kAhead].slot.start <= now_);
    giving_ = !in_reset_ && !coming_.empty() && coming_.front().slot.end <= now_;
    outputs.h2c_ready = taking_;
    outputs.link = link_;
    if (giving_) give_beat(outputs);
}

}  // namespace lanebox
