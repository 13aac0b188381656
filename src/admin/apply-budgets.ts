// Writes the budgets of a document.
import type { Budget, BudgetFields } from "../model/budget.ts";
import { budgetForm, uniqueKeyNames } from "../model/document-export.ts";
import type { Gateway } from "../model/gateway.ts";
import { hideWebhook } from "../model/record-diff.ts";
import type { StoredApiKey } from "../kinds/kind.ts";
import { requireSameUnit } from "./budget-unit.ts";
import { findByName } from "./document-matching.ts";
import type { DocumentWriter } from "./document-writer.ts";
import { newChild } from "./record-fields.ts";
import { toStoredWebhook } from "./stored-webhook.ts";

interface Scope {
  readonly wanted: { readonly budgets: readonly BudgetFields[] };
  readonly gateway: Pick<Gateway, "id" | "name">;
  /** Path of the gateway in the document. */
  readonly place: string;
  readonly before: { readonly budgets: readonly Budget[] } | null;
}

/** `keys` are the stored API keys, if the budgets count those of certain keys. */
export async function putBudgets(
  writer: DocumentWriter,
  { wanted, gateway, place, before }: Scope,
  keys: readonly StoredApiKey[],
): Promise<Budget[]> {
  const stored: Budget[] = [];
  const keyNames = uniqueKeyNames(keys);
  for (const [index, budget] of wanted.budgets.entries()) {
    const at = `${place}.budgets[${index}]`;
    const known = findByName(before?.budgets ?? [], budget.name, "budgets", `${at}.name`);
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
          return newChild(base, gateway.id, {
            ...budget,
            value: storedValue(budget, known, keyNames),
            webhook,
          });
        },
      }),
    );
  }
  return stored;
}

/** An exported document has the name of the key whose id is stored. It applies as no change. */
function storedValue(
  { scope, value }: BudgetFields,
  known: Budget | null,
  keyNames: ReadonlyMap<string | null, string>,
): string | null {
  if (scope !== "api_key" || known?.scope !== "api_key") return value;
  return keyNames.get(known.value) === value ? known.value : value;
}

/** Whether it counts the requests of certain API keys. */
export function countsKeys({ scope }: Pick<BudgetFields, "scope">): boolean {
  return scope === "api_key" || scope === "label";
}
