// photonrail replay: what a journal says, record by record, and the state that it leads to. Reads only.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>

#include "cli/commands.h"
#include "cli/output.h"
#include "cli/record_options.h"
#include "cli/record_text.h"
#include "daemon/durable.h"
#include "etcd/client.h"
#include "etcd/store.h"
#include "journal/journal.h"
#include "journal/memory_disk.h"
#include "report/files.h"
#include "runtime/clock.h"

namespace photonrail::cli {
namespace {

namespace json = boost::json;

struct Source {
  std::vector<std::string> records;
  std::size_t torn_bytes = 0;
};

// Opening a journal mends it; here a copy is mended. A daemon may be writing it meanwhile.
Result<Source> read_directory(const std::string& directory) {
  journal::MemoryDisk copy;
  std::error_code problem;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(directory, problem)) {
    const std::string name = entry.path().filename().string();
    if (!name.ends_with(".log") || (!name.starts_with("journal-") && !name.starts_with("snapshot-"))) continue;
    PR_ASSIGN(const std::string bytes, report::read_file(entry.path().string(), journal::kMaxFile));
    PR_TRY(copy.append(name, bytes));
    ++files;
  }
  if (problem) return fail(ErrorCode::io, fmt::format("{}: {}", directory, problem.message()));
  if (files == 0) {
    return fail(
        ErrorCode::invalid_input,
        fmt::format("{}: no journal is here\n  hint: give state.directory of the daemon's configuration; with [store] "
                    "kind = \"etcd\" the journal is read with --etcd",
                    directory));
  }
  PR_ASSIGN(journal::Recovered recovered, journal::Journal::open(copy));
  return Source{std::move(recovered.records), recovered.torn_bytes};
}

Result<Source> read_etcd(const ReplayOptions& options) {
  etcd::ClientSpec spec;
  spec.endpoints = options.endpoints;
  spec.certificate = options.certificate;
  spec.key = options.key;
  spec.authority = options.authority;
  spec.now = runtime::now;
  PR_ASSIGN(const auto client, etcd::Client::make(std::move(spec)));
  etcd::StoreSpec store;
  store.prefix = options.prefix;
  store.now = runtime::now;
  store.until = [] { return kNever; };
  store.attempt = std::chrono::seconds(2);
  PR_ASSIGN(std::vector<std::string> records, etcd::Store::read(*client, store));
  return Source{std::move(records), 0};
}

// As many switches as the records name, so that the core takes them.
daemon::CoreSpec spec_for(const std::vector<daemon::Record>& records) {
  std::size_t switches = 0;
  for (const daemon::Record& record : records) {
    const auto* submitted = std::get_if<daemon::JobSubmitted>(&record);
    if (submitted == nullptr) continue;
    for (const daemon::Attachment& port : submitted->job.ports)
      switches = std::max(switches, std::size_t{port.ocs} + 1);
  }
  daemon::CoreSpec spec;
  for (std::size_t i = 0; i < switches; ++i) spec.switches.push_back({fmt::format("switch {}", i), {}, {}, {}});
  return spec;
}

struct Replayed {
  std::vector<daemon::Record> records;
  daemon::DurableState state;
  std::uint64_t digest = 0;
  std::size_t torn_bytes = 0;
};

Result<Replayed> replay(Source source, std::uint64_t to) {
  if (to > 0 && to < source.records.size()) source.records.resize(to);
  Replayed out;
  out.torn_bytes = source.torn_bytes;
  for (std::size_t i = 0; i < source.records.size(); ++i) {
    auto record = daemon::decode(source.records[i]);
    Status applied;
    if (record) applied = out.state.apply(*record);
    if (!record || !applied) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("record {}: {}", i + 1, record ? applied.error().message : record.error().message));
    }
    out.records.push_back(std::move(*record));
  }
  // The daemon's own way to the same state.
  PR_ASSIGN(const daemon::Core core, daemon::Core::recover(spec_for(out.records), source.records, {}));
  out.digest = core.digest();
  return out;
}

