// Fields of one fault of a game day: what happens, and to which attempts.
import type { JSX } from "preact";
import { Button } from "../components/button.tsx";
import type { Reorder } from "../components/reorder.tsx";
import { FAULT_TYPES, faultOf, type Fault } from "../state/game-day.ts";
import { fieldId, type FieldSource } from "./field.tsx";
import { ChoiceField, MultiChoiceField, NumberField } from "./inputs.tsx";
import { PercentField } from "./percent-field.tsx";

interface FaultFieldsProps {
  readonly form: FieldSource;
  readonly fault: Fault;
  readonly index: number;
  readonly targets: readonly { readonly value: string; readonly label: string }[];
  /** Undefined if there is only one fault. */
  readonly reorder: Reorder | undefined;
  /** Undefined for the last fault: a game day has at least one. */
  readonly onRemove: (() => void) | undefined;
}

const TYPE_CHOICES = Object.entries(FAULT_TYPES).map(([value, label]) => ({
  value,
  label: `${value}: ${label}`,
}));

function isFaultType(value: unknown): value is Fault["type"] {
  return typeof value === "string" && Object.hasOwn(FAULT_TYPES, value);
}

export function FaultFields(props: FaultFieldsProps): JSX.Element {
  const { form, fault, index, targets, reorder, onRemove } = props;
  const path = `faults[${index}]`;
  const setType = (_: string, type: unknown) => {
    if (isFaultType(type)) form.set(path, faultOf(type, fault));
  };
  return (
    <fieldset {...reorder?.itemProps(index)} class="card target" id={fieldId(path)}>
      <legend>Fault {index + 1}</legend>
      {reorder !== undefined && <div class="target-order">{reorder.controls(index)}</div>}
      <div class="fields inline">
        <ChoiceField
          form={{ ...form, set: setType }}
          path={`${path}.type`}
          label="Type"
          choices={TYPE_CHOICES}
        />
        <TypeFields form={form} path={path} type={fault.type} />
        <PercentField form={form} path={`${path}.share`} label="Share of attempts" />
      </div>
      {fault.type !== "redis_away" && (
        <>
          <NumberField
            form={form}
            path={`${path}.attempts`}
            label="First attempts"
            emptyValue={null}
            hint="Only this many attempts of each request. Empty: all attempts."
          />
          {targets.length > 0 && (
            <MultiChoiceField
              form={form}
              path={`${path}.target_ids`}
              label="Targets"
              hint="None selected: all targets."
              choices={targets}
            />
          )}
        </>
      )}
      {onRemove !== undefined && (
        <div class="actions end">
          <Button kind="quiet" icon="remove" onClick={onRemove}>
            Remove fault {index + 1}
          </Button>
        </div>
      )}
    </fieldset>
  );
}

interface TypeFieldsProps {
  readonly form: FieldSource;
  readonly path: string;
  readonly type: Fault["type"];
}

/** The fields that only some types have. */
function TypeFields({ form, path, type }: TypeFieldsProps): JSX.Element | null {
  switch (type) {
    case "delay":
    case "slow":
      return (
        <NumberField
          form={form}
          path={`${path}.ms`}
          label="Duration"
          unit="ms"
          isRequired
          emptyValue={null}
        />
      );
    case "status":
      return (
        <>
          <NumberField form={form} path={`${path}.status`} label="Status" isRequired emptyValue={null} />
          <NumberField
            form={form}
            path={`${path}.retry_after`}
            label="Retry-After"
            unit="s"
            emptyValue={null}
            hint="Empty: no such header."
          />
        </>
      );
    case "cut":
    case "stall":
    case "error_event":
      return (
        <NumberField form={form} path={`${path}.after_events`} label="After" unit="events" placeholder="0" />
      );
    default:
      return null;
  }
}
