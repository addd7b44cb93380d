#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/human.h"
#include "report/simulate_tables.h"

namespace photonrail::report {
namespace {

constexpr double kSmall = 0.05;    // overhead that the text asks about; a figure of speech, not a model
constexpr double kManyTimes = 10;  // overhead from which a factor reads better, as in human()
constexpr double kAsQuick = 0.01;  // overhead below which two fabrics count as equally quick
constexpr std::string_view kSmallText = "5 %";

std::string say(const Report& report, const Case& c, std::string_view metric) {
  const std::optional<std::size_t> index = find_metric(report, metric);
  return index ? human(c.values[*index], report.metrics[*index].unit) : "-";
}

// Cases of one policy with a result, by ascending switching time.
std::vector<const Case*> cases_of(const Report& report, std::string_view name) {
  std::vector<const Case*> found;
  for (const Case& c : report.cases) {
    if (c.name == name && c.refusal.empty()) found.push_back(&c);
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Case* a, const Case* b) { return a->switching_time < b->switching_time; });
  return found;
}

// "a step that is 3.1 % longer" from an overhead.
std::string compared(double overhead) {
  if (overhead >= kManyTimes) return fmt::format("{:.1f} times as long", overhead + 1);
  const std::string size = human(std::abs(overhead), "ratio");
  return fmt::format("{} {}", size, overhead < 0 ? "shorter" : "longer");
}

std::string say_baseline(const Report& report, const Case& base) {
  std::string text = fmt::format("On {} one step takes {}", base.id, say(report, base, "iteration_time"));
  if (value_of(report, base, "mfu")) text += fmt::format(" ({} of the GPUs' peak)", say(report, base, "mfu"));
  return text + ".";
}

std::string say_fixed(const Report& report) {
  std::vector<std::string> told;
  for (const Case& c : report.cases) {
    const auto overhead = value_of(report, c, "overhead");
    if (c.kind != "photonic" || c.switching_time || !overhead) continue;
    told.push_back(fmt::format("{} with {}", compared(*overhead), c.name));
  }
  if (told.empty()) return "";
  return fmt::format(" On photonic rails it is {}.", fmt::join(told, ", "));
}

std::string say_swept(const Report& report, const std::string& name) {
  const std::vector<const Case*> cases = cases_of(report, name);
  if (cases.empty() || !cases.front()->switching_time) return "";
  const auto first = value_of(report, *cases.front(), "overhead");
  const auto last = value_of(report, *cases.back(), "overhead");
  if (!first || !last) return "";
  std::string text = fmt::format(" With {} it is {} at a switching time of {}", name, compared(*first),
                                 time_label(*cases.front()->switching_time));
  if (cases.size() > 1)
    text += fmt::format(" and {} at {}", compared(*last), time_label(*cases.back()->switching_time));
  return text + ".";
}

// The longest of the times tried up to which `holds` is true without a break.
template <class Holds>
const Case* last_while(const std::vector<const Case*>& cases, Holds holds) {
  const Case* last = nullptr;
  for (const Case* c : cases) {
    if (!holds(*c)) break;
    last = c;
  }
  return last;
}

std::string say_reach(const Report& report, const std::string& name) {
  const std::vector<const Case*> cases = cases_of(report, name);
  if (cases.size() < 2 || !cases.front()->switching_time) return "";
  const Case* small = last_while(cases, [&](const Case& c) {
    const auto overhead = value_of(report, c, "overhead");
    return overhead && *overhead <= kSmall;
  });
  const Case* saves = last_while(cases, [&](const Case& c) {
    const auto change = value_of(report, c, "energy_change");
    return change && *change <= 0;
  });
  std::string text = small == nullptr
                         ? fmt::format(" Of the times tried none keeps {} within {} of the baseline", name, kSmallText)
                         : fmt::format(" Of the times tried {} stays within {} of the baseline up to {}", name,
                                       kSmallText, time_label(*small->switching_time));
  if (!value_of(report, *cases.front(), "energy_change")) return text + ".";
  text += saves == nullptr ? ", and at none does a step take less energy"
                           : fmt::format(", and a step takes less energy up to {}", time_label(*saves->switching_time));
  return text + ".";
}

std::string say_hidden(const Report& report, const std::string& name) {
  const std::vector<const Case*> cases = cases_of(report, name);
  for (const Case* c : cases) {
    const auto share = value_of(report, *c, "exposed_switch_share");
    const auto commands = value_of(report, *c, "switch_commands");
    if (!share || !commands || !c->switching_time || c->switching_time->ps == 0) continue;
    return fmt::format(" At {} its {} switch commands a step are hidden for {} of their time.",
                       time_label(*c->switching_time), human(*commands, "count"), human(1 - *share, "ratio"));
  }
  return "";
}

std::string say_network(const Report& report, const Case& base) {
  const auto at = std::find_if(report.cases.begin(), report.cases.end(),
                               [](const Case& c) { return c.kind == "photonic" && c.refusal.empty(); });
  if (at == report.cases.end() || !value_of(report, *at, "cost_saving")) return "";
  const double cheaper = value_of(report, *at, "cost_saving").value_or(0);
  const auto power = value_of(report, *at, "power_saving");
  std::string text = fmt::format(" The photonic network costs {} against {}", say(report, *at, "network_cost"),
                                 say(report, base, "network_cost"));
  text +=
      cheaper >= 1 ? fmt::format(" ({:.2f} times less)", cheaper) : fmt::format(" ({:.2f} times more)", 1 / cheaper);
  if (!power) return text + ".";
  text +=
      fmt::format(" and draws {} against {}", say(report, *at, "network_power"), say(report, base, "network_power"));
  text += *power >= 1 ? fmt::format(" ({:.2f} times less)", *power) : fmt::format(" ({:.2f} times more)", 1 / *power);
  const auto gpus = value_of(report, base, "gpu_power_total");
  const auto network = value_of(report, base, "network_power");
  if (!gpus || !network || *gpus <= 0) return text + ".";
  return text +
         fmt::format("; the baseline's network is {} of the power of its GPUs.", human(*network / *gpus, "ratio"));
}

// An electrical fabric that is as quick as the baseline and cheaper is what photonic rails must really beat.
std::string say_cheapest(const Report& report, const Case& base) {
  const Case* cheapest = &base;
  const Case* photonic = nullptr;
  for (const Case& c : report.cases) {
    const auto cost = value_of(report, c, "network_cost");
    const auto overhead = value_of(report, c, "overhead");
    if (!cost || !overhead) continue;
    if (c.kind == "photonic" && photonic == nullptr) photonic = &c;
    if (c.kind != "electrical" || *overhead > kAsQuick) continue;
    if (*cost < value_of(report, *cheapest, "network_cost").value_or(0)) cheapest = &c;
  }
  if (cheapest == &base || photonic == nullptr) return "";
  const double cost = value_of(report, *cheapest, "network_cost").value_or(0);
  const double ours = value_of(report, *photonic, "network_cost").value_or(0);
  const bool dearer = ours > cost;
  return fmt::format(
      " Against {}, which is as quick as the baseline for {}, the photonic network costs {:.2f} times {}.",
      cheapest->id, human(cost, "USD"), dearer ? ours / cost : cost / ours, dearer ? "more" : "less");
}

// On one line.
std::string flat(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  text.erase(std::unique(text.begin(), text.end(), [](char a, char b) { return a == ' ' && b == ' '; }), text.end());
  return text;
}

std::string say_refused(const Report& report) {
  std::vector<std::string> names;
  std::vector<std::string> reasons;
  const auto add = [](std::vector<std::string>& to, std::string text) {
    if (std::find(to.begin(), to.end(), text) == to.end()) to.push_back(std::move(text));
  };
  bool switching = false;  // some policy that switches has a result
  for (const Case& c : report.cases) {
    switching = switching || (c.refusal.empty() && value_of(report, c, "switching_time"));
    if (c.refusal.empty()) continue;
    add(names, c.name);
    add(reasons, flat(c.refusal));
  }
  if (names.empty()) return "";
  std::string text = fmt::format(" Not possible here: {}", fmt::join(names, ", "));
  text += reasons.size() == 1 ? fmt::format(": {}.", reasons.front()) : " (reasons above).";
  return switching ? text : text + " So nothing here says what switching costs.";
}

// The switching policy that the text follows most closely: the best that is not a mere bound.
std::string followed(const Report& report) {
  for (const char* name : {"provisioned", "on_demand", "oracle"}) {
    if (!cases_of(report, name).empty()) return name;
  }
  return "";
}

}  // namespace

std::string simulate_reading(const Report& report) {
  const Case* base = find_case(report, report.baseline);
  if (base == nullptr || !base->refusal.empty()) {
    return "The baseline has no result, so there is nothing to compare with." + say_refused(report);
  }
  std::string text = say_baseline(report, *base) + say_fixed(report);
  std::vector<std::string> told;
  for (const Case& c : report.cases) {
    if (c.kind != "photonic" || std::find(told.begin(), told.end(), c.name) != told.end()) continue;
    told.push_back(c.name);
    text += say_swept(report, c.name);
  }
  const std::string policy = followed(report);
  text += say_reach(report, policy) + say_hidden(report, policy);
  return text + say_network(report, *base) + say_cheapest(report, *base) + say_refused(report);
}

}  // namespace photonrail::report
