// The commands. Each prints its result to standard output, or returns why it cannot; nothing else is printed but
// progress, on standard error, where that is a terminal.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "cli/options.h"

namespace photonrail::cli {

// Commands whose input files `photonrail schema` describes.
std::vector<std::string> schema_commands();

Status run(const SimulateOptions& options);
Status run(const WindowsOptions& options);
Status run(const CostCommandOptions& options);
Status run(const CatalogOptions& options);
Status run(const SchemaOptions& options);
Status run(const ShowOptions& options);
Status run(const ExplainOptions& options);
Status run(const ReproduceOptions& options);
Status run(const ValidateOptions& options);
Status run(const InferOptions& options);
Status run(const EstimateCommandOptions& options);
Status run(const CheckOptions& options);
Status run(const EnergyOptions& options);
Status run(const DlrmOptions& options);
Status run(const SensitivityOptions& options);
Status run(const EmulateOcsOptions& options);
Status run(const NetconfBridgeOptions& options);
Status run(const CtlOptions& options);
Status run(const ReplayOptions& options);
Status run(const AuditOptions& options);
Status run(const VersionOptions& options);

}  // namespace photonrail::cli
