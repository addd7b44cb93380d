#include "runtime/record_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <deque>

#include "journal/audit.h"
#include "journal/journal.h"
#include "runtime/clock.h"
#include "runtime/log.h"

namespace photonrail::runtime {
namespace {

constexpr const char* kAuditLog = "audit.log";
constexpr std::size_t kHashDigits = 64;
constexpr std::size_t kLineMost = std::size_t{1} << 20;  // of the audit log

std::string audit_payload(const daemon::AuditRecord& r) {
  return fmt::format(
      "{{\"time\":\"{}\",\"who\":{},\"action\":{},\"job\":{},\"epoch\":{},\"request\":{},\"before\":{},\"after\":{},"
      "\"detail\":{}}}",
      wall_time(), json_text(r.who), json_text(r.action), json_text(r.job), r.epoch, r.request, json_text(r.before),
      json_text(r.after), json_text(r.detail));
}

std::string text_of(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : std::string();
}

std::uint64_t number_of(const boost::json::object& object, std::string_view key) {
  const boost::json::value* value = object.if_contains(key);
  if (value == nullptr) return 0;
  boost::system::error_code problem;
  const auto number = value->to_number<std::uint64_t>(problem);
  return problem ? 0 : number;
}

std::optional<wire::Event> parse_line(std::string_view line) {
  if (line.size() <= kHashDigits + 1) return std::nullopt;
  boost::system::error_code problem;
  const boost::json::value parsed = boost::json::parse(line.substr(kHashDigits + 1), problem);
  if (problem || !parsed.is_object()) return std::nullopt;
  const boost::json::object& o = parsed.get_object();
  return wire::Event{text_of(o, "time"),
                     "audit",
                     {text_of(o, "who"), text_of(o, "action"), text_of(o, "job"), number_of(o, "epoch"),
                      number_of(o, "request"), text_of(o, "before"), text_of(o, "after"), text_of(o, "detail")}};
}

// The chain goes on after the last whole line. A line that a crash tore is cut off: nobody was promised it.
Result<journal::AuditChain> continue_audit(PosixDisk& disk) {
  PR_ASSIGN(const std::size_t size, disk.size(kAuditLog));
  PR_ASSIGN(const std::string tail, disk.tail(kAuditLog, kLineMost));
  const std::size_t end = tail.rfind('\n');
  const std::size_t torn = tail.size() - (end == tail.npos ? 0 : end + 1);
  if (torn > 0) {
    if (end == tail.npos && size > tail.size()) {
      return fail(ErrorCode::invalid_input, "audit.log: its last line has no end; move the file away to go on");
    }
    PR_TRY(disk.truncate(kAuditLog, size - torn));
  }
  if (end == tail.npos) return journal::AuditChain();
  const std::size_t before = end == 0 ? tail.npos : tail.rfind('\n', end - 1);
  const std::size_t first = before == tail.npos ? 0 : before + 1;
  if (end - first < kHashDigits + 1) {
    return fail(ErrorCode::invalid_input,
                "audit.log: its last line is none of an audit log; move the file away to go on");
  }
  return journal::AuditChain(tail.substr(first, kHashDigits));
}

}  // namespace

struct RecordWriter::Work {
  struct Store {
    std::unique_ptr<journal::RecordStore> store;
    DurableCallback durable;
    FailedCallback failed;
  };
  std::optional<Store> store;  // for the records of this work, and later ones
  struct Record {
    daemon::RecordNumber number = 0;
    std::string payload;
  };
  std::vector<Record> records;
  std::vector<std::string> audit;                      // payloads
  std::optional<std::vector<std::string>> compaction;  // after the first `records_before` of `records`
  std::size_t records_before = 0;
  std::size_t bytes = 0;
  bool empty() const { return records.empty() && audit.empty() && !compaction && !store; }
};

struct RecordWriter::Parts {
  std::unique_ptr<PosixDisk> disk;
  journal::AuditChain chain;
  std::vector<std::string> recovered;
  std::size_t torn_bytes = 0;
  std::unique_ptr<journal::RecordStore> store;  // none: nobody leads here
};

Result<std::unique_ptr<RecordWriter>> RecordWriter::open_audit(const std::string& directory, Metrics& metrics) {
  PR_ASSIGN(auto disk, PosixDisk::open(directory));
  PR_ASSIGN(journal::AuditChain chain, continue_audit(*disk));
  std::unique_ptr<RecordWriter> writer(new RecordWriter(metrics));
  writer->parts_.reset(new Parts{std::move(disk), std::move(chain), {}, 0, nullptr});
  writer->next_ = std::make_unique<Work>();
  return writer;
}

Result<std::unique_ptr<RecordWriter>> RecordWriter::open(const std::string& directory, Metrics& metrics) {
  PR_ASSIGN(auto writer, open_audit(directory, metrics));
  PR_ASSIGN(journal::Recovered recovered, journal::Journal::open(*writer->parts_->disk));
  writer->parts_->recovered = std::move(recovered.records);
  writer->parts_->torn_bytes = recovered.torn_bytes;
  writer->parts_->store = std::make_unique<journal::FileStore>(std::move(recovered.journal));
  return writer;
}

RecordWriter::RecordWriter(Metrics& metrics) : metrics_(metrics) {}
RecordWriter::~RecordWriter() { stop(); }

const std::vector<std::string>& RecordWriter::recovered() const { return parts_->recovered; }
std::size_t RecordWriter::torn_bytes() const { return parts_->torn_bytes; }
void RecordWriter::drop_recovered() { std::vector<std::string>().swap(parts_->recovered); }

void RecordWriter::start(DurableCallback durable, FailedCallback failed) {
  durable_ = std::move(durable);
  audit_failed_ = failed;
  failed_ = std::move(failed);
  thread_ = std::thread([this] { loop(); });
}

void RecordWriter::write_to(std::unique_ptr<journal::RecordStore> store, DurableCallback durable,
                            FailedCallback failed) {
  const std::lock_guard lock(mutex_);
  next_->records.clear();
  next_->compaction.reset();
  next_->store.emplace(Work::Store{std::move(store), std::move(durable), std::move(failed)});
  broken_ = false;
  wake_.notify_one();
}

void RecordWriter::append(daemon::RecordNumber number, std::string payload) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return next_->bytes < kBacklogBytes || broken_; });
  if (broken_) return;
  next_->bytes += payload.size();
  next_->records.push_back({number, std::move(payload)});
  wake_.notify_one();
}

