#include "study/photonic_case.h"

#include <fmt/format.h>

#include <cmath>

#include "fabric/photonic.h"
#include "sim/simulate.h"
#include "study/names.h"

namespace photonrail::study {
namespace {

// A term that the scenario leaves to the catalog: its value, or the range it is known to lie in.
Result<model::Distribution> from_catalog(const catalog::Figure<Time>& figure, const char* term,
                                         const catalog::Ocs& ocs) {
  model::Distribution d;
  d.source = figure.source;
  if (figure.value) {
    d.typical = *figure.value;
  } else if (figure.low && figure.high) {
    d.shape = model::Distribution::Shape::uniform;
    d.typical = *figure.low;
    d.high = *figure.high;
  } else {
    return fail(ErrorCode::infeasible,
                fmt::format("the catalog does not know the {} time of {} ({})\n  hint: give it, for example --set "
                            "'switching.{}=\"0 ms\"', or sweep: --set 'switching.times=[\"10 ms\", \"100 ms\"]'",
                            term, ocs.name, figure.unknown, term));
  }
  return d;
}

Result<sim::SwitchTerms> switch_terms(const model::Switching& s, const catalog::Catalog& catalog,
                                      std::optional<Time> swept) {
  sim::SwitchTerms terms{s.request, s.controller, s.command, {}, {}, s.link_up, s.relock, swept};
  if (swept) return terms;
  if (s.dark && s.settle) {
    terms.dark = *s.dark;
    terms.settle = *s.settle;
    return terms;
  }
  PR_ASSIGN(const auto ocs, catalog.ocs(s.ocs));
  if (s.dark) {
    terms.dark = *s.dark;
  } else {
    PR_ASSIGN(terms.dark, from_catalog(ocs.dark, "dark", ocs));
  }
  if (s.settle) {
    terms.settle = *s.settle;
  } else {
    PR_ASSIGN(terms.settle, from_catalog(ocs.settle, "settle", ocs));
  }
  return terms;
}

Time middle_of(const model::Distribution& d) {
  if (d.shape != model::Distribution::Shape::uniform) return d.typical;
  return d.typical + Time{(d.high - d.typical).ps / 2};
}

}  // namespace

Result<SwitchTime> switch_time(const model::Switching& switching, const catalog::Catalog& catalog) {
  PR_ASSIGN(const sim::SwitchTerms terms, switch_terms(switching, catalog, {}));
  SwitchTime time{
      middle_of(terms.dark), middle_of(terms.settle), middle_of(terms.link_up), middle_of(terms.relock), {}};
  for (const Time term : {time.dark, time.settle, time.link_up, time.relock}) {
    time.total = sim::sum_of_delays(time.total, term);
  }
  return time;
}

Result<fabric::PortSplit> static_split(const model::TaskGraph& graph, const fabric::Layout& layout, std::int64_t ports,
                                       model::Policy policy) {
  PR_ASSIGN(auto shapes, fabric::rail_shapes(graph, layout));
  if (policy == model::Policy::static_sqrt) {
    for (fabric::RailShape& shape : shapes) shape.weight = std::sqrt(shape.weight);
  }
  return fabric::split_ports(shapes, ports);
}

Result<model::RunResult> run_photonic(const Study& study, const catalog::Catalog& catalog, const Case& spec,
                                      const std::function<void(double)>& progress) {
  const model::Policy policy = *spec.policy;
  fabric::PhotonicOptions options = fabric::photonic_options(study.scenario);
  if (is_static(policy)) {
    PR_ASSIGN(auto split, static_split(study.graph, study.layout, study.scenario.rail.ports, policy));
    options.split.push_back(std::move(split));
  }
  PR_ASSIGN(const auto fabric, fabric::make_photonic(study.layout, options));
  sim::PhotonicControl control;
  control.rule = study.scenario.control.admission == model::Admission::naive_lock ? control::AdmissionRule::naive_lock
                                                                                  : control::AdmissionRule::gang;
  control.fixed_circuits = is_static(policy);
  control.switch_ahead = policy == model::Policy::provisioned || policy == model::Policy::oracle;
  control.free_control_path = policy == model::Policy::oracle || is_static(policy);
  if (is_static(policy)) {
    control.terms.swept = Time{};
  } else {
    PR_ASSIGN(control.terms, switch_terms(study.scenario.switching, catalog, spec.switching_time));
  }
  sim::RunOptions run;
  run.seed = study.scenario.seed;
  const auto learning = static_cast<std::uint32_t>(study.scenario.profile_iterations);
  run.warm_up_steps = is_static(policy) ? 0 : control.switch_ahead ? learning + 1 : 1;
  run.photonic = control;
  run.progress = progress;
  return sim::run(study.graph, *fabric, run);
}

}  // namespace photonrail::study
