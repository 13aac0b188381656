// A sentence in which `names` stand between backticks, as the API writes them.
import type { JSX } from "preact";

export function Prose({ text }: { readonly text: string }): JSX.Element {
  return (
    <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}
