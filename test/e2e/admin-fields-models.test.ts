// The fields of virtual models (contract, part 2, section 3): canary and mirror.
import { MISSING_ID, useAdminApi } from "../support/admin-fixtures.ts";
import {
  becomes,
  NOT_OBJECT,
  problemAt,
  same,
  testFieldTables,
  type FieldTable,
} from "../support/field-tables.ts";

const admin = useAdminApi();
const own = () => admin.chain.upstream;
const foreign = () => admin.other.upstream;
const target = { upstream: own, model: "other" };
const ROLLBACK = { error_ratio: 2, first_byte_ratio: null, min_requests: 100 };
const canaryOf = (fields: object) => ({ target, share: 0.1, ...fields });
const mirrorOf = (fields: object) => ({ target, share: 0.1, ...fields });
const shown = (fields: object) =>
  canaryOf({ by: "user", rollback_if: ROLLBACK, rolled_back: null, ...fields });
/** What was switched off stays readable. */
const rolled_back = { at: "2026-01-02T03:04:05.000Z", share: 0.2, reason: "failed more often" };

/** Problems of the target and the share, which are the same for both. */
const rejectedTargets = (of: (fields: object) => object) => [
  ...NOT_OBJECT,
  problemAt({ share: 0.1 }, ".target"),
  problemAt({ target }, ".share"),
  ...[-0.1, 1.1, "0.1", null, true, Infinity].map((share) => problemAt(of({ share }), ".share")),
  problemAt(of({ target: null }), ".target"),
  problemAt(of({ target: { ...target, weight: 1 } }), ".target.weight"),
  problemAt(of({ target: { upstream: 7, model: null } }), ".target.upstream"),
  problemAt(of({ target: { upstream: MISSING_ID, model: null } }), ".target.upstream"),
  problemAt(of({ target: { upstream: foreign, model: null } }), ".target.upstream"),
  problemAt(of({ target: { ...target, model: "gpt-*" } }), ".target.model"),
  problemAt(of({ target: { ...target, model: "" } }), ".target.model"),
  // That of the virtual model itself.
  problemAt(of({ target: { upstream: own, model: null } }), ".target"),
  problemAt(of({ unknown: 1 }), ".unknown"),
];

let models = 0;
const virtualModel: FieldTable = {
  what: "virtual model",
  prefix: "",
  minimal: () => ({ name: `model-${++models}`, targets: [{ upstream: own() }] }),
  collection: () => `/gateways/${admin.chain.gateway}/models`,
  wrap: same,
  unwrap: same,
  rows: [
    {
      field: "canary",
      fallback: null,
      accepts: [
        null,
        becomes(canaryOf({}), shown({})),
        ...[0, 1, 0.000001].map((share) => shown({ share })),
        ...["api_key", "user", "conversation"].map((by) => shown({ by })),
        shown({ rollback_if: null }),
        shown({ rollback_if: { error_ratio: null, first_byte_ratio: 1000, min_requests: 1 } }),
        shown({ share: 0, rolled_back }),
        becomes(shown({ share: 0.3, rolled_back }), shown({ share: 0.3 })),
      ],
      rejects: [
        ...rejectedTargets(canaryOf),
        problemAt(canaryOf({ by: "ip" }), ".by"),
        problemAt(canaryOf({ rollback_if: { error_ratio: 0.5 } }), ".rollback_if.error_ratio"),
        problemAt(canaryOf({ rollback_if: { first_byte_ratio: 1001 } }), ".rollback_if.first_byte_ratio"),
        problemAt(canaryOf({ rollback_if: { min_requests: 0 } }), ".rollback_if.min_requests"),
        problemAt(canaryOf({ rollback_if: { min_requests: 100_001 } }), ".rollback_if.min_requests"),
        problemAt(canaryOf({ rollback_if: { errors: 2 } }), ".rollback_if.errors"),
        problemAt(canaryOf({ share: 0, rolled_back: { ...rolled_back, at: "now" } }), ".rolled_back.at"),
      ],
    },
    {
      field: "mirror",
      fallback: null,
      accepts: [null, ...[0, 0.25, 1].map((share) => mirrorOf({ share }))],
      rejects: [...rejectedTargets(mirrorOf), problemAt(mirrorOf({ by: "user" }), ".by")],
    },
  ],
};

testFieldTables(admin, [virtualModel]);
