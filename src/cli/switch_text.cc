#include "cli/switch_text.h"

#include <fmt/format.h>

#include "report/human.h"
#include "study/photonic_case.h"

namespace photonrail::cli {

SwitchText switch_text(const model::Switching& switching, const catalog::Catalog& catalog) {
  const auto label = [](Time t) { return report::time_label(t); };
  SwitchText text;
  text.added = fmt::format("request {}, controller {}, command {}", label(switching.request.typical),
                           label(switching.controller.typical), label(switching.command.typical));
  const Result<study::SwitchTime> time = study::switch_time(switching, catalog);
  if (!time) {
    text.own_text = time.error().message;
    return text;
  }
  text.own = time->total;
  text.own_text =
      fmt::format("{}: dark {} + settle {} + link-up {} + relock {} = {} (typical)", switching.ocs, label(time->dark),
                  label(time->settle), label(time->link_up), label(time->relock), label(time->total));
  return text;
}

}  // namespace photonrail::cli
