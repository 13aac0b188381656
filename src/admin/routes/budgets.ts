// Budgets of a gateway, and the state of each. Responses show webhooks masked.
import type { SpenderNames } from "../spender-names.ts";
import { z } from "zod";
import type { Clock } from "../../base/clock.ts";
import type { JsonObject } from "../../base/json.ts";
import { budgetSchema, type BudgetFields } from "../../model/budget.ts";
import { validate } from "../../model/validate.ts";
import { maskWebhook } from "../../model/webhook-mask.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { BudgetBook } from "../../runtime/budget-book.ts";
import { adjustInput, BudgetStates, subjectInput } from "../budget-states.ts";
import { requireSameUnit } from "../budget-unit.ts";
import { addLossyOperation } from "../confirmation.ts";
import { addOperation, type PathParameters, type RouteTable } from "../operation.ts";
import { idsField } from "../list-query.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { addResource, pathOfOne } from "../resource-operations.ts";
import { childDeclaration, type Resource } from "../resource.ts";
import { toStoredWebhook } from "../stored-webhook.ts";

export const budgets: Resource<"budgets", BudgetFields> = {
  ...childDeclaration("budgets", "budget"),
  schemaName: "Budget",
  schema: budgetSchema,
  shownSchema: budgetSchema.safeExtend(childFieldSchemas),
  example: {
    name: "search team",
    unit: "usd",
    amount: "250.00",
    period: "month",
    timezone: "Europe/Berlin",
    scope: "label",
    label: "team",
    value: "search",
    mode: "enforce",
    warn_at: [0.5, 0.8],
  },
  create: (fields, base, gatewayId) => {
    const webhook = toStoredWebhook(fields.webhook, null);
    return { record: newChild(base, gatewayId, { ...fields, webhook }) };
  },
  change: (before, fields, updated_at) => {
    requireSameUnit(before, fields, "unit");
    const webhook = toStoredWebhook(fields.webhook, before.webhook);
    return newChild({ ...before, updated_at }, before.gateway_id, { ...fields, webhook });
  },
  show: (budget) => ({ ...budget, webhook: budget.webhook === null ? null : maskWebhook(budget.webhook) }),
};

const state = {
  status: 200,
  schema: "BudgetState",
  description: "The state of the current period.",
} as const;

const idsIn = (params: PathParameters) => [params["gateway_id"] ?? "", params["budget_id"] ?? ""] as const;

/** The resource of changes in the audit log. */
const STATE_RESOURCE = "budget_state";

export function addBudgetRoutes(
  table: RouteTable,
  current: CurrentConfiguration,
  book: BudgetBook,
  clock: Clock,
  names: SpenderNames,
): void {
  addResource(table, current, budgets);
  const states = new BudgetStates(current, book, clock, names);
  const shared = { tag: budgets.tag };
  addStateList(table, states);
  addOperation(table, {
    ...shared,
    method: "get",
    path: `${pathOfOne(budgets)}/state`,
    summary: "Get what is spent and reserved of a budget in the current period",
    access: { role: "viewer" },
    response: state,
    handle: async ({ params }) => Response.json(await states.read(...idsIn(params))),
  });
  addLossyOperations(table, states);
}

function addLossyOperations(table: RouteTable, states: BudgetStates): void {
  const shared = { tag: budgets.tag };
  addLossyOperation(table, {
    ...shared,
    method: "post",
    path: `${pathOfOne(budgets)}/reset`,
    summary: "Start the current period of a budget again, with nothing spent",
    access: { role: "operator" },
    body: "BudgetReset",
    isBodyOptional: true,
    response: state,
    plan: ({ params, body }) => states.losses(...idsIn(params), validate(subjectInput, body).subject),
    change: ({ params, body }) => changeOf(params, { reset: validate(subjectInput, body).subject ?? "all" }),
    apply: ({ params, body }) => states.reset(...idsIn(params), validate(subjectInput, body).subject),
    respond: async ({ params }) => Response.json(await states.read(...idsIn(params))),
  });
  addLossyOperation(table, {
    ...shared,
    method: "post",
    path: `${pathOfOne(budgets)}/adjust`,
    summary: "Add to what is spent of a budget in the current period, or subtract from it",
    access: { role: "operator" },
    body: "BudgetAdjustment",
    bodyExample: { amount: "-5.00" },
    response: state,
    plan: ({ params, body }) => states.adjustmentLosses(...idsIn(params), validate(adjustInput, body)),
    change: ({ params, body }) => {
      const { amount, subject = null } = validate(adjustInput, body);
      return changeOf(params, { adjust: String(amount), subject });
    },
    apply: ({ params, body }) => states.adjust(...idsIn(params), validate(adjustInput, body)),
    respond: async ({ params }) => Response.json(await states.read(...idsIn(params))),
  });
}

function addStateList(table: RouteTable, states: BudgetStates): void {
  addOperation(table, {
    tag: budgets.tag,
    method: "get",
    path: "/gateways/{gateway_id}/budget-states",
    summary: "Get the states of several budgets of a gateway",
    access: { role: "viewer" },
    query: z.strictObject({ ids: idsField }),
    response: {
      status: 200,
      schema: "BudgetStateList",
      description: "Without the budgets that do not exist.",
    },
    handle: async ({ params, query }) =>
      Response.json({ states: await states.list(params["gateway_id"] ?? "", query.ids) }),
  });
}

/** States have no revisions, so the audit log says who changed them. */
function changeOf(params: PathParameters, details: JsonObject) {
  const [gateway_id, resource_id] = idsIn(params);
  return { resource: STATE_RESOURCE, resource_id, gateway_id, details };
}
