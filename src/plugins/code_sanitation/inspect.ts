// Scans the configured parts of a request for code of the configured languages, and blocks the request or masks the code.
import type { RequestContext } from "../../sdk/index.ts";
import { bodyTextOf, isUndeclaredCompression } from "./body-text.ts";
import { compileDetector, type Detector, type Finding, type Language } from "./detector.ts";
import { firstInJson, maskJson } from "./json-text.ts";
import { maskText } from "./mask.ts";
import { firstInPathAndQuery, maskPathAndQuery } from "./path-and-query.ts";
import type { CodeSanitationSettings } from "./settings.ts";

type Part = CodeSanitationSettings["content_to_check"][number];

/** Compiles the settings of a gateway into a function that inspects one request. */
export function compileInspection(settings: CodeSanitationSettings): (context: RequestContext) => void {
  const languages = settings.languages.filter((entry) => entry.enabled).map((entry) => entry.language);
  const detector = compileDetector(languages);
  const isChecked = (part: Part) =>
    settings.content_to_check.includes(part) || settings.content_to_check.includes("all");
  const parts = { headers: isChecked("headers"), path: isChecked("path_and_query"), body: isChecked("body") };
  return (context) => {
    if (parts.body && isUndeclaredCompression(context)) {
      rejectCompression(context);
      return;
    }
    const recorder = new RecordingDetector(detector);
    if (settings.action === "sanitize") sanitize(context, recorder, parts, settings.sanitize_char);
    else if (findFirst(context, recorder, parts) !== null) block(context, settings);
    recorder.report(context);
  };
}

/** A detector for one request that records the languages it finds. */
class RecordingDetector implements Detector {
  readonly #detector: Detector;
  /** The first pattern found of each language. */
  #patterns: Map<Language, string> | null = null;

  constructor(detector: Detector) {
    this.#detector = detector;
  }

  first(text: string): Finding | null {
    const finding = this.#detector.first(text);
    if (finding !== null) this.#record(finding);
    return finding;
  }

  firstIn(units: Uint16Array, start: number, end: number): Finding | null {
    const finding = this.#detector.firstIn(units, start, end);
    if (finding !== null) this.#record(finding);
    return finding;
  }

  findAll(text: string): Finding[] {
    const findings = this.#detector.findAll(text);
    for (const finding of findings) this.#record(finding);
    return findings;
  }

  /** Counts the languages found and shows the patterns in the request log. */
  report(context: RequestContext): void {
    if (this.#patterns === null) return;
    for (const language of this.#patterns.keys()) context.count("found", language);
    context.setDetail(`found ${[...this.#patterns.values()].join(", ")}`);
  }

  #record({ language, pattern }: Finding): void {
    const patterns = (this.#patterns ??= new Map<Language, string>());
    if (!patterns.has(language)) patterns.set(language, pattern);
  }
}

/** The parts of a request to scan. */
interface Parts {
  readonly headers: boolean;
  readonly path: boolean;
  readonly body: boolean;
}

function findFirst(context: RequestContext, detector: Detector, parts: Parts): Finding | null {
  if (parts.path) {
    const finding = firstInPathAndQuery(context.path + context.query, detector);
    if (finding !== null) return finding;
  }
  if (parts.headers) {
    for (const [, value] of context.forwardedHeaders.entries()) {
      const finding = detector.first(value);
      if (finding !== null) return finding;
    }
  }
  const body = parts.body ? bodyTextOf(context) : null;
  for (const { text, isFile } of body?.pieces ?? []) {
    if (isFile) continue;
    const finding = context.isJson ? firstInJson(text, detector) : detector.first(text);
    if (finding !== null) return finding;
  }
  return null;
}

function rejectCompression(context: RequestContext): void {
  const error = "The body is compressed, but Content-Encoding is missing. Send it without compression.";
  context.respond({ status: 415, body: { error, code: "unsupported_media_type" } });
}

function block(context: RequestContext, { status_code, error_message }: CodeSanitationSettings): void {
  context.respond({ status: status_code, body: { error: error_message, code: "code_injection_detected" } });
}

function sanitize(context: RequestContext, detector: Detector, parts: Parts, char: string): void {
  if (parts.path) sanitizePath(context, detector, char);
  if (parts.headers) {
    for (const [name, value] of [...context.forwardedHeaders.entries()]) {
      const masked = maskText(value, detector, char);
      if (masked !== value) context.setHeader(name, masked);
    }
  }
  const body = parts.body ? bodyTextOf(context) : null;
  if (body === null) return;
  const mask = context.isJson ? maskJson : maskText;
  const masked = body.pieces.map(({ text, isFile }) => (isFile ? text : mask(text, detector, char)));
  if (masked.some((text, index) => text !== body.pieces[index]?.text))
    context.replaceBody(body.encode(masked.join("")));
}

function sanitizePath(context: RequestContext, detector: Detector, char: string): void {
  const before = context.path + context.query;
  const after = maskPathAndQuery(before, detector, char);
  if (after === before) return;
  const question = after.indexOf("?");
  context.setPath(question < 0 ? after : after.slice(0, question));
  context.setQuery(question < 0 ? "" : after.slice(question));
}
