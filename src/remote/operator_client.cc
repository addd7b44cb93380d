#include "remote/operator_client.h"

#include <fmt/format.h>
#include <photonrail/control/v1/control.grpc.pb.h>

#include "remote/grpc_channel.h"

namespace photonrail::remote {
namespace {

namespace pb = control::v1;

ErrorCode error_code(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::INVALID_ARGUMENT: return ErrorCode::invalid_input;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::RESOURCE_EXHAUSTED: return ErrorCode::infeasible;
    default: return ErrorCode::io;
  }
}

std::string explained(const grpc::Status& status, const std::string& address) {
  switch (status.error_code()) {
    case grpc::StatusCode::UNAVAILABLE:
      return fmt::format("{}: {} (is photonraild running there, and do the certificates belong together?)", address,
                         status.error_message());
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return fmt::format("{}: no answer within the time allowed; --timeout allows more", address);
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED: return fmt::format("refused: {}", status.error_message());
    default: return status.error_message();
  }
}

}  // namespace

struct OperatorClient::Impl {
  ChannelSpec spec;
  Duration within{};
  std::unique_ptr<pb::Operator::Stub> stub;
  std::string request;

  void begin(grpc::ClientContext& context) const {
    prepare(context, spec);
    context.set_deadline(std::chrono::system_clock::now() +
                         std::chrono::duration_cast<std::chrono::microseconds>(within));
  }

  Status finish(const grpc::ClientContext& context, const grpc::Status& status) {
    const auto& metadata = context.GetServerTrailingMetadata();
    const auto found = metadata.find("photonrail-request");
    request = found == metadata.end() ? "" : std::string(found->second.data(), found->second.size());
    if (status.ok()) return {};
    return fail(error_code(status.error_code()), explained(status, spec.address));
  }

  template <class Request, class Response>
  Status call(grpc::Status (pb::Operator::Stub::*method)(grpc::ClientContext*, const Request&, Response*),
              const Request& in, Response& out) {
    grpc::ClientContext context;
    begin(context);
    const grpc::Status status = (stub.get()->*method)(&context, in, &out);
    return finish(context, status);
  }
};

Result<std::unique_ptr<OperatorClient>> OperatorClient::open(const ChannelSpec& spec, Duration within) {
  PR_ASSIGN(const auto channel, make_channel(spec));
  auto impl = std::make_unique<Impl>();
  impl->spec = spec;
  impl->within = within;
  impl->stub = pb::Operator::NewStub(channel);
  return std::unique_ptr<OperatorClient>(new OperatorClient(std::move(impl)));
}

OperatorClient::OperatorClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
OperatorClient::~OperatorClient() = default;

const std::string& OperatorClient::request() const { return impl_->request; }

Status OperatorClient::submit(const daemon::SubmitJob& job, const wire::SwitchNames& names) {
  pb::SubmitJobRequest in;
  pb::SubmitJobResponse out;
  wire::write(job, names, in);
  return impl_->call(&pb::Operator::Stub::SubmitJob, in, out);
}

Status OperatorClient::end(const daemon::EndJob& job) {
  pb::EndJobRequest in;
  pb::EndJobResponse out;
  wire::write(job, in);
  return impl_->call(&pb::Operator::Stub::EndJob, in, out);
}

Status OperatorClient::set_port(const daemon::SetPort& port, const wire::SwitchNames& names) {
  pb::SetPortRequest in;
  pb::SetPortResponse out;
  wire::write(port, names, in);
  return impl_->call(&pb::Operator::Stub::SetPort, in, out);
}

Status OperatorClient::set_switch(const daemon::SetSwitch& ocs, const wire::SwitchNames& names) {
  pb::SetSwitchRequest in;
  pb::SetSwitchResponse out;
  wire::write(ocs, names, in);
  return impl_->call(&pb::Operator::Stub::SetSwitch, in, out);
}

Result<std::vector<std::string>> OperatorClient::plan(const daemon::SubmitJob& job, const wire::SwitchNames& names) {
  pb::PlanJobRequest in;
  pb::PlanJobResponse out;
  wire::write(daemon::PlanJob{job}, names, in);
  PR_TRY(impl_->call(&pb::Operator::Stub::PlanJob, in, out));
  return std::vector<std::string>(out.lines().begin(), out.lines().end());
}

Result<OperatorClient::NamedStatus> OperatorClient::status(const daemon::GetStatus& what) {
  pb::GetStatusRequest in;
  pb::GetStatusResponse out;
  wire::write(what, in);
  PR_TRY(impl_->call(&pb::Operator::Stub::GetStatus, in, out));
  NamedStatus named;
  PR_ASSIGN(named.report, wire::read(out, named.names));
  return named;
}

Result<std::vector<std::string>> OperatorClient::probe(const std::string& ocs) {
  pb::ProbeRequest in;
  pb::ProbeResponse out;
  in.set_ocs(ocs);
  PR_TRY(impl_->call(&pb::Operator::Stub::Probe, in, out));
  return std::vector<std::string>(out.lines().begin(), out.lines().end());
}

Result<std::vector<wire::Event>> OperatorClient::history(const wire::HistoryQuery& query) {
  pb::HistoryRequest in;
  pb::HistoryResponse out;
  wire::write(query, in);
  PR_TRY(impl_->call(&pb::Operator::Stub::History, in, out));
  std::vector<wire::Event> events;
  for (const pb::Event& event : out.events()) {
    PR_ASSIGN(wire::Event one, wire::read(event));
    events.push_back(std::move(one));
  }
  return events;
}

Status OperatorClient::watch(const std::function<bool(const wire::Event& event)>& take) {
  grpc::ClientContext context;
  prepare(context, impl_->spec);
  const auto stream = impl_->stub->WatchEvents(&context, pb::WatchEventsRequest());
  pb::Event event;
  bool enough = false;
  while (!enough && stream->Read(&event)) {
    const auto one = wire::read(event);
    enough = !one || !take(*one);
  }
  if (enough) context.TryCancel();
  const grpc::Status status = stream->Finish();
  if (enough) return {};
  return impl_->finish(context, status);
}

}  // namespace photonrail::remote
