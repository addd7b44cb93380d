// Lists of ReproduceRow in every form. All `reproduce` and `validate` commands print the same shape.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/reproduce.h"
#include "report/render.h"

namespace photonrail::cli {

// Part of the id of rows that stand beside a published run: the same by our own physics, one change after the other.
inline constexpr std::string_view kOwnRow = "/own/";

// A table, and how many of the published figures ours equals.
std::string rows_text(const std::vector<model::ReproduceRow>& rows, const report::TextStyle& style);
// [{id, case, quantity, unit, published, ours, relative_error, source}]; null where there is no figure. A row
// that could not be made has the key "refused" besides: why.
std::string rows_json(const std::vector<model::ReproduceRow>& rows);
std::string rows_csv(const std::vector<model::ReproduceRow>& rows);

// Quoted where CSV needs it.
std::string csv_cell(const std::string& text);

}  // namespace photonrail::cli
