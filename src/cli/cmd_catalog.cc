#include "cli/commands.h"
#include "cli/output.h"
#include "cli/scenario_input.h"

namespace photonrail::cli {

Status run(const CatalogOptions& options) {
  PR_ASSIGN(const catalog::Catalog catalog, read_catalog(options.directory));
  const bool json = options.format == Format::json;
  if (options.show.empty()) return print(json ? catalog::list_json(catalog) : catalog::list_text(catalog));
  PR_ASSIGN(const std::string entry,
            json ? catalog::show_json(catalog, options.show) : catalog::show_text(catalog, options.show));
  return print(entry);
}

}  // namespace photonrail::cli
