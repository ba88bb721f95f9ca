// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

// Flow control of one direction of the link (base specification 2.6.1): what the receiver has
// granted, what the sender has used, for headers and for data credits of 16 bytes.
//
// A credit comes back to the sender with the receiver's next update, which takes a while to be sent
// and to arrive. Types with a limit of 0 are infinite, as completions are at every endpoint and
// root.
#pragma once

#include <array>
#include <cstdint>
#include <deque>

#include "pcie4/pins.hpp"
#include "pcie4/tlp.hpp"

namespace lanebox {

enum class CreditType : unsigned { Posted, NonPosted, Completion, kCount };

struct Credits {
    unsigned headers = 0, data = 0;
};

CreditType credit_type(const Tlp &tlp);

class CreditPool {
public:
    using Limits = std::array<Credits, static_cast<unsigned>(CreditType::kCount)>;

    explicit CreditPool(const Limits &buffer) : buffer_(buffer), granted_(buffer) {}

    void update(Time now);  // grants that have arrived by now
    bool allows(const Tlp &tlp) const;
    void consume(const Tlp &tlp);                // the sender puts it on the wire
    void release(const Tlp &tlp, Time arrives);  // it left the receiver's buffer
    void reset();

    // As the sender knows them: `limit` is the total granted since initialisation, `consumed` the
    // total used, `available` their difference. `space` is the free room of the receiver's buffer,
    // some of which the sender learns of only from updates that are under way.
    Credits limit(CreditType type) const { return granted_[index(type)]; }
    Credits consumed(CreditType type) const { return consumed_[index(type)]; }
    Credits available(CreditType type) const;
    Credits space(CreditType type) const;
    bool infinite(CreditType type) const { return buffer_[index(type)].headers == 0; }
    uint64_t changes() const { return changes_; }  // counts changes of any of the above

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

// cfg_fc_* for a value of cfg_fc_sel (PG213, "Configuration Flow Control Interface"). 0 to 2: what
// is available to the link partner, its limit, what it has consumed. 3: free space of the block's
// own receive buffer. 4 to 6: as 0 to 2, but for TLPs that the block sends. Infinite credits and
// the reserved selection 7 read as 0.
FcPins fc_pins(const CreditPool &transmit, const CreditPool &receive, unsigned select);

}  // namespace lanebox
