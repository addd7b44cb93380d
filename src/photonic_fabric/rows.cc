#include "photonic_fabric/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace photonrail::photonic_fabric {

std::string paper(std::string_view section) { return fmt::format("{}, {}", kPaper, section); }

model::ReproduceRow row(std::string id, std::string case_name, std::string quantity, std::string unit,
                        std::optional<double> published, double ours, std::string source) {
  model::ReproduceRow out;
  out.id = std::move(id);
  out.case_name = std::move(case_name);
  out.quantity = std::move(quantity);
  out.unit = std::move(unit);
  out.published = published;
  out.ours = ours;
  out.source = std::move(source);
  model::set_relative_error(out);
  return out;
}

model::ReproduceRow own_row(std::string id, std::string case_name, std::string quantity, std::string unit,
                            double ours) {
  return row(std::move(id), std::move(case_name), std::move(quantity), std::move(unit), std::nullopt, ours,
             "own model; no figure is published");
}

model::ReproduceRow refused_row(std::string id, std::string case_name, std::string quantity, std::string unit,
                                std::optional<double> published, std::string source, Error why) {
  model::ReproduceRow out =
      row(std::move(id), std::move(case_name), std::move(quantity), std::move(unit), published, 0, std::move(source));
  out.ours.reset();
  out.relative_error.reset();
  out.refused = std::move(why);
  return out;
}

double rounded(double value, int decimals) {
  const double scale = std::pow(10.0, decimals);
  return std::round(value * scale) / scale;
}

bool wanted(const std::vector<std::string>& only, std::string_view claim) {
  return only.empty() || std::any_of(only.begin(), only.end(), [&](const std::string& text) {
           const bool names_a_claim = text.size() > 1 && text[0] == 'T' && text[1] >= '2' && text[1] <= '9';
           return !names_a_claim || text.starts_with(claim);
         });
}

}  // namespace photonrail::photonic_fabric