std::size_t attached(const daemon::DurableJob& job) { return job.attached; }
std::size_t live_groups(const daemon::DurableJob& job) {
  return static_cast<std::size_t>(
      std::count_if(job.groups.begin(), job.groups.end(), [](const auto& group) { return !group.retired(); }));
}

std::string text_of(const Replayed& all) {
  std::string out;
  for (std::size_t i = 0; i < all.records.size(); ++i) {
    const RecordText told = describe_record(all.records[i]);
    out += fmt::format("{:>8}  {:<15} {}\n", i + 1, told.kind, printable(told.text));
  }
  if (all.torn_bytes > 0)
    out += fmt::format("{} bytes at the end are torn; nobody was promised them\n", all.torn_bytes);
  out += fmt::format("\nState after {} records: digest {:016x}, controller epoch {}\n", all.records.size(), all.digest,
                     all.state.epoch());
  for (const auto& [key, job] : all.state.jobs()) {
    out += fmt::format("  job {} epoch {}: {}, {} ranks of which {} attached, {} groups\n", key.first, key.second,
                       job.ended ? "ended" : "runs", daemon::rank_count(job.job), attached(job), live_groups(job));
  }
  for (const auto& [ocs, durable] : all.state.switches()) {
    out += fmt::format("  switch {}: {} circuits of ours, {} intents whose outcome is not known\n", ocs,
                       durable.made.size(), durable.open.size());
  }
  for (const auto& [port, why] : all.state.ports_out()) {
    out += fmt::format("  switch {} position {}: {} {}\n", port.ocs, port.position,
                       why.state == daemon::SetPort::State::drained ? "drained" : "quarantined", printable(why.reason));
  }
  for (const auto& [ocs, why] : all.state.maintenance())
    out += fmt::format("  switch {}: maintenance {}\n", ocs, printable(why));
  return out;
}

std::string json_of(const Replayed& all) {
  json::array records, jobs, switches, ports;
  for (std::size_t i = 0; i < all.records.size(); ++i) {
    const RecordText told = describe_record(all.records[i]);
    records.push_back(json::object{{"number", i + 1}, {"kind", told.kind}, {"text", told.text}});
  }
  for (const auto& [key, job] : all.state.jobs()) {
    jobs.push_back(json::object{{"job", key.first},
                                {"epoch", key.second},
                                {"ended", job.ended},
                                {"ranks", daemon::rank_count(job.job)},
                                {"attached", attached(job)},
                                {"groups", live_groups(job)}});
  }
  for (const auto& [ocs, durable] : all.state.switches()) {
    json::array circuits;
    for (const device::CrossConnect pair : durable.made) circuits.push_back(json::array{pair.in, pair.out});
    switches.push_back(json::object{{"switch", ocs}, {"circuits", circuits}, {"open_intents", durable.open.size()}});
  }
  for (const auto& [port, why] : all.state.ports_out()) {
    ports.push_back(json::object{{"switch", port.ocs},
                                 {"position", port.position},
                                 {"state", why.state == daemon::SetPort::State::drained ? "drained" : "quarantined"},
                                 {"reason", why.reason}});
  }
  return json::serialize(json::object{{"records", records},
                                      {"torn_bytes", all.torn_bytes},
                                      {"digest", fmt::format("{:016x}", all.digest)},
                                      {"epoch", all.state.epoch()},
                                      {"jobs", jobs},
                                      {"switches", switches},
                                      {"ports_out_of_service", ports}}) +
         "\n";
}

}  // namespace

Status run(const ReplayOptions& options) {
  if (options.directory.empty() == options.endpoints.empty()) {
    return fail(ErrorCode::usage, "give the state directory of a daemon, or --etcd with the endpoints of its store");
  }
  PR_ASSIGN(Source source, options.endpoints.empty() ? read_directory(options.directory) : read_etcd(options));
  PR_ASSIGN(const Replayed replayed, replay(std::move(source), options.to));
  return print(options.json ? json_of(replayed) : text_of(replayed));
}

}  // namespace photonrail::cli
