// What PyTorch's allocator reserves in a step under FSDP2: the figure that torchtitan prints (max_reserved, GiB).
//
// It is neither memory_use() (which has the CUDA context and NCCL's buffers, none of which the allocator sees) nor the
// sum of live tensors. Rules, each of the published sources of PyTorch 2.6 and torchtitan of December 2024:
//
// Streams. The allocator keeps a pool for each stream, so the peaks of the pools add up even if they are never reached
// at once: computation; gathering (flat buffers of the root's parameters and of one layer); reduction (4-byte flat
// buffer of the largest group, and the sharded gradients, which live there).
// States: 4-byte parameters, gradients and two moments, 16 bytes over all sharding ranks; there is no 2-byte shard. The
// root's tables stay gathered in 2 bytes from forward to backward, the last layer too. With a pipeline every layer
// stays gathered (2 bytes) and gradients of micro-batches add up unsharded (4 bytes).
// Saved: per layer, N tokens, p ranks that share a sequence:
//   full recomputation 2 h/p; selective ("op"): besides, what its list saves: every second of wq wk wv wo w1 w3 w2,
//   attention and its log-sum, results of reduce-scatters; none: memory.h.
// Holes. Blocks are taken by best fit from one growing segment (expandable_segments). What a layer's forward pass frees
// lies between saved tensors, in pieces smaller than logits, so logits go behind it: the largest such hole counts in
// full. It is shared by the layers and by the final norm and gathered input of the head.
// Loss, bytes per logit, operator by operator (it was not compiled): 2-byte logits, which are freed too early for
// blocks of 4 bytes to fit in, then
//   t = 1: the 4-byte copy's block, log-softmax, two gradients (the first takes the copy's block): 2 + 12 = 14
//   t > 1 (loss_parallel): log-softmax, a gradient of zeros, exp, their sum, their product (exp's block): 2 + 16 = 18
// A collective along the sequence is made along the batch and copied: twice the size; async TP has neither.
//
// Left out: blocks that wait for other streams' events (record_stream), which depends on how far the host runs ahead;
// rounding to 2 MiB; workspace of cuBLAS (64 MiB).
#pragma once

#include "analytic/training_config.h"

namespace photonrail::analytic {

struct ReservedMemory {  // bytes, of one rank
  double states = 0;     // sharded parameters, gradients, moments
  double gathered = 0;   // unsharded parameters and gradients, flat buffers
  double saved = 0;      // for the backward pass
  double hole = 0;       // what the widest moment of a forward pass leaves behind
  double loss = 0;
  double total() const { return states + gathered + saved + hole + loss; }
};

// Of the rank that reserves most, first or last stage. Needs check(shape, config); dense decoders.
// Recompute::selective is torchtitan's policy "op".
ReservedMemory reserved_memory(const DecoderShape& shape, const TrainingConfig& config);

}  // namespace photonrail::analytic
