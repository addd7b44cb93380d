#include "emulator/writer_log.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <boost/json.hpp>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <set>

namespace photonrail::emulator {
namespace {

using device::CrossConnect;
namespace json = boost::json;

constexpr std::size_t kLineMost = std::size_t{4} << 20;

std::string pairs_text(const std::vector<CrossConnect>& pairs) {
  std::string out = "[";
  for (const CrossConnect& pair : pairs) {
    out += fmt::format("{}[{},{}]", out.size() > 1 ? "," : "", pair.in, pair.out);
  }
  return out + "]";
}

std::string quoted(const std::string& text) { return json::serialize(json::value(text)); }

std::string head(const char* event, Instant at) {
  return fmt::format("{{\"event\":\"{}\",\"at_ns\":{},\"wall\":\"{}\"", event, at.time_since_epoch().count(),
                     wall_time());
}

std::optional<std::set<CrossConnect>> pairs_of(const json::object& object, const char* key) {
  const json::value* list = object.if_contains(key);
  if (list == nullptr || !list->is_array()) return std::nullopt;
  std::set<CrossConnect> out;
  for (const json::value& item : list->get_array()) {
    const json::array* pair = item.if_array();
    if (pair == nullptr || pair->size() != 2) return std::nullopt;
    const auto number = [&](std::size_t i) {
      const std::int64_t* n = (*pair)[i].if_int64();
      return n != nullptr && *n >= 0 && *n <= 65535 ? *n : -1;
    };
    if (number(0) < 0 || number(1) < 0) return std::nullopt;
    out.insert({static_cast<device::Position>(number(0)), static_cast<device::Position>(number(1))});
  }
  return out;
}

// False where the line is none of ours.
bool replay(const std::string& line, std::set<CrossConnect>& matrix) {
  json::error_code problem;
  const json::value value = json::parse(line, problem);
  if (problem || !value.is_object()) return false;
  const json::object& object = value.get_object();
  const json::value* event = object.if_contains("event");
  if (event == nullptr || !event->is_string()) return false;
  const json::string& kind = event->get_string();
  if (kind == "stop") return true;
  if (kind == "start") {
    const auto whole = pairs_of(object, "matrix");
    if (whole) matrix = *whole;
    return whole.has_value();
  }
  const auto removed = pairs_of(object, "removed");
  const auto added = pairs_of(object, "added");
  if (kind != "change" || !removed || !added) return false;
  for (const CrossConnect& pair : *removed) matrix.erase(pair);
  matrix.insert(added->begin(), added->end());
  return true;
}

tl::unexpected<Error> io_failure(const std::string& path, const char* what) {
  return fail(ErrorCode::io, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

Instant now() {
  std::timespec time{};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return Instant(std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec));
}

std::string wall_time() {
  std::timespec time{};
  ::clock_gettime(CLOCK_REALTIME, &time);
  std::tm parts{};
  ::gmtime_r(&time.tv_sec, &parts);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}Z", parts, time.tv_nsec / 1000);
}

Result<std::vector<CrossConnect>> matrix_of_log(const std::string& path) {
  std::set<CrossConnect> matrix;
  if (path.empty()) return std::vector<CrossConnect>{};
  std::ifstream file(path, std::ios::binary);
  if (!file && errno == ENOENT) return std::vector<CrossConnect>{};
  if (!file) return io_failure(path, "cannot be read");
  std::string line;
  for (std::size_t number = 1; std::getline(file, line); ++number) {
    const bool cut_off = file.eof();  // no newline: the process died while it wrote
    if (line.size() <= kLineMost && replay(line, matrix)) continue;
    if (cut_off) break;
    return fail(ErrorCode::invalid_input,
                fmt::format("{}:{}: no line of a writer log; give another file with --writer-log", path, number));
  }
  if (file.bad()) return io_failure(path, "cannot be read");
  return std::vector<CrossConnect>(matrix.begin(), matrix.end());
}

Result<WriterLog> WriterLog::open(const std::string& path) {
  WriterLog log;
  log.path_ = path;
  if (path.empty()) return log;
  log.file_.reset(std::fopen(path.c_str(), "a+"));
  if (!log.file_) return io_failure(path, "cannot be written");
  // What a crash left of a line must not run into ours.
  if (std::fseek(log.file_.get(), -1, SEEK_END) == 0 && std::fgetc(log.file_.get()) != '\n') {
    std::fseek(log.file_.get(), 0, SEEK_END);
    if (std::fputs("\n", log.file_.get()) < 0) return io_failure(path, "cannot be written");
  }
  return log;
}

Status WriterLog::line(std::string text) {
  if (!file_) return {};
  text += "}\n";
  const bool written = std::fwrite(text.data(), 1, text.size(), file_.get()) == text.size();
  if (!written || std::fflush(file_.get()) != 0) return io_failure(path_, "cannot be written");
  return {};
}

Status WriterLog::start(const device::SwitchModelSpec& spec, const std::vector<CrossConnect>& matrix) {
  constexpr const char* kFields = ",\"serial\":{},\"inputs\":{},\"outputs\":{},\"seed\":{},\"matrix\":{}";
  return line(head("start", now()) + fmt::format(kFields, quoted(spec.serial), spec.inputs, spec.outputs, spec.seed,
                                                 pairs_text(matrix)));
}

Status WriterLog::change(const device::WriterLogEntry& entry) {
  return line(head("change", entry.at) + fmt::format(",\"writer\":{},\"removed\":{},\"added\":{}", quoted(entry.writer),
                                                     pairs_text(entry.removed), pairs_text(entry.added)));
}

Status WriterLog::stop() { return line(head("stop", now())); }

}  // namespace photonrail::emulator
