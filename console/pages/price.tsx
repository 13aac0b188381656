// Form of the price of one model, of the installation or of a gateway: create, edit, delete.
import type { JSX } from "preact";
import { call, type ApiResponse } from "../api/client.ts";
import { Button } from "../components/button.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { PriceFields } from "../forms/price-fields.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { confirmAction, showToast } from "../state/dialogs.ts";
import { useLoad } from "../state/load.ts";
import { matchesOf, withPrice, type PriceRow } from "../state/prices.ts";
import { navigate, route, type RoutedPageProps } from "../state/router.tsx";
import {
  deletePrice,
  loadPrices,
  pricesIn,
  pricesPath,
  savePrices,
  savePricesOperation,
  type PriceRecord,
} from "../state/stored-prices.ts";
import { useStoredForm } from "../state/stored-form.ts";

/** `/prices/new?model=…` begins with the price that is in effect; `/prices/price?model=…` edits a stored one. */
export function PricePage({ parameters }: RoutedPageProps): JSX.Element {
  const { gateway } = parameters;
  const { path, search } = route.value;
  const model = search.get("model") ?? "";
  const isNew = path.endsWith("/new");
  const loaded = useLoad(async (signal) => {
    const [before, { lists }] = await Promise.all([
      call<PriceRecord>("GET", pricesPath(gateway), { signal }),
      loadPrices(gateway, signal),
    ]);
    return { before, template: { ...matchesOf(lists, model)[0]?.price, model } };
  }, []);
  const listPath = gateway === undefined ? "/prices" : `/gateways/${gateway}/prices`;
  const scope = gateway === undefined ? "all gateways" : "this gateway";
  return (
    <Page
      title={isNew ? "New price" : `Price of ${model}`}
      back={{ to: listPath, label: "Prices" }}
      description={`It applies to requests of ${scope} that start after it is saved.`}
    >
      <WhenLoaded loaded={loaded} what="price">
        {(data) => (
          <PriceForm gateway={gateway} stored={isNew ? null : model} listPath={listPath} {...data} />
        )}
      </WhenLoaded>
    </Page>
  );
}

interface PriceFormProps {
  readonly gateway: string | undefined;
  /** Model of the stored price; null for a new one. */
  readonly stored: string | null;
  readonly listPath: string;
  /** The record with the list. */
  readonly before: ApiResponse<PriceRecord>;
  /** Values of a new price. */
  readonly template: PriceRow;
}

function PriceForm({ gateway, stored, listPath, before, template }: PriceFormProps): JSX.Element {
  const form = useStoredForm<PriceRow, PriceRecord>({
    before,
    path: pricesPath(gateway),
    toValue: (record) => {
      const found = record === undefined ? undefined : pricesIn(record).find(({ model }) => model === stored);
      return found ?? template;
    },
  });
  const finish = async (text: string) => {
    showToast(text);
    await navigate(listPath);
  };
  const save = async () => {
    const isSaved = await form.submit((value) => {
      const { data, etag } = form.base() ?? before;
      const prices = pricesIn(data);
      const price = { ...value, model: value.model?.trim() ?? "" };
      const index = prices.findIndex(({ model }) => model === stored);
      const next = index < 0 ? withPrice(prices, price) : prices.with(index, price);
      return savePrices(gateway, next, etag);
    });
    if (isSaved) await finish(`Saved the price of “${form.value.model ?? ""}”.`);
  };
  const remove = async (model: string) => {
    if (await confirmDeletePrice(gateway, model)) await finish(`Deleted the price of “${model}”.`);
  };
  return (
    <RecordForm
      form={form}
      onSubmit={() => void save()}
      operation={savePricesOperation(gateway)}
      submit={stored === null ? "Create price" : "Save"}
      cancel={listPath}
      secondaryActions={
        stored !== null && (
          <Button kind="danger" icon="remove" onClick={() => void remove(stored)}>
            Delete
          </Button>
        )
      }
    >
      <PriceFields form={form} />
    </RecordForm>
  );
}

/** Resolves to true if the price was deleted. */
export function confirmDeletePrice(gateway: string | undefined, model: string): Promise<boolean> {
  return confirmAction({
    title: `Delete the price of “${model}”?`,
    text: "The next price that matches applies to requests that start from now on. Without one, they are unpriced. You can restore it by rolling back to an earlier revision.",
    confirm: "Delete",
    isDangerous: true,
    action: () => deletePrice(gateway, model),
  });
}
