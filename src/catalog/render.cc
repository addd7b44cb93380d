// Text and JSON of the catalog, for people and programs.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cctype>

#include "base/units_text.h"
#include "catalog/catalog.h"
#include "catalog/describe.h"
#include "config/diagnostics.h"

namespace photonrail::catalog {
namespace {

bool equal_names(std::string_view a, std::string_view b) {
  const auto same = [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

std::string text_of(std::int64_t value) { return fmt::format("{}", value); }
template <class T>
std::string text_of(T value) {
  return to_text(value);
}

template <class T>
std::string figure_text(const Figure<T>& figure) {
  if (!figure.known()) return "unknown";
  if (!figure.low || *figure.low == *figure.high) return text_of(figure.value ? *figure.value : *figure.low);
  const std::string ends = fmt::format("{} to {}", text_of(*figure.low), text_of(*figure.high));
  return figure.value ? fmt::format("{} ({})", text_of(*figure.value), ends) : ends;
}

// Collects the fields of one entry as text lines: name, figure, source, note.
struct TextLister {
  const Catalog& catalog;
  std::string out;
  std::vector<std::string> sources;  // ids in order of first use

  std::size_t number_of(const std::string& id) {
    for (std::size_t i = 0; i < sources.size(); ++i) {
      if (sources[i] == id) return i + 1;
    }
    sources.push_back(id);
    return sources.size();
  }
  template <class T>
  void operator()(std::string_view name, Figure<T>& figure, std::string_view) {
    const std::string mark = figure.known() ? fmt::format(" [{}]", number_of(figure.source)) : "";
    const std::string& remark = figure.known() ? figure.note : figure.unknown;
    out += fmt::format("  {:<22} {}{}{}\n", name, figure_text(figure), mark, remark.empty() ? "" : "  " + remark);
  }
  void operator()(std::string_view name, std::string& text, std::string_view) {
    if (name == "name" || name == "title" || text.empty()) return;
    if (name == "source") {
      number_of(text);
      return;
    }
    out += fmt::format("  {:<22} {}\n", name, text);
  }
  void operator()(std::string_view name, bool& flag, std::string_view) {
    out += fmt::format("  {:<22} {}\n", name, flag ? "yes" : "no");
  }
  void operator()(std::string_view name, std::int64_t& count, std::string_view) {
    if (count != 0) out += fmt::format("  {:<22} {} [1]\n", name, count);
  }
};

struct JsonLister {
  boost::json::object out;

  template <class T>
  void operator()(std::string_view name, Figure<T>& figure, std::string_view) {
    boost::json::object object;
    if (figure.known()) {
      const Range range = range_of(figure);
      object["low"] = range.low;
      object["value"] = range.base;
      object["high"] = range.high;
      object["text"] = figure_text(figure);
      object["source"] = figure.source;
      if (!figure.note.empty()) object["note"] = figure.note;
    } else {
      object["value"] = nullptr;
      object["unknown"] = figure.unknown;
    }
    out[name] = std::move(object);
  }
  template <class T>
  void operator()(std::string_view name, T& member, std::string_view) {
    out[name] = member;
  }
};

// Calls use(kind, entries) for each kind of part and model, in the order of the listing.
template <class Use>
void each_kind(const Catalog& catalog, Use&& use) {
  use("gpu", catalog.gpus);
  use("nic", catalog.nics);
  use("optic", catalog.optics);
  use("switch", catalog.switches);
  use("ocs", catalog.ocses);
  use("fibre", catalog.fibres);
  use("model", catalog.models);
}

template <class Entry>
std::string entry_text(const Catalog& catalog, const char* kind, Entry entry) {
  TextLister lister{catalog, {}, {}};
  list_fields(lister, entry);
  std::string out = fmt::format("{} ({}): {}\n{}", entry.name, kind, entry.title, lister.out);
  for (std::size_t i = 0; i < lister.sources.size(); ++i) {
    out += fmt::format("  [{}] {}\n", i + 1, catalog.source_text(lister.sources[i]));
  }
  return out;
}

template <class Entry>
boost::json::object entry_json(const char* kind, Entry entry) {
  JsonLister lister;
  lister.out["kind"] = kind;
  list_fields(lister, entry);
  return std::move(lister.out);
}

// Finds `name` in any kind and hands it to use(kind, entry); false when it is nowhere.
template <class Use>
bool with_entry(const Catalog& catalog, std::string_view name, Use&& use) {
  bool found = false;
  each_kind(catalog, [&](const char* kind, const auto& entries) {
    for (const auto& entry : entries) {
      if (found || !equal_names(entry.name, name)) continue;
      found = true;
      use(kind, entry);
    }
  });
  return found;
}

Error no_entry(const Catalog& catalog, std::string_view name) {
  std::vector<std::string_view> names;
  each_kind(catalog, [&](const char*, const auto& entries) {
    for (const auto& entry : entries) names.push_back(entry.name);
  });
  return {ErrorCode::usage, fmt::format("nothing called \"{}\" in the catalog{}\n(photonrail catalog list shows all)",
                                        name, config::did_you_mean(name, names))};
}

}  // namespace

std::string list_text(const Catalog& catalog) {
  std::string out;
  each_kind(catalog, [&](const char* kind, const auto& entries) {
    out += fmt::format("{}\n", kind);
    for (const auto& entry : entries) out += fmt::format("  {:<24} {}\n", entry.name, entry.title);
  });
  return out;
}

std::string list_json(const Catalog& catalog) {
  boost::json::object root;
  each_kind(catalog, [&](const char* kind, const auto& entries) {
    boost::json::array list;
    for (const auto& entry : entries) list.push_back(entry_json(kind, entry));
    root[kind] = std::move(list);
  });
  boost::json::array sources;
  for (Source source : catalog.sources) {
    JsonLister lister;
    list_fields(lister, source);
    sources.push_back(std::move(lister.out));
  }
  root["source"] = std::move(sources);
  return boost::json::serialize(root);
}

Result<std::string> show_text(const Catalog& catalog, std::string_view name) {
  std::string out;
  const auto show = [&](const char* kind, const auto& entry) { out = entry_text(catalog, kind, entry); };
  if (!with_entry(catalog, name, show)) return fail(no_entry(catalog, name));
  return out;
}

Result<std::string> show_json(const Catalog& catalog, std::string_view name) {
  std::string out;
  const auto show = [&](const char* kind, const auto& entry) { out = boost::json::serialize(entry_json(kind, entry)); };
  if (!with_entry(catalog, name, show)) return fail(no_entry(catalog, name));
  return out;
}

}  // namespace photonrail::catalog
