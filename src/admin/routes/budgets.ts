// Budgets of a gateway.
import { budgetSchema, type BudgetFields } from "../../model/budget.ts";
import type { CurrentConfiguration } from "../../runtime/current-configuration.ts";
import type { RouteTable } from "../operation.ts";
import { newChild } from "../record-fields.ts";
import { childFieldSchemas } from "../record-schemas.ts";
import { addResource } from "../resource-operations.ts";
import { childDeclaration, type Resource } from "../resource.ts";

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
  create: (fields, base, gatewayId) => ({ record: newChild(base, gatewayId, fields) }),
  change: (before, fields, updated_at) => newChild({ ...before, updated_at }, before.gateway_id, fields),
  show: (budget) => budget,
};

export function addBudgetRoutes(table: RouteTable, current: CurrentConfiguration): void {
  addResource(table, current, budgets);
}
