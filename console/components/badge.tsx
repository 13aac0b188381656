// Colored label. The text always carries the meaning, not only the color.
import type { ComponentChildren, JSX } from "preact";

export type Tone = "neutral" | "good" | "warning" | "bad" | "accent";

export function Badge({
  tone = "neutral",
  children,
}: {
  tone?: Tone;
  children: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function statusTone(status: number): Tone {
  if (status >= 500) return "bad";
  if (status >= 400) return "warning";
  return "good";
}
