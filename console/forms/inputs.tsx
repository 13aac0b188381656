// Form controls: text, number, select, checkbox, text area, date and time.
import type { JSX } from "preact";
import { controlProps, Field, FieldErrors, FieldGroup, fieldId, type FieldProps } from "./field.tsx";
import { toLocalDateTime } from "./time-filter.tsx";

interface TextFieldProps extends FieldProps {
  readonly placeholder?: string | undefined;
  readonly isMono?: boolean;
  /** The value that an empty field writes to the record. Default: `""`. */
  readonly emptyValue?: null | undefined | "";
  readonly suggestions?: readonly string[] | undefined;
  readonly isSecret?: boolean;
}

export function TextField(props: TextFieldProps): JSX.Element {
  const { form, path, placeholder, isMono = false, suggestions, isSecret = false } = props;
  const value = form.get(path);
  const listId = suggestions === undefined ? undefined : `${fieldId(path)}-list`;
  return (
    <Field {...props}>
      <input
        {...controlProps(props)}
        class={isMono ? "input mono" : "input"}
        type="text"
        autocomplete="off"
        spellcheck={false}
        // A masked value (`Bea***cdef`) is safe to show. Hiding it would hide that a credential is stored.
        data-secret={isSecret && !String(value).includes("***")}
        list={listId}
        placeholder={placeholder}
        value={typeof value === "string" ? value : ""}
        onInput={(event) => {
          const text = event.currentTarget.value;
          form.set(path, text === "" && "emptyValue" in props ? props.emptyValue : text);
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

interface NumberFieldProps extends FieldProps {
  readonly placeholder?: string | undefined;
  readonly unit?: string;
  readonly emptyValue?: null | undefined;
}

/** Text that is not a number is sent as typed: the API's error message says what is valid. */
export function NumberField(props: NumberFieldProps): JSX.Element {
  const { form, path, placeholder, unit, emptyValue } = props;
  const value = form.get(path);
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
        form.set(path, text === "" ? emptyValue : /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);
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
  /** The JSON value to write; `undefined` removes the field. */
  readonly value: string | number | boolean | null | undefined;
  readonly label: string;
}

interface ChoiceFieldProps extends FieldProps {
  readonly choices: readonly Choice[];
}

export function ChoiceField(props: ChoiceFieldProps): JSX.Element {
  const { form, path, choices } = props;
  const value = form.get(path);
  const exact = choices.findIndex((choice) => choice.value === value);
  // null and a missing field mean the same unless the choices distinguish them.
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
        onChange={(event) => form.set(path, choices[Number(event.currentTarget.value)]?.value)}
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

interface CheckboxFieldProps extends FieldProps {
  /** Shown if the record has no value. */
  readonly defaultValue?: boolean;
}

export function CheckboxField(props: CheckboxFieldProps): JSX.Element {
  const { form, path, label, hint, defaultValue = false } = props;
  const value = form.get(path);
  const control = controlProps(props);
  return (
    <div class={control["aria-invalid"] ? "field check invalid" : "field check"}>
      <label>
        <input
          {...control}
          type="checkbox"
          checked={typeof value === "boolean" ? value : defaultValue}
          onChange={(event) => form.set(path, event.currentTarget.checked)}
        />
        <span>{label}</span>
      </label>
      {hint !== undefined && (
        <p class="hint" id={`${control.id}-hint`}>
          {hint}
        </p>
      )}
      <FieldErrors form={form} path={path} />
    </div>
  );
}

interface MultiChoiceFieldProps extends FieldProps {
  readonly choices: readonly { readonly value: string; readonly label: string }[];
  /** The value if nothing is chosen; an empty list by default. */
  readonly emptyValue?: readonly string[] | undefined;
}

/** Checkboxes for a list of values. The list is written in the order of the choices. */
export function MultiChoiceField(props: MultiChoiceFieldProps): JSX.Element {
  const { form, path, choices } = props;
  const value = form.get(path);
  const chosen = new Set<unknown>(Array.isArray(value) ? value : []);
  const toggle = (each: string, isOn: boolean) => {
    const next = choices
      .map((choice) => choice.value)
      .filter((name) => (name === each ? isOn : chosen.has(name)));
    form.set(path, next.length === 0 && "emptyValue" in props ? props.emptyValue : next);
  };
  return (
    <FieldGroup {...props}>
      <div class="checkbox-list">
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

interface TextAreaFieldProps extends FieldProps {
  readonly rows?: number;
  readonly placeholder?: string;
  readonly isMono?: boolean;
}

export function TextAreaField(props: TextAreaFieldProps): JSX.Element {
  const { form, path, rows = 3, placeholder, isMono = false } = props;
  const value = form.get(path);
  return (
    <Field {...props}>
      <textarea
        {...controlProps(props)}
        class={isMono ? "input mono" : "input"}
        rows={rows}
        placeholder={placeholder}
        value={typeof value === "string" ? value : ""}
        onInput={(event) => form.set(path, event.currentTarget.value)}
      />
    </Field>
  );
}

/** Date and time, entered in the browser's time zone and written in UTC. */
export function DateTimeField(props: FieldProps): JSX.Element {
  const { form, path } = props;
  const value = form.get(path);
  return (
    <Field {...props}>
      <input
        {...controlProps(props)}
        class="input"
        type="datetime-local"
        value={typeof value === "string" ? toLocalDateTime(value) : ""}
        onChange={(event) => {
          const text = event.currentTarget.value;
          form.set(path, text === "" ? null : new Date(text).toISOString());
        }}
      />
    </Field>
  );
}
