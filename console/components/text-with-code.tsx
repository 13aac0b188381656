// Renders text from the API in which backticks mark code, and codes that break at their underscores.
import { Fragment, type JSX } from "preact";

export function TextWithCode({ text }: { readonly text: string }): JSX.Element {
  return (
    <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
  );
}

/** An error code such as `code_injection_detected`. It breaks only after an underscore. */
export function ErrorCode({ code }: { readonly code: string }): JSX.Element {
  return (
    <code class="error-code">
      {code.split(/(?<=_)/).map((part, index) => (
        <Fragment key={index}>
          {index > 0 && <wbr />}
          {part}
        </Fragment>
      ))}
    </code>
  );
}
