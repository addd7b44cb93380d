// A gRPC channel of a ChannelSpec. Internal to this folder.
#pragma once

#include <grpcpp/grpcpp.h>

#include <memory>

#include "base/result.h"
#include "remote/channel.h"

namespace photonrail::remote {

// io where a certificate file cannot be read. The daemon is not asked yet.
Result<std::shared_ptr<grpc::Channel>> make_channel(const ChannelSpec& spec);

// What every call's metadata must hold.
void prepare(grpc::ClientContext& context, const ChannelSpec& spec);

}  // namespace photonrail::remote
