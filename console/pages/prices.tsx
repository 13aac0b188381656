// Model prices, from which the gateway computes costs: of the installation or of one gateway, and the built-in ones.
import type { JSX } from "preact";
import { call, get } from "../api/client.ts";
import type { BuiltinPrices, Gateway, Prices } from "../api/types.ts";
import { Page, Section, WhenLoaded } from "../components/page.tsx";
import { Table } from "../components/table.tsx";
import { PriceListForm } from "../forms/price-list-form.tsx";
import { showToast } from "../state/dialogs.ts";
import { currentGatewayId, gatewayName } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { withDecimals, type PriceRow } from "../state/prices.ts";
import { navigate, type RoutedPageProps } from "../state/router.tsx";

const UNITS =
  "US dollars per million tokens. The first row that matches the model applies; a trailing * matches any suffix.";

export function PricesPage(): JSX.Element {
  const loaded = useLoad(async (signal) => {
    const [own, builtin] = await Promise.all([
      call<Prices>("GET", "/prices", { signal }),
      get<BuiltinPrices>("/prices/builtin", signal),
    ]);
    return { own, builtin };
  }, []);
  const back = currentGatewayId.value === null ? "/" : `/gateways/${currentGatewayId.value}/usage`;
  return (
    <Page
      title="Prices"
      back={{ to: back, label: "Usage" }}
      description={`${UNITS} Prices of a gateway come before these, and the built-in ones after them.`}
    >
      <WhenLoaded loaded={loaded} what="prices">
        {({ own, builtin }) => (
          <>
            <PriceListForm
              before={own}
              path="/prices"
              pricesOf={({ builtin: isBuiltin, prices }) => (isBuiltin ? [] : prices.map(withDecimals))}
              updatedAt={own.data.builtin ? null : own.data.updated_at}
              back={back}
              operation="PUT /prices"
              save={saveInstallation}
              onSaved={() => finish(back)}
            />
            <BuiltinList builtin={builtin} />
          </>
        )}
      </WhenLoaded>
    </Page>
  );
}

export function GatewayPricesPage({ parameters }: RoutedPageProps): JSX.Element {
  const id = parameters["gateway"] ?? "";
  const path = `/gateways/${id}`;
  const loaded = useLoad((signal) => call<Gateway>("GET", path, { signal }), []);
  const back = `${path}/usage`;
  return (
    <Page
      title={`Prices of ${gatewayName(id)}`}
      back={{ to: back, label: "Usage" }}
      description={`${UNITS} They come before the prices of the installation and the built-in ones.`}
    >
      <WhenLoaded loaded={loaded} what="prices">
        {(before) => (
          <PriceListForm
            before={before}
            path={path}
            pricesOf={({ prices }) => prices.map(withDecimals)}
            updatedAt={null}
            back={back}
            operation={`PATCH ${path}`}
            save={(prices, etag) => call("PATCH", path, { body: { prices }, etag })}
            onSaved={() => finish(back)}
          />
        )}
      </WhenLoaded>
    </Page>
  );
}

/** An empty list is removed, so that the API reports the built-in prices again. */
function saveInstallation(prices: readonly PriceRow[], etag: string | null): Promise<unknown> {
  if (prices.length === 0) return call("DELETE", "/prices", { etag });
  return call("PUT", "/prices", { body: { prices }, etag });
}

async function finish(back: string): Promise<void> {
  showToast("Saved prices.");
  await navigate(back);
}

function BuiltinList({ builtin }: { readonly builtin: BuiltinPrices }): JSX.Element {
  const { prices, date, sources } = builtin;
  return (
    <Section title="Built-in prices">
      <p class="hint">
        Collected on {date} from public price lists:{" "}
        {sources.map((source, index) => (
          <>
            {index > 0 && ", "}
            <a href={source} rel="noreferrer" target="_blank">
              {new URL(source).hostname}
            </a>
          </>
        ))}
        .
      </p>
      <Table
        label="Built-in prices"
        rows={prices}
        keyOf={({ model }) => model}
        columns={[
          { title: "Model", kind: "main", cell: ({ model }) => <code>{model}</code> },
          { title: "Input", kind: "number", cell: ({ input }) => input },
          { title: "Cached input", kind: "number", cell: ({ cached_input }) => cached_input ?? "–" },
          { title: "Output", kind: "number", cell: ({ output }) => output },
        ]}
      />
    </Section>
  );
}
