// T9: the time to read all weights once, which bounds a decode step at batch 1 from below: W / rate.
#include <fmt/format.h>

#include "photonic_fabric/rows.h"
#include "pool/reader_rate.h"
#include "pool/text.h"

namespace photonrail::photonic_fabric {
namespace {

constexpr double kNominalBytes = 405e9;  // "405B" at one byte each
constexpr double kPublishedRate = 26.8e12;

void add_possible(const pool::Resolved& pool, double weights, Rows& rows, const pool::EffectiveRate& rate) {
  const std::string name = fmt::format(
      "what one {} on one port of the appliance gets: the smaller of the smallest cut "
      "({}) and bytes in flight over latency ({} / {:.0f} ns = {})",
      pool.gpu, rate.limit, pool::size_text(static_cast<double>(pool.outstanding.count)), rate.latency * 1e9,
      pool::byte_rate_text(rate.concurrency));
  rows.push_back(own_row("T9/own/possible_rate", name, "rate of reading", "B/s", rate.rate));
  rows.push_back(
      own_row("T9/own/possible_time", name, "weights of llama-3.1-405b read once", "s", weights / rate.rate));
  const Time latency = pool::load_latency(pool.system, pool::Store::hbm, pool::Spread::appliance);
  const Time own = pool::load_latency(pool.system, pool::Store::local, pool::Spread::appliance);
  const std::string law =
      fmt::format("Little's law: {:.0f} ns to the accelerator's own memory, {:.0f} ns through the fabric",
                  to_seconds(own) * 1e9, to_seconds(latency) * 1e9);
  rows.push_back(own_row("T9/own/in_flight/needed", law, "bytes in flight that 26.8 TB/s need", "B",
                         pool::bytes_in_flight(kPublishedRate, latency)));
  rows.push_back(own_row("T9/own/in_flight/sustained", law,
                         fmt::format("bytes in flight that keep the memory of one {} busy", pool.gpu), "B",
                         pool::bytes_in_flight(bytes_per_second(pool.local_rate), own)));
}

}  // namespace

Result<Rows> memory_rows(const catalog::Catalog& catalog) {
  PR_ASSIGN(const catalog::Model model, catalog.model("llama-3.1-405b"));
  PR_ASSIGN(const pool::Resolved pool, pool::resolve(pool::System{}, catalog));
  const double weights = static_cast<double>(catalog::count_parameters(model).total);
  const double port = bytes_per_second(pool.system.module.port_rate);
  const std::string name = "405e9 bytes of FP8 weights read once for each token, at the full rate";
  Rows rows = {row("T9/port", name, "time at one 7.2 Tb/s port, 0.9 TB/s, to the millisecond", "s", 0.45,
                   rounded(kNominalBytes / port, 3), paper("3.3 and 6.1, by arithmetic")),
               row("T9/as_published", name, "time at 26.8 TB/s (as published: no cut carries it), to the millisecond",
                   "s", 0.015, rounded(kNominalBytes / kPublishedRate, 3), paper("6.1, by arithmetic"))};
  PR_ASSIGN(const pool::EffectiveRate rate, pool::effective_rate(pool, {.sharers = 1}));
  add_possible(pool, weights, rows, rate);
  return rows;
}

}  // namespace photonrail::photonic_fabric
