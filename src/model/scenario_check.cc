#include "model/scenario_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>

#include "base/units_text.h"
#include "config/write.h"
#include "model/scenario_describe.h"
#include "model/scenario_text.h"

namespace photonrail::model {
namespace {

// One field in a rule: its path and its value as text.
struct Term {
  std::string path;
  std::string value;
};

Term term(std::string path, std::int64_t value) { return {std::move(path), fmt::format("{}", value)}; }

class Rules {
 public:
  Rules(const Scenario& scenario, const config::Places& places, config::Diagnostics& diagnostics)
      : s_(scenario), places_(places), diagnostics_(diagnostics), beside_errors_(diagnostics.has_errors()) {}

  void run() {
    generated_ = s_.workload.trace.empty();
    if (beside_errors_) {
      degrees();
      batch();
      domains();
      return;
    }
    if (generated_) {
      present();
      degrees();
      batch();
      model();
    } else {
      unused();
    }
    domains();
    switching();
    cases();
    rates();
  }

 private:
  // Where single fields have errors, a rule is only worth reporting when each of its fields was given without one.
  bool usable(std::initializer_list<const char*> paths) const {
    return !beside_errors_ || std::all_of(paths.begin(), paths.end(), [this](const char* path) {
      return given(path) && !diagnostics_.has_error_at(span(path));
    });
  }

  bool given(const std::string& path) const { return places_.find(path) != places_.end(); }

  config::Span span(const std::string& path) const {
    const auto found = places_.find(path);
    return found == places_.end() ? config::Span{} : found->second.value;
  }

  // The error stands at the first term that was given; every other term becomes a note.
  void error(const std::vector<Term>& terms, std::string message, std::string hint = {}) {
    const auto first = std::find_if(terms.begin(), terms.end(), [this](const Term& t) { return given(t.path); });
    diagnostics_.error(first == terms.end() ? config::Span{} : span(first->path), std::move(message), std::move(hint));
    for (auto it = terms.begin(); it != terms.end(); ++it) {
      if (it == first) continue;
      const bool here = given(it->path);
      diagnostics_.note(span(it->path), fmt::format("{} is {}{}", it->path, it->value, here ? "" : " (not set here)"));
    }
  }

  void missing(const std::string& table, const std::string& key, const std::string& hint) {
    const auto found = places_.find(table);
    const config::Span place = found == places_.end() ? config::Span{} : found->second.key;
    diagnostics_.error(place, fmt::format("{}.{} is missing", table, key), hint);
  }

  void divides(std::int64_t divisor, const std::vector<Term>& of, std::int64_t whole, const Term& term_of_whole,
               const std::string& what, const std::string& hint = {}) {
    if (divisor <= 0 || whole <= 0 || whole % divisor == 0) return;
    std::vector<Term> terms = {term_of_whole};
    terms.insert(terms.end(), of.begin(), of.end());
    error(terms, fmt::format("{}: {} is not a multiple of {}", what, whole, divisor), hint);
  }

  void present() {
    if (s_.cluster.gpus == 0) missing("cluster", "gpus", "write gpus = 128, or name a trace in [workload]");
    if (s_.training.global_batch == 0)
      missing("training", "global_batch", "write global_batch = 256 (sequences per step)");
    if (!s_.model.catalog.empty()) return;
    const bool complete = s_.model.layers > 0 && s_.model.hidden > 0 && s_.model.feed_forward > 0 &&
                          s_.model.heads > 0 && s_.model.vocabulary > 0;
    if (!complete) {
      missing("model", "catalog", "name a catalog model, or give layers, hidden, feed_forward, heads and vocabulary");
    }
  }

  void degrees() {
    if (!usable({"cluster.gpus", "parallelism.data", "parallelism.pipeline", "parallelism.tensor"})) return;
    const Parallelism& p = s_.parallelism;
    const std::int64_t product = p.data * p.pipeline * p.tensor;  // at most 2^44 by their ranges
    if (s_.cluster.gpus == 0 || product == s_.cluster.gpus) return;
    error({term("cluster.gpus", s_.cluster.gpus), term("parallelism.data", p.data),
           term("parallelism.pipeline", p.pipeline), term("parallelism.tensor", p.tensor)},
          fmt::format("data {} x pipeline {} x tensor {} makes {} GPUs, but the cluster has {}", p.data, p.pipeline,
                      p.tensor, product, s_.cluster.gpus),
          "the three degrees multiply to cluster.gpus");
  }

