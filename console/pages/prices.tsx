// What models cost, so that usage can be told in dollars too.
import type { JSX } from "preact";
import { call, type Answer } from "../api/client.ts";
import { Button, IconButton } from "../components/button.tsx";
import { Empty } from "../components/notice.tsx";
import { Page, WhenLoaded } from "../components/page.tsx";
import { NumberField, TextField } from "../forms/inputs.tsx";
import { RecordForm } from "../forms/record-form.tsx";
import { say } from "../state/dialogs.ts";
import { useForm } from "../state/form.ts";
import { currentGatewayId } from "../state/gateways.ts";
import { useLoad } from "../state/load.ts";
import { go } from "../state/router.tsx";

interface Price {
  readonly model?: string;
  readonly input_per_million?: number;
  readonly output_per_million?: number;
}

interface Prices {
  readonly prices: readonly Price[];
}

export function PricesPage(): JSX.Element {
  const loaded = useLoad((signal) => call<Prices>("GET", "/prices", { signal }), []);
  return (
    <Page
      title="Prices"
      about="US dollars a million tokens. The first line that fits a model counts; a * at the end fits any ending."
    >
      <WhenLoaded loaded={loaded} what="prices" missing="This gateway does not know prices.">
        {(before) => <PricesForm before={before} />}
      </WhenLoaded>
    </Page>
  );
}

function PricesForm({ before }: { readonly before: Answer<Prices> }): JSX.Element {
  const form = useForm<{ prices: readonly Price[] }>({ prices: before.data.prices });
  const { prices } = form.value;
  const back = currentGatewayId.value === null ? "/" : `/gateways/${currentGatewayId.value}/usage`;
  const save = async () => {
    const isSaved = await form.submit(async (value) => {
      await call("PUT", "/prices", { body: value, etag: before.etag });
    });
    if (!isSaved) return;
    say("Saved the prices.");
    await go(back);
  };
  return (
    <RecordForm form={form} onSubmit={() => void save()} submit="Save" cancel={back}>
      {prices.length === 0 && (
        <Empty title="No price yet">Without a price, usage is told in tokens and requests only.</Empty>
      )}
      {prices.map((_, index) => (
        <div class="card item" key={index}>
          <div class="fields inline">
            <TextField
              form={form}
              at={`prices[${index}].model`}
              label="Model"
              isMono
              isRequired
              placeholder="gpt-4o*"
            />
            <NumberField
              form={form}
              at={`prices[${index}].input_per_million`}
              label="In"
              unit="$ / million"
            />
            <NumberField
              form={form}
              at={`prices[${index}].output_per_million`}
              label="Out"
              unit="$ / million"
            />
          </div>
          <IconButton
            icon="remove"
            label={`Remove price ${index + 1}`}
            onClick={() =>
              form.set(
                "prices",
                prices.filter((__, each) => each !== index),
              )
            }
          />
        </div>
      ))}
      <div>
        <Button icon="add" onClick={() => form.set("prices", [...prices, { model: "" }])}>
          Add a price
        </Button>
      </div>
    </RecordForm>
  );
}
