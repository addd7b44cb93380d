// Candidate: stands for election over a Client, on threads of its own (one that calls, one that watches), and keeps the
// lease while it leads. Tells the carrier what it became. After `lost` for epoch E nothing more comes for E.
//
// The callbacks run on the candidate's thread, which also renews the lease: they must not block.
#pragma once

#include <functional>
#include <memory>

#include "etcd/client.h"
#include "etcd/election.h"

namespace photonrail::etcd {

struct CandidateSpec {
  std::string key;
  ElectionSpec election;
  std::function<Instant()> now;
};

struct CandidateCallbacks {
  std::function<void(Revision epoch, Instant until)> elected;
  std::function<void(Instant until)> extended;
  std::function<void(Revision epoch)> lost;                // also after abandon() and resign()
  std::function<void(const std::string& leader)> follows;  // another one; "": nobody yet
  std::function<void(const std::string& why)> troubled;    // etcd does not answer; at most once a second
};

class Candidate {
 public:
  Candidate(Client& client, CandidateSpec spec, CandidateCallbacks callbacks);
  ~Candidate();  // resigns

  void start();
  void abandon(Revision epoch);  // leadership cannot be used: give it to others
  // Lets others lead at once; waits until etcd knows, `patience` at most. For good.
  void resign(Duration patience);

  // Until when leadership of `epoch` lasts as far as known; in the past where it is over. Any thread, at once.
  Instant until(Revision epoch) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace photonrail::etcd
