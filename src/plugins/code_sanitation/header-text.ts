// Inspects the headers that a provider will receive. The runtime reports one character per byte, but many programs read headers
// as UTF-8, so values are inspected both ways.
import type { ReadonlyHeaders, RequestContext } from "../../sdk/index.ts";
import type { Detector, Finding } from "./detector.ts";
import { maskText } from "./mask.ts";

const NOT_ASCII = /[^\0-\x7f]/;

/** Called with the name of a header with code. */
export type OnHeaderFound = (name: string) => void;

export function firstInHeaders(
  context: RequestContext,
  detector: Detector,
  onFound: OnHeaderFound,
): Finding | null {
  return (
    firstIn(context.forwardedHeaders, detector, onFound) ?? firstInCredentials(context, detector, onFound)
  );
}

/** Masking a credential would only make it invalid, so code in one blocks the request whatever the action is. */
export function firstInCredentials(
  context: RequestContext,
  detector: Detector,
  onFound: OnHeaderFound,
): Finding | null {
  return firstIn(context.forwardedCredentials, detector, onFound);
}

export function maskHeaders(
  context: RequestContext,
  detector: Detector,
  char: string,
  onFound: OnHeaderFound,
): void {
  for (const [name, value] of [...context.forwardedHeaders.entries()]) {
    const masked = maskHeader(value, detector, char);
    if (masked === value) continue;
    onFound(name);
    context.setHeader(name, masked);
  }
}

function firstIn(headers: ReadonlyHeaders, detector: Detector, onFound: OnHeaderFound): Finding | null {
  for (const [name, value] of headers.entries()) {
    const finding = detector.first(value) ?? (NOT_ASCII.test(value) ? detector.first(utf8Of(value)) : null);
    if (finding === null) continue;
    onFound(name);
    return finding;
  }
  return null;
}

/** If the bytes are not valid UTF-8 and code is found in them as UTF-8, invalid bytes are replaced by U+FFFD. */
function maskHeader(value: string, detector: Detector, char: string): string {
  const masked = maskText(value, detector, char);
  if (!NOT_ASCII.test(masked)) return masked;
  const text = utf8Of(masked);
  const maskedText = maskText(text, detector, char);
  return maskedText === text ? masked : Buffer.from(maskedText).toString("latin1");
}

function utf8Of(value: string): string {
  return Buffer.from(value, "latin1").toString("utf8");
}
