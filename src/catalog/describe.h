// The members of every catalog struct, named once: for the reader, the writers and the checks.
// list_fields(visitor, entry) calls visitor(name, member, doc) for each.
#pragma once

#include "catalog/catalog.h"
#include "config/value.h"

namespace photonrail::catalog {

// One file of the catalog: any number of entries of each kind.
struct CatalogFile {
  std::vector<Source> source;
  std::vector<Gpu> gpu;
  std::vector<Nic> nic;
  std::vector<Optic> optic;
  std::vector<ElectricalSwitch> network_switch;
  std::vector<Ocs> ocs;
  std::vector<Fibre> fibre;
  std::vector<Model> model;
};

template <class T>
void describe(config::Fields& fields, Figure<T>& figure) {
  fields.shorthand("value", figure.value);
  fields("value", figure.value, {.doc = "The figure, or the likeliest of its range."});
  fields("low", figure.low, {.doc = "Least plausible value."});
  fields("high", figure.high, {.doc = "Greatest plausible value."});
  fields("source", figure.source, {.doc = "Id of a source; that of the entry when absent."});
  fields("note", figure.note, {.doc = "What to know about the figure."});
  fields("unknown", figure.unknown, {.doc = "Why there is no figure."});
}

template <class V>
void list_fields(V& visit, Source& entry) {
  visit("id", entry.id, "Name by which figures point here.");
  visit("title", entry.title, "What it is and says.");
  visit("where", entry.where, "Address, paper number, or program.");
  visit("date", entry.date, "Of publication, or of reading for pages without one.");
  visit("kind", entry.kind, "vendor, paper, shop, code, analyst, derived or unchecked.");
}

template <class V, class Entry>
void list_identity(V& visit, Entry& entry) {
  visit("name", entry.name, "Name in scenarios.");
  visit("title", entry.title, "Full name.");
  visit("source", entry.source, "Source of every figure that names none.");
}

template <class V>
void list_fields(V& visit, Gpu& entry) {
  list_identity(visit, entry);
  visit("fp32", entry.fp32, "Dense peak.");
  visit("bf16", entry.bf16, "Dense peak.");
  visit("fp8", entry.fp8, "Dense peak.");
  visit("fp4", entry.fp4, "Dense peak.");
  visit("int8", entry.int8, "Dense peak.");
  visit("achievable_bf16", entry.achievable_bf16, "Best measured matrix product.");
  visit("memory", entry.memory, "Capacity.");
  visit("memory_rate", entry.memory_rate, "Peak bandwidth.");
  visit("scale_up_rate", entry.scale_up_rate, "Per GPU and direction.");
  visit("domain", entry.domain, "GPUs in one scale-up domain.");
  visit("nic_rate", entry.nic_rate, "Per GPU and direction.");
  visit("power", entry.power, "Thermal design power.");
}

template <class V>
void list_fields(V& visit, Nic& entry) {
  list_identity(visit, entry);
  visit("rate", entry.rate, "Per port and direction.");
  visit("ports", entry.ports, "Ports of one card.");
  visit("power", entry.power, "Of the card without modules.");
  visit("price", entry.price, "Of the card.");
  visit("link_up_fixed", entry.link_up_fixed, "From light to a usable port, no auto-negotiation.");
  visit("link_up_negotiated", entry.link_up_negotiated, "The same with auto-negotiation.");
}

template <class V>
void list_fields(V& visit, Optic& entry) {
  list_identity(visit, entry);
  visit("rate", entry.rate, "Per line port and direction.");
  visit("ports", entry.ports, "Line ports of one module.");
  visit("medium", entry.medium, "single-mode or multimode.");
  visit("for_sale", entry.for_sale, "A part to choose, not as a study prices it.");
  visit("fibre_pairs", entry.fibre_pairs, "Fibre pairs of one line port.");
  visit("power", entry.power, "Of the module.");
  visit("price", entry.price, "Of the module.");
  visit("loss_budget", entry.loss_budget, "Loss allowed between the ends, connectors included.");
}

template <class V>
void list_fields(V& visit, ElectricalSwitch& entry) {
  list_identity(visit, entry);
  visit("ports", entry.ports, "Ports of the box.");
  visit("port_rate", entry.port_rate, "Per port and direction.");
  visit("ports_per_cage", entry.ports_per_cage, "2: the box takes twin-port modules.");
  visit("power", entry.power, "Of the box.");
  visit("power_includes_optics", entry.power_includes_optics, "Whether the modules are in that power.");
  visit("co_packaged", entry.co_packaged, "Optics inside; no modules.");
  visit("price", entry.price, "Of the box, without pluggable modules.");
}

template <class V>
void list_fields(V& visit, Ocs& entry) {
  list_identity(visit, entry);
  visit("technology", entry.technology, "What moves the light.");
  visit("duplex_ports", entry.duplex_ports, "Pairs of one input and one output fibre.");
  visit("bidirectional", entry.bidirectional, "Light may pass a path both ways.");
  visit("for_sale", entry.for_sale, "Can be bought: not a prototype, an assumption, or in-house.");
  visit("dark", entry.dark, "No light on a changed path.");
  visit("settle", entry.settle, "From first light to stable power.");
  visit("loss", entry.loss, "Through the switch.");
  visit("power", entry.power, "Of the box.");
  visit("price_per_port", entry.price_per_port, "Of one pair of input and output.");
}

template <class V>
void list_fields(V& visit, Fibre& entry) {
  list_identity(visit, entry);
  visit("fibre_pairs", entry.fibre_pairs, "Fibre pairs in it.");
  visit("price", entry.price, "Of one cord.");
}

template <class V>
void list_fields(V& visit, Model& entry) {
  list_identity(visit, entry);
  visit("layers", entry.layers, "Decoder layers.");
  visit("hidden", entry.hidden, "Width.");
  visit("feed_forward", entry.feed_forward, "Inner width of the dense feed-forward block.");
  visit("feed_forward_matrices", entry.feed_forward_matrices, "3 gated, 2 plain.");
  visit("heads", entry.heads, "Query heads.");
  visit("kv_heads", entry.kv_heads, "Key and value heads.");
  visit("head_size", entry.head_size, "0: hidden / heads.");
  visit("vocabulary", entry.vocabulary, "Tokens.");
  visit("tied_embeddings", entry.tied_embeddings, "Input and output embedding are one matrix.");
  visit("experts", entry.experts, "Routed experts; 0: dense.");
  visit("experts_per_token", entry.experts_per_token, "Routed experts that one token visits.");
  visit("shared_experts", entry.shared_experts, "Experts that every token visits.");
  visit("expert_feed_forward", entry.expert_feed_forward, "Inner width of one expert.");
  visit("dense_layers", entry.dense_layers, "Leading layers without experts.");
  visit("query_rank", entry.query_rank, "Latent attention: rank of queries; 0: none.");
  visit("kv_rank", entry.kv_rank, "Latent attention: rank of keys and values; 0: none.");
  visit("rope_head_size", entry.rope_head_size, "Latent attention: rotary part of a head.");
  visit("value_head_size", entry.value_head_size, "Latent attention: size of a value; 0: head_size.");
  visit("parallel_block", entry.parallel_block, "Attention and feed-forward both read the layer's input.");
  visit("attention_gate", entry.attention_gate, "A gate of the attention's output, as wide as the queries.");
  visit("window", entry.window, "Tokens that windowed attention reads.");
  visit("window_layers", entry.window_layers, "Layers with windowed attention.");
  visit("linear_layers", entry.linear_layers, "Layers with a gated delta rule in place of attention.");
  visit("linear_key_heads", entry.linear_key_heads, "Key heads of those layers.");
  visit("linear_value_heads", entry.linear_value_heads, "Value heads of those layers.");
  visit("linear_head_size", entry.linear_head_size, "Head size of those layers.");
  visit("index_heads", entry.index_heads, "Sparse attention: heads that choose what is read.");
  visit("index_head_size", entry.index_head_size, "Sparse attention: size of such a head.");
  visit("index_tokens", entry.index_tokens, "Sparse attention: cached tokens that are read.");
  visit("parameters", entry.parameters, "Published total.");
  visit("active_parameters", entry.active_parameters, "Published, per token.");
}

// Adapts list_fields to the configuration reader.
struct FieldLister {
  config::Fields& fields;
  template <class T>
  void operator()(std::string_view name, T& member, std::string_view doc) {
    fields(name, member, config::Meta{.doc = doc});
  }
};

inline void describe(config::Fields& fields, Source& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, Gpu& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, Nic& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, Optic& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, ElectricalSwitch& e) {
  FieldLister list{fields};
  list_fields(list, e);
}
inline void describe(config::Fields& fields, Ocs& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, Fibre& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}
inline void describe(config::Fields& fields, Model& entry) {
  FieldLister list{fields};
  list_fields(list, entry);
}

inline void describe(config::Fields& fields, CatalogFile& file) {
  fields("source", file.source, {.doc = "Where figures come from."});
  fields("gpu", file.gpu, {.doc = "GPUs."});
  fields("nic", file.nic, {.doc = "Network adapters."});
  fields("optic", file.optic, {.doc = "Optical modules."});
  fields("switch", file.network_switch, {.doc = "Electrical switches."});
  fields("ocs", file.ocs, {.doc = "Optical circuit switches."});
  fields("fibre", file.fibre, {.doc = "Fibre cords."});
  fields("model", file.model, {.doc = "Models."});
}

}  // namespace photonrail::catalog
