// RecordWriter: journal and audit log of one daemon, written by a thread of their own with group commit: what arrived
// while one group was being synced makes the next one.
//
// Audit lines of a group are synced before its records: what a record promises is never done without its audit line.
// After the first error nothing is written any more and `failed` is called once: what the disk holds is not known until
// the next start (journal.h).
// Callbacks run on the writer's thread. append() and compact() may be called by one thread, audit() and history() by any.
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
#include "runtime/metrics.h"
#include "runtime/posix_disk.h"
#include "wire/operator_messages.h"

namespace photonrail::runtime {

class RecordWriter {
 public:
  using DurableCallback = std::function<void(daemon::RecordNumber through)>;
  using FailedCallback = std::function<void(const Error& error)>;
  static constexpr std::size_t kBacklogBytes = std::size_t{64} << 20;  // append() waits beyond it

  // Reads the journal; its records are then in `recovered()`. Starts nothing yet.
  static Result<std::unique_ptr<RecordWriter>> open(const std::string& directory, Metrics& metrics);
  ~RecordWriter();

  const std::vector<std::string>& recovered() const;
  std::size_t torn_bytes() const;
  void drop_recovered();

  void start(DurableCallback durable, FailedCallback failed);
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
  Status write(Work& work);

  Metrics& metrics_;
  std::unique_ptr<Parts> parts_;  // of the writer's thread once that runs
  DurableCallback durable_;
  FailedCallback failed_;
  std::mutex mutex_;
  std::condition_variable wake_, room_;
  std::unique_ptr<Work> next_;
  bool stopping_ = false, broken_ = false;
  std::thread thread_;
};

}  // namespace photonrail::runtime
