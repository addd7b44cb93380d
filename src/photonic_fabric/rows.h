// The parts of reproduce_photonic_fabric, and how a row is made. Private to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "model/reproduce.h"

namespace photonrail::photonic_fabric {

using Rows = std::vector<model::ReproduceRow>;

inline constexpr const char* kPaper = "photonic fabric, arXiv 2507.14000";

// "paper, section": the source of a published figure.
std::string paper(std::string_view section);

model::ReproduceRow row(std::string id, std::string case_name, std::string quantity, std::string unit,
                        std::optional<double> published, double ours, std::string source);
// Ours stands alone.
model::ReproduceRow own_row(std::string id, std::string case_name, std::string quantity, std::string unit, double ours);
model::ReproduceRow refused_row(std::string id, std::string case_name, std::string quantity, std::string unit,
                                std::optional<double> published, std::string source, Error why);

double rounded(double value, int decimals);

// Whether rows of a claim ("T2") may be wanted: a text that names no claim may be in the id of any row.
bool wanted(const std::vector<std::string>& only, std::string_view claim);

Rows energy_rows();                                                                                  // T5, T7, T8
Rows training_energy_rows(const catalog::Catalog& catalog);                                          // beside T5
Result<Rows> memory_rows(const catalog::Catalog& catalog);                                           // T9
Result<Rows> inference_rows(const catalog::Catalog& catalog, const std::vector<std::string>& only);  // T2, T3, T4
Rows pooling_rows(const catalog::Catalog& catalog);                                                  // T6
// The table of 192 points (8 bandwidths x 3 contexts x 8 batches) that a data folder may have, by its closed form.
Result<Rows> sweep_rows(const catalog::Catalog& catalog, const std::string& path);

}  // namespace photonrail::photonic_fabric
