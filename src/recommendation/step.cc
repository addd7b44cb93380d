#include "recommendation/step.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units_text.h"
#include "recommendation/dense.h"
#include "recommendation/shard_load.h"

namespace photonrail::recommendation {
namespace {

using operators::Collective;
using operators::KernelTime;

constexpr double kKeyBytes = 4;  // row numbers between GPUs
constexpr double kSumBytes = 4;  // an element of a summed gradient
constexpr double kLaunchesOfOptimizer = 2;

double dense_state_bytes(Optimizer optimizer) { return optimizer == Optimizer::sgd ? 0 : 4; }

struct Exchanged {
  KernelTime time;
  double sent = 0;     // by one GPU, inside its domain or in all
  double crossed = 0;  // of it or after it, over the network
};

class Model {
 public:
  Model(const Setup& setup, Store store, const Machine& machine, Plan plan)
      : s_(setup.scenario),
        setup_(setup),
        store_(store),
        machine_(machine),
        plan_(std::move(plan)),
        net_(dense_network(setup.scenario.dense, setup.tables)),
        gpus_(static_cast<double>(s_.cluster.gpus)),
        batch_(static_cast<double>(s_.step.batch)),
        loads_(loads_of(setup, store, plan_, s_.step.phase == Phase::training ? batch_ : 0)) {}

  const Loads& loads() const { return loads_; }
  const DenseNetwork& net() const { return net_; }
  std::vector<Part> parts() const {
    std::vector<Part> parts = forward(batch_);
    parts.insert(parts.begin(), {"launch by the host", Resource::host, to_seconds(s_.overheads.step),
                                 to_seconds(s_.overheads.step), operators::Basis::assumed});
    if (s_.step.phase == Phase::training) backward(parts);
    return parts;
  }
  double forward_seconds(double batch) const;
  double pooling_seconds() const;
  Exchanged exchange(double batch) const;
  double keys_seconds(double batch) const { return keys(batch).seconds; }
  double host_seconds() const {
    double lookups = 0;
    for (const Table& t : setup_.tables) lookups += t.pooling;
    const double per_sample = 4 * (1 + static_cast<double>(s_.dense.features) + lookups);
    return batch_ / gpus_ * per_sample / bytes_per_second(s_.host.rate);
  }

 private:
  bool exchanges() const { return store_ != Store::pool && s_.cluster.gpus > 1 && !plan_.shards.empty(); }
  bool two_levels() const {
    return s_.cluster.gpus > setup_.domain &&
           (s_.sharding.exchange == Exchange::hierarchical || s_.sharding.spread == Spread::hybrid);
  }
  double wire() const { return bytes_of(s_.embedding.wire); }
  double activation() const { return bytes_of(s_.dense.precision); }
  double pooled_batch(double batch) const { return store_ == Store::pool ? batch / gpus_ : batch; }

