// Code block with a copy button.
import type { JSX } from "preact";
import { CopyButton } from "./button.tsx";

interface CodeProps {
  readonly text: string;
  /** Names the content, as in “Copy API key”. */
  readonly what: string;
}

export function Code({ text, what }: CodeProps): JSX.Element {
  return (
    <div class="code-block">
      <CopyButton text={text} what={what} />
      <pre tabIndex={0} aria-label={what}>
        {text}
      </pre>
    </div>
  );
}

/** Indents JSON; returns other text unchanged. */
export function pretty(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value, null, 2);
  try {
    return JSON.stringify(JSON.parse(value), null, 2);
  } catch {
    return value;
  }
}
