// The claims of the photonic fabric paper (arXiv 2507.14000, "Photonic Fabric Platform for AI Accelerators") beside
// ours, and beside each what is physically consistent.
//
// Claims have the ids T2 to T9; rows that no published figure stands for have "/own/" in their id. Nothing is fitted
// and no result is written down: every figure comes out of a model of this program, under the assumptions that its case
// names. What the paper leaves open is chosen by a stated rule (inference_rows.cc), not by looking at the figure.
//
//   T2, T3  Llama 3.1 405B: throughput and latency of one chip on 26.8 TB/s against a DGX H100
//   T4      a model of 10^12 parameters against two DGX H100
//   T5      saving of energy in training traffic      T7, T8  energy of a bit on a path
//   T6      pooling of embeddings                     T9      streaming the weights
//
// Theory of T2 to T4: inference/plan.h on operators/kernel_model.h, whose utilisation curves are carried over to the
// pool's rate as the paper does; pool/reader_rate.h says which rate is possible. Pure functions; any thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "model/reproduce.h"

namespace photonrail::photonic_fabric {

struct ReproduceOptions {
  std::string data;               // folder with celestisim_bandwidth_sensitivity.csv; "": without its rows
  std::vector<std::string> only;  // parts of ids; empty: all
};

// Errors: io, invalid_input (the table); what one claim cannot make is a refused row.
Result<std::vector<model::ReproduceRow>> reproduce_photonic_fabric(const catalog::Catalog& catalog,
                                                                   const ReproduceOptions& options);

}  // namespace photonrail::photonic_fabric
