// This file is part of Lanebox.
// Copyright (c) 2026 Lanebox contributors
// SPDX-License-Identifier: BSD-2-Clause

#include "link/credits.hpp"

namespace lanebox {

namespace {

constexpr unsigned kDwordsPerCredit = 4;

Credits cost(const Tlp &tlp) {
    auto dwords = static_cast<unsigned>(tlp.payload.size());
    return {1, (dwords + kDwordsPerCredit - 1) / kDwordsPerCredit};
}

void add(Credits &to, Credits more) {
    to.headers += more.headers;
    to.data += more.data;
}

Credits difference(Credits from, Credits less) {
    return {from.headers - less.headers, from.data - less.data};
}

}  // namespace

CreditType credit_type(const Tlp &tlp) {
    if (tlp.type == TlpType::Completion) return CreditType::Completion;
    return tlp.posted() ? CreditType::Posted : CreditType::NonPosted;
}

void CreditPool::update(Time now) {
    for (; !under_way_.empty() && under_way_.front().at <= now; under_way_.pop_front()) {
        add(granted_[index(under_way_.front().type)], under_way_.front().credits);
        changes_++;
    }
}

Credits CreditPool::available(CreditType type) const {
    return difference(granted_[index(type)], consumed_[index(type)]);
}

Credits CreditPool::space(CreditType type) const {
    Credits taken = difference(consumed_[index(type)], released_[index(type)]);
    return difference(buffer_[index(type)], taken);
}

bool CreditPool::allows(const Tlp &tlp) const {
    CreditType type = credit_type(tlp);
    if (infinite(type)) return true;
    Credits left = available(type), wanted = cost(tlp);
    return left.headers >= wanted.headers && left.data >= wanted.data;
}

void CreditPool::consume(const Tlp &tlp) {
    CreditType type = credit_type(tlp);
    if (infinite(type)) return;
    add(consumed_[index(type)], cost(tlp));
    changes_++;
}

void CreditPool::release(const Tlp &tlp, Time arrives) {
    CreditType type = credit_type(tlp);
    if (infinite(type)) return;
    add(released_[index(type)], cost(tlp));
    under_way_.push_back({arrives, type, cost(tlp)});
    changes_++;
}

void CreditPool::reset() {
    granted_ = buffer_;
    consumed_ = released_ = {};
    under_way_.clear();
    changes_++;
}

}  // namespace lanebox