  KernelTime keys(double batch) const {
    if (!exchanges()) return {};
    const double sent = batch / gpus_ * loads_.sum.lookups;
    const double received = batch * loads_.largest.lookups;
    return machine_.collective(Collective::all_to_all, {s_.cluster.gpus, std::min(s_.cluster.gpus, setup_.domain)},
                               kKeyBytes * std::max(sent, received));
  }
  KernelTime gather(double batch) const {
    const double samples = pooled_batch(batch);
    KernelTime t = machine_.stream(samples * loads_.largest.partial * wire(), embedding_kernels());
    t.seconds += samples * loads_.largest.row_seconds;
    t.basis = std::max(t.basis, store_ == Store::nvlink ? operators::Basis::extended : operators::Basis::assumed);
    return t;
  }
  double embedding_kernels() const {
    return plan_.shards.empty() ? 0 : static_cast<double>(s_.overheads.embedding_kernels);
  }
  double replicated_kernels() const {
    return plan_.replicated.empty() ? 0 : static_cast<double>(s_.overheads.replicated_kernels);
  }
  // Adding partial sums to pooled vectors; backward the same bytes the other way.
  KernelTime combine(double batch) const {
    if (!exchanges()) return {};
    const double local = batch / gpus_;
    double elements = local * loads_.sharded_width;
    if (!two_levels()) return machine_.stream((elements + local * loads_.sum.partial) * wire(), 1);
    const auto inside = static_cast<double>(setup_.domain);
    double leaving = 0, all = 0;
    for (const double d : loads_.domain_partial) {
      leaving = std::max(leaving, d);
      all += d;
    }
    elements += batch * loads_.largest.partial + batch / inside * leaving + local * all;
    return machine_.stream(elements * wire(), 2);
  }
  KernelTime replicated_gather(double batch) const {
    KernelTime t = machine_.stream(batch / gpus_ * loads_.replicated_width * wire(), replicated_kernels());
    t.seconds += batch / gpus_ * loads_.replicated.row_seconds;
    return t;
  }
  KernelTime products(const std::vector<Layer>& layers, double samples, bool backward, bool inputs_wanted) const {
    KernelTime t;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const Layer& l = layers[i];
      if (!backward) {
        t += machine_.gemm(samples, l.outputs, l.inputs, s_.dense.precision);
        continue;
      }
      t += machine_.gemm(l.inputs, l.outputs, samples, s_.dense.precision);
      if (i > 0 || inputs_wanted) t += machine_.gemm(samples, l.inputs, l.outputs, s_.dense.precision);
    }
    return t;
  }
  KernelTime dots(double samples, double times) const {
    if (net_.dot_vectors == 0) return {};
    return times * machine_.gemm(samples * net_.dot_vectors, net_.dot_vectors, net_.dot_width, s_.dense.precision);
  }
  KernelTime beside(double elements, double samples, double kernels) const {
    return machine_.stream(samples * elements * activation(), kernels);
  }
  std::vector<Part> forward(double batch) const;
  void backward(std::vector<Part>& parts) const;
  KernelTime group_rows() const {
    const double keys = batch_per_gpu_lookups() * s_.overheads.sort_bytes_per_key;
    return machine_.stream(keys, embedding_kernels());
  }
  double batch_per_gpu_lookups() const { return pooled_batch(batch_) * loads_.largest.lookups; }
  KernelTime reduce_rows() const {
    // The gradient of a pooled vector is read for each of its lookups: once from memory, then, as far as all of them
    // fit, from the cache.
    const double row = loads_.largest.lookups > 0 ? loads_.largest.elements / loads_.largest.lookups * wire() : 1;
    const double reads = pooled_batch(batch_) * loads_.largest.lookups;
    const double vectors = pooled_batch(batch_) * loads_.largest.partial * wire();
    const double again = std::max(0.0, reads - vectors / row);
    const double cached = again * std::min(1.0, setup_.cache_bytes * s_.access.cache_share / std::max(1.0, vectors));
    const RowMemory device = row_path(setup_, Store::nvlink).memory;
    KernelTime t = machine_.stream(loads_.largest.update_elements * kSumBytes, 0);
    t.seconds += device.seconds(reads - cached, row) + device.seconds(cached, row) / s_.access.cache_speedup;
    return t;
  }
  KernelTime update_rows() const {
    KernelTime t = machine_.stream(loads_.largest.update_elements * kSumBytes, 1);
    t.seconds += loads_.largest.update_seconds;
    return t;
  }
  KernelTime replicated_backward() const {
    const double samples = batch_ / gpus_;
    const double moved =
        samples * (loads_.replicated.elements * wire() + loads_.replicated.lookups * s_.overheads.sort_bytes_per_key) +
        loads_.replicated_elements * kSumBytes;
    return machine_.stream(moved, replicated_kernels());
  }
  KernelTime all_reduce() const {
    const double bytes = net_.parameters() * activation() + loads_.replicated_elements * wire();
    if (s_.cluster.gpus == 1 || bytes == 0) return {};
    return machine_.collective(Collective::all_reduce, {s_.cluster.gpus, std::min(s_.cluster.gpus, setup_.domain)},
                               bytes);
  }
  KernelTime dense_update() const {
    // Weights and state in fp32 read and written, gradient read, weights converted to what products want (HugeCTR does
    // that at the beginning of a step).
    const double convert = s_.dense.precision == Format::fp32 ? 0 : 4 + activation();
    const double each = 8 + 2 * dense_state_bytes(s_.step.optimizer) + activation() + convert;
    const double replicated = 2 * (bytes_of(s_.embedding.weights) + dense_state_bytes(s_.step.optimizer)) + wire();
    return machine_.stream(net_.parameters() * each + loads_.replicated_elements * replicated, kLaunchesOfOptimizer);
  }