  void batch() {
    if (!usable({"parallelism.data", "training.microbatches", "training.global_batch"})) return;
    const std::int64_t shares = s_.parallelism.data * s_.training.microbatches;
    divides(shares,
            {term("parallelism.data", s_.parallelism.data), term("training.microbatches", s_.training.microbatches)},
            s_.training.global_batch, term("training.global_batch", s_.training.global_batch),
            "the batch does not split evenly over data ranks and microbatches");
  }

  void model() {
    const TransformerModel& m = s_.model;
    const Parallelism& p = s_.parallelism;
    divides(p.pipeline, {term("parallelism.pipeline", p.pipeline)}, m.layers, term("model.layers", m.layers),
            "the layers do not split evenly over pipeline stages");
    divides(p.tensor, {term("parallelism.tensor", p.tensor)}, m.heads, term("model.heads", m.heads),
            "the heads do not split evenly over tensor ranks");
    divides(m.kv_heads, {term("model.kv_heads", m.kv_heads)}, m.heads, term("model.heads", m.heads),
            "query heads do not share key and value heads evenly");
    if (m.kv_heads > p.tensor) {
      divides(p.tensor, {term("parallelism.tensor", p.tensor)}, m.kv_heads, term("model.kv_heads", m.kv_heads),
              "the key and value heads do not split evenly over tensor ranks");
    }
    if (m.head_size == 0) {
      divides(m.heads, {term("model.heads", m.heads)}, m.hidden, term("model.hidden", m.hidden),
              "the width does not split evenly over heads", "set model.head_size");
    }
    divides(p.tensor, {term("parallelism.tensor", p.tensor)}, m.feed_forward,
            term("model.feed_forward", m.feed_forward), "the MLP does not split evenly over tensor ranks");
    if (s_.training.sequence_parallel) {
      divides(p.tensor, {term("parallelism.tensor", p.tensor)}, s_.training.sequence,
              term("training.sequence", s_.training.sequence), "the sequence does not split evenly over tensor ranks");
    }
  }

  // With a trace, what would shape a generated step has no effect, so it is refused rather than ignored. Defaults
  // written out, as `photonrail show` does, are no wish.
  void unused() {
    const Scenario defaults = default_scenario();
    const bool model_given = config::to_canonical(s_.model) != config::to_canonical(defaults.model);
    const bool training_given = config::to_canonical(s_.training) != config::to_canonical(defaults.training);
    if (model_given) no_effect("model");
    if (training_given) no_effect("training");
  }

  void no_effect(const std::string& table) {
    const auto found = places_.find(table);
    diagnostics_.error(found == places_.end() ? config::Span{} : found->second.key,
                       fmt::format("[{}] has no effect with a trace", table),
                       "leave it out, or leave out workload.trace");
    diagnostics_.note(span("workload.trace"), "the trace is named here");
  }

  void domains() {
    if (!usable({"cluster.gpus", "cluster.domain", "parallelism.tensor"})) return;
    const std::int64_t domain = s_.cluster.domain;
    divides(domain, {term("cluster.domain", domain)}, s_.cluster.gpus, term("cluster.gpus", s_.cluster.gpus),
            "the cluster is not made of whole scale-up domains");
    const std::int64_t tensor = s_.parallelism.tensor;
    if (domain % tensor == 0 || tensor % domain == 0) return;
    error({term("parallelism.tensor", tensor), term("cluster.domain", domain)},
          fmt::format("tensor groups of {} do not fit scale-up domains of {}", tensor, domain),
          "one must be a multiple of the other");
  }

