#include "catalog/catalog.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <set>
#include <system_error>

#include "catalog/describe.h"
#include "catalog/embedded.h"
#include "config/read.h"

namespace photonrail::catalog {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

const std::string& name_of(const Source& entry) { return entry.id; }
template <class Entry>
const std::string& name_of(const Entry& entry) {
  return entry.name;
}

template <class Entry>
void merge(std::vector<Entry>& into, std::vector<Entry>& from) {
  for (Entry& entry : from) {
    const auto same = [&](const Entry& old) { return lower(name_of(old)) == lower(name_of(entry)); };
    const auto old = std::find_if(into.begin(), into.end(), same);
    if (old == into.end()) {
      into.push_back(std::move(entry));
    } else {
      *old = std::move(entry);
    }
  }
}

// Two entries of one name in one file are a slip, not an override.
template <class Entry>
Status refuse_twins(const std::vector<Entry>& entries, const char* kind, std::string_view file) {
  std::set<std::string> seen;
  for (const Entry& entry : entries) {
    if (name_of(entry).empty()) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: a [[{}]] without a name", file, kind));
    }
    if (!seen.insert(lower(name_of(entry))).second) {
      return fail(ErrorCode::invalid_input,
                  fmt::format("{}: [[{}]] \"{}\" is there twice", file, kind, name_of(entry)));
    }
  }
  return {};
}

Status add_file(Catalog& catalog, std::string_view text, std::string_view name) {
  PR_ASSIGN(CatalogFile file, config::read_toml<CatalogFile>(text, name));
  PR_TRY(refuse_twins(file.source, "source", name));
  PR_TRY(refuse_twins(file.gpu, "gpu", name));
  PR_TRY(refuse_twins(file.nic, "nic", name));
  PR_TRY(refuse_twins(file.optic, "optic", name));
  PR_TRY(refuse_twins(file.network_switch, "switch", name));
  PR_TRY(refuse_twins(file.ocs, "ocs", name));
  PR_TRY(refuse_twins(file.fibre, "fibre", name));
  PR_TRY(refuse_twins(file.model, "model", name));
  merge(catalog.sources, file.source);
  merge(catalog.gpus, file.gpu);
  merge(catalog.nics, file.nic);
  merge(catalog.optics, file.optic);
  merge(catalog.switches, file.network_switch);
  merge(catalog.ocses, file.ocs);
  merge(catalog.fibres, file.fibre);
  merge(catalog.models, file.model);
  return {};
}

// Fills in sources that figures inherit and refuses figures that are incomplete or out of order.
struct FigureCheck {
  const std::set<std::string>& sources;
  const std::string& entry_source;
  std::string problem;  // of the first bad figure

  template <class T>
  void operator()(std::string_view name, Figure<T>& figure, std::string_view) {
    if (!problem.empty()) return;
    const std::string fault = fault_of(figure);
    if (!fault.empty()) problem = fmt::format("{}: {}", name, fault);
  }
  template <class T>
  void operator()(std::string_view, T&, std::string_view) {}

  template <class T>
  std::string fault_of(Figure<T>& figure) const {
    if (!figure.known()) {
      if (figure.high) return "has a high end and no low one";
      if (figure.unknown.empty()) return "is missing; give a value, a range, or unknown = \"why\"";
      return {};
    }
    if (!figure.unknown.empty()) return "has a figure and is called unknown too";
    if (figure.low.has_value() != figure.high.has_value()) return "needs both ends of its range";
    const Range range = range_of(figure);
    if (range.low > range.base || range.base > range.high) return "is not in order: low, value, high";
    if (figure.source.empty()) figure.source = entry_source;
    if (!sources.contains(figure.source)) return fmt::format("source \"{}\" is not in the catalog", figure.source);
    return {};
  }
};

template <class Entry>
Status check_entries(std::vector<Entry>& entries, const std::set<std::string>& sources, const char* kind) {
  for (Entry& entry : entries) {
    FigureCheck check{sources, entry.source, {}};
    list_fields(check, entry);
    if (check.problem.empty() && !sources.contains(entry.source)) {
      check.problem = fmt::format("source \"{}\" is not in the catalog", entry.source);
    }
    if (!check.problem.empty()) {
      return fail(ErrorCode::invalid_input, fmt::format("catalog, {} \"{}\", {}", kind, entry.name, check.problem));
    }
  }
  return {};
}

Status check_sources(const std::vector<Source>& sources) {
  static constexpr std::string_view kKinds[] = {"vendor", "paper", "shop", "code", "analyst", "derived", "unchecked"};
  for (const Source& source : sources) {
    const bool kind_known = std::find(std::begin(kKinds), std::end(kKinds), source.kind) != std::end(kKinds);
    if (!kind_known || source.title.empty() || source.where.empty() || source.date.empty()) {
      return fail(
          ErrorCode::invalid_input,
          fmt::format("catalog, source \"{}\": needs title, where, date, and a kind out of vendor, paper, shop, "
                      "code, analyst, derived, unchecked",
                      source.id));
    }
  }
  return {};
}

Status check(Catalog& catalog) {
  PR_TRY(check_sources(catalog.sources));
  std::set<std::string> sources;
  for (const Source& source : catalog.sources) sources.insert(source.id);
  PR_TRY(check_entries(catalog.gpus, sources, "gpu"));
  PR_TRY(check_entries(catalog.nics, sources, "nic"));
  PR_TRY(check_entries(catalog.optics, sources, "optic"));
  PR_TRY(check_entries(catalog.switches, sources, "switch"));
  PR_TRY(check_entries(catalog.ocses, sources, "ocs"));
  PR_TRY(check_entries(catalog.fibres, sources, "fibre"));
  return check_entries(catalog.models, sources, "model");
}

