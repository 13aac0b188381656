// Controls for lists of words and for maps from name to value, written whole so that an order or a name can change.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Button, IconButton } from "../components/button.tsx";
import { controlProps, Field, FieldGroup, idOf, type FieldProps } from "./field.tsx";

/** One word a line. */
export function LinesField(props: FieldProps & { readonly placeholder?: string }): JSX.Element {
  const { form, at, placeholder } = props;
  const stored = form.get(at);
  const words = Array.isArray(stored) ? stored.map(String) : [];
  // Kept as typed, so that a line just begun does not vanish.
  const [text, setText] = useState(words.join("\n"));
  const shown = sameWords(linesOf(text), words) ? text : words.join("\n");
  return (
    <Field {...props}>
      <textarea
        {...controlProps(props)}
        class="input mono"
        rows={Math.min(8, Math.max(2, words.length + 1))}
        placeholder={placeholder}
        spellcheck={false}
        value={shown}
        onInput={(event) => {
          setText(event.currentTarget.value);
          form.set(at, linesOf(event.currentTarget.value));
        }}
      />
    </Field>
  );
}

function linesOf(text: string): string[] {
  return text
    .split(/[\n,]/)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function sameWords(left: readonly string[], right: readonly string[]): boolean {
  return left.length === right.length && left.every((word, index) => word === right[index]);
}

export interface MapFieldProps extends FieldProps {
  readonly nameLabel?: string;
  readonly valueLabel?: string;
}

type Pair = readonly [name: string, value: string];

/** Names to values, such as headers. */
export function MapField(props: MapFieldProps): JSX.Element {
  const { form, at, nameLabel = "Name", valueLabel = "Value" } = props;
  const stored = form.get(at);
  const entries = Object.entries((stored ?? {}) as Record<string, unknown>).map(([name, value]): Pair => [
    name,
    String(value),
  ]);
  // Rows without a name are not part of the record yet.
  const [rows, setRows] = useState<readonly Pair[]>(entries);
  const write = (next: readonly Pair[]) => {
    setRows(next);
    form.set(at, Object.fromEntries(next.filter(([name]) => name !== "")));
  };
  const change = (index: number, pair: Pair) => write(rows.map((row, at) => (at === index ? pair : row)));
  return (
    <FieldGroup {...props}>
      {rows.map(([name, value], index) => (
        <div class="pair" key={index}>
          <input
            class="input mono"
            id={`${idOf(at)}-name-${index}`}
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
