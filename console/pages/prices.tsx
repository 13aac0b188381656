// Model prices, from which the gateway computes costs.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import type { Price, Prices } from "../api/types.ts";
import { Button, IconButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Time } from "../components/format.tsx";
import { FieldErrors, fieldId, type FieldSource } from "../forms/field.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { currentGatewayId } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { navigate } from "../state/router.tsx";

export function PricesPage(): JSX.Element {
  const loaded = useLoad(async (signal) => (await call<Prices>("GET", "/prices", { signal })).data, []);
  const back = currentGatewayId.value === null ? "/" : `/gateways/${currentGatewayId.value}/usage`;
  const { data } = loaded;
  const reset = async () => {
    const isDone = await confirmAction({
      title: "Restore built-in prices?",
      text: "Your price list is deleted. Costs that are already recorded do not change.",
      confirm: "Restore",
      isDangerous: true,
      action: () => call("DELETE", "/prices"),
    });
    if (!isDone) return;
    showToast("Restored the built-in prices.");
    await navigate(back);
  };
  return (
    <Page
      title="Prices"
      back={{ to: back, label: "Usage" }}
      description="US dollars per million tokens. The first row that matches the model applies; a trailing * matches any suffix. Models that no row matches have their built-in price."
      actions={
        data?.builtin === false && <Button onClick={() => void reset()}>Restore built-in prices</Button>
      }
    >
      <WhenLoaded loaded={loaded} what="prices">
        {(prices) => <PricesForm before={prices} back={back} />}
      </WhenLoaded>
    </Page>
  );
}

function PricesForm({ before, back }: { readonly before: Prices; readonly back: string }): JSX.Element {
  const form = useForm<{ prices: readonly Partial<Price>[] }>({ prices: before.prices.map(withDecimals) });
  const { prices } = form.value;
  const save = async () => {
    if (!(await form.submit((value) => call("PUT", "/prices", { body: value })))) return;
    showToast("Saved prices.");
    await navigate(back);
  };
  return (
    <RecordForm form={form} onSubmit={() => void save()} submit="Save" cancel={back}>
      <div class="actions">
        <Button icon="add" onClick={() => form.set("prices", [{}, ...prices])}>
          Add price
        </Button>
        <p class="hint">
          {before.builtin ? "Built-in prices, updated " : "Custom prices, updated "}
          <Time at={before.updated_at} />. New rows are added at the top.
        </p>
      </div>
      {prices.length === 0 ? (
        <Empty title="No prices">Without prices, usage shows requests and tokens but no costs.</Empty>
      ) : (
        <div class="card">
          <div class="price-header" aria-hidden="true">
            <span>Model</span>
            <span>Input</span>
            <span>Cached input</span>
            <span>Output</span>
          </div>
          {prices.map((_, index) => (
            <PriceRow
              key={prices.length - index}
              form={form}
              index={index}
              onRemove={() =>
                form.set(
                  "prices",
                  prices.filter((__, each) => each !== index),
                )
              }
            />
          ))}
        </div>
      )}
    </RecordForm>
  );
}

/** Replaces the deprecated fields, which are numbers, by the ones that the form has. */
function withDecimals({ input_per_million, output_per_million, ...price }: Price): Price {
  return {
    ...price,
    ...(input_per_million !== undefined && { input: String(input_per_million) }),
    ...(output_per_million !== undefined && { output: String(output_per_million) }),
  };
}

interface PriceRowProps {
  readonly form: FieldSource;
  readonly index: number;
  readonly onRemove: () => void;
}

function PriceRow({ form, index, onRemove }: PriceRowProps): JSX.Element {
  const rowPath = `prices[${index}]`;
  const input = (field: keyof Price, label: string, placeholder: string) => {
    const path = `${rowPath}.${field}`;
    const value = form.get(path);
    const isText = field === "model";
    return (
      <div>
        <input
          id={fieldId(path)}
          class={isText ? "input mono" : "input"}
          aria-label={`${label}, row ${index + 1}`}
          aria-invalid={form.errorsAt(path).length > 0}
          inputMode={isText ? "text" : "decimal"}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          value={typeof value === "string" ? value : ""}
          onInput={(event) => {
            const text = event.currentTarget.value.trim();
            form.set(path, text === "" ? undefined : text);
          }}
        />
        <FieldErrors form={form} path={path} />
      </div>
    );
  };
  return (
    <div class="price-row">
      {input("model", "Model", "gpt-4o*")}
      {input("input", "Input", "2.50")}
      {input("cached_input", "Cached input", "same")}
      {input("output", "Output", "10.00")}
      <IconButton icon="remove" label={`Remove row ${index + 1}`} onClick={onRemove} />
    </div>
  );
}
