// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Flow control of one direction of the link (base specification 2.6.1): the credits that the
// receiver has granted and those that the sender has used, for headers and for data of 16 bytes.
//
// A credit comes back to the sender with the receiver's next update, which takes a while to be sent
// and to arrive. A limit of 0 means infinite credits. Every endpoint and every root has infinite
// credits for completions.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "link/tlp.hpp"

namespace lanebox {

enum class CreditType : unsigned { Posted, NonPosted, Completion, kCount };

// Numbers of credits. One header credit is for one TLP, one data credit for 16 bytes of payload.
struct Credits {
    unsigned headers = 0, data = 0;
};

// Returns the type of credits that a TLP uses.
CreditType credit_type(const Tlp &tlp);

// The credits of one receive buffer, as both its sender and its receiver count them.
class CreditPool {
public:
    using Limits = std::array<Credits, static_cast<unsigned>(CreditType::kCount)>;

    explicit CreditPool(const Limits &buffer) : buffer_(buffer), granted_(buffer) {}

    void update(Time now);  // Gives the sender the credits whose updates have arrived by now.
    // Returns true if the sender has the credits for a TLP. Infinite credits allow every TLP.
    bool allows(const Tlp &tlp) const;
    // Uses up a TLP's credits. Call it when the sender sends the TLP.
    void consume(const Tlp &tlp);
    // Call it when the TLP leaves the receiver's buffer. Its credits reach the sender at `arrives`.
    void release(const Tlp &tlp, Time arrives);
    // Call it when the link was reset. The whole buffer is then free, and the sender knows it.
    void reset();

    // The credits as the sender knows them: `limit` is the total granted since initialisation,
    // `consumed` the total used, `available` their difference. `space` is the free room in the
    // receiver's buffer. The sender may not know all of it yet, since updates take time.
    Credits limit(CreditType type) const { return granted_[index(type)]; }
    Credits consumed(CreditType type) const { return consumed_[index(type)]; }
    Credits available(CreditType type) const;
    Credits space(CreditType type) const;
    bool infinite(CreditType type) const { return buffer_[index(type)].headers == 0; }
    // Returns how often any credit of this pool has changed.
    uint64_t changes() const { return changes_; }

private:
    struct Grant {
        Time at;
        CreditType type;
        Credits credits;
    };
    static unsigned index(CreditType type) { return static_cast<unsigned>(type); }

    Limits buffer_, granted_, consumed_{}, released_{};
    std::deque<Grant> under_way_;
    uint64_t changes_ = 0;
};

}  // namespace lanebox
