// Filters and fields that refer to gateways: one of them, or a list.
import type { JSX } from "preact";
import { IconButton } from "../components/button.tsx";
import { GatewayCombobox } from "../components/gateway-combobox.tsx";
import { gatewayName } from "../state/gateways.ts";
import { me } from "../state/session.ts";
import { FieldErrors, FieldLabel, fieldId, focusField, type FieldProps } from "./field.tsx";

interface GatewayFilterProps {
  readonly label: string;
  /** Id of the gateway; empty: any. */
  readonly value: string;
  /** Label of the choice of no gateway. */
  readonly any?: string;
  readonly onChange: (id: string) => void;
}

/** An administrator who is limited to gateways must name one of them. */
export function GatewayFilter({ label, value, any = "Any", onChange }: GatewayFilterProps): JSX.Element {
  const isLimited = (me.value?.gateways ?? null) !== null;
  return (
    <div class="filter">
      <GatewayCombobox
        id={`filter-${label.toLowerCase().replaceAll(" ", "-")}`}
        label={<span>{label}</span>}
        text={value === "" ? any : gatewayName(value)}
        {...(!isLimited && { any })}
        onSelect={onChange}
      />
    </div>
  );
}

/** A list of gateways: those selected, each with a button to remove it, and a combobox to add one. */
export function GatewayListField(props: FieldProps & { readonly none: string }): JSX.Element {
  const { form, path, label, hint, none } = props;
  const value = form.get(path);
  const ids = Array.isArray(value) ? value.map(String) : [];
  const id = fieldId(path);
  return (
    <div class={form.errorsAt(path, true).length > 0 ? "field invalid" : "field"}>
      <GatewayCombobox
        id={id}
        label={<FieldLabel label={label} />}
        text=""
        placeholder={ids.length === 0 ? none : "Add a gateway"}
        without={ids}
        describedBy={hint === undefined ? undefined : `${id}-hint`}
        onSelect={(added) => form.set(path, [...ids, added])}
        keepsFocus
      />
      {ids.length > 0 && (
        <ul class="chosen-gateways" aria-label={`Selected: ${label}`}>
          {ids.map((each) => (
            <li key={each}>
              <span title={gatewayName(each)}>{gatewayName(each)}</span>
              <IconButton
                icon="close"
                label={`Remove ${gatewayName(each)}`}
                onClick={() => {
                  form.set(
                    path,
                    ids.filter((other) => other !== each),
                  );
                  focusField(path);
                }}
              />
            </li>
          ))}
        </ul>
      )}
      {hint !== undefined && (
        <p class="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
      <FieldErrors form={form} path={path} />
    </div>
  );
}
