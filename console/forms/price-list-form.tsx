// Form of a list of model prices: one row per model, with the less common prices in a collapsed section.
import type { JSX } from "preact";
import type { ApiResponse } from "../api/client.ts";
import { Button, IconButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import { Empty } from "../components/notice.tsx";
import { compactRow, type PriceRow } from "../state/prices.ts";
import { useStoredForm } from "../state/stored-form.ts";
import { Disclosure } from "./disclosure.tsx";
import { FieldErrors, fieldId, type FieldSource } from "./field.tsx";
import { NumberField, TextField } from "./inputs.tsx";
import { RecordForm } from "./record-form.tsx";

interface PriceListFormProps<R> {
  /** The record with the list, as it was read. */
  readonly before: ApiResponse<R>;
  /** API path of the record. */
  readonly path: string;
  readonly pricesOf: (record: R) => readonly PriceRow[];
  /** Null if there is no list or its time is unknown. */
  readonly updatedAt: string | null;
  /** Console path that Cancel opens. */
  readonly back: string;
  /** Method and path that `save` calls. */
  readonly operation: string;
  readonly save: (prices: readonly PriceRow[], etag: string | null) => Promise<unknown>;
  readonly onSaved: () => Promise<void>;
}

export function PriceListForm<R>(props: PriceListFormProps<R>): JSX.Element {
  const { before, path, pricesOf, updatedAt, back, operation, save, onSaved } = props;
  const form = useStoredForm<{ prices: readonly PriceRow[] }, R>({
    before,
    path,
    toValue: (record) => ({ prices: pricesOf(record ?? before.data) }),
  });
  const { prices } = form.value;
  const submit = async () => {
    if (await form.submit((value) => save(value.prices.map(compactRow), form.base()?.etag ?? null)))
      await onSaved();
  };
  return (
    <RecordForm form={form} onSubmit={() => void submit()} operation={operation} submit="Save" cancel={back}>
      <div class="actions">
        <Button icon="add" onClick={() => form.set("prices", [{}, ...prices])}>
          Add price
        </Button>
        <p class="hint">
          New rows are added at the top.
          {updatedAt !== null && (
            <>
              {" "}
              Updated <Time at={updatedAt} />.
            </>
          )}
        </p>
      </div>
      {prices.length === 0 ? (
        <Empty title="No prices of your own">Add a price for a model that has none or another one.</Empty>
      ) : (
        <div class="card">
          <div class="price-header" aria-hidden="true">
            <span>Model</span>
            <span>Input</span>
            <span>Cached input</span>
            <span>Output</span>
          </div>
          {prices.map((_, index) => (
            <PriceFields
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

const MORE_PRICES = [
  ["cache_write_5m", "Cache write, 5 minutes"],
  ["cache_write_1h", "Cache write, 1 hour"],
  ["reasoning", "Reasoning"],
  ["audio_input", "Audio input"],
  ["audio_output", "Audio output"],
  ["per_request", "Per request"],
] as const;

const LIMITS = [
  ["context_window", "Context window"],
  ["max_output_tokens", "Maximum output tokens"],
] as const;

const ABOVE_PRICES = [
  ["input", "Input above"],
  ["cached_input", "Cached input above"],
  ["output", "Output above"],
] as const;

interface PriceFieldsProps {
  readonly form: FieldSource;
  readonly index: number;
  readonly onRemove: () => void;
}

function PriceFields({ form, index, onRemove }: PriceFieldsProps): JSX.Element {
  const path = `prices[${index}]`;
  const more = [...MORE_PRICES, ...LIMITS].map(([name]) => `${path}.${name}`);
  return (
    <div class="price">
      <div class="price-row">
        <Cell
          form={form}
          path={`${path}.model`}
          label={`Model, row ${index + 1}`}
          placeholder="gpt-4o*"
          isText
        />
        <Cell form={form} path={`${path}.input`} label={`Input, row ${index + 1}`} placeholder="2.50" />
        <Cell
          form={form}
          path={`${path}.cached_input`}
          label={`Cached input, row ${index + 1}`}
          placeholder="as input"
        />
        <Cell form={form} path={`${path}.output`} label={`Output, row ${index + 1}`} placeholder="10.00" />
        <IconButton icon="remove" label={`Remove row ${index + 1}`} onClick={onRemove} />
      </div>
      <Disclosure title={`More prices of row ${index + 1}`} form={form} paths={[...more, `${path}.above`]}>
        <div class="fields inline">
          {MORE_PRICES.map(([name, label]) => (
            <TextField key={name} form={form} path={`${path}.${name}`} label={label} emptyValue={undefined} />
          ))}
          {LIMITS.map(([name, label]) => (
            <NumberField key={name} form={form} path={`${path}.${name}`} label={label} unit="tokens" />
          ))}
        </div>
        <div class="fields inline">
          <NumberField form={form} path={`${path}.above.tokens`} label="Input tokens above" unit="tokens" />
          {ABOVE_PRICES.map(([name, label]) => (
            <TextField
              key={name}
              form={form}
              path={`${path}.above.${name}`}
              label={label}
              emptyValue={undefined}
            />
          ))}
        </div>
      </Disclosure>
    </div>
  );
}

function Cell(props: {
  readonly form: FieldSource;
  readonly path: string;
  readonly label: string;
  readonly placeholder: string;
  readonly isText?: boolean;
}): JSX.Element {
  const { form, path, label, placeholder, isText = false } = props;
  const value = form.get(path);
  return (
    <div>
      <input
        id={fieldId(path)}
        class={isText ? "input mono" : "input"}
        aria-label={label}
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
}