  const Scenario& s_;
  const Setup& setup_;
  Store store_;
  const Machine& machine_;
  Plan plan_;
  DenseNetwork net_;
  double gpus_;
  double batch_;
  Loads loads_;
};

Exchanged Model::exchange(double batch) const {
  if (!exchanges()) return {};
  const std::int64_t n = s_.cluster.gpus, inside = std::min(n, setup_.domain);
  const auto g = static_cast<double>(inside);
  const double sent = batch * loads_.largest.partial * wire();
  if (!two_levels()) {
    const double bytes = std::max(sent, batch / gpus_ * loads_.sum.partial * wire());
    // A GPU keeps its own part of what it passes to the collective.
    return {machine_.collective(Collective::all_to_all, {n, inside}, bytes), bytes * (gpus_ - 1) / gpus_,
            bytes * (gpus_ - g) / gpus_};
  }
  double leaving = 0, all = 0;
  for (const double d : loads_.domain_partial) {
    leaving = std::max(leaving, d);
    all += d;
  }
  const double crossing = std::max(batch / g * leaving, batch / gpus_ * all) * wire();
  const KernelTime within = machine_.collective(Collective::all_to_all, {inside, inside}, sent);
  const KernelTime across = machine_.collective(Collective::all_to_all, {n / inside, 1}, crossing);
  return {within + across, sent * (g - 1) / g, crossing};
}

// Two things at once: the longer is exposed whole, the shorter not at all.
void add_overlapped(std::vector<Part>& parts, std::vector<Part> group) {
  double first = 0, second = 0;
  for (std::size_t i = 0; i < group.size(); ++i) (i == 0 ? first : second) += group[i].seconds;
  for (std::size_t i = 0; i < group.size(); ++i) {
    const bool longer = i == 0 ? first >= second : second > first;
    group[i].exposed = longer ? group[i].seconds : 0;
    parts.push_back(std::move(group[i]));
  }
}

Part part(std::string name, Resource resource, const KernelTime& t) {
  return {std::move(name), resource, t.seconds, t.seconds, t.basis};
}

std::vector<Part> Model::forward(double batch) const {
  const double samples = batch / gpus_;
  std::vector<Part> parts;
  if (!plan_.shards.empty()) parts.push_back(part("read rows", Resource::rows, gather(batch)));
  add_overlapped(parts, {part("exchange pooled vectors", Resource::links, exchange(batch).time),
                         part("bottom layers", Resource::compute, products(net_.bottom, samples, false, true)),
                         part("replicated tables", Resource::rows, replicated_gather(batch))});
  parts.push_back(part("add partial sums", Resource::memory, combine(batch)));
  if (s_.dense.top.empty()) return parts;
  parts.push_back(
      part("interaction, memory", Resource::memory, beside(net_.forward_elements(), samples, 1 + net_.cross_layers)));
  parts.push_back(
      part("interaction, products", Resource::compute, products(net_.cross, samples, false, true) + dots(samples, 1)));
  parts.push_back(part("top layers", Resource::compute, products(net_.top, samples, false, true)));
  return parts;
}

void Model::backward(std::vector<Part>& parts) const {
  const double samples = batch_ / gpus_;
  if (!s_.dense.top.empty()) {
    parts.push_back(part("top layers, backward", Resource::compute, products(net_.top, samples, true, true)));
    parts.push_back(part("interaction, products backward", Resource::compute,
                         products(net_.cross, samples, true, true) + dots(samples, 2)));
    parts.push_back(part("interaction, memory backward", Resource::memory,
                         beside(net_.backward_elements(), samples, 1 + 2 * net_.cross_layers)));
  }
  parts.push_back(part("spread gradients", Resource::memory, combine(batch_)));
  add_overlapped(parts,
                 {part("exchange gradients", Resource::links, exchange(batch_).time),
                  part("bottom layers, backward", Resource::compute, products(net_.bottom, samples, true, false)),
                  part("replicated tables, backward", Resource::memory, replicated_backward())});
  if (!plan_.shards.empty()) {
    parts.push_back(part("group equal rows", Resource::memory, group_rows()));
    parts.push_back(part("add gradients of rows", Resource::rows, reduce_rows()));
  }
  add_overlapped(parts, {part("all-reduce of dense gradients", Resource::links, all_reduce()),
                         part("update rows", Resource::rows, plan_.shards.empty() ? KernelTime{} : update_rows())});
  parts.push_back(part("update dense weights", Resource::memory, dense_update()));
}

double exposed_of(const std::vector<Part>& parts) {
  double sum = 0;
  for (const Part& p : parts) sum += p.exposed;
  return sum;
}

double Model::forward_seconds(double batch) const { return to_seconds(s_.overheads.step) + exposed_of(forward(batch)); }

double Model::pooling_seconds() const {
  return keys(batch_).seconds + gather(batch_).seconds + exchange(batch_).time.seconds + combine(batch_).seconds +
         (plan_.replicated.empty() ? 0 : replicated_gather(batch_).seconds);
}

Memory memory_of(const Setup& setup, Store store, const Model& model) {
  const Scenario& s = setup.scenario;
  const bool training = s.step.phase == Phase::training;
  const Loads& loads = model.loads();
  const double samples = static_cast<double>(s.step.batch) / static_cast<double>(s.cluster.gpus);
  Memory m;
  m.capacity = setup.memory_bytes;
  m.workspace = static_cast<double>(s.overheads.workspace.count);
  m.replicated = loads.replicated.table_bytes;
  const double weight = training ? 4 + dense_state_bytes(s.step.optimizer) + 2 * bytes_of(s.dense.precision)
                                 : bytes_of(s.dense.precision);
  m.dense = model.net().parameters() * weight;
  const double copies = training ? 2 : 1;  // activations and their gradients
  m.activations = samples * model.net().activations() * bytes_of(s.dense.precision) * copies +
                  static_cast<double>(store == Store::pool ? 0 : s.step.batch) * loads.largest.partial *
                      bytes_of(s.embedding.wire) * copies;
  if (training) m.activations += loads.largest.update_elements * kSumBytes;
  if (store == Store::nvlink) m.tables = loads.largest.table_bytes;
  if (store == Store::pcie) {
    m.hot_rows = std::min(static_cast<double>(s.host.hot_rows.count), loads.largest.table_bytes);
    m.store_tables = loads.largest.table_bytes;
    m.store_capacity = static_cast<double>(s.host.capacity.count);
  }
  if (store == Store::pool) {
    m.hot_rows = static_cast<double>(s.pool.hot_rows.count);
    m.store_tables = loads.largest.table_bytes;
    m.store_capacity = setup.pool_capacity;
  }
  return m;
}

std::string size_text(double bytes) { return to_text(Bytes{static_cast<std::int64_t>(bytes / 1e6) * 1'000'000}); }

Status fits(const Memory& m, Store store) {
  if (m.device() > m.capacity) {
    return fail(ErrorCode::infeasible,
                fmt::format("{}: one GPU needs {} ({} of tables, {} of activations) and has {}: {} short\n  hint: more "
                            "GPUs, a smaller step.batch, or another sharding.spread",
                            config::enum_name(store), size_text(m.device()), size_text(m.tables + m.replicated),
                            size_text(m.activations), size_text(m.capacity), size_text(m.device() - m.capacity)));
  }
  if (m.store_tables > m.store_capacity && store != Store::nvlink) {
    return fail(
        ErrorCode::infeasible,
        fmt::format("{}: the tables need {}{} and there are {}: {} short\n  hint: {}", config::enum_name(store),
                    size_text(m.store_tables), store == Store::pcie ? " of host memory per GPU" : " of the pool",
                    size_text(m.store_capacity), size_text(m.store_tables - m.store_capacity),
                    store == Store::pcie ? "raise host.capacity or cluster.gpus" : "raise pool.tier.appliances"));
  }
  return {};
}

energy::Activity activity_of(const Setup& setup, Store store, const Model& model, const Outcome& out) {
  const Scenario& s = setup.scenario;
  const bool training = s.step.phase == Phase::training;
  const double passes = training ? 3 : 1;
  const double samples = static_cast<double>(s.step.batch) / static_cast<double>(s.cluster.gpus);
  energy::Activity a;
  a.seconds = out.step;
  const operators::Dtype dtype = s.dense.precision == Format::fp32   ? operators::Dtype::fp32
                                 : s.dense.precision == Format::fp16 ? operators::Dtype::bf16
                                                                     : operators::Dtype::int8;
  a.flops[static_cast<std::size_t>(dtype)] = passes * samples * model.net().flops();
  double memory_seconds = 0;
  for (const Part& p : out.parts) {
    if (p.resource == Resource::memory || (p.resource == Resource::rows && store == Store::nvlink))
      memory_seconds += p.seconds;
  }
  a.memory_bytes = memory_seconds * setup.memory_rate * s.access.stream_efficiency +
                   passes * samples * model.net().activations() * bytes_of(s.dense.precision);
  const Exchanged exchange = model.exchange(static_cast<double>(s.step.batch));
  const double times = training ? 2 : 1;
  a.scale_up_bytes = times * (exchange.sent - std::min(exchange.sent, exchange.crossed));
  a.network_bytes = times * exchange.crossed;
  if (store == Store::pool) a.network_bytes += out.looked_up / static_cast<double>(s.cluster.gpus);
  return a;
}

PlanLimits plan_limits(const Setup& setup, Store store) {
  const Scenario& s = setup.scenario;
  const bool leaves = s.cluster.gpus > setup.domain;
  PlanLimits limits;
  limits.memory_over_link = setup.memory_rate / (leaves ? setup.network : setup.scale_up);
  const auto dim = static_cast<double>(setup.tables.front().dim);
  limits.bytes_per_element = bytes_of(s.embedding.weights) + state_bytes(s.step, dim);
  if (store == Store::nvlink) {
    limits.bucket_bytes = std::max(1.0, setup.memory_bytes * 0.75);  // room for activations and workspace
  } else if (store == Store::pcie) {
    limits.bucket_bytes = static_cast<double>(s.host.capacity.count);
  }
  return limits;
}

}  // namespace

