#include "operators/collective_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string_view>

#include "operators/tables.h"

namespace photonrail::operators {
namespace {

constexpr const char* kName = "collectives.csv";
constexpr const char* kNetworkName = "collective_network.csv";

Result<Collective> kind_of(std::string_view cell) {
  if (cell == "all_reduce") return Collective::all_reduce;
  if (cell == "all_gather") return Collective::all_gather;
  if (cell == "reduce_scatter") return Collective::reduce_scatter;
  if (cell == "all_to_all") return Collective::all_to_all;
  if (cell == "send") return Collective::send;
  return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: unknown collective \"{}\"", kName, cell));
}

// Fills what was not measured.
Status complete(MessageTimes& times, const std::vector<std::optional<double>>& cells) {
  std::vector<int> known;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i]) continue;
    times.seconds[i] = *cells[i];
    known.push_back(static_cast<int>(i));
  }
  if (known.size() < 2)
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: a row with fewer than two times", kName));
  times.first = known.front();
  times.last = known.back();
  std::size_t next = 1;
  for (int node = 0; node < MessageTimes::kNodes; ++node) {
    const auto at = static_cast<std::size_t>(node);
    if (node < times.first) times.seconds[at] = times.seconds[static_cast<std::size_t>(times.first)];
    if (node <= times.first) continue;
    while (next + 1 < known.size() && known[next] < node) ++next;
    const int low = known[next - 1];
    const int high = known[next];
    if (node == low || node == high) continue;
    const double t0 = times.seconds[static_cast<std::size_t>(low)];
    const double t1 = times.seconds[static_cast<std::size_t>(high)];
    const double share =
        (MessageTimes::bytes(node) - MessageTimes::bytes(low)) / (MessageTimes::bytes(high) - MessageTimes::bytes(low));
    times.seconds[at] = t0 + share * (t1 - t0);
  }
  return {};
}

Result<std::vector<CollectiveTable>> parse_times() {
  PR_ASSIGN(const CsvTable csv, read_csv(kName, calibration_text(kName)));
  constexpr std::size_t kFrom = 5;
  if (csv.heading.size() <= kFrom || csv.heading.size() - kFrom > MessageTimes::kNodes)
    return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: too few or too many sizes", kName));
  for (std::size_t i = kFrom; i < csv.heading.size(); ++i) {
    PR_ASSIGN(const double bytes, number_of(csv.heading[i], kName));
    if (bytes != MessageTimes::bytes(static_cast<int>(i - kFrom)))
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: column {} is no power of two", kName, bytes));
  }
  std::vector<CollectiveTable> tables;
  for (const auto& row : csv.rows) {
    CollectiveTable table;
    table.gpu = row[0];
    table.library = row[1] == "custom" ? CollectiveLibrary::custom : CollectiveLibrary::nccl;
    PR_ASSIGN(table.kind, kind_of(row[2]));
    PR_ASSIGN(const double ranks, number_of(row[3], kName));
    PR_ASSIGN(const double rate, number_of(row[4], kName));
    table.ranks = static_cast<int>(ranks);
    table.rate = rate * 1e9;
    std::vector<std::optional<double>> cells(MessageTimes::kNodes);
    for (std::size_t i = kFrom; i < row.size(); ++i) {
      if (row[i].empty()) continue;
      PR_ASSIGN(const double microseconds, number_of(row[i], kName));
      cells[i - kFrom] = microseconds * 1e-6;
    }
    PR_TRY(complete(table.times, cells));
    tables.push_back(std::move(table));
  }
  return tables;
}

Result<NetworkConstants> parse_network() {
  PR_ASSIGN(const CsvTable csv, read_csv(kNetworkName, calibration_text(kNetworkName)));
  std::map<std::string, double, std::less<>> values;
  for (const auto& row : csv.rows) { PR_ASSIGN(values[std::string(row[0])], number_of(row[1], kNetworkName)); }
  const auto value = [&](const std::string& name) -> Result<double> {
    const auto at = values.find(name);
    if (at == values.end() || at->second <= 0)
      return fail(ErrorCode::invalid_input, fmt::format("calibration/{}: there is no {} > 0", kNetworkName, name));
    return at->second;
  };
  NetworkConstants network;
  PR_ASSIGN(network.ring_share, value("ring_share"));
  PR_ASSIGN(network.step, value("step_us"));
  PR_ASSIGN(network.send, value("send_us"));
  PR_ASSIGN(network.send_share, value("send_share"));
  PR_ASSIGN(network.pcie_share, value("pcie_share"));
  PR_ASSIGN(network.mi300x_share, value("mi300x_share"));
  for (std::size_t i = 0; i < network.all_to_all_share.size(); ++i) {
    PR_ASSIGN(network.all_to_all_share[i], value(fmt::format("all_to_all_share_{}", 8 << i)));
  }
  network.step *= 1e-6;
  network.send *= 1e-6;
  return network;
}

}  // namespace

double MessageTimes::bytes(int node) { return std::ldexp(1, kLeastExponent + node); }

Result<CollectiveTables> parse_collective_tables() {
  CollectiveTables tables;
  PR_ASSIGN(tables.tables, parse_times());
  PR_ASSIGN(tables.network, parse_network());
  return tables;
}

}  // namespace photonrail::operators
