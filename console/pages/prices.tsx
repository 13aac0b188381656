// Prices of models: of a gateway, of the installation, and the built-in ones; which is in effect, and what has none.
import type { JSX } from "preact";
import type { BuiltinPrices } from "../api/types.ts";
import { Badge } from "../components/badge.tsx";
import { Button, LinkButton } from "../components/button.tsx";
import { Time } from "../components/format.tsx";
import type { ListColumn } from "../components/list-tools.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { PriceLookup } from "../components/price-lookup.tsx";
import { RecordList } from "../components/record-list.tsx";
import { UnpricedModels } from "../components/unpriced-models.tsx";
import { mayCall } from "../state/administrator.ts";
import { formatAmount } from "../state/amounts.ts";
import { activeRevision } from "../state/connection.ts";
import { showToast } from "../state/dialogs.ts";
import { useLoad } from "../state/load.ts";
import { covers, rowsOf, SOURCES, type PriceInList, type PriceList } from "../state/prices.ts";
import type { RoutedPageProps } from "../state/router.tsx";
import { loadPrices, savePricesOperation } from "../state/stored-prices.ts";
import { confirmDeletePrice } from "./price.tsx";

export function PricesPage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway } = parameters;
  const base = gateway === undefined ? "/prices" : `/gateways/${gateway}/prices`;
  const loaded = useLoad((signal) => loadPrices(gateway, signal), [activeRevision.value]);
  const remove = async ({ source, price: { model = "" } }: PriceInList) => {
    if (!(await confirmDeletePrice(source === "gateway" ? gateway : undefined, model))) return;
    showToast(`Deleted the price of “${model}”.`);
    loaded.reload();
  };
  return (
    <Page
      title={gateway === undefined ? "Prices of the installation" : "Prices"}
      {...(gateway === undefined && { back: { to: "/", label: "Overview" } })}
      description={
        gateway === undefined
          ? "Prices that apply to all gateways. Those of a gateway come before them, and the built-in ones after them."
          : "From which the cost of requests is computed. Prices of this gateway come before those of the installation and the built-in ones."
      }
      actions={
        <>
          {gateway !== undefined && <LinkButton to="/prices">Prices of the installation</LinkButton>}
          <LinkButton to={`${base}/new`} kind="primary" icon="add">
            New price
          </LinkButton>
        </>
      }
    >
      <WhenLoaded loaded={loaded} what="prices">
        {({ lists, builtin, updatedAt }) => (
          <>
            <UnpricedModels gateway={gateway} lists={lists} base={base} />
            <PriceLookup lists={lists} base={base} suggestions={suggestionsIn(lists)} />
            <section class="section" aria-labelledby="price-list-title">
              <header class="section-header">
                <div>
                  <h2 id="price-list-title">All prices</h2>
                  <p class="description">
                    US dollars per million tokens. The first match in this order applies.{" "}
                    {updatedAt !== null && (
                      <>
                        The installation's were changed <Time at={updatedAt} />.{" "}
                      </>
                    )}
                    <BuiltinOrigin builtin={builtin} />
                  </p>
                </div>
              </header>
              <RecordList<PriceInList>
                what="prices"
                label="Prices"
                load={({ search, sort, limit, offset }) =>
                  Promise.resolve(pageOf(lists, { search, sort, limit, offset }))
                }
                dependencies={[loaded.data]}
                columns={columnsFor(gateway, base, (row) => void remove(row))}
                keyOf={({ source, price }) => `${source} ${price.model ?? ""}`}
                nameOf={({ price }) => price.model ?? ""}
                isDimmed={({ shadowedBy }) => shadowedBy !== null}
                empty={<p class="muted">There are no prices.</p>}
              />
            </section>
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

function BuiltinOrigin({ builtin: { date, sources } }: { readonly builtin: BuiltinPrices }): JSX.Element {
  return (
    <>
      Built-in prices were collected on {date} from{" "}
      {sources.map((source, index) => (
        <>
          {index > 0 && ", "}
          <a href={source} rel="noreferrer" target="_blank">
            {new URL(source).hostname}
          </a>
        </>
      ))}
      .
    </>
  );
}

/** Models without a pattern, as examples. */
function suggestionsIn(lists: readonly PriceList[]): readonly string[] {
  const models = lists.flatMap(({ prices }) => prices.map(({ model = "" }) => model.replace(/\*$/, "")));
  return [...new Set(models)].filter((model) => model !== "");
}

interface Query {
  readonly search: string;
  readonly sort: string;
  readonly limit: number;
  readonly offset: number;
}

/** Finds prices whose model contains the text, and those that match it as the name of a model. */
function pageOf(lists: readonly PriceList[], { search, sort, limit, offset }: Query) {
  const text = search.toLowerCase();
  const rows = lists.flatMap(rowsOf).filter(({ price: { model = "" } }) => {
    const name = model.toLowerCase();
    return name.includes(text) || covers(name, text);
  });
  const direction = sort.startsWith("-") ? -1 : 1;
  if (sort !== "")
    rows.sort((left, right) => direction * (left.price.model ?? "").localeCompare(right.price.model ?? ""));
  return { rows: rows.slice(offset, offset + limit), count: rows.length };
}

function columnsFor(
  gateway: string | undefined,
  base: string,
  remove: (row: PriceInList) => void,
): readonly ListColumn<PriceInList>[] {
  const amount = (title: string, field: "input" | "cached_input" | "output"): ListColumn<PriceInList> => ({
    title,
    kind: "number",
    cell: ({ price }) => (price[field] === undefined ? "–" : formatAmount("usd", price[field])),
  });
  return [
    {
      title: "Model",
      kind: "main",
      sort: "model",
      cell: ({ price, shadowedBy }) => (
        <>
          <code>{price.model}</code>
          {shadowedBy !== null && <p class="hint">Never used: {shadowedBy} comes before it</p>}
        </>
      ),
    },
    {
      title: "Source",
      cell: ({ source }) => (
        <Badge tone={source === "builtin" ? "neutral" : "accent"}>{SOURCES[source].title}</Badge>
      ),
    },
    amount("Input", "input"),
    amount("Cached input", "cached_input"),
    amount("Output", "output"),
    { title: "Further prices", cell: ({ price }) => <FurtherPrices price={price} /> },
    {
      title: "Actions",
      kind: "actions",
      cell: (row) => <RowActions row={row} gateway={gateway} base={base} remove={remove} />,
    },
  ];
}

const FURTHER = [
  ["cache_write_5m", "cache write 5 min"],
  ["cache_write_1h", "cache write 1 h"],
  ["reasoning", "reasoning"],
  ["audio_input", "audio input"],
  ["audio_output", "audio output"],
  ["per_request", "per request"],
] as const;

function FurtherPrices({ price }: Pick<PriceInList, "price">): JSX.Element {
  const texts = FURTHER.flatMap(([field, name]) => {
    const value = price[field];
    return value === undefined ? [] : `${name} ${formatAmount("usd", value)}`;
  });
  const { above } = price;
  if (above?.tokens !== undefined) {
    const { input, output } = above;
    const amounts = [
      ...(input === undefined ? [] : [`input ${formatAmount("usd", input)}`]),
      ...(output === undefined ? [] : [`output ${formatAmount("usd", output)}`]),
    ];
    texts.push(`above ${above.tokens.toLocaleString()} tokens: ${amounts.join(", ")}`);
  }
  return texts.length === 0 ? <span class="muted">None</span> : <>{texts.join("; ")}</>;
}

interface RowActionsProps {
  readonly row: PriceInList;
  readonly gateway: string | undefined;
  readonly base: string;
  readonly remove: (row: PriceInList) => void;
}

function RowActions({ row, gateway, base, remove }: RowActionsProps): JSX.Element {
  const { source, price } = row;
  const model = price.model ?? "";
  const query = `?model=${encodeURIComponent(model)}`;
  if (source === "builtin")
    return (
      <LinkButton to={`${base}/new${query}`} kind="quiet" label={`Override ${model}`}>
        Override
      </LinkButton>
    );
  const owner = source === "gateway" ? gateway : undefined;
  const operation = savePricesOperation(owner);
  return (
    <>
      <LinkButton
        to={`${source === "gateway" ? base : "/prices"}/price${query}`}
        kind="quiet"
        label={`${mayCall(operation) ? "Edit" : "Show"} ${model}`}
      >
        {mayCall(operation) ? "Edit" : "Show"}
      </LinkButton>
      <Button kind="quiet" operation={operation} label={`Delete ${model}`} onClick={() => remove(row)}>
        Delete
      </Button>
    </>
  );
}
