// Calls of operators and schedulers, one at a time; each blocks until it is answered or its time is over.
// Errors: what the daemon refused, with its reason; io where it cannot be reached.
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "daemon/core.h"
#include "remote/channel.h"
#include "wire/operator_messages.h"

namespace photonrail::remote {

class OperatorClient {
 public:
  static Result<std::unique_ptr<OperatorClient>> open(const ChannelSpec& spec, Duration within);
  ~OperatorClient();

  // `names`: those of the switches that the call mentions by number.
  Status submit(const daemon::SubmitJob& job, const wire::SwitchNames& names);
  Status end(const daemon::EndJob& job);
  Status set_port(const daemon::SetPort& port, const wire::SwitchNames& names);
  Status set_switch(const daemon::SetSwitch& ocs, const wire::SwitchNames& names);
  Result<std::vector<std::string>> plan(const daemon::SubmitJob& job, const wire::SwitchNames& names);
  struct NamedStatus {
    daemon::StatusReport report;
    wire::SwitchNames names;  // by number
  };
  Result<NamedStatus> status(const daemon::GetStatus& what);
  Result<std::vector<std::string>> probe(const std::string& ocs);
  Result<std::vector<wire::Event>> history(const wire::HistoryQuery& query);
  // Until the stream ends, or `take` returns false.
  Status watch(const std::function<bool(const wire::Event& event)>& take);

  const std::string& request() const;  // number of the last call in the daemon's log and audit; may be empty

 private:
  struct Impl;
  explicit OperatorClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::remote
