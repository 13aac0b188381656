// The controls of forms: text, number, choice, yes or no, long text.
import type { JSX } from "preact";
import { controlProps, Field, FieldFaults, FieldGroup, idOf, type FieldProps } from "./field.tsx";

export interface TextFieldProps extends FieldProps {
  readonly placeholder?: string | undefined;
  readonly isMono?: boolean;
  /** What an empty field stands for in the record; `""` unless told. */
  readonly empty?: null | undefined | "";
  readonly suggestions?: readonly string[] | undefined;
  readonly isSecret?: boolean;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { form, at, placeholder, isMono = false, suggestions, isSecret = false } = props;
  const value = form.get(at);
  const listId = suggestions === undefined ? undefined : `${idOf(at)}-list`;
  return (
    <Field {...props}>
      <input
        {...controlProps(props)}
        class={isMono ? "input mono" : "input"}
        type="text"
        autocomplete="off"
        spellcheck={false}
        // A masked value that came back hides itself; covering it too would hide that it is one.
        data-secret={isSecret && !String(value).includes("***")}
        list={listId}
        placeholder={placeholder}
        value={typeof value === "string" ? value : ""}
        onInput={(event) => {
          const text = event.currentTarget.value;
          form.set(at, text === "" && "empty" in props ? props.empty : text);
        }}
      />
      {suggestions !== undefined && (
        <datalist id={listId}>
          {suggestions.map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      )}
    </Field>
  );
}

export interface NumberFieldProps extends FieldProps {
  readonly placeholder?: string | undefined;
  readonly unit?: string;
  readonly empty?: null | undefined;
}

/** What is no number goes to the API as it was typed: it says best what it wants. */
export function NumberField(props: NumberFieldProps): JSX.Element {
  const { form, at, placeholder, unit, empty } = props;
  const value = form.get(at);
  const input = (
    <input
      {...controlProps(props)}
      class="input number"
      type="text"
      inputMode="decimal"
      autocomplete="off"
      placeholder={placeholder}
      value={typeof value === "number" || typeof value === "string" ? String(value) : ""}
      onInput={(event) => {
        const text = event.currentTarget.value.trim();
        form.set(at, text === "" ? empty : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
      }}
    />
  );
  return (
    <Field {...props}>
      {unit === undefined ? (
        input
      ) : (
        <span class="with-unit">
          {input} <span>{unit}</span>
        </span>
      )}
    </Field>
  );
}

export interface Choice {
  /** The JSON value that is written; `undefined` leaves the field out. */
  readonly value: string | number | boolean | null | undefined;
  readonly label: string;
}

export interface ChoiceFieldProps extends FieldProps {
  readonly choices: readonly Choice[];
}

export function ChoiceField(props: ChoiceFieldProps): JSX.Element {
  const { form, at, choices } = props;
  const value = form.get(at);
  const exact = choices.findIndex((choice) => choice.value === value);
  // A field that is null and one that is left out mean the same, unless the choices tell them apart.
  const chosen =
    exact >= 0
      ? exact
      : choices.findIndex((choice) => (choice.value ?? null) === null && (value ?? null) === null);
  return (
    <Field {...props}>
      <select
        {...controlProps(props)}
        class="input"
        value={String(chosen)}
        onChange={(event) => form.set(at, choices[Number(event.currentTarget.value)]?.value)}
      >
        {chosen < 0 && <option value="-1">Choose…</option>}
        {choices.map(({ label }, index) => (
          <option key={label} value={String(index)}>
            {label}
          </option>
        ))}
      </select>
    </Field>
  );
}

export interface CheckFieldProps extends FieldProps {
  /** What it means where the record does not say. */
  readonly fallback?: boolean;
}

export function CheckField(props: CheckFieldProps): JSX.Element {
  const { form, at, label, hint, fallback = false } = props;
  const value = form.get(at);
  const control = controlProps(props);
  return (
    <div class={control["aria-invalid"] ? "field check invalid" : "field check"}>
      <label>
        <input
          {...control}
          type="checkbox"
          checked={typeof value === "boolean" ? value : fallback}
          onChange={(event) => form.set(at, event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== undefined && (
        <p class="hint" id={`${control.id}-hint`}>
          {hint}
        </p>
      )}
      <FieldFaults form={form} at={at} />
    </div>
  );
}

export interface SeveralFieldProps extends FieldProps {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
}

/** Any of a few: a list of values written in the order of the choices. */
export function SeveralField(props: SeveralFieldProps): JSX.Element {
  const { form, at, choices } = props;
  const value = form.get(at);
  const chosen = new Set(Array.isArray(value) ? (value as unknown[]) : []);
  const toggle = (each: string, isOn: boolean) => {
    const next = choices
      .map((choice) => choice.value)
      .filter((name) => (name === each ? isOn : chosen.has(name)));
    form.set(at, next);
  };
  return (
    <FieldGroup {...props}>
      <div class="several">
        {choices.map(({ value: each, label }) => (
          <label key={each}>
            <input
              type="checkbox"
              checked={chosen.has(each)}
              onChange={(event) => toggle(each, event.currentTarget.checked)}
            />
            <span>{label}</span>
          </label>
        ))}
      </div>
    </FieldGroup>
  );
}

export interface AreaFieldProps extends FieldProps {
  readonly rows?: number;
  readonly placeholder?: string;
  readonly isMono?: boolean;
}

export function AreaField(props: AreaFieldProps): JSX.Element {
  const { form, at, rows = 3, placeholder, isMono = false } = props;
  const value = form.get(at);
  return (
    <Field {...props}>
      <textarea
        {...controlProps(props)}
        class={isMono ? "input mono" : "input"}
        rows={rows}
        placeholder={placeholder}
        value={typeof value === "string" ? value : ""}
        onInput={(event) => form.set(at, event.currentTarget.value)}
      />
    </Field>
  );
}

/** A moment, chosen in the viewer's zone and written in UTC. */
export function MomentField(props: FieldProps): JSX.Element {
  const { form, at } = props;
  const value = form.get(at);
  return (
    <Field {...props}>
      <input
        {...controlProps(props)}
        class="input"
        type="datetime-local"
        value={typeof value === "string" ? toLocal(value) : ""}
        onChange={(event) => {
          const text = event.currentTarget.value;
          form.set(at, text === "" ? null : new Date(text).toISOString());
        }}
      />
    </Field>
  );
}

function toLocal(moment: string): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return "";
  return new Date(date.getTime() - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
