// Shows which price is in effect for a model, and why.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { formatAmount } from "../state/amounts.ts";
import { matchesOf, SOURCES, type PriceList, type PriceRow } from "../state/prices.ts";
import { LinkButton } from "./button.tsx";
import { Section } from "./page.tsx";

interface PriceLookupProps {
  readonly lists: readonly PriceList[];
  /** Console path of the prices. */
  readonly base: string;
  readonly suggestions: readonly string[];
}

export function PriceLookup({ lists, base, suggestions }: PriceLookupProps): JSX.Element {
  const [text, setText] = useState("");
  const model = text.trim();
  return (
    <Section title="Price in effect">
      <div class="card fields">
        <div class="field">
          <label for="price-lookup">Model</label>
          <input
            id="price-lookup"
            class="input mono"
            list="price-lookup-models"
            autocomplete="off"
            spellcheck={false}
            placeholder="gpt-4o-mini"
            value={text}
            onInput={(event) => setText(event.currentTarget.value)}
          />
          <datalist id="price-lookup-models">
            {suggestions.map((each) => (
              <option key={each} value={each} />
            ))}
          </datalist>
          <p class="hint">
            Name of a model, as it is sent to the provider. Lists are searched in this order:{" "}
            {lists.map(({ source }) => SOURCES[source].title.toLowerCase()).join(", ")}.
          </p>
        </div>
        <div role="status">{model !== "" && <Result lists={lists} base={base} model={model} />}</div>
      </div>
    </Section>
  );
}

interface ResultProps extends Omit<PriceLookupProps, "suggestions"> {
  readonly model: string;
}

function Result({ lists, base, model }: ResultProps): JSX.Element {
  const [used, ...unused] = matchesOf(lists, model);
  if (used === undefined)
    return (
      <div class="price-result">
        <p>
          <strong>Unpriced.</strong> No price matches <code>{model}</code>. Its cost is unknown, and budgets
          in dollars reject it unless they say otherwise.
        </p>
        <LinkButton to={`${base}/new?model=${encodeURIComponent(model)}`} icon="add">
          Add price
        </LinkButton>
      </div>
    );
  const searched = lists.slice(
    0,
    lists.findIndex(({ source }) => source === used.source),
  );
  return (
    <div class="price-result">
      <p>
        <strong>{describePrice(used.price)}</strong>
      </p>
      <p>
        From <code>{used.price.model}</code>, {SOURCES[used.source].of}: the first match of this list.
        {searched.length > 0 &&
          ` No price ${searched.map(({ source }) => SOURCES[source].of).join(" or ")} matches.`}
      </p>
      {unused.map(({ source, price }) => (
        <p key={source} class="muted">
          Not used: <code>{price.model}</code>, {SOURCES[source].of} ({describePrice(price)}).
        </p>
      ))}
    </div>
  );
}

const NAMES = [
  ["input", "input"],
  ["cached_input", "cached input"],
  ["output", "output"],
] as const;

/** Returns the main prices: `Input $2.50, output $10.00 per million tokens`. */
function describePrice(price: PriceRow): string {
  const amounts = NAMES.flatMap(([field, name]) => {
    const amount = price[field];
    return amount === undefined ? [] : `${name} ${formatAmount("usd", amount)}`;
  });
  const parts = [
    ...(amounts.length === 0 ? [] : [`${amounts.join(", ")} per million tokens`]),
    ...(price.per_request === undefined ? [] : [`${formatAmount("usd", price.per_request)} per request`]),
  ];
  const text = parts.join(", ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
