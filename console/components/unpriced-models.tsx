// Models of recent requests that have no price.
import type { JSX } from "preact";
import { get, toQueryString } from "../api/client.ts";
import type { UsageReport } from "../api/types.ts";
import { useLoad } from "../state/load.ts";
import { matchesOf, type PriceList } from "../state/prices.ts";
import { LinkButton } from "./button.tsx";
import { formatCount } from "./format.tsx";
import { Section } from "./page.tsx";
import { Table } from "./table.tsx";

const DAYS = 30;

interface UnpricedModelsProps {
  /** Undefined: all gateways. */
  readonly gateway: string | undefined;
  readonly lists: readonly PriceList[];
  /** Console path of the prices. */
  readonly base: string;
}

export function UnpricedModels({ gateway, lists, base }: UnpricedModelsProps): JSX.Element | null {
  const loaded = useLoad((signal) => {
    const from = new Date(Date.now() - (DAYS - 1) * 86_400_000).toISOString().slice(0, 10);
    const path = gateway === undefined ? "/usage" : `/gateways/${gateway}/usage`;
    return get<UsageReport>(path + toQueryString({ from, group_by: "model" }), signal);
  }, []);
  const rows = (loaded.data?.usage ?? []).flatMap(({ model, ...usage }) =>
    typeof model === "string" && usage.unpriced_requests > 0 && matchesOf(lists, model).length === 0
      ? [{ model, ...usage }]
      : [],
  );
  if (rows.length === 0) return null;
  return (
    <Section
      title="Models without a price"
      description={`Of the last ${DAYS} days. Their requests are reported as unpriced, not as free. A price applies to later requests.`}
    >
      <Table
        label="Models without a price"
        rows={rows}
        keyOf={({ model }) => model}
        columns={[
          { title: "Model", kind: "main", cell: ({ model }) => <code>{model}</code> },
          {
            title: "Unpriced requests",
            kind: "number",
            cell: ({ unpriced_requests }) => formatCount(unpriced_requests),
          },
          { title: "Input tokens", kind: "number", cell: ({ input_tokens }) => formatCount(input_tokens) },
          { title: "Output tokens", kind: "number", cell: ({ output_tokens }) => formatCount(output_tokens) },
          {
            title: "Actions",
            kind: "actions",
            cell: ({ model }) => (
              <LinkButton
                to={`${base}/new?model=${encodeURIComponent(model)}`}
                icon="add"
                label={`Add price of ${model}`}
              >
                Add price
              </LinkButton>
            ),
          },
        ]}
      />
    </Section>
  );
}