const char* name_of(Resource resource) {
  switch (resource) {
    case Resource::rows: return "random rows";
    case Resource::memory: return "memory";
    case Resource::compute: return "products";
    case Resource::links: return "links";
    case Resource::host: return "host";
  }
  return "?";
}

Resource Outcome::bound_by() const {
  std::array<double, 5> seconds{};
  for (const Part& p : parts) seconds[static_cast<std::size_t>(p.resource)] += p.exposed;
  return static_cast<Resource>(std::max_element(seconds.begin(), seconds.end()) - seconds.begin());
}

Result<Outcome> evaluate(const Setup& setup, Store store, const Machine& machine) {
  const Scenario& s = setup.scenario;
  Plan plan;
  if (store == Store::pool) {
    // One shard a table stands for "in the pool"; only which tables are replicated matters.
    for (std::int32_t t = 0; t < static_cast<std::int32_t>(setup.tables.size()); ++t) {
      const bool everywhere = setup.tables[static_cast<std::size_t>(t)].rows < s.sharding.replicate_below;
      if (everywhere)
        plan.replicated.push_back(t);
      else
        plan.shards.push_back({t, 0, 1, 1});
    }
  } else {
    PR_ASSIGN(plan, make_plan(setup.tables, s.sharding, s.cluster.gpus, setup.domain, plan_limits(setup, store)));
  }
  const Model model(setup, store, machine, std::move(plan));
  const Loads& loads = model.loads();
  const auto batch = static_cast<double>(s.step.batch);

  Outcome out;
  out.store = store;
  out.memory = memory_of(setup, store, model);
  PR_TRY(fits(out.memory, store));
  out.parts = model.parts();
  out.step = exposed_of(out.parts);
  const double host = model.host_seconds(), keys = model.keys_seconds(batch);
  const double behind = std::max(host, keys) - out.step;
  out.parts.push_back({"keys between GPUs, in the step before", Resource::links, keys,
                       keys > host ? std::max(0.0, behind) : 0, operators::Basis::assumed});
  out.parts.push_back({"input over PCIe, in the step before", Resource::host, host,
                       keys > host ? 0 : std::max(0.0, behind), operators::Basis::assumed});
  out.step = exposed_of(out.parts);
  if (s.step.phase == Phase::training && s.step.evaluation > 0) {
    const auto evaluation_batch = static_cast<double>(s.step.evaluation_batch);
    out.evaluation = s.step.evaluation * batch * model.forward_seconds(evaluation_batch) / evaluation_batch;
  }
  out.pooling = model.pooling_seconds();
  out.samples_per_second = batch / (out.step + out.evaluation);

  const RowPath path = row_path(setup, store);
  double lookups = 0, elements = 0, hits = 0, distinct = 0;
  for (const TableKind& k : loads.kinds) {
    const double tables = k.sharded + k.replicated;
    lookups += tables * k.popularity.pooling;
    elements += tables * k.popularity.pooling * k.dim;
    hits += tables * k.popularity.pooling * k.hit;
    distinct += tables * distinct_rows(k.popularity, batch) / batch;
  }
  out.row_rate = path.memory.rate(elements / lookups * bytes_of(s.embedding.weights));
  out.row_limit = path.limit;
  out.overrides = path.overrides;
  out.looked_up = batch * elements * bytes_of(s.embedding.weights);
  out.sent = model.exchange(batch).sent;
  out.distinct = distinct / lookups;
  out.cache_hits = hits / lookups;
  const double mean = loads.sum.lookups / static_cast<double>(loads.gpus.size());
  out.imbalance = mean > 0 ? loads.largest.lookups / mean : 1;
  out.activity = activity_of(setup, store, model, out);
  for (const Part& p : out.parts) {
    if (p.exposed > 0 && p.resource != Resource::host) out.basis = std::max(out.basis, p.basis);
  }
  return out;
}

}  // namespace photonrail::recommendation
