// How every struct of scenario.h is written in a file: keys, defaults, ranges, meaning. The reader, `photonrail
// schema`, `photonrail show` and the reference page all come from these functions (config/value.h).
#pragma once

#include "config/value.h"
#include "model/scenario.h"

namespace photonrail::model {

std::span<const config::EnumName<Distribution::Shape>> names_of(Distribution::Shape);
std::span<const config::EnumName<Schedule>> names_of(Schedule);
std::span<const config::EnumName<Sharding>> names_of(Sharding);
std::span<const config::EnumName<Recompute>> names_of(Recompute);
std::span<const config::EnumName<Precision>> names_of(Precision);
std::span<const config::EnumName<Policy>> names_of(Policy);
std::span<const config::EnumName<Admission>> names_of(Admission);
std::span<const config::EnumName<Dimension>> names_of(Dimension);
std::span<const config::EnumName<Fabric>> names_of(Fabric);
std::span<const config::EnumName<LoadBalance>> names_of(LoadBalance);
std::span<const config::EnumName<CostMode>> names_of(CostMode);

void describe(config::Fields& fields, Distribution& distribution);
void describe(config::Fields& fields, TransformerModel& model);
void describe(config::Fields& fields, Training& training);
void describe(config::Fields& fields, Parallelism& parallelism);
void describe(config::Fields& fields, Cluster& cluster);
void describe(config::Fields& fields, ScaleUp& scale_up);
void describe(config::Fields& fields, Rail& rail);
void describe(config::Fields& fields, Switching& switching);
void describe(config::Fields& fields, Control& control);
void describe(config::Fields& fields, Electrical& electrical);
void describe(config::Fields& fields, CostOptions& cost);
void describe(config::Fields& fields, Workload& workload);
void describe(config::Fields& fields, Scenario& scenario);

}  // namespace photonrail::model
