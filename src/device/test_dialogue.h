// For tests of drivers that ask and are answered frame by frame: what was sent, and answers written by hand.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "device/driver.h"

namespace photonrail::device {

class Dialogue {
 public:
  explicit Dialogue(Dialect dialect, Credentials credentials = {})
      : driver(make_driver(dialect, std::move(credentials))) {}

  // The one frame that waits to be sent.
  Frame sent() {
    const std::vector<Frame> frames = driver->take_frames();
    EXPECT_EQ(frames.size(), 1U);
    return frames.empty() ? Frame{} : frames.front();
  }
  void begin(Command::Kind kind, std::vector<CrossConnect> pairs = {}, std::vector<Position> outputs = {},
             bool enable = true) {
    driver->begin({kind, std::move(pairs), std::move(outputs), enable});
  }
  void reply(std::string body, int status = 0) {
    Frame frame;
    frame.status = status;
    frame.body = std::move(body);
    driver->receive(frame);
  }
  // The answer that must be there, and the only one.
  Answer answer() {
    auto answer = driver->take_answer();
    EXPECT_TRUE(answer.has_value()) << "no answer";
    EXPECT_FALSE(driver->take_answer().has_value()) << "two answers";
    return answer.value_or(Answer{});
  }
  bool waits() { return !driver->take_answer().has_value(); }

  std::unique_ptr<Driver> driver;
};

}  // namespace photonrail::device
