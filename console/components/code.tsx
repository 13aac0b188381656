// Text to be copied: commands, keys, snippets, bodies.
import type { JSX } from "preact";
import { CopyButton } from "./button.tsx";

export interface CodeProps {
  readonly text: string;
  readonly what: string;
}

export function Code({ text, what }: CodeProps): JSX.Element {
  return (
    <div class="code">
      <CopyButton text={text} what={what} />
      <pre tabIndex={0} aria-label={what}>
        {text}
      </pre>
    </div>
  );
}

/** JSON laid out for reading; anything else as it is. */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
