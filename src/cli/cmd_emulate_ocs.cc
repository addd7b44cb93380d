#include <fmt/format.h>

#include <boost/json.hpp>
#include <charconv>
#include <cmath>
#include <fstream>
#include <optional>
#include <set>

#include "base/units_text.h"
#include "carrier/link.h"
#include "cli/commands.h"
#include "cli/output.h"
#include "emulator/emulator.h"

namespace photonrail::cli {
namespace {

using device::Dialect;

struct KnownDialect {
  const char* short_name;
  Dialect dialect;
  const char* port;  // usual
};
// Ports: Polatis SCPI 5025 and TL1 3082, Calient TL1 3083, RESTCONF 8008 (vendors); gNMI 9339 (IANA). NETCONF is 830,
// which needs privileges.
constexpr KnownDialect kDialects[] = {
    {"scpi", Dialect::polatis_scpi, "5025"},
    {"tl1", Dialect::polatis_tl1, "3082"},
    {"calient", Dialect::calient_tl1, "3083"},
    {"glimmerglass", Dialect::glimmerglass_tl1, "3082"},
    {"netconf", Dialect::polatis_netconf, "8300"},
    {"restconf", Dialect::polatis_restconf, "8008"},
    {"gnmi", Dialect::ocp_gnmi, "9339"},
    {"sonic", Dialect::sonic_gnmi, "9339"},
};

constexpr unsigned kPortsMost = 4096;         // on a side
constexpr double kRateMost = 1000;            // faults a second
constexpr std::size_t kListenersMost = 64;

tl::unexpected<Error> bad(const char* option, std::string_view value, std::string_view hint) {
  return fail(ErrorCode::usage, fmt::format("--{} {}: {}", option, value, hint));
}

Result<KnownDialect> dialect_of(const char* option, std::string_view name) {
  std::string all;
  for (const KnownDialect& known : kDialects) {
    if (name == known.short_name || name == device::name(known.dialect)) return known;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", known.short_name);
  }
  return bad(option, name, "no such dialect; there are " + all);
}

std::optional<unsigned> number_of(std::string_view text, unsigned most) {
  unsigned value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || problem != std::errc{} || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

Result<Duration> time_of(const char* option, const std::string& text) {
  const auto time = parse_time(text);
  if (!time) return bad(option, text, time.error().message);
  if (time->ps < 0) return bad(option, text, "a time is not negative");
  return Duration(time->ps / 1000);
}

Status set_size(const EmulateOcsOptions& options, device::SwitchModelSpec& spec) {
  const std::size_t x = options.size.find('x');
  const auto inputs = number_of(std::string_view(options.size).substr(0, x), kPortsMost);
  const auto outputs = x == std::string::npos ? std::nullopt
                                              : number_of(std::string_view(options.size).substr(x + 1), kPortsMost);
  if (!inputs || !outputs || *inputs == 0 || *outputs == 0) {
    return bad("size", options.size, fmt::format("write inputs and outputs as 16x16, up to {0}x{0}", kPortsMost));
  }
  spec.inputs = static_cast<device::Position>(*inputs);
  spec.outputs = static_cast<device::Position>(*outputs);
  spec.model = options.model.empty() ? fmt::format("EMU-{}x{}", *inputs, *outputs) : options.model;
  return {};
}

// Texts that go into lines of protocols.
Status set_identity(const EmulateOcsOptions& options, device::SwitchModelSpec& spec) {
  for (const auto& [option, text] : {std::pair{"maker", options.maker}, {"model", spec.model},
                                     {"serial", options.serial}, {"firmware", options.firmware}}) {
    const bool plain = !text.empty() && text.size() <= 64 &&
                       text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .+_-") ==
                           std::string::npos;
    if (!plain) return bad(option, text, "1 to 64 letters, digits, blanks, and . + _ -");
  }
  spec.maker = options.maker;
  spec.serial = options.serial;
  spec.firmware = options.firmware;
  return {};
}

Status set_times(const EmulateOcsOptions& options, device::SwitchModelSpec& spec) {
  PR_ASSIGN(spec.settle_median, time_of("settle", options.settle));
  PR_ASSIGN(spec.command_time, time_of("command-time", options.command_time));
  PR_ASSIGN(spec.min_gap, time_of("min-gap", options.min_gap));
  PR_ASSIGN(spec.faults.late_by, time_of("late-by", options.late_by));
  spec.settle_sigma = options.settle_sigma;
  return {};
}

Status set_policies(const EmulateOcsOptions& options, device::SwitchModelSpec& spec) {
  if (options.conflict == "steals") spec.on_conflict = device::OnConflict::steals;
  else if (options.conflict != "rejects") return bad("conflict", options.conflict, "write rejects or steals");
  if (options.cold_boot == "restore") spec.cold_boot = device::ColdBoot::restore;
  else if (options.cold_boot == "maintain") spec.cold_boot = device::ColdBoot::maintain;
  else if (options.cold_boot != "remove") {
    return bad("cold-boot", options.cold_boot, "write remove, restore or maintain");
  }
  if (spec.cold_boot != device::ColdBoot::remove && options.writer_log.empty()) {
    return bad("cold-boot", options.cold_boot, "the matrix comes from the writer log; give --writer-log");
  }
  return {};
}

std::string nearest(const std::string& name) {
  std::string best;
  for (const std::string& known : device::fault_names()) {
    if (best.empty() || edit_distance(name, known) < edit_distance(name, best)) best = known;
  }
  return best;
}

Status set_faults(const EmulateOcsOptions& options, device::Faults& faults) {
  static constexpr std::string_view kRates[] = {"foreign_change", "port_fails", "retunes"};
  faults.partial_reported = !options.silent_partial;
  for (const std::string& text : options.faults) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return bad("fault", text, "write NAME=NUMBER, for example partial=0.01");
    const std::string name = text.substr(0, equals);
    const std::string number = text.substr(equals + 1);
    double value = -1;
    const auto [end, problem] = std::from_chars(number.data(), number.data() + number.size(), value);
    const bool rate = std::find(std::begin(kRates), std::end(kRates), name) != std::end(kRates);
    const bool good = problem == std::errc{} && end == number.data() + number.size() && std::isfinite(value) &&
                      value >= 0 && value <= (rate ? kRateMost : 1);
    if (!good) return bad("fault", text, rate ? "0 to 1000 times a second" : "a probability is from 0 to 1");
    if (!set_fault(faults, name, value)) return bad("fault", text, "no such fault; is it " + nearest(name) + "?");
  }
  return {};
}

// Host and port of "host:port" or "[::1]:port".
std::optional<std::pair<std::string, std::string>> host_and_port(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return std::nullopt;
  std::string host = text.substr(0, colon);
  if (host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  else if (host.find(':') != std::string::npos) return std::nullopt;
  if (host.empty() || !number_of(text.substr(colon + 1), 65535)) return std::nullopt;
  return std::pair{host, text.substr(colon + 1)};
}

Result<emulator::FrontEndSpec> front_end_of(const EmulateOcsOptions& options, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::string name = equals == std::string::npos ? options.dialect : text.substr(0, equals);
  PR_ASSIGN(const KnownDialect known, dialect_of(equals == std::string::npos ? "dialect" : "listen", name));
  const std::string address = equals == std::string::npos ? text : text.substr(equals + 1);
  const auto parts = host_and_port(address.empty() ? fmt::format("127.0.0.1:{}", known.port) : address);
  if (!parts) return bad("listen", text, "write HOST:PORT, for example 127.0.0.1:5025");
  if (!options.anywhere && !carrier::is_loopback(parts->first)) {
    return bad("listen", text,
               "whoever reaches this address moves circuits; listen on 127.0.0.1, or say --anywhere if that is meant");
  }
  emulator::FrontEndSpec spec;
  spec.listener.dialect = known.dialect;
  spec.listener.host = parts->first;
  spec.listener.port = parts->second;
  const bool may_use_tls = known.dialect == Dialect::ocp_gnmi || known.dialect == Dialect::sonic_gnmi ||
                           known.dialect == Dialect::polatis_restconf;
  spec.listener.tls = may_use_tls && !options.certificate.empty();
  spec.listener.certificate_file = options.certificate;
  spec.listener.key_file = options.key;
  spec.listener.authority_file = options.authority;
  return spec;
}

Status set_variants(const EmulateOcsOptions& options, std::vector<emulator::FrontEndSpec>& front_ends) {
  static const std::map<Dialect, std::set<std::string>> kVariants = {
      {Dialect::polatis_scpi, {"none-marker"}},
      {Dialect::polatis_tl1, {"paging", "late-login"}},
      {Dialect::calient_tl1, {"paging", "late-login"}},
      {Dialect::glimmerglass_tl1, {"paging", "late-login"}},
      {Dialect::polatis_netconf, {"pairs"}},
      {Dialect::ocp_gnmi, {"keep-invalid"}},
  };
  for (const std::string& text : options.variants) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos) return bad("variant", text, "write DIALECT=NAME, for example scpi=none-marker");
    PR_ASSIGN(const KnownDialect known, dialect_of("variant", text.substr(0, equals)));
    const auto names = kVariants.find(known.dialect);
    if (names == kVariants.end() || !names->second.contains(text.substr(equals + 1))) {
      std::string all;
      if (names != kVariants.end()) {
        for (const std::string& name : names->second) all += (all.empty() ? "" : ", ") + name;
      }
      return bad("variant", text, "no such variant; there are " + (all.empty() ? std::string("none") : all));
    }
    bool used = false;
    for (emulator::FrontEndSpec& front_end : front_ends) {
      if (front_end.listener.dialect != known.dialect) continue;
      front_end.firmware_variant = text.substr(equals + 1);
      used = true;
    }
    if (!used) return bad("variant", text, "nothing listens in that dialect");
  }
  return {};
}

Result<device::Credentials> credentials_of(const EmulateOcsOptions& options) {
  if (options.user.empty() != options.password_file.empty()) {
    return fail(ErrorCode::usage, "--user and --password-file are given together, or not at all");
  }
  if (options.user.empty()) return device::Credentials{};
  std::ifstream file(options.password_file);
  std::string password;
  if (!file || !std::getline(file, password)) {
    return fail(ErrorCode::io, options.password_file + ": cannot be read; its first line is the password");
  }
  if (!password.empty() && password.back() == '\r') password.pop_back();
  if (password.empty()) return fail(ErrorCode::invalid_input, options.password_file + ": the first line is empty");
  return device::Credentials{options.user, password};
}

Result<emulator::EmulatorSpec> spec_of(const EmulateOcsOptions& options) {
  emulator::EmulatorSpec spec;
  spec.model.seed = options.seed;
  spec.model.has_power = !options.no_power;
  PR_TRY(set_size(options, spec.model));
  PR_TRY(set_identity(options, spec.model));
  PR_TRY(set_times(options, spec.model));
  PR_TRY(set_policies(options, spec.model));
  PR_TRY(set_faults(options, spec.model.faults));
  std::vector<std::string> listen = options.listen;
  if (listen.empty()) listen.push_back(options.dialect + "=");
  if (listen.size() > kListenersMost) return bad("listen", listen.back(), "at most 64 addresses");
  for (const std::string& text : listen) {
    PR_ASSIGN(emulator::FrontEndSpec front_end, front_end_of(options, text));
    spec.front_ends.push_back(std::move(front_end));
  }
  PR_TRY(set_variants(options, spec.front_ends));
  PR_ASSIGN(spec.credentials, credentials_of(options));
  spec.max_sessions = options.sessions;
  spec.writer_log = options.writer_log;
  spec.dump = options.dump;
  return spec;
}

std::string ready_text(const std::vector<emulator::Address>& addresses, Format format) {
  const auto host = [](const std::string& name) {
    return name.find(':') == std::string::npos ? name : "[" + name + "]";
  };
  std::string out;
  if (format == Format::json) {
    boost::json::array list;
    for (const auto& a : addresses) {
      list.push_back({{"dialect", name(a.dialect)}, {"host", a.host}, {"port", a.port}});
    }
    return boost::json::serialize(boost::json::value{{"ready", true}, {"listen", std::move(list)}}) + "\n";
  }
  for (const auto& a : addresses) out += fmt::format("{:<17} {}:{}\n", name(a.dialect), host(a.host), a.port);
  return out + "ready\n";
}

}  // namespace

Status run(const EmulateOcsOptions& options) {
  PR_ASSIGN(emulator::EmulatorSpec spec, spec_of(options));
  PR_ASSIGN(const auto emulator, emulator::Emulator::make(std::move(spec)));
  PR_TRY(print(ready_text(emulator->addresses(), options.format)));
  return emulator->run();
}

}  // namespace photonrail::cli
