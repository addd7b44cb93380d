#include "recommendation/dense.h"

namespace photonrail::recommendation {
namespace {

double weights_of(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& l : layers) sum += (l.inputs + 1) * l.outputs;  // and a bias
  return sum;
}

std::vector<Layer> layers_of(double inputs, const std::vector<std::int64_t>& widths) {
  std::vector<Layer> layers;
  for (const std::int64_t width : widths) {
    layers.push_back({inputs, static_cast<double>(width)});
    inputs = static_cast<double>(width);
  }
  return layers;
}

double outputs_of(const std::vector<Layer>& layers) {
  double sum = 0;
  for (const Layer& l : layers) sum += l.outputs;
  return sum;
}

// Activations moved by one DCNv2 layer: forward reads x0, V U x + b and x and writes x'; backward reads dx', x0 and
// V U x + b, writes the gradient of the product, adds to that of x0, and its product adds to that of x. Once for all
// layers the gradient of x0 is cleared and added to that of x (HugeCTR, multi_cross_layer.cu).
constexpr double kCrossForward = 4, kCrossBackward = 7, kCrossOnce = 4;
constexpr double kConcatenation = 2;  // read and write, either way

}  // namespace

double DenseNetwork::parameters() const { return weights_of(bottom) + weights_of(cross) + weights_of(top); }

double DenseNetwork::flops() const {
  double sum = 0;
  for (const auto* layers : {&bottom, &cross, &top}) {
    for (const Layer& l : *layers) sum += 2 * l.inputs * l.outputs;
  }
  return sum + 2 * dot_vectors * dot_vectors * dot_width;
}

double DenseNetwork::activations() const {
  return 2 * joined + outputs_of(bottom) + outputs_of(cross) + cross_layers * joined + outputs_of(top);
}

double DenseNetwork::forward_elements() const { return joined * (kConcatenation + kCrossForward * cross_layers); }
double DenseNetwork::backward_elements() const {
  return joined * (kConcatenation + kCrossBackward * cross_layers + (cross_layers > 0 ? kCrossOnce : 0));
}

DenseNetwork dense_network(const Dense& dense, const std::vector<Table>& tables) {
  DenseNetwork net;
  if (dense.top.empty()) return net;  // pooling alone
  if (dense.features > 0) net.bottom = layers_of(static_cast<double>(dense.features), dense.bottom);
  for (const Table& t : tables) net.joined += static_cast<double>(t.dim);
  const double bottom_width = net.bottom.empty() ? 0 : net.bottom.back().outputs;
  net.joined += bottom_width;
  double width = net.joined;
  if (dense.interaction == Interaction::cross) {
    net.cross_layers = static_cast<double>(dense.cross_layers);
    for (std::int64_t i = 0; i < dense.cross_layers; ++i) {
      net.cross.push_back({net.joined, static_cast<double>(dense.cross_rank)});
      net.cross.push_back({static_cast<double>(dense.cross_rank), net.joined});
    }
  } else if (dense.interaction == Interaction::dot) {
    net.dot_vectors = static_cast<double>(tables.size() + (net.bottom.empty() ? 0 : 1));
    net.dot_width = static_cast<double>(tables.front().dim);
    width = net.dot_vectors * (net.dot_vectors - 1) / 2 + bottom_width;
  }
  net.top = layers_of(width, dense.top);
  return net;
}

}  // namespace photonrail::recommendation
