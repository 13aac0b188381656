// Form fields of an upstream that are rarely changed: models, attempts, held streams, hedging, timeouts.
import type { JSX } from "preact";
import type { UpstreamInput } from "../api/types.ts";
import { Button } from "../components/button.tsx";
import type { Form } from "../state/form.ts";
import { Disclosure } from "./disclosure.tsx";
import { ChoiceField, NumberField } from "./inputs.tsx";

const MODEL_ROUTING = [
  { value: null, label: "Exactly the requested model, else 404 (as Prefer at targets with a path)" },
  { value: "prefer", label: "Prefer targets that serve the model" },
  { value: "any", label: "Any target; replace the model by the target's default if needed" },
  { value: "require", label: "Only targets that serve the model, else 404" },
];

const ON_CANCEL = [
  { value: "settle", label: "Stop the provider; estimate what it has generated" },
  { value: "drain", label: "Read the provider to its usage, for at most 30 seconds" },
];

interface FieldsProps {
  readonly form: Form<UpstreamInput>;
}

const HELD = { max_ms: 1500, max_bytes: 16_384 };

/** Streams can be held until their first content, so that a stream that fails before can be retried. */
function HeldStreamFields({ form }: FieldsProps): JSX.Element {
  const { commit } = form.value;
  if (commit === null || commit === undefined)
    return <Button onClick={() => form.set("commit", HELD)}>Hold streams until their first content</Button>;
  return (
    <>
      <NumberField
        form={form}
        path="commit.max_ms"
        label="Hold streams for"
        unit="ms"
        placeholder="1500"
        hint="A stream that fails before its first content is retried on another target."
      />
      <NumberField
        form={form}
        path="commit.max_bytes"
        label="Maximum size held"
        unit="bytes"
        placeholder="16384"
      />
      <Button onClick={() => form.set("commit", null)}>Do not hold streams</Button>
    </>
  );
}

const HEDGE = { after: "p95", budget: 0.05 };

/** A request without content after some time can also be sent to another target. */
function HedgeFields({ form }: FieldsProps): JSX.Element {
  const { hedge } = form.value;
  if (hedge === null || hedge === undefined)
    return <Button onClick={() => form.set("hedge", HEDGE)}>Hedge slow requests</Button>;
  return (
    <>
      <NumberField
        form={form}
        path="hedge.after"
        label="Hedge after"
        unit="ms, or p95"
        placeholder="p95"
        hint="A request without content after this time is also sent to another target. p95: as long as 95% of the latest requests took."
      />
      <NumberField
        form={form}
        path="hedge.budget"
        label="Hedge budget"
        placeholder="0.05"
        hint="Share of the requests that may be sent twice, such as 0.05 for 5%."
      />
      <Button onClick={() => form.set("hedge", null)}>Do not hedge requests</Button>
    </>
  );
}

export function UpstreamAdvancedFields({ form }: FieldsProps): JSX.Element {
  return (
    <Disclosure
      title="Models, attempts, hedging, timeouts"
      form={form}
      paths={["model_routing", "max_attempts", "commit", "hedge", "on_cancel", "timeouts"]}
    >
      <ChoiceField form={form} path="model_routing" label="Model routing" choices={MODEL_ROUTING} />
      <NumberField
        form={form}
        path="max_attempts"
        label="Maximum attempts"
        placeholder="3"
        hint="A failed request is retried on another target unless a part of the response was sent to the client."
      />
      <HeldStreamFields form={form} />
      <HedgeFields form={form} />
      <ChoiceField form={form} path="on_cancel" label="When the client leaves" choices={ON_CANCEL} />
      <NumberField form={form} path="timeouts.connect" label="Connect timeout" unit="ms" placeholder="5000" />
      <NumberField
        form={form}
        path="timeouts.first_byte"
        label="First byte timeout"
        unit="ms"
        placeholder="120000"
      />
      <NumberField
        form={form}
        path="timeouts.first_content"
        label="First content timeout"
        unit="ms"
        placeholder="No limit"
        emptyValue={null}
        hint="Until the first text, reasoning or tool call of a stream."
      />
      <NumberField
        form={form}
        path="timeouts.idle"
        label="Idle timeout"
        unit="ms"
        placeholder="120000"
        hint="Longest pause within a response."
      />
      <NumberField
        form={form}
        path="timeouts.total"
        label="Total timeout"
        unit="ms"
        placeholder="No limit"
        emptyValue={null}
      />
    </Disclosure>
  );
}
