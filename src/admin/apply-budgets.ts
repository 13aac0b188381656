// Writes the budgets of a document.
import type { Budget, BudgetFields } from "../model/budget.ts";
import { budgetForm } from "../model/document-export.ts";
import type { Gateway } from "../model/gateway.ts";
import { findByName } from "./document-matching.ts";
import type { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";

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
    stored.push(
      await writer.put({
        kind: "budgets",
        gateway: gateway.name,
        name: budget.name,
        place: at,
        before: findByName(before, budget.name, "budgets", `${at}.name`),
        toForm: budgetForm,
        build: (base) => newChild(base, gateway.id, budget),
      }),
    );
  }
  return stored;
}
