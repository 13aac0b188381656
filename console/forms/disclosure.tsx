// Collapsed section for rarely used fields. Opens when one of them has an error.
import type { ComponentChildren, JSX } from "preact";
import type { FieldSource } from "./field.tsx";

interface DisclosureProps {
  readonly title: string;
  readonly form: FieldSource;
  /** Paths of the fields inside. */
  readonly paths: readonly string[];
  readonly children: ComponentChildren;
}

export function Disclosure({ title, form, paths, children }: DisclosureProps): JSX.Element {
  const hasError = paths.some((path) => form.errorsAt(path).length > 0);
  return (
    <details class="disclosure" open={hasError}>
      <summary>{title}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}
