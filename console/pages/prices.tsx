// What models cost, so that usage can be told in dollars too.
import type { JSX } from "preact";
import { call } from "../api/client.ts";
import type { Price, Prices } from "../api/types.ts";
import { Button, IconButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { Time } from "../components/time.tsx";
import { FieldFaults, idOf, type FieldSource } from "../forms/field.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { ask, say } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { currentGatewayId } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { go } from "../state/router.tsx";

export function PricesPage(): JSX.Element {
  const loaded = useLoad(async (signal) => (await call<Prices>("GET", "/prices", { signal })).data, []);
  const back = currentGatewayId.value === null ? "/" : `/gateways/${currentGatewayId.value}/usage`;
  const { data } = loaded;
  const reset = async () => {
    const isDone = await ask({
      title: "Go back to the built-in prices?",
      text: "Your own list is given up. Costs that are counted already stay as they are.",
      confirm: "Go back",
      isDangerous: true,
      action: () => call("DELETE", "/prices"),
    });
    if (!isDone) return;
    say("The built-in prices are in force.");
    await go(back);
  };
  return (
    <Page
      title="Prices"
      back={{ to: back, label: "Usage" }}
      about="US dollars a million tokens. The first line that fits a model counts; a * at the end fits any ending."
      actions={
        data?.builtin === false && <Button onClick={() => void reset()}>Back to the built-in ones</Button>
      }
    >
      <WhenLoaded loaded={loaded} what="prices" missing="This gateway does not know prices.">
        {(prices) => <PricesForm before={prices} back={back} />}
      </WhenLoaded>
    </Page>
  );
}

function PricesForm({ before, back }: { readonly before: Prices; readonly back: string }): JSX.Element {
  const form = useForm<{ prices: readonly Partial<Price>[] }>({ prices: before.prices });
  const { prices } = form.value;
  const save = async () => {
    if (!(await form.submit((value) => call("PUT", "/prices", { body: value })))) return;
    say("Saved the prices.");
    await go(back);
  };
  return (
    <RecordForm form={form} onSubmit={() => void save()} submit="Save" cancel={back}>
      <div class="actions">
        <Button icon="add" onClick={() => form.set("prices", [{}, ...prices])}>
          Add a price
        </Button>
        <p class="hint">
          {before.builtin ? "The list that came with the gateway, of " : "Your own list, of "}
          <Time at={before.updated_at} />. A new line comes first.
        </p>
      </div>
      {prices.length === 0 ? (
        <Empty title="No price">Without a price, usage is told in tokens and requests only.</Empty>
      ) : (
        <div class="card prices">
          <div class="price-head" aria-hidden="true">
            <span>Model</span>
            <span>In</span>
            <span>Out</span>
          </div>
          {prices.map((_, index) => (
            <PriceLine
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

interface PriceLineProps {
  readonly form: FieldSource;
  readonly index: number;
  readonly onRemove: () => void;
}

function PriceLine({ form, index, onRemove }: PriceLineProps): JSX.Element {
  const at = `prices[${index}]`;
  const input = (field: keyof Price, label: string, placeholder: string) => {
    const place = `${at}.${field}`;
    const value = form.get(place);
    const isText = field === "model";
    return (
      <div>
        <input
          id={idOf(place)}
          class={isText ? "input mono" : "input"}
          aria-label={`${label}, line ${index + 1}`}
          aria-invalid={form.faultsAt(place).length > 0}
          inputMode={isText ? "text" : "decimal"}
          placeholder={placeholder}
          autocomplete="off"
          spellcheck={false}
          value={typeof value === "string" || typeof value === "number" ? String(value) : ""}
          onInput={(event) => {
            const text = event.currentTarget.value.trim();
            const isNumber = !isText && /^\d+(\.\d+)?$/.test(text);
            form.set(place, text === "" ? undefined : isNumber ? Number(text) : text);
          }}
        />
        <FieldFaults form={form} at={place} />
      </div>
    );
  };
  return (
    <div class="price-line">
      {input("model", "Model", "gpt-4o*")}
      {input("input_per_million", "In", "2.50")}
      {input("output_per_million", "Out", "10.00")}
      <IconButton icon="remove" label={`Remove line ${index + 1}`} onClick={onRemove} />
    </div>
  );
}
