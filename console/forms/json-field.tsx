// Edits a part of a record as JSON. Invalid JSON stays in the field with the parser's message.
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { toError } from "../api/client.ts";
import { controlProps, Field, type FieldProps } from "./field.tsx";

interface JsonFieldProps extends FieldProps {
  readonly rows?: number;
}

export function JsonField(props: JsonFieldProps): JSX.Element {
  const { form, path, rows = 12, hint } = props;
  const value = form.get(path);
  const [text, setText] = useState(value === undefined ? "" : JSON.stringify(value, null, 2));
  const [problem, setProblem] = useState<string | null>(null);
  const control = controlProps(props);
  return (
    <Field {...props} hint={problem === null ? hint : <span class="error">{problem}</span>}>
      <textarea
        {...control}
        aria-invalid={problem !== null || control["aria-invalid"]}
        aria-describedby={problem === null ? control["aria-describedby"] : `${control.id}-hint`}
        class="input mono"
        rows={rows}
        spellcheck={false}
        value={text}
        onInput={(event) => {
          const next = event.currentTarget.value;
          setText(next);
          try {
            form.set(path, next.trim() === "" ? undefined : JSON.parse(next));
            setProblem(null);
          } catch (error) {
            // Store the invalid text: the API rejects it, so that an older value is not saved unnoticed.
            form.set(path, next);
            setProblem(`Invalid JSON: ${toError(error).message}`);
          }
        }}
      />
    </Field>
  );
}
