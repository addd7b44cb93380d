// RecordWriter: journal and audit log of one daemon, written by a thread of their own with group commit: what arrived
// while one group was being synced makes the next one.
//
// Audit lines of a group are synced before its records: what a record promises is never done without its audit line.
// After the first error of a store nothing is written to it any more and `failed` is called once: what it holds is not
// known until it is recovered (journal/record_store.h). The audit log is a file of this daemon, wherever its journal
// is. Callbacks run on the writer's thread. append(), compact() and write_to() may be called by one thread, audit() and
// history() by any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/core.h"
#include "journal/record_store.h"
#include "runtime/metrics.h"
#include "runtime/posix_disk.h"
#include "wire/operator_messages.h"

namespace photonrail::runtime {

class RecordWriter {
 public:
  using DurableCallback = std::function<void(daemon::RecordNumber through)>;
  using FailedCallback = std::function<void(const Error& error)>;
  static constexpr std::size_t kBacklogBytes = std::size_t{64} << 20;  // append() waits beyond it

  // Reads the journal in the directory; its records are then in `recovered()`. Starts nothing yet.
  static Result<std::unique_ptr<RecordWriter>> open(const std::string& directory, Metrics& metrics);
  // Only the audit log is there; records go nowhere until write_to().
  static Result<std::unique_ptr<RecordWriter>> open_audit(const std::string& directory, Metrics& metrics);
  ~RecordWriter();

  const std::vector<std::string>& recovered() const;
  std::size_t torn_bytes() const;
  void drop_recovered();

  // `failed`: of the journal in the directory, or of the audit log.
  void start(DurableCallback durable, FailedCallback failed);
  // What is appended from now on goes to `store`; what was appended before and is not yet written is dropped.
  void write_to(std::unique_ptr<journal::RecordStore> store, DurableCallback durable, FailedCallback failed);
  void append(daemon::RecordNumber number, std::string payload);
  void audit(const daemon::AuditRecord& record);
  void compact(std::vector<std::string> records);  // replaces all that was appended before
  void stop();                                     // writes what is there, then ends the thread

  // Audit records that match, oldest first; looks at the last kHistoryBytes of the log.
  static constexpr std::size_t kHistoryBytes = std::size_t{16} << 20;
  Result<std::vector<wire::Event>> history(const wire::HistoryQuery& query);

 private:
  struct Parts;
  struct Work;
  explicit RecordWriter(Metrics& metrics);
  void loop();
  Status write_audit(const Work& work);
  Status write(Work& work);

  Metrics& metrics_;
  std::unique_ptr<Parts> parts_;  // of the writer's thread once that runs
  DurableCallback durable_;
  FailedCallback failed_, audit_failed_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::unique_ptr<Work> next_;
  bool stopping_ = false;
  bool broken_ = false;  // nothing is taken until write_to()
  std::thread thread_;
};

}  // namespace photonrail::runtime
