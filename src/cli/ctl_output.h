// Answers of the daemon as tables for people and as JSON for programs. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "cli/options.h"
#include "report/render.h"
#include "wire/operator_messages.h"

namespace photonrail::cli {

enum class StatusPart : std::uint8_t { all, circuits, jobs };

std::string status_text(const daemon::StatusReport& status, const wire::SwitchNames& names, StatusPart part,
                        const report::TextStyle& style);
std::string status_json(const daemon::StatusReport& status, const wire::SwitchNames& names);

std::string events_text(const std::vector<wire::Event>& events, const report::TextStyle& style);
std::string events_json(const std::vector<wire::Event>& events);
std::string event_line(const wire::Event& event);  // one line, for people
std::string event_json(const wire::Event& event);  // one line

std::string lines_text(const std::vector<std::string>& lines);
std::string lines_json(const std::string& key, const std::vector<std::string>& lines);

}  // namespace photonrail::cli
