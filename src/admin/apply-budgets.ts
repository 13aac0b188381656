// Writes the budgets of a document.
import type { Budget, BudgetFields } from "../model/budget.ts";
import { budgetForm } from "../model/document-export.ts";
import type { Gateway } from "../model/gateway.ts";
import { hideWebhook } from "../model/record-diff.ts";
import { requireSameUnit } from "./budget-unit.ts";
import { findByName } from "./document-matching.ts";
import type { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";
import { toStoredWebhook } from "./stored-webhook.ts";

/** `place` is the path of the gateway in the document. */
export async function putBudgets(
  writer: DocumentWriter,
  gateway: Pick<Gateway, "id" | "name">,
  wanted: readonly BudgetFields[],
  before: readonly Budget[],
  place: string,
): Promise<Budget[]> {
  const stored: Budget[] = [];
  for (const [index, budget] of wanted.entries()) {
    const at = `${place}.budgets[${index}]`;
    const known = findByName(before, budget.name, "budgets", `${at}.name`);
    if (known !== null) requireSameUnit(known, budget, `${at}.unit`);
    stored.push(
      await writer.put({
        kind: "budgets",
        gateway: gateway.name,
        name: budget.name,
        place: at,
        before: known,
        toForm: (record) => hideWebhook(budgetForm(record)),
        build: (base) => {
          const webhook = toStoredWebhook(budget.webhook, known?.webhook ?? null);
          return newChild(base, gateway.id, { ...budget, webhook });
        },
      }),
    );
  }
  return stored;
}
