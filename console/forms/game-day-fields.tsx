// Fields of a game day: times, which requests are affected, faults, when it stops by itself, and what is expected.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import { useReorder } from "../components/reorder.tsx";
import type { Form } from "../state/form.ts";
import { DEFAULT_ABORT, faultOf, type GameDayDraft } from "../state/game-day.ts";
import { moveItem } from "../state/order.ts";
import { MapField, StringListField } from "./collections.tsx";
import { Disclosure } from "./disclosure.tsx";
import { FaultFields } from "./fault-fields.tsx";
import { FieldErrors } from "./field.tsx";
import {
  CheckboxField,
  ChoiceField,
  DateTimeField,
  MultiChoiceField,
  NumberField,
  TextField,
} from "./inputs.tsx";
import { PercentField } from "./percent-field.tsx";

type Choices = readonly { readonly value: string; readonly label: string }[];

export interface GameDayChoices {
  readonly rules: Choices;
  readonly keys: Choices;
  readonly targets: Choices;
}

interface GameDayFieldsProps {
  readonly form: Form<GameDayDraft>;
  readonly choices: GameDayChoices;
}

export function GameDayFields({ form, choices }: GameDayFieldsProps): JSX.Element {
  return (
    <>
      <div class="card fields">
        <TextField
          form={form}
          path="name"
          label="Name"
          isRequired
          placeholder="provider refuses connections"
        />
        <div class="fields inline">
          <DateTimeField form={form} path="starts_at" label="Starts" hint="Empty: when it is created." />
          <DateTimeField form={form} path="ends_at" label="Ends" isRequired hint="At most 24 hours ahead." />
        </div>
        <CheckboxField form={form} path="enabled" label="Enabled" hint="Clear it to stop the game day." />
      </div>
      <MatchFields form={form} choices={choices} />
      <FaultList form={form} choices={choices} />
      <AbortFields form={form} />
      <ExpectFields form={form} />
    </>
  );
}

function MatchFields({ form, choices }: GameDayFieldsProps): JSX.Element {
  return (
    <fieldset class="card target">
      <legend>Affected requests</legend>
      <p class="hint">All conditions must hold. Start with a header that only your test client sends.</p>
      <MapField
        form={form}
        path="match.headers"
        label="Headers"
        nameLabel="Header"
        hint="Headers that the request must have. * matches any value."
      />
      <div class="fields inline">
        <PercentField form={form} path="match.share" label="Share" hint="Of these requests, by chance." />
        <NumberField
          form={form}
          path="max_requests"
          label="Maximum"
          unit="requests"
          emptyValue={null}
          hint="On all nodes together. Empty: no limit."
        />
      </div>
      <Disclosure
        title="Rules, API keys, labels, models"
        form={form}
        paths={["match.rules", "match.keys", "match.labels", "match.models"]}
      >
        <MultiChoiceField
          form={form}
          path="match.rules"
          label="Rules"
          hint="None selected: all rules."
          choices={choices.rules}
        />
        <MultiChoiceField
          form={form}
          path="match.keys"
          label="API keys"
          hint="None selected: all requests, also those without a key."
          choices={choices.keys}
        />
        <MapField
          form={form}
          path="match.labels"
          label="Labels"
          nameLabel="Label"
          hint="Labels that the API key must have, with these values."
        />
        <StringListField
          form={form}
          path="match.models"
          label="Models"
          placeholder="gpt-4o*"
          hint="Models that clients request, one per line: a name, or a prefix that ends in *. Empty: all models."
        />
      </Disclosure>
      <CheckboxField
        form={form}
        path="isolated"
        label="Separate target health"
        hint="Affected requests use a copy of the health of targets and of the retry budget, so that other requests are served as before."
      />
    </fieldset>
  );
}

function FaultList({ form, choices }: GameDayFieldsProps): JSX.Element {
  const { faults } = form.value;
  const reorder = useReorder({
    mayMove: (from, to) => faults[from] !== undefined && faults[to] !== undefined,
    onMove: (from, to) => form.set("faults", moveItem(faults, from, to)),
    nameOf: (index) => `fault ${index + 1}`,
  });
  return (
    <>
      {faults.map((fault, index) => (
        <FaultFields
          key={index}
          form={form}
          fault={fault}
          index={index}
          targets={choices.targets}
          reorder={faults.length > 1 ? reorder : undefined}
          onRemove={faults.length > 1 ? () => form.set("faults", faults.toSpliced(index, 1)) : undefined}
        />
      ))}
      <FieldErrors form={form} path="faults" isShallow />
      <div class="actions">
        <Button icon="add" onClick={() => form.set("faults", [...faults, faultOf("refuse")])}>
          Add fault
        </Button>
        <span class="hint">Each attempt gets the first fault that applies to it.</span>
      </div>
    </>
  );
}

const OBSERVED = [
  { value: "others", label: "Requests that are not affected" },
  { value: "affected", label: "Affected requests" },
  { value: "all", label: "All requests" },
];

function AbortFields({ form }: { readonly form: Form<GameDayDraft> }): JSX.Element {
  const isOn = form.value.abort_if !== null;
  const source = {
    ...form,
    get: () => isOn,
    set: (path: string, on: unknown) => form.set(path, on === true ? DEFAULT_ABORT : null),
  };
  return (
    <fieldset class="card target">
      <legend>Safety</legend>
      <CheckboxField
        form={source}
        path="abort_if"
        label="Stop by itself"
        hint="If too many requests fail or take too long."
      />
      {isOn && (
        <div class="fields inline">
          <ChoiceField form={form} path="abort_if.requests" label="Observed" choices={OBSERVED} />
          <PercentField
            form={form}
            path="abort_if.error_ratio"
            label="Errors above"
            hint="Status 5xx, or an incomplete response. Empty: no limit."
          />
          <NumberField
            form={form}
            path="abort_if.p99_ms"
            label="p99 above"
            unit="ms"
            emptyValue={null}
            hint="Of the duration. Empty: no limit."
          />
          <NumberField
            form={form}
            path="abort_if.min_requests"
            label="Minimum"
            unit="requests"
            placeholder="20"
            hint="In 10 seconds on one node."
          />
        </div>
      )}
    </fieldset>
  );
}

function ExpectFields({ form }: { readonly form: Form<GameDayDraft> }): JSX.Element {
  return (
    <fieldset class="card target">
      <legend>Expected</legend>
      <p class="hint">
        The verdict is passed if all of this holds for the affected requests. Empty fields are not checked.
      </p>
      <div class="fields inline">
        <PercentField
          form={form}
          path="expect.success_ratio"
          label="Success"
          hint="At least: complete responses below 400."
        />
        <PercentField
          form={form}
          path="expect.failover_ratio"
          label="Failover"
          hint="At least: success at a later attempt."
        />
        <NumberField
          form={form}
          path="expect.p99_ms"
          label="p99"
          unit="ms"
          emptyValue={null}
          hint="At most."
        />
        <NumberField
          form={form}
          path="expect.min_requests"
          label="Affected"
          unit="requests"
          placeholder="1"
          hint="At least."
        />
      </div>
    </fieldset>
  );
}