void RecordWriter::audit(const daemon::AuditRecord& record) {
  std::string payload = audit_payload(record);
  const std::lock_guard lock(mutex_);
  next_->bytes += payload.size();
  next_->audit.push_back(std::move(payload));
  wake_.notify_one();
}

void RecordWriter::compact(std::vector<std::string> records) {
  const std::lock_guard lock(mutex_);
  if (next_->compaction || broken_) return;  // one is waiting already; the caller asks again later
  next_->records_before = next_->records.size();
  next_->compaction = std::move(records);
  wake_.notify_one();
}

void RecordWriter::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    wake_.notify_one();
  }
  thread_.join();
}

void RecordWriter::loop() {
  while (true) {
    auto work = std::make_unique<Work>();
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !next_->empty() || stopping_; });
      if (next_->empty()) return;
      std::swap(work, next_);
      room_.notify_all();
    }
    if (const Status written = write_audit(*work); !written) {
      const std::lock_guard lock(mutex_);
      broken_ = true;
      room_.notify_all();
      return audit_failed_(written.error());
    }
    if (work->store) {
      parts_->store = std::move(work->store->store);
      durable_ = std::move(work->store->durable);
      failed_ = std::move(work->store->failed);
    }
    if (!parts_->store) continue;
    const Status written = write(*work);
    if (written) continue;
    parts_->store.reset();
    {
      const std::lock_guard lock(mutex_);
      broken_ = !next_->store;
      if (broken_) *next_ = Work{{}, {}, std::move(next_->audit), {}, 0, 0};
      room_.notify_all();
    }
    failed_(written.error());
  }
}

Status RecordWriter::write_audit(const Work& work) {
  if (work.audit.empty()) return {};
  std::string lines;
  for (const std::string& payload : work.audit) lines += parts_->chain.line(payload);
  PR_TRY(parts_->disk->append(kAuditLog, lines));
  PR_TRY(parts_->disk->sync(kAuditLog));
  metrics_.audit_records += work.audit.size();
  return {};
}

Status RecordWriter::write(Work& work) {
  const Instant begun = now();
  journal::RecordStore& store = *parts_->store;
  const auto flush = [&](std::size_t first, std::size_t last) -> Status {
    if (first == last) return {};
    std::vector<std::string> payloads;
    for (std::size_t i = first; i < last; ++i) payloads.push_back(std::move(work.records[i].payload));
    PR_TRY(store.append(payloads));
    metrics_.records += last - first;
    durable_(work.records[last - 1].number);
    return {};
  };
  const std::size_t all = work.records.size();
  PR_TRY(flush(0, work.compaction ? work.records_before : all));
  metrics_.journal_sync.add(now() - begun);
  if (work.compaction) {
    PR_TRY(store.compact(*work.compaction));
    ++metrics_.compactions;
    PR_TRY(flush(work.records_before, all));
  }
  metrics_.journal_bytes = static_cast<std::int64_t>(store.bytes_since_snapshot());
  return {};
}

Result<std::vector<wire::Event>> RecordWriter::history(const wire::HistoryQuery& query) {
  PR_ASSIGN(const std::string log, parts_->disk->tail(kAuditLog, kHistoryBytes));
  std::deque<wire::Event> found;
  std::size_t from = log.size() < kHistoryBytes ? 0 : std::min(log.find('\n'), log.size() - 1) + 1;
  while (from < log.size()) {
    const std::size_t end = log.find('\n', from);
    if (end == log.npos) break;
    const std::string_view line = std::string_view(log).substr(from, end - from);
    from = end + 1;
    if (line.find(query.text) == line.npos) continue;
    std::optional<wire::Event> event = parse_line(line);
    if (!event || (!query.job.empty() && event->record.job != query.job)) continue;
    found.push_back(std::move(*event));
    if (found.size() > query.limit) found.pop_front();
  }
  return std::vector<wire::Event>(std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
}

}  // namespace photonrail::runtime
