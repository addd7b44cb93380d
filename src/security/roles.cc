#include "security/roles.h"

namespace photonrail::security {
namespace {

constexpr unsigned kRank = 1, kViewer = 2, kScheduler = 4, kOperator = 8;

constexpr struct {
  std::string_view method;
  unsigned roles;
} kTable[] = {
    {"/photonrail.control.v1.Ranks/Attach", kRank},
    {"/photonrail.control.v1.Operator/GetStatus", kViewer | kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/PlanJob", kViewer | kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/History", kViewer | kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/WatchEvents", kViewer | kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/SubmitJob", kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/EndJob", kScheduler | kOperator},
    {"/photonrail.control.v1.Operator/SetPort", kOperator},
    {"/photonrail.control.v1.Operator/SetSwitch", kOperator},
    {"/photonrail.control.v1.Operator/Probe", kOperator},
};

unsigned bit(daemon::Identity::Role role) {
  switch (role) {
    case daemon::Identity::Role::rank: return kRank;
    case daemon::Identity::Role::viewer: return kViewer;
    case daemon::Identity::Role::scheduler: return kScheduler;
    case daemon::Identity::Role::operator_: return kOperator;
  }
  return 0;
}

}  // namespace

bool allowed(daemon::Identity::Role role, std::string_view method) {
  for (const auto& row : kTable) {
    if (row.method == method) return (row.roles & bit(role)) != 0;
  }
  return false;
}

}  // namespace photonrail::security
