// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// The program `line`: sends numbered frames of 64 bytes both ways between a driver of the net
// device and the far end of its wire, with full rings and a line that is never idle, and prints
// what arrived as JSON. sim/rows/virtio/line.py starts it with a device that is ready for use.
//
//   driver --- rings ---> card --- wire ---> far end
//          <-- rings ----      <-- wire ---
//
// Driver and far end act every kTurn cycles of device time, and device time stands still meanwhile.
// So the result does not depend on how fast they are.
#include <algorithm>
#include <cstdio>
#include <map>
#include <stdexcept>
#include <string>

#include "board.hpp"
#include "driver.hpp"
#include "far_end.hpp"
#include "frames.hpp"
#include "link/numbers.hpp"
#include "machine/json.hpp"
#include "ring.hpp"

namespace lanebox::line {

namespace {

// Five frames of 64 bytes on a line of 10 Gbit/s take 84 cycles of 4 ns.
constexpr unsigned kTurn = 84;
constexpr uint64_t kOnLine = 84 * 8;  // bits of a frame with preamble and gap
constexpr uint64_t kAhead = 512;      // frames that the far end has sent before they are due
constexpr uint64_t kQuiet = 10'000;   // cycles without any frame after which no more will come

class Options {
public:
    Options(int argc, char **argv) {
        for (int n = 1; n + 1 < argc; n += 2) values_[argv[n]] = argv[n + 1];
    }
    const std::string &text(const std::string &name) const {
        auto found = values_.find(name);
        if (found == values_.end()) throw std::invalid_argument(name + " is missing");
        return found->second;
    }
    uint64_t number(const std::string &name) const { return std::stoull(text(name)); }

private:
    std::map<std::string, std::string> values_;
};

// Counts frames in a window that begins behind the first turn that has brought frames. It ends with
// the last turn that has brought frames, but not the last frame of all. No frame waits on the card
// when the window begins, so frames that had waited cannot make the rate higher than the line's.
class Meter {
public:
    explicit Meter(uint64_t frames) : all_(frames) {}
    void note(uint64_t cycle, uint64_t frames) {
        if (frames == to_.frames || frames >= all_) return;
        if (!begun_) from_ = {cycle, frames};
        begun_ = true;
        to_ = {cycle, frames};
    }
    uint64_t cycles() const { return to_.cycle - from_.cycle; }
    uint64_t frames() const { return to_.frames - from_.frames; }

private:
    struct Point {
        uint64_t cycle, frames;
    };
    uint64_t all_;
    bool begun_ = false;
    Point from_{}, to_{};
};

struct Direction {
    Direction(Way way, uint64_t frames) : all(frames), account(way), meter(frames) {}
    Json json() const {
        return Json()
            .number("lost", all - std::min(all, account.frames()))
            .number("repeated", account.repeated())
            .number("changed", account.changed())
            .number("window_frames", meter.frames())
            .number("window_cycles", meter.cycles());
    }

    uint64_t all;
    Account account;
    Meter meter;
};

RingPlace place(const Options &options, const std::string &queue) {
    return {static_cast<int>(options.number(queue + "-file")),
            options.number(queue + "-address"),
            options.number("used"),
            options.number("buffers"),
            static_cast<uint32_t>(options.number("buffer-bytes")),
            static_cast<uint16_t>(options.number("size"))};
}

Json run(const Options &options) {
    const uint64_t frames = options.number("frames"), gigabits = options.number("gigabits");
    Board board(static_cast<int>(options.number("control")),
                static_cast<int>(options.number("client")));
    FarEnd far_end(options.text("wire"));
    Ring receive(place(options, "receive"), true, static_cast<uint16_t>(options.number("size")));
    Ring transmit(place(options, "transmit"), false, 0);
    const Order order = options.text("order") == "last" ? Order::Last : Order::Turn;
    Driver driver(board, options.number("doorbell"), receive, transmit, order);
    Direction h2c(Way::H2c, frames), c2h(Way::C2h, frames);

    while (!board.wired()) continue;
    uint64_t moved = 0, moved_at = 0;
    while (board.cycles() - moved_at < kQuiet) {
        const uint64_t due = board.cycles() * numbers::kTickNs * gigabits / kOnLine;
        far_end.send(std::min(frames, due + kAhead));
        driver.serve(c2h.account, frames);
        board.step(kTurn);
        far_end.take(h2c.account);
        h2c.meter.note(board.cycles(), h2c.account.taken());
        c2h.meter.note(board.cycles(), c2h.account.taken());
        const uint64_t taken = h2c.account.taken() + c2h.account.taken();
        if (taken != moved) moved_at = board.cycles();
        moved = taken;
    }
    return Json()
        .object("h2c", h2c.json())
        .object("c2h", c2h.json())
        .number("cycles", board.cycles())
        .number("least_buffers", uint64_t{driver.least_buffers()})
        .number("least_frames", uint64_t{driver.least_frames()});
}

}  // namespace

}  // namespace lanebox::line

int main(int argc, char **argv) {
    using namespace lanebox::line;
    try {
        printf("%s\n", run(Options(argc, argv)).text().c_str());
    } catch (const std::exception &error) {
        fprintf(stderr, "line: %s\n", error.what());
        return 1;
    }
}
