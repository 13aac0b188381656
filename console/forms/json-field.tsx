// A part of a record written as JSON. What does not parse stays in the field, with the reason.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { controlProps, Field, type FieldProps } from "./field.tsx";

export interface JsonFieldProps extends FieldProps {
  readonly rows?: number;
}

export function JsonField(props: JsonFieldProps): JSX.Element {
  const { form, at, rows = 12, hint } = props;
  const value = form.get(at);
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [fault, setFault] = useState<string | null>(null);
  const control = controlProps(props);
  return (
    <Field {...props} hint={fault === null ? hint : <span class="fault">{fault}</span>}>
      <textarea
        {...control}
        aria-invalid={fault !== null || control["aria-invalid"]}
        aria-describedby={fault === null ? control["aria-describedby"] : `${control.id}-hint`}
        class="input mono"
        rows={rows}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          try {
            form.set(at, next.trim() === "" ? undefined : JSON.parse(next));
            setFault(null);
          } catch (error) {
            // Written as the text it is, the API refuses it: nothing else could be saved in its place unseen.
            form.set(at, next);
            setFault(`Not JSON yet: ${error instanceof Error ? error.message : String(error)}`);
          }
        }}
      />
    </Field>
  );
}
