// Renders text from the API in which backticks mark code.
import type { JSX } from "preact";

export function TextWithCode({ text }: { readonly text: string }): JSX.Element {
  return (
    <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}
