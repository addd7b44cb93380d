#include "validation/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

#include "algo/quantile.h"

namespace photonrail::validation {
namespace {

namespace fs = std::filesystem;

std::string stem(const std::string& file) {
  const std::size_t dot = file.rfind(".csv");
  return dot == file.npos ? file : file.substr(0, dot);
}

// Whatever the case of letters: tables spell models in many ways.
bool contains(std::string_view name, std::string_view part) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::search(name.begin(), name.end(), part.begin(), part.end(),
                     [&](char a, char b) { return lower(a) == lower(b); }) != name.end();
}

bool wanted(const Point& point, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return point.row.id.find(text) != std::string::npos || point.gate == text || contains(point.gpu, text) ||
                  contains(point.model, text);
         });
}

Result<std::set<std::string>> tables_of(const std::string& directory) {
  std::error_code error;
  std::set<std::string> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".csv") files.insert(entry->path().filename().string());
  }
  if (error) return fail(ErrorCode::io, fmt::format("{}: {}", directory, error.message()));
  if (files.empty()) return fail(ErrorCode::invalid_input, fmt::format("{}: no .csv table in this folder", directory));
  return files;
}

using Groups = std::vector<std::pair<std::string, std::vector<const Point*>>>;

// Groups in order of first appearance of their name.
template <class Key>
void group_by(Groups& groups, std::span<const Point> points, std::string_view prefix, Key key) {
  const std::size_t first = groups.size();
  for (const Point& point : points) {
    const std::string name = key(point);
    if (name.empty()) continue;
    const std::string full = fmt::format("{} {}", prefix, name);
    auto found = std::find_if(groups.begin() + static_cast<std::ptrdiff_t>(first), groups.end(),
                              [&](const auto& group) { return group.first == full; });
    if (found == groups.end()) found = groups.insert(groups.end(), {full, {}});
    found->second.push_back(&point);
  }
}

std::string table_of(const Point& point) {
  return fmt::format("{} {}", point.row.id.substr(0, point.row.id.find('/')), point.row.quantity);
}

constexpr std::string_view kPeers = "baseline_peer_scores.csv";

Result<std::vector<PeerScore>> peer_scores(const std::string& path) {
  PR_ASSIGN(const Csv table, Csv::read(path));
  PR_TRY(table.require({"tool", "dataset", "metric", "value", "unit", "note"}));
  std::vector<PeerScore> scores;
  for (std::size_t row = 0; row < table.rows(); ++row) {
    scores.push_back({table.text(row, "tool"), table.text(row, "dataset"), table.text(row, "metric"),
                      table.text(row, "value"), table.text(row, "unit"), table.text(row, "note")});
  }
  return scores;
}

bool is_aggregated(const Point& point) { return point.regime.find(" agg ") != std::string::npos; }

// The sets of rows that peers were scored on.
void group_as_peers(Groups& groups, std::span<const Point> points) {
  const auto quantity = [](const Point& p) { return is_aggregated(p) ? p.row.quantity : std::string(); };
  group_by(groups, points, "aggregated",
           [&](const Point& p) { return quantity(p).empty() ? std::string() : quantity(p) + ", all models"; });
  group_by(groups, points, "aggregated", [&](const Point& p) {
    const bool wanted = !quantity(p).empty() && p.regime.starts_with("dense") && (p.gpu == "H100" || p.gpu == "H200");
    return wanted ? quantity(p) + ", dense on H100 and H200" : std::string();
  });
  group_by(groups, points, "aggregated", [&](const Point& p) {
    const bool wanted = !quantity(p).empty() && p.model == "meta-llama/Llama-3.1-70B";
    return wanted ? fmt::format("{}, Llama-3.1-70B on {}", quantity(p), p.gpu) : std::string();
  });
}

// Rows apart make groups of their own: nobody should read their errors into the others.
std::string unless_apart(const Point& point, std::string name) { return point.apart.empty() ? name : std::string(); }

}  // namespace

std::string point_id(const Csv& table, std::size_t row) { return fmt::format("{}/{}", stem(table.name()), row + 1); }

Summary summarise(std::string group, std::span<const Point* const> points) {
  Summary out;
  out.group = std::move(group);
  std::vector<double> errors;
  for (const Point* point : points) {
    if (point->row.refused) ++out.refused;
    if (!point->row.relative_error) continue;
    const double error = *point->row.relative_error;
    errors.push_back(std::fabs(error));
    out.bias += error;
    if (std::fabs(error) >= out.worst) {
      out.worst = std::fabs(error);
      out.worst_id = point->row.id;
    }
  }
  out.points = errors.size();
  if (errors.empty()) return out;
  const auto count = static_cast<double>(errors.size());
  out.bias /= count;
  for (const double error : errors) out.mape += error / count;
  std::sort(errors.begin(), errors.end());
  out.median = algo::quantile(errors, 0.5);
  out.p90 = algo::quantile(errors, 0.9);
  return out;
}

std::vector<Summary> summaries(std::span<const Point> points) {
  Groups groups;
  group_by(groups, points, "gate", [](const Point& p) { return p.gate; });
  group_by(groups, points, "table", [](const Point& p) { return unless_apart(p, table_of(p)); });
  group_by(groups, points, "model", [](const Point& p) { return unless_apart(p, p.model + " " + p.row.quantity); });
  group_by(groups, points, "gpu", [](const Point& p) { return unless_apart(p, p.gpu + " " + p.row.quantity); });
  group_by(groups, points, "regime", [](const Point& p) { return unless_apart(p, p.regime + " " + p.row.quantity); });
  group_by(groups, points, "basis", [](const Point& p) {
    return unless_apart(p, fmt::format("{} {}", operators::name_of(p.basis), p.row.quantity));
  });
  group_by(groups, points, "apart", [](const Point& p) {
    return p.apart.empty() ? std::string() : fmt::format("{}: {}", table_of(p), p.apart);
  });
  group_as_peers(groups, points);
  std::vector<Summary> out;
  for (auto& [name, members] : groups) out.push_back(summarise(name, members));
  return out;
}

Result<Validation> validate(const std::string& directory, const Scoring& scoring, const std::vector<std::string>& only,
                            const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  PR_ASSIGN(std::set<std::string> files, tables_of(directory));
  Validation out;
  std::set<std::string> passed_over = files;
  if (passed_over.erase(std::string(kPeers)) > 0) {
    PR_ASSIGN(out.peers, peer_scores((fs::path(directory) / kPeers).string()));
  }
  std::size_t done = 0;
  std::size_t done_tables = 0;
  for (const TableKind& kind : table_kinds()) {
    const std::string file(kind.file);
    if (progress) progress(done, table_kinds().size(), file);
    ++done;
    if (files.count(file) == 0) continue;
    passed_over.erase(file);
    ++done_tables;
    PR_ASSIGN(const Csv table, Csv::read((fs::path(directory) / file).string()));
    PR_ASSIGN(std::vector<Point> points, kind.score(table, scoring));
    for (Point& point : points) {
      out.gpus.insert(point.gpu);
      out.models.insert(point.model);
      if (wanted(point, only)) out.points.push_back(std::move(point));
    }
  }
  out.passed_over.assign(passed_over.begin(), passed_over.end());
  if (done_tables == 0)
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: none of its {} tables is known; known are those of the columns of data/validation, by "
                            "file name (photonrail validate --help)",
                            directory, files.size()));
  return out;
}

}  // namespace photonrail::validation
