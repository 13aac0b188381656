// Upstreams of a gateway. Responses show credentials masked.
import { EXAMPLE_UPSTREAM } from "../../formats/example-upstream.ts";
import { maskUpstream, upstreamSchema, type UpstreamFields } from "../../model/upstream.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { childDeclaration, type Resource } from "../resource.ts";
import { toStoredTargets } from "../stored-targets.ts";

export const upstreams: Resource<"upstreams", UpstreamFields> = {
  ...childDeclaration("upstreams", "upstream"),
  schemaName: "Upstream",
  schema: upstreamSchema,
  shownSchema: upstreamSchema.extend(childFieldSchemas),
  example: EXAMPLE_UPSTREAM,
  create: (fields, base, gatewayId) => ({
    record: newChild(base, gatewayId, { ...fields, targets: toStoredTargets(fields.targets, null) }),
  }),
  change: (before, fields, updated_at) => {
    const targets = toStoredTargets(fields.targets, before);
    return newChild({ ...before, updated_at }, before.gateway_id, { ...fields, targets });
  },
  show: maskUpstream,
};
