// Rules of a gateway. Also moves one in the order of priorities.
import { validationError } from "../../base/errors.ts";
import { ruleMoveSchema, ruleSchema, type Rule, type RuleFields } from "../../model/rule.ts";
import { validate } from "../../model/validate.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { Transaction } from "../../store/store.ts";
import { recordResponse, requireMatch } from "../etag.ts";
import { recordQuery } from "../list-query.ts";
import { addOperation, type Call, type RouteTable } from "../operation.ts";
import { timeOfChange } from "../../model/record.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { addResource, pathOfOne } from "../resource-operations.ts";
import { childDeclaration, type Resource } from "../resource.ts";
import { inOrder, prioritiesAfterMove } from "../rule-order.ts";
import { recordWarnings } from "../warnings.ts";
import { LONG_WRITE_MS, requireRecord, writeRecord } from "../write.ts";

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

export function addRuleRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addResource(table, current, rules);
  addOperation(table, {
    method: "post",
    path: `${pathOfOne(rules)}/move`,
    tag: rules.tag,
    summary: "Move a rule in the order of priorities, in one revision",
    access: { role: rules.access.write, limited: "filtered" },
    body: "RuleMove",
    bodyExample: { before: "01890a5d-ac96-774b-bcce-b302099a8057" },
    response: {
      status: 200,
      schema: rules.schemaName,
      description:
        "The moved rule. Its priority is between those of its neighbors; rules after it get higher ones if there is no number between them.",
    },
    etag: "changed",
    handle: (call) => moveRule(current, call),
  });
}

async function moveRule(
  current: CurrentConfiguration,
  { params, body, caller }: Call<unknown>,
): Promise<Response> {
  const place = validate(ruleMoveSchema, body);
  const gatewayId = params["gateway_id"] ?? "";
  const write = async (transaction: Transaction) => {
    const moved = await requireRecord(transaction, "rules", params["rule_id"] ?? "", gatewayId);
    requireMatch(caller, rules.show(moved));
    const all = (await transaction.gatewayParts(gatewayId))?.rules ?? [];
    const others = inOrder(all.filter(({ id }) => id !== moved.id));
    const changes = prioritiesAfterMove(moved, others, positionOf(others, place));
    const update = async (rule: Rule) => {
      const priority = changes.get(rule.id);
      if (priority === undefined) return rule;
      const changed = { ...rule, priority, updated_at: timeOfChange(rule) };
      await transaction.update("rules", changed);
      return changed;
    };
    for (const rule of others) await update(rule);
    // The last record that is written gives the revision its name.
    return update(moved);
  };
  const moved = await writeRecord(current, caller, write, { deadlineMs: LONG_WRITE_MS });
  return recordResponse(rules.show(moved), { shownOnce: recordWarnings(current, moved) });
}

/** Returns the place of the moved rule among the others. */
function positionOf(
  others: readonly Rule[],
  { before, after }: ReturnType<typeof ruleMoveSchema.parse>,
): number {
  const index = others.findIndex(({ id }) => id === (before ?? after));
  if (index !== -1) return before === undefined ? index + 1 : index;
  const path = before === undefined ? "after" : "before";
  throw validationError([{ path, message: "must be the id of another rule of this gateway" }]);
}
