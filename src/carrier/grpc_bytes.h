// Bytes of a gRPC message, which the carriers pass on unread. Internal to this folder.
#pragma once

#include <grpcpp/support/byte_buffer.h>

#include <string>

namespace photonrail::carrier {

grpc::ByteBuffer buffer_of(const std::string& bytes);
std::string bytes_of(const grpc::ByteBuffer& buffer);

}  // namespace photonrail::carrier
