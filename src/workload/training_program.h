// The program of one pipeline stage: used by training.cc only. Rules: training.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/task_graph.h"
#include "workload/training.h"

namespace photonrail::workload {

// Sizes and times that all stages share, worked out once per step.
struct StepPlan {
  TrainingJob job;
  operators::TransformerShape shape;
  operators::Work attention_forward;
  operators::Work attention_backward;
  operators::Work feed_forward_forward;
  operators::Work feed_forward_backward;
  operators::Work embedding_forward;
  operators::Work embedding_backward;
  operators::Work head_forward;
  operators::Work head_backward;
  Bytes activation;                  // T h e: payload of a tensor-parallel collective
  Bytes message;                     // of a pipeline send
  std::int64_t parameter_bytes = 0;  // per parameter
  std::int64_t gradient_bytes = 0;   // per gradient element on the wire
};

// Slots of a stage's program, in this order; kNoSlot where a stage has no such partner.
struct StageSlots {
  static constexpr model::Slot kNoSlot = 0xffff;
  model::Slot tensor = kNoSlot;
  model::Slot data = kNoSlot;
  model::Slot previous = kNoSlot;
  model::Slot next = kNoSlot;
  model::Slot tied = kNoSlot;  // the other end's copy of the shared embedding
};

StageSlots stage_slots(const TrainingJob& job, std::int64_t stage);

// Appends the stage's names to `names`.
model::Program build_stage_program(const StepPlan& plan, std::int64_t stage, std::vector<std::string>& names);

}  // namespace photonrail::workload
