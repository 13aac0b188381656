// Mark of a provider: its initials on a tinted square. No logos are used.
import type { JSX } from "preact";

const COLORS = 6;

/** Decorative: the name of the provider is always next to it. */
export function Monogram({ title }: { readonly title: string }): JSX.Element {
  return (
    <svg class={`monogram color-${colorOf(title)}`} viewBox="0 0 28 28" aria-hidden="true">
      <rect width="28" height="28" rx="7" />
      <text x="14" y="18.5" text-anchor="middle">
        {initialsOf(title)}
      </text>
    </svg>
  );
}

/** The first letters of two words, or the first letter of one and its next capital, as in OpenRouter. */
function initialsOf(title: string): string {
  const [first = "?", second] = title.split(/[\s_-]+/).filter((word) => word !== "");
  const [initial = "", ...rest] = first;
  const next =
    second === undefined
      ? (rest.find((letter) => /\p{Lu}/u.test(letter)) ?? rest[0] ?? "")
      : second.charAt(0);
  return initial + next;
}

function colorOf(title: string): number {
  let sum = 0;
  for (const letter of title) sum = (sum * 31 + (letter.codePointAt(0) ?? 0)) % 9973;
  return (sum % COLORS) + 1;
}
