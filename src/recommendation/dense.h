// The dense layers of a recommendation model: matrix products and what they move beside.
#pragma once

#include <vector>

#include "recommendation/scenario.h"

namespace photonrail::recommendation {

struct Layer {
  double inputs = 0;
  double outputs = 0;
};

struct DenseNetwork {
  std::vector<Layer> bottom;
  std::vector<Layer> cross;  // two of each DCNv2 layer
  std::vector<Layer> top;
  double joined = 0;  // width where embeddings and bottom layers meet
  double cross_layers = 0;
  double dot_vectors = 0;  // of pairwise dot products; 0: none
  double dot_width = 0;
  double parameters() const;
  double flops() const;             // forward, of one sample: 2 per weight, and the dot products
  double activations() const;       // elements kept of one sample for the backward pass
  double forward_elements() const;  // moved beside the products, of one sample
  double backward_elements() const;
};
DenseNetwork dense_network(const Dense& dense, const std::vector<Table>& tables);  // expanded tables

}  // namespace photonrail::recommendation
