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

bool wanted(const Point& point, const std::vector<std::string>& only) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           return point.row.id.find(text) != std::string::npos || point.gate == text;
         });
}

Result<std::set<std::string>> tables_of(const std::string& directory) {
  std::error_code error;
  std::set<std::string> files;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == ".csv") files.insert(entry->path().filename().string());
  }
  if (error) return fail(ErrorCode::io, fmt::format("{}: {}", directory, error.message()));
  if (files.empty())
    return fail(ErrorCode::invalid_input, fmt::format("{}: no .csv table in this folder", directory));
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
  std::vector<Summary> out;
  for (auto& [name, members] : groups) out.push_back(summarise(name, members));
  return out;
}

Result<Validation> validate(const std::string& directory, const Scoring& scoring, const std::vector<std::string>& only,
                            const std::function<void(std::size_t, std::size_t, const std::string&)>& progress) {
  PR_ASSIGN(std::set<std::string> files, tables_of(directory));
  Validation out;
  std::set<std::string> passed_over = files;
  std::size_t done = 0;
  for (const TableKind& kind : table_kinds()) {
    const std::string file(kind.file);
    if (progress) progress(done, table_kinds().size(), file);
    ++done;
    if (files.count(file) == 0) continue;
    passed_over.erase(file);
    PR_ASSIGN(const Csv table, Csv::read((fs::path(directory) / file).string()));
    PR_ASSIGN(std::vector<Point> points, kind.score(table, scoring));
    for (Point& point : points) {
      if (wanted(point, only)) out.points.push_back(std::move(point));
    }
  }
  out.passed_over.assign(passed_over.begin(), passed_over.end());
  if (passed_over.size() == files.size())
    return fail(ErrorCode::invalid_input,
                fmt::format("{}: none of its {} tables is known; known are those of the columns of data/validation, by "
                            "file name (photonrail validate --help)",
                            directory, files.size()));
  return out;
}

}  // namespace photonrail::validation