  void distribution(const std::string& path, const Distribution& d) {
    using Shape = Distribution::Shape;
    const bool scattered = d.shape == Shape::normal || d.shape == Shape::lognormal;
    if (d.shape == Shape::uniform && d.high < d.typical) {
      error({{path + ".high", to_text(d.high)}, {path + ".typical", to_text(d.typical)}},
            "the high end lies below the low end");
    }
    if (d.shape != Shape::uniform && d.high != Time{}) {
      error({{path + ".high", to_text(d.high)}},
            fmt::format("high has no meaning with shape \"{}\"", config::enum_name(d.shape)),
            "it belongs to shape \"uniform\"");
    }
    if (!scattered && d.spread != 0) {
      error({{path + ".spread", fmt::format("{}", d.spread)}},
            fmt::format("spread has no meaning with shape \"{}\"", config::enum_name(d.shape)),
            "it belongs to shapes \"normal\" and \"lognormal\"");
    }
  }

  void switching() {
    const Switching& w = s_.switching;
    distribution("switching.request", w.request);
    distribution("switching.controller", w.controller);
    distribution("switching.command", w.command);
    if (w.dark) distribution("switching.dark", *w.dark);
    if (w.settle) distribution("switching.settle", *w.settle);
    distribution("switching.link_up", w.link_up);
    distribution("switching.relock", w.relock);
    for (std::size_t i = 0; i < w.times.size(); ++i) {
      repeated("switching.times", i, std::find(w.times.begin(), w.times.end(), w.times[i]) - w.times.begin());
    }
  }

  void repeated(const std::string& list, std::size_t index, std::ptrdiff_t first) {
    if (static_cast<std::size_t>(first) == index) return;
    diagnostics_.error(span(fmt::format("{}[{}]", list, index)), fmt::format("{} holds this value twice", list));
    diagnostics_.note(span(fmt::format("{}[{}]", list, first)), "first here");
  }

  void cases() {
    const auto& policies = s_.control.policies;
    const auto& fabrics = s_.electrical.fabrics;
    std::vector<std::string_view> names;
    for (std::size_t i = 0; i < policies.size(); ++i) {
      names.emplace_back(config::enum_name(policies[i]));
      repeated("control.policies", i, std::find(policies.begin(), policies.end(), policies[i]) - policies.begin());
    }
    for (std::size_t i = 0; i < fabrics.size(); ++i) {
      names.emplace_back(config::enum_name(fabrics[i]));
      repeated("electrical.fabrics", i, std::find(fabrics.begin(), fabrics.end(), fabrics[i]) - fabrics.begin());
    }
    if (names.empty()) {
      error({{"control.policies", "empty"}, {"electrical.fabrics", "empty"}}, "nothing to run",
            "list control.policies or electrical.fabrics, or both");
      return;
    }
    if (std::find(names.begin(), names.end(), s_.baseline) != names.end()) return;
    std::string known;
    for (const std::string_view name : names) known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
    error({{"baseline", fmt::format("\"{}\"", s_.baseline)}},
          fmt::format("the baseline \"{}\" is not among the cases that are run", s_.baseline),
          fmt::format("these are: {}", known));
  }

  void rates() {
    if (s_.control.policies.empty() || s_.electrical.fabrics.empty()) return;
    const auto note = unequal_rates_note(s_.rail.ports, s_.rail.port_rate, s_.electrical.nic_rate);
    if (note) diagnostics_.warning(span(given("rail.ports") ? "rail.ports" : "electrical.nic_rate"), *note);
  }

  const Scenario& s_;
  const config::Places& places_;
  config::Diagnostics& diagnostics_;
  const bool beside_errors_;  // single fields have errors already
  bool generated_ = true;
};

}  // namespace

std::optional<std::string> unequal_rates_note(std::int64_t ports, Rate port_rate, Rate nic_rate) {
  const Rate rails = port_rate * ports;
  if (rails == nic_rate) return std::nullopt;
  return fmt::format(
      "{} photonic port{} of {} give a GPU {}, {} than the {} of its electrical NIC: differences between the fabrics "
      "are partly those of the rates (rail.ports, rail.port_rate, electrical.nic_rate)",
      ports, ports == 1 ? "" : "s", to_text(port_rate), to_text(rails), rails > nic_rate ? "more" : "less",
      to_text(nic_rate));
}

void check_rules(const Scenario& scenario, const config::Places& places, config::Diagnostics& diagnostics) {
  Rules(scenario, places, diagnostics).run();
}

}  // namespace photonrail::model