Result<Catalog> load_embedded() {
  Catalog catalog;
  for (const EmbeddedFile& file : embedded_files()) PR_TRY(add_file(catalog, file.text, file.name));
  return catalog;
}

template <class Entry>
Result<Entry> find(const std::vector<Entry>& entries, std::string_view name, const char* kind) {
  std::vector<std::string_view> names;
  for (const Entry& entry : entries) {
    if (lower(entry.name) == lower(name)) return entry;
    names.push_back(entry.name);
  }
  return fail(ErrorCode::invalid_input, fmt::format("no {} \"{}\" in the catalog{} (photonrail catalog list shows all)",
                                                    kind, name, config::did_you_mean(name, names)));
}

}  // namespace

Result<Catalog> Catalog::builtin() {
  PR_ASSIGN(Catalog catalog, load_embedded());
  PR_TRY(check(catalog));
  return catalog;
}

Result<Catalog> Catalog::with_overrides(const std::string& directory) {
  constexpr std::size_t kFilesMax = 1000;
  PR_ASSIGN(Catalog catalog, load_embedded());
  std::error_code error;
  std::vector<std::string> files;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".toml") files.push_back(at->path().string());
    if (files.size() > kFilesMax) {
      return fail(ErrorCode::invalid_input, fmt::format("{}: more than {} catalog files", directory, kFilesMax));
    }
  }
  if (error) return fail(ErrorCode::io, fmt::format("{}: cannot be listed: {}", directory, error.message()));
  if (files.empty()) return fail(ErrorCode::invalid_input, fmt::format("{}: no *.toml file in it", directory));
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    PR_ASSIGN(const std::string text, config::read_file(file));
    PR_TRY(add_file(catalog, text, file));
  }
  PR_TRY(check(catalog));
  return catalog;
}

Result<Gpu> Catalog::gpu(std::string_view name) const { return find(gpus, name, "GPU"); }
Result<Nic> Catalog::nic(std::string_view name) const { return find(nics, name, "network adapter"); }
Result<Optic> Catalog::optic(std::string_view name) const { return find(optics, name, "optical module"); }
Result<Ocs> Catalog::ocs(std::string_view name) const { return find(ocses, name, "optical circuit switch"); }
Result<Fibre> Catalog::fibre(std::string_view name) const { return find(fibres, name, "fibre"); }
Result<Model> Catalog::model(std::string_view name) const { return find(models, name, "model"); }
Result<ElectricalSwitch> Catalog::network_switch(std::string_view name) const {
  return find(switches, name, "electrical switch");
}

std::string Catalog::source_text(std::string_view id) const {
  for (const Source& source : sources) {
    if (source.id == id) return fmt::format("{} ({}), {}", source.title, source.date, source.where);
  }
  return std::string(id);
}

// Attention: Q and O of heads x size, K and V of kv_heads x size; latent attention as in DeepSeek-V2, section 2.1:
// down and up projections of queries and of keys and values, with one rotary key shared by all heads. The index heads
// of DeepSeek-V3.2 have queries out of the compressed query, one key and one weight per head. The gated delta rule
// (Qwen3-Next) projects queries, keys, values, an output gate as wide as the values, and two numbers per value head.
namespace {

std::int64_t attention_weights(const Model& model) {
  const std::int64_t size = model.head_size != 0 ? model.head_size : model.hidden / model.heads;
  if (model.kv_rank == 0) {
    return model.hidden * size * (2 * model.kv_heads + (model.attention_gate ? 3 : 2) * model.heads);
  }
  const std::int64_t value = model.value_head_size != 0 ? model.value_head_size : size;
  const std::int64_t query_size = model.heads * (size + model.rope_head_size);
  const std::int64_t queries = model.hidden * model.query_rank + model.query_rank * query_size;
  const std::int64_t keys_values =
      model.hidden * (model.kv_rank + model.rope_head_size) + model.kv_rank * model.heads * (size + value);
  const std::int64_t index = model.query_rank * model.index_heads * model.index_head_size +
                             model.hidden * (model.index_head_size + model.index_heads);
  return queries + keys_values + index + model.heads * value * model.hidden;
}

std::int64_t linear_attention_weights(const Model& model) {
  const std::int64_t keys = model.linear_key_heads * model.linear_head_size;
  const std::int64_t values = model.linear_value_heads * model.linear_head_size;
  return model.hidden * (2 * keys + 3 * values + 2 * model.linear_value_heads);
}

}  // namespace

ParameterCount count_parameters(const Model& model) {
  const std::int64_t embeddings = model.vocabulary * model.hidden * (model.tied_embeddings ? 1 : 2);
  const std::int64_t dense = model.hidden * model.feed_forward * model.feed_forward_matrices;
  const std::int64_t every = embeddings + (model.layers - model.linear_layers) * attention_weights(model) +
                             model.linear_layers * linear_attention_weights(model);
  if (model.experts == 0) return {every + model.layers * dense, every + model.layers * dense};
  const std::int64_t expert = model.hidden * model.expert_feed_forward * model.feed_forward_matrices;
  const std::int64_t sparse_layers = model.layers - model.dense_layers;
  const std::int64_t router = model.hidden * model.experts;
  const std::int64_t base = every + model.dense_layers * dense + sparse_layers * router;
  return {base + sparse_layers * (model.experts + model.shared_experts) * expert,
          base + sparse_layers * (model.experts_per_token + model.shared_experts) * expert};
}

}  // namespace photonrail::catalog
