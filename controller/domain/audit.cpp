#include "controller/domain/audit.h"

#include "controller/base/id.h"

namespace berth::audit {

void record(db::Tx& tx, std::string_view actor, std::string_view action, std::string_view target,
            std::string_view details) {
  tx.execute(
      "INSERT INTO audit_log (id, actor, action, target, details, at) VALUES ($1, $2, $3, $4, $5, "
      "$6)",
      new_uuid(tx.now()), actor, action, target, details, tx.now());
}

}  // namespace berth::audit
