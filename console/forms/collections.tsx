// Form controls for string lists and for string maps. Each writes its whole value, so that order and names can change.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, IconButton } from "../components/button.tsx";
import { controlProps, Field, FieldGroup, fieldId, type FieldProps } from "./field.tsx";

/** A list of strings, one per line or separated by commas. */
export function StringListField(props: FieldProps & { readonly placeholder?: string }): JSX.Element {
  const { form, path, placeholder } = props;
  const stored = form.get(path);
  const values = Array.isArray(stored) ? stored.map(String) : [];
  // Keep the text as typed: an empty line or trailing space would disappear otherwise.
  const [text, setText] = useState(values.join("\n"));
  const shown = areEqual(parseLines(text), values) ? text : values.join("\n");
  return (
    <Field {...props}>
      <textarea
        {...controlProps(props)}
        class="input mono"
        rows={Math.min(8, Math.max(2, values.length + 1))}
        placeholder={placeholder}
        spellcheck={false}
        value={shown}
        onInput={(event) => {
          setText(event.currentTarget.value);
          form.set(path, parseLines(event.currentTarget.value));
        }}
      />
    </Field>
  );
}

function parseLines(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function areEqual(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((value, index) => value === right[index]);
}

interface MapFieldProps extends FieldProps {
  readonly nameLabel?: string;
  readonly valueLabel?: string;
}

type Pair = readonly [name: string, value: string];

/** A map of names to values, such as headers. */
export function MapField(props: MapFieldProps): JSX.Element {
  const { form, path, nameLabel = "Name", valueLabel = "Value" } = props;
  const stored = form.get(path);
  const entries = Object.entries(stored ?? {}).map(([name, value]): Pair => [name, String(value)]);
  // Rows without a name exist only here until they get a name.
  const [rows, setRows] = useState<readonly Pair[]>(entries);
  const write = (next: readonly Pair[]) => {
    setRows(next);
    form.set(path, Object.fromEntries(next.filter(([name]) => name !== "")));
  };
  const change = (index: number, pair: Pair) => write(rows.map((row, each) => (each === index ? pair : row)));
  return (
    <FieldGroup {...props} showsAllErrors>
      {rows.map(([name, value], index) => (
        <div class="map-row" key={index}>
          <input
            class="input mono"
            id={`${fieldId(path)}-name-${index}`}
            aria-label={`${nameLabel} ${index + 1}`}
            placeholder={nameLabel}
            autocomplete="off"
            spellcheck={false}
            value={name}
            onInput={(event) => change(index, [event.currentTarget.value, value])}
          />
          <input
            class="input mono"
            aria-label={`${valueLabel} ${index + 1}`}
            placeholder={valueLabel}
            autocomplete="off"
            spellcheck={false}
            value={value}
            onInput={(event) => change(index, [name, event.currentTarget.value])}
          />
          <IconButton
            icon="remove"
            label={`Remove ${name === "" ? "this row" : name}`}
            onClick={() => write(rows.filter((_, each) => each !== index))}
          />
        </div>
      ))}
      <Button icon="add" onClick={() => setRows([...rows, ["", ""]])}>
        Add {nameLabel.toLowerCase()}
      </Button>
    </FieldGroup>
  );
}
