// T6: pooling of embeddings.
#include "photonic_fabric/rows.h"

namespace photonrail::photonic_fabric {

Rows pooling_rows(const catalog::Catalog&) { return {}; }

}  // namespace photonrail::photonic_fabric
