// Rules of a gateway.
import { ruleSchema, type RuleFields } from "../../model/rule.ts";
import { recordQuery } from "../list-query.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { childDeclaration, type Resource } from "../resource.ts";

export const rules: Resource<"rules", RuleFields> = {
  ...childDeclaration("rules", "rule"),
  schemaName: "Rule",
  schema: ruleSchema,
  shownSchema: ruleSchema.extend(childFieldSchemas),
  example: {
    service_id: "01890a5d-ac96-774b-bcce-b302099a8057",
    path: "/v1/chat/completions",
    methods: ["POST"],
  },
  listQuery: recordQuery("path", "priority"),
  create: (fields, base, gatewayId) => ({ record: newChild(base, gatewayId, fields) }),
  change: (before, fields, updated_at) => newChild({ ...before, updated_at }, before.gateway_id, fields),
  show: (rule) => rule,
};
