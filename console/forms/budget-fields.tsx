// Fields of a budget.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { ApiKey, Budget } from "../api/types.ts";
import { PERIODS, SCOPES, type BudgetDraft } from "../state/budgets.ts";
import type { Form } from "../state/form.ts";
import { StringListField } from "./collections.tsx";
import { Disclosure } from "./disclosure.tsx";
import { controlProps, Field, type FieldProps } from "./field.tsx";
import { ChoiceField, TextField } from "./inputs.tsx";

interface BudgetFieldsProps {
  readonly form: Form<BudgetDraft>;
  readonly keys: readonly ApiKey[];
}

export function BudgetFields({ form, keys }: BudgetFieldsProps): JSX.Element {
  const isMoney = form.value.unit === "usd";
  return (
    <>
      <div class="card fields">
        <TextField
          form={form}
          path="name"
          label="Name"
          isRequired
          placeholder="search team"
          hint="Shown in responses and metrics."
        />
        <div class="fields inline narrow">
          <ChoiceField
            form={form}
            path="unit"
            label="Unit"
            choices={[
              { value: "usd", label: "US dollars" },
              { value: "tokens", label: "Tokens" },
            ]}
          />
          <TextField
            form={form}
            path="amount"
            label="Amount"
            isRequired
            placeholder={isMoney ? "250.00" : "1000000"}
            hint={isMoney ? "Per period." : "Whole number per period."}
          />
          <ChoiceField form={form} path="period" label="Period" choices={choicesOf(PERIODS)} />
          <TextField
            form={form}
            path="timezone"
            label="Time zone"
            placeholder="Europe/Berlin"
            suggestions={Intl.supportedValuesOf("timeZone")}
            hint="In which periods start."
          />
        </div>
        <ScopeFields form={form} keys={keys} />
        <ChoiceField
          form={form}
          path="mode"
          label="If it is used up"
          choices={[
            { value: "enforce", label: "Reject requests (402)" },
            { value: "warn", label: "Only report it" },
          ]}
        />
        <PercentListField
          form={form}
          path="warn_at"
          label="Report at"
          hint="Percent of the amount, separated by commas. Each is reported once per period: in the log, as a metric, and to the webhook."
        />
      </div>
      <Disclosure
        title="Models, webhook, unknown prices, store failures"
        form={form}
        paths={["models", "webhook", "on_unknown_price", "on_store_failure"]}
      >
        <StringListField
          form={form}
          path="models"
          label="Models"
          placeholder="gpt-4o*"
          hint="Only requests that may use these models count, one per line: a name, or a prefix that ends in *. Empty: all models."
        />
        <TextField
          form={form}
          path="webhook"
          label="Webhook"
          isMono
          emptyValue={null}
          placeholder="https://…"
          hint="Receives a POST request for each of the reported shares. Shown without its path; enter the whole URL to change it."
        />
        {isMoney && (
          <ChoiceField
            form={form}
            path="on_unknown_price"
            label="Model without a price"
            choices={[
              { value: "refuse", label: "Reject the request (402)" },
              { value: "free", label: "Costs nothing" },
            ]}
          />
        )}
        <ChoiceField
          form={form}
          path="on_store_failure"
          label="If the shared ledger is unavailable"
          choices={[
            { value: null, label: "Default: reject, or do not count if only reported" },
            { value: "closed", label: "Reject requests (503)" },
            { value: "local", label: "Count per node" },
            { value: "open", label: "Do not count" },
          ]}
        />
      </Disclosure>
    </>
  );
}

function choicesOf<T extends string>(labels: Readonly<Record<T, string>>) {
  return Object.entries<string>(labels).map(([value, label]) => ({ value, label }));
}

function ScopeFields({ form, keys }: BudgetFieldsProps): JSX.Element {
  const { scope, each } = form.value;
  const select = (path: string, next: unknown) => {
    form.set(path, next);
    // The fields of another scope are invalid with this one.
    form.set("label", next === "label" ? "" : null);
    form.set("value", null);
    form.set("each", next !== "gateway");
  };
  return (
    <div class="fields inline">
      <ChoiceField
        form={{ ...form, set: select }}
        path="scope"
        label="Applies to"
        choices={Object.entries(SCOPES).map(([value, { all }]) => ({ value, label: all }))}
      />
      {scope === "label" && (
        <TextField form={form} path="label" label="Label" isRequired isMono placeholder="team" />
      )}
      {scope !== "gateway" && (
        <ChoiceField
          form={form}
          path="each"
          label="Amount for"
          choices={[
            { value: true, label: `Each ${SCOPES[scope].one} separately` },
            { value: false, label: `One ${SCOPES[scope].one}` },
          ]}
        />
      )}
      {scope !== "gateway" && !each && <ValueField form={form} scope={scope} keys={keys} />}
    </div>
  );
}

interface ValueFieldProps extends BudgetFieldsProps {
  readonly scope: Exclude<Budget["scope"], "gateway">;
}

function ValueField({ form, scope, keys }: ValueFieldProps): JSX.Element {
  if (scope === "api_key") {
    const { value } = form.value;
    const choices = keys.map(({ id, name }) => ({ value: id, label: name }));
    // A budget may name its key instead of its id.
    if (value !== null && !keys.some(({ id }) => id === value)) choices.push({ value, label: value });
    return <ChoiceField form={form} path="value" label="API key" isRequired choices={choices} />;
  }
  const { label, hint } = {
    label: { label: "Value of the label", hint: undefined },
    user: { label: "User", hint: "X-User-ID, or user of the body." },
    model: { label: "Model", hint: undefined },
  }[scope];
  return <TextField form={form} path="value" label={label} hint={hint} isRequired isMono emptyValue={null} />;
}

/** A list of shares, shown in percent. */
function PercentListField(props: FieldProps): JSX.Element {
  const { form, path } = props;
  const stored = form.get(path);
  const [text, setText] = useState(Array.isArray(stored) ? stored.map(toPercent).join(", ") : "");
  return (
    <Field {...props}>
      <input
        {...controlProps(props)}
        class="input"
        inputMode="decimal"
        autocomplete="off"
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          form.set(path, toShares(event.currentTarget.value));
        }}
      />
    </Field>
  );
}

function toPercent(share: unknown): string {
  return typeof share === "number" ? String(Math.round(share * 1000) / 10) : String(share);
}

/** Text that is not a number stays as it is: the API's message says what is valid. */
function toShares(text: string): readonly (number | string)[] {
  return text
    .split(/[,;\s]+/)
    .map((part) => part.replace(/%$/, ""))
    .filter((part) => part !== "")
    .map((part) => (/^\d+(\.\d+)?$/.test(part) ? Number(part) / 100 : part));
}
