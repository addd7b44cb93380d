// etcd in memory, and in trouble: answers are lost, requests too, and some are done long after their sender gave up.
#pragma once

#include <map>

#include "base/random.h"
#include "etcd/kv.h"

namespace photonrail::etcd {

class MemoryKv final : public Kv {
 public:
  explicit MemoryKv(std::uint64_t seed, double trouble = 0) : random_(seed, "etcd"), trouble_(trouble) { keep(); }

  Result<TransactionResult> transact(const Transaction& transaction, Instant) override {
    if (random_.below(6) == 0) do_late(1);
    ++transactions;
    if (random_.uniform() >= trouble_) return apply(transaction);
    const std::uint64_t fate = random_.below(3);
    if (fate == 0) apply(transaction);
    if (fate == 1) late_.push_back(transaction);
    return lost();
  }

  Result<RangeResult> range(const Range& wanted, Instant) override {
    if (random_.below(12) == 0) do_late(1);
    if (random_.uniform() < trouble_) return lost();
    RangeResult out;
    out.revision = revision_;
    const auto& keys = history_.at(wanted.at == 0 ? revision_ : wanted.at);
    for (auto it = keys.lower_bound(wanted.first); it != keys.end(); ++it) {
      if (wanted.end.empty() ? it->first != wanted.first : it->first >= wanted.end) break;
      if (wanted.limit > 0 && out.values.size() == static_cast<std::size_t>(wanted.limit)) {
        out.more = true;
        break;
      }
      out.values.push_back(it->second);
    }
    return out;
  }

  // What was given up and is still on its way arrives now: the oldest `count`.
  void do_late(std::size_t count) {
    for (; count > 0 && !late_.empty(); --count) {
      apply(late_.front());
      late_.erase(late_.begin());
    }
  }
  void put(const std::string& key, const std::string& value, Lease lease = 0) {
    ++revision_;
    set({key, value, lease});
    keep();
  }
  Revision remove(const std::string& key) {
    ++revision_;
    keys_.erase(key);
    keep();
    return revision_;
  }
  const std::map<std::string, KeyValue>& keys() const { return keys_; }
  void set_trouble(double share) { trouble_ = share; }
  std::uint64_t transactions = 0;

 private:
  static tl::unexpected<Error> lost() { return fail(ErrorCode::io, "no answer"); }

  bool holds(const Guard& guard) const {
    const auto found = keys_.find(guard.key);
    if (guard.what == Guard::What::created) return (found == keys_.end() ? 0 : found->second.created) == guard.created;
    return found != keys_.end() && found->second.value == guard.value;
  }

  TransactionResult apply(const Transaction& t) {
    TransactionResult out;
    for (const Guard& guard : t.guards) {
      if (holds(guard)) continue;
      for (const std::string& key : t.otherwise) {
        if (keys_.contains(key)) out.read.push_back(keys_.at(key));
      }
      out.revision = revision_;
      return out;
    }
    ++revision_;
    for (const Put& p : t.puts) set(p);
    for (const Erase& e : t.erases) keys_.erase(keys_.lower_bound(e.first), keys_.lower_bound(e.end));
    keep();
    out.done = true;
    out.revision = revision_;
    return out;
  }

  void set(const Put& p) {
    KeyValue& kv = keys_[p.key];
    kv.key = p.key;
    kv.value = p.value;
    kv.lease = p.lease;
    if (kv.created == 0) kv.created = revision_;
  }
  void keep() {
    history_[revision_] = keys_;
    if (history_.size() > 12) history_.erase(history_.begin());
  }

  RandomStream random_;
  double trouble_;
  Revision revision_ = 1;
  std::map<std::string, KeyValue> keys_;
  std::map<Revision, std::map<std::string, KeyValue>> history_;
  std::vector<Transaction> late_;
};

}  // namespace photonrail::etcd
