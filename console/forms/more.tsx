// Fields that most people never need, folded away; open as soon as one of them is wrong.
import type { ComponentChildren, JSX } from "preact";
import type { FieldSource } from "./field.tsx";

export interface MoreProps {
  readonly title: string;
  readonly form: FieldSource;
  /** The places of the fields within. */
  readonly places: readonly string[];
  readonly isOpen?: boolean;
  readonly children: ComponentChildren;
}

export function More({ title, form, places, isOpen = false, children }: MoreProps): JSX.Element {
  const isWrong = places.some((place) => form.faultsAt(place).length > 0);
  return (
    <details class="more" open={isOpen || isWrong}>
      <summary>{title}</summary>
      <div class="fields">{children}</div>
    </details>
  );
}
