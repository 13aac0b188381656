// Fields of the price of one model.
import type { JSX } from "preact";
import type { FieldSource } from "./field.tsx";
import { NumberField, TextField } from "./inputs.tsx";

/** Fields of the prices of tokens, with what applies if one is absent. */
const AMOUNTS = [
  ["input", "Input", undefined],
  ["output", "Output", undefined],
  ["cached_input", "Cached input", "As input"],
  ["cache_write_5m", "Cache write, 5 min", "As input"],
  ["cache_write_1h", "Cache write, 1 h", "As input"],
  ["reasoning", "Reasoning", "As output"],
  ["audio_input", "Audio input", "As input"],
  ["audio_output", "Audio output", "As output"],
] as const;

export function PriceFields({ form }: { readonly form: FieldSource }): JSX.Element {
  return (
    <>
      <div class="card fields">
        <TextField
          form={form}
          path="model"
          label="Model"
          isRequired
          isMono
          placeholder="gpt-4o*"
          hint="The model that is sent to the provider. A * at the end matches any suffix."
        />
      </div>
      <section class="card fields" aria-labelledby="prices-title">
        <div>
          <h2 id="prices-title">Prices</h2>
          <p class="hint">US dollars per million tokens, except per request.</p>
        </div>
        <div class="fields inline narrow price-fields">
          {AMOUNTS.map(([name, label, fallback]) => (
            <Amount key={name} form={form} path={name} label={label} placeholder={fallback} />
          ))}
          <Amount form={form} path="per_request" label="Per request" placeholder="0" />
        </div>
      </section>
      <section class="card fields" aria-labelledby="above-title">
        <div>
          <h2 id="above-title">Large requests</h2>
          <p class="hint">
            Prices of the whole request if it has more input tokens than this. Empty ones are those above.
          </p>
        </div>
        <div class="fields inline narrow price-fields">
          <NumberField form={form} path="above.tokens" label="More tokens than" placeholder="None" />
          {AMOUNTS.map(([name, label]) => (
            <Amount key={name} form={form} path={`above.${name}`} label={`${label}, large`} />
          ))}
          <Amount form={form} path="above.per_request" label="Per request, large" />
        </div>
      </section>
      <section class="card fields" aria-labelledby="limits-title">
        <div>
          <h2 id="limits-title">Limits of the model</h2>
          <p class="hint">They do not change the cost.</p>
        </div>
        <div class="fields inline narrow price-fields">
          <NumberField form={form} path="context_window" label="Context window" unit="tokens" />
          <NumberField form={form} path="max_output_tokens" label="Maximum output" unit="tokens" />
        </div>
      </section>
    </>
  );
}

interface AmountProps {
  readonly form: FieldSource;
  readonly path: string;
  readonly label: string;
  readonly placeholder?: string | undefined;
}

/** Stays text: the API takes decimals as strings. */
function Amount(props: AmountProps): JSX.Element {
  return <TextField {...props} emptyValue={undefined} />;
}
