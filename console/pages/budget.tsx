// Form of one budget: create, edit, delete.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { childPath, collectionPath, listKeys, readChild, readCopied, saveChild } from "../api/resources.ts";
import type { ApiKey, Budget } from "../api/types.ts";
import { Page, WhenLoaded } from "../components/page.tsx";
import { BudgetFields } from "../forms/budget-fields.tsx";
import { EditForm } from "../forms/edit-form.tsx";
import { toBudget, toDraft, type BudgetDraft } from "../state/budgets.ts";
import { copyOf } from "../state/copy.ts";
import { useLoad } from "../state/load.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { useStoredForm } from "../state/stored-form.ts";

export function BudgetPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway = "", id = "new" } = parameters;
  const loaded = useLoad(async (signal) => {
    const [before, keys, copied] = await Promise.all([
      readChild(gateway, "budgets", id, signal),
      listKeys(gateway, signal),
      readCopied(gateway, "budgets", id, signal),
    ]);
    return { before, keys, copied };
  }, []);
  const name = loaded.data?.before?.data.name ?? "Budget";
  const listPath = `/gateways/${gateway}/budgets`;
  return (
    <Page
      title={id === "new" ? "New budget" : `Edit ${name}`}
      back={id === "new" ? { to: listPath, label: "Budgets" } : { to: `${listPath}/${id}`, label: name }}
    >
      <WhenLoaded loaded={loaded} what="budget">
        {(data) => <BudgetForm gateway={gateway} {...data} />}
      </WhenLoaded>
    </Page>
  );
}

interface BudgetFormProps {
  readonly gateway: string;
  readonly before: ApiResponse<Budget> | null;
  readonly keys: readonly ApiKey[];
  /** The budget that a new one begins as a copy of. */
  readonly copied: Budget | null;
}

function BudgetForm({ gateway, before, keys, copied }: BudgetFormProps): JSX.Element {
  const record = before?.data;
  const path = childPath(gateway, "budgets", record);
  const form = useStoredForm<BudgetDraft, Budget>({
    before,
    path,
    toValue: (stored) => toDraft(stored ?? (copied === null ? undefined : copyOf(copied, copied.name))),
  });
  return (
    <EditForm
      form={form}
      kind="budget"
      name={form.value.name}
      stored={record === undefined ? null : { path, name: record.name, id: record.id }}
      save={(value) => saveChild(gateway, "budgets", form.base(), toBudget(value))}
      listPath={`/gateways/${gateway}/budgets`}
      collection={collectionPath(gateway, "budgets")}
      nameOf={(id) => keys.find((key) => key.id === id)?.name}
    >
      <BudgetFields form={form} keys={keys} />
    </EditForm>
  );
}
