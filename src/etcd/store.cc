#include "etcd/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace photonrail::etcd {
namespace {

constexpr char kEnds = '=', kGoesOn = '+';
constexpr std::size_t kPart = std::size_t{256} << 10;     // of a record, in one key
constexpr std::size_t kChunk = std::size_t{512} << 10;    // of a snapshot, in one key
constexpr std::int64_t kPage = 256, kPageMost = 8192;     // keys in one read; more where they are short
constexpr std::size_t kShortPage = std::size_t{1} << 20;  // bytes
constexpr std::uint64_t kChunksMost = std::uint64_t{1} << 16;
constexpr std::size_t kDigits = 16;     // of a number
constexpr int kReadsMost = 10;          // of one page that is not answered
constexpr std::size_t kKeyBytes = 128;  // what a key and its framing add, at most

std::string hex(std::uint64_t number) { return fmt::format("{:016x}", number); }

std::optional<std::uint64_t> parse_hex(std::string_view text) {
  std::uint64_t value = 0;
  if (text.size() != kDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// The key after all that begin with `prefix`, which ends with '/'.
std::string after(std::string prefix) {
  ++prefix.back();
  return prefix;
}

tl::unexpected<Error> refused(const std::string& key, std::string what) {
  return fail(
      ErrorCode::invalid_input,
      fmt::format("etcd: {}: {}\n  hint: another program wrote under this prefix, or keys were removed", key, what));
}

tl::unexpected<Error> lost(std::string why) { return fail(ErrorCode::io, "etcd: " + std::move(why)); }

std::string frames(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& record : records) {
    for (unsigned i = 0; i < 4; ++i) out.push_back(static_cast<char>((record.size() >> (8 * i)) & 0xff));
    out += record;
  }
  return out;
}

bool unframe(std::string_view bytes, std::vector<std::string>& records) {
  while (!bytes.empty()) {
    if (bytes.size() < 4) return false;
    std::size_t length = 0;
    for (unsigned i = 0; i < 4; ++i) length |= std::size_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
    if (length > journal::kMaxPayload || bytes.size() - 4 < length) return false;
    records.emplace_back(bytes.substr(4, length));
    bytes.remove_prefix(4 + length);
  }
  return true;
}

std::optional<std::string> value_of(const std::vector<KeyValue>& values, std::string_view key) {
  const auto found = std::find_if(values.begin(), values.end(), [key](const KeyValue& kv) { return kv.key == key; });
  if (found == values.end()) return std::nullopt;
  return found->value;
}

// A record as the values of consecutive keys.
std::vector<std::string> parts_of(std::string_view record) {
  std::vector<std::string> parts;
  do {
    const bool ends = record.size() <= kPart;
    parts.push_back((ends ? kEnds : kGoesOn) + std::string(record.substr(0, kPart)));
    record.remove_prefix(std::min(record.size(), kPart));
  } while (parts.back().front() == kGoesOn);
  return parts;
}

}  // namespace

std::string leader_key(std::string_view prefix) { return std::string(prefix) + "/leader"; }

std::string Store::key(std::string_view rest) const { return fmt::format("{}/{}", spec_.prefix, rest); }
std::string Store::journal_key(std::uint64_t number) const { return key("journal/" + hex(number)); }
Guard Store::fence() const { return {leader_key(spec_.prefix), Guard::What::created, epoch_, {}}; }
Instant Store::deadline() const { return std::min(spec_.until(), spec_.now() + spec_.attempt); }

Guard Store::unchanged(const std::string& name, const std::optional<std::string>& value) const {
  if (!value) return {name, Guard::What::created, 0, {}};
  return {name, Guard::What::value, 0, *value};
}

// ---- writing

Result<std::vector<KeyValue>> Store::read_back(const Transaction& transaction) const {
  std::vector<KeyValue> values;
  for (const std::string& name : transaction.otherwise) {
    PR_ASSIGN(RangeResult result, kv_->range({name, {}, 1, 0}, deadline()));
    std::move(result.values.begin(), result.values.end(), std::back_inserter(values));
  }
  return values;
}

Status Store::settle(Transaction transaction, const std::function<bool(const std::vector<KeyValue>&)>& done) const {
  const std::string leader = leader_key(spec_.prefix);
  transaction.guards.push_back(fence());
  transaction.otherwise.push_back(leader);
  const auto still_leading = [&](const std::vector<KeyValue>& values) {
    return std::any_of(values.begin(), values.end(),
                       [&](const KeyValue& kv) { return kv.key == leader && kv.created == epoch_; });
  };
  std::string why = "the time is over";
  bool unknown = false;  // a transaction was sent and its outcome is not known
  while (!over()) {
    std::vector<KeyValue> values;
    if (unknown) {
      auto read = read_back(transaction);
      if (!read) {
        why = read.error().message;
        continue;
      }
      values = std::move(*read);
      if (!still_leading(values)) return lost("another daemon leads");
      if (done(values)) return {};
      unknown = false;
    }
    const auto answer = kv_->transact(transaction, deadline());
    if (!answer) {
      why = answer.error().message;
      unknown = true;
      continue;
    }
    if (answer->done) return {};
    if (!still_leading(answer->read)) return lost("another daemon leads");
    if (done(answer->read)) return {};  // an earlier one came through after all
    return refused(transaction.guards.front().key, "was changed by someone else than the leader");
  }
  return lost(fmt::format("leadership ended while a record was written: {}", why));
}

Status Store::move_head(std::uint64_t to, std::vector<Put> puts, std::vector<Erase> erases) {
  const std::string head = key("head");
  const std::string moved = fmt::format("{} {}", hex(to), hex(static_cast<std::uint64_t>(epoch_)));
  Transaction transaction;
  transaction.guards.push_back(unchanged(head, head_));
  transaction.puts = std::move(puts);
  transaction.puts.push_back({head, moved, 0});
  transaction.erases = std::move(erases);
  transaction.otherwise.push_back(head);
  const Status settled =
      settle(std::move(transaction), [&](const auto& values) { return value_of(values, head) == moved; });
  if (!settled) {
    closed_ = true;
    return fail(settled.error());
  }
  head_ = moved;
  last_ = to;
  return {};
}

Status Store::append(const std::vector<std::string>& payloads) {
  if (closed_) return lost("the store is closed after an error");
  std::vector<Put> puts;
  std::size_t bytes = 0;
  std::uint64_t number = last_;
  const auto flush = [&]() -> Status {
    if (puts.empty()) return {};
    PR_TRY(move_head(number, std::exchange(puts, {}), {}));
    bytes_ += std::exchange(bytes, 0);
    return {};
  };
  for (const std::string& payload : payloads) {
    for (std::string& part : parts_of(payload)) {
      if (puts.size() + 1 >= kOperationsMost || bytes + part.size() + kKeyBytes > kBytesMost) PR_TRY(flush());
      bytes += part.size() + kKeyBytes;
      puts.push_back({journal_key(++number), std::move(part), 0});
    }
  }
  return flush();
}

Status Store::compact(const std::vector<std::string>& records) {
  if (closed_) return lost("the store is closed after an error");
  if (current_ && snapshot_.through == last_) return {};
  const std::string bytes = frames(records);
  Snapshot fresh{last_, fmt::format("{}-{:x}", hex(last_), epoch_), (bytes.size() + kChunk - 1) / kChunk, bytes.size()};
  const auto write = [&](Transaction transaction, const std::string& name, const std::string& value) -> Status {
    transaction.puts.push_back({name, value, 0});
    transaction.otherwise.push_back(name);
    Status settled =
        settle(std::move(transaction), [&](const auto& values) { return value_of(values, name) == value; });
    closed_ = closed_ || !settled;
    return settled;
  };
  for (std::uint64_t i = 0; i < fresh.chunks; ++i) {
    PR_TRY(write({}, key(fmt::format("snapshot/{}/{:08x}", fresh.name, i)), bytes.substr(i * kChunk, kChunk)));
  }
  const std::string current = key("current");
  const std::string manifest = fmt::format("{} {} {} {}", hex(fresh.through), fresh.name, fresh.chunks, fresh.bytes);
  Transaction swap;
  swap.guards.push_back(unchanged(current, current_));
  PR_TRY(write(std::move(swap), current, manifest));
  // What it replaces goes. A late double of this must not meet the chunks of the next snapshot, which are there before
  // it is the current one; but before it the head moves.
  Transaction remove;
  remove.guards.push_back(unchanged(key("head"), head_));
  remove.guards.push_back({current, Guard::What::value, 0, manifest});
  remove.otherwise.push_back(current);
  remove.erases.push_back({journal_key(0), journal_key(fresh.through + 1)});
  remove.erases.push_back({key("snapshot/"), key(fmt::format("snapshot/{}/", fresh.name))});
  remove.erases.push_back({after(key(fmt::format("snapshot/{}/", fresh.name))), after(key("snapshot/"))});
  current_ = manifest;
  snapshot_ = std::move(fresh);
  bytes_ = 0;
  const Status removed = settle(std::move(remove), [](const auto&) { return false; });
  closed_ = closed_ || !removed;
  return removed;
}

// ---- reading

Result<std::vector<KeyValue>> Store::read_all(std::string first, std::string end, Revision at) const {
  std::vector<KeyValue> all;
  std::int64_t size = kPage;
  while (true) {
    auto page = kv_->range({first, end, size, at}, deadline());
    for (int again = 1; !page && again < kReadsMost && !over(); ++again) {
      page = kv_->range({first, end, size, at}, deadline());
    }
    if (!page) return fail(page.error());
    std::size_t bytes = 0;
    for (const KeyValue& kv : page->values) bytes += kv.value.size();
    size = bytes <= kShortPage ? std::min(2 * size, kPageMost) : kPage;
    std::move(page->values.begin(), page->values.end(), std::back_inserter(all));
    if (!page->more || page->values.empty()) return all;
    first = all.back().key + '\0';
  }
}

Status Store::read_snapshot(Contents& into, Revision at) const {
  const std::string name = key("current");
  const std::string_view text = *into.current;
  Snapshot& s = into.snapshot;
  const std::size_t blank = text.find(' ');
  const auto through = parse_hex(text.substr(0, std::min(blank, text.size())));
  const std::size_t second = blank == text.npos ? blank : text.find(' ', blank + 1);
  const std::size_t third = second == text.npos ? second : text.find(' ', second + 1);
  if (!through || third == text.npos) return refused(name, "is no description of a snapshot");
  s.through = *through;
  s.name = text.substr(blank + 1, second - blank - 1);
  const auto number = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  if (!number(text.substr(second + 1, third - second - 1), s.chunks) || !number(text.substr(third + 1), s.bytes) ||
      s.chunks > kChunksMost) {
    return refused(name, "is no description of a snapshot");
  }
  const std::string folder = key(fmt::format("snapshot/{}/", s.name));
  PR_ASSIGN(const std::vector<KeyValue> chunks, read_all(folder, after(folder), at));
  std::string bytes;
  for (const KeyValue& chunk : chunks) bytes += chunk.value;
  if (chunks.size() != s.chunks || bytes.size() != s.bytes || !unframe(bytes, into.records)) {
    return refused(folder, fmt::format("{} chunks of {} bytes, where {} tells of {} of {}", chunks.size(), bytes.size(),
                                       name, s.chunks, s.bytes));
  }
  return {};
}

Status Store::read_journal(Contents& into, Revision at) const {
  PR_ASSIGN(const std::vector<KeyValue> keys,
            read_all(journal_key(into.snapshot.through + 1), after(key("journal/")), at));
  into.whole = into.snapshot.through;
  std::uint64_t number = into.snapshot.through;
  std::string record;
  for (const KeyValue& kv : keys) {
    if (kv.key != journal_key(++number)) return refused(journal_key(number), "is missing, and later ones are there");
    if (kv.value.empty() || (kv.value.front() != kEnds && kv.value.front() != kGoesOn)) {
      return refused(kv.key, "is no part of a record");
    }
    record.append(kv.value, 1);
    if (record.size() > journal::kMaxPayload) return refused(kv.key, "its record is too long");
    into.bytes += kv.value.size() + kKeyBytes;
    if (kv.value.front() == kGoesOn) continue;
    into.records.push_back(std::exchange(record, {}));
    into.whole = number;
  }
  if (number != into.last)
    return refused(key("head"), fmt::format("tells of {} keys, the last one is {}", into.last, number));
  return {};
}

Result<Store::Contents> Store::contents() const {
  Contents out;
  PR_ASSIGN(const RangeResult head, kv_->range({key("head"), {}, 1, 0}, deadline()));
  PR_ASSIGN(const RangeResult current, kv_->range({key("current"), {}, 1, head.revision}, deadline()));
  if (!head.values.empty()) out.head = head.values.front().value;
  if (!current.values.empty()) out.current = current.values.front().value;
  if (out.head) {
    const auto number = parse_hex(std::string_view(*out.head).substr(0, kDigits));
    if (!number || out.head->size() != 2 * kDigits + 1) return refused(key("head"), "is not two numbers of 16 digits");
    out.last = *number;
  }
  if (out.current) PR_TRY(read_snapshot(out, head.revision));
  PR_TRY(read_journal(out, head.revision));
  return out;
}

Status Store::mend(const Contents& found) {
  if (found.whole == found.last) return {};
  return move_head(found.whole, {}, {{journal_key(found.whole + 1), journal_key(found.last + 1)}});
}

Result<Store::Recovered> Store::recover(Kv& kv, StoreSpec spec, Revision epoch) {
  std::unique_ptr<Store> store(new Store(kv, std::move(spec), epoch));
  PR_ASSIGN(Contents found, store->contents());
  store->head_ = found.head;
  store->current_ = found.current;
  store->snapshot_ = found.snapshot;
  store->last_ = found.last;
  store->bytes_ = found.bytes;
  PR_TRY(store->mend(found));
  return Recovered{std::move(store), std::move(found.records)};
}

Result<std::vector<std::string>> Store::read(Kv& kv, const StoreSpec& spec) {
  PR_ASSIGN(Contents found, Store(kv, spec, 0).contents());
  return std::move(found.records);
}

}  // namespace photonrail::etcd
