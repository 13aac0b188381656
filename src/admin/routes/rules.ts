// Rules of a gateway.
import { ruleSchema, type RuleFields } from "../../model/rule.ts";
import type { ChildResource } from "../child-routes.ts";

export const rules: ChildResource<"rules", RuleFields> = {
  kind: "rules",
  schemaName: "Rule",
  singular: "rule",
  schema: ruleSchema,
  example: {
    service_id: "01890a5d-ac96-774b-bcce-b302099a8057",
    path: "/v1/chat/completions",
    methods: ["POST"],
  },
  toStored: (fields) => fields,
  toShown: (rule) => rule,
};
