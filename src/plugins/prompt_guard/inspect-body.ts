// Inspects the messages of a request body, the latest first.
import { JsonStrings, readBodyTexts, type RequestIdentifier, type RequestText } from "../../sdk/index.ts";
import { RULES } from "./rules.ts";
import { compileRules } from "./score-text.ts";
import { SOURCES, type PromptGuardSettings, type RuleId, type Source } from "./settings.ts";

/** Those that a judge reads, which cost tokens. */
const MAX_JUDGED = 8192;

const MIN_PHRASE = 12;
const SEPARATOR = /[\s_.-]/;
const DATA_URL = /^data:/i;

export interface Inspection {
  /** The message with the highest score; null if no message reaches the threshold. */
  readonly finding: Finding | null;
  /** What a judge is asked about; null if it is not asked. */
  readonly question: Question | null;
  /** What in the request may be text and cannot be read; null if there is nothing. */
  readonly unreadable: string | null;
}

export interface Question {
  /** The latest messages, with at most MAX_JUDGED characters. */
  readonly text: string;
  /** The message with the highest score, which is below the threshold; that of the latest message if all are 0. */
  readonly highest: Finding;
}

export interface Finding {
  readonly score: number;
  readonly rules: readonly RuleId[];
  readonly source: Source;
  /** The position of the message in the request. */
  readonly message: number;
}

type Selection = Pick<PromptGuardSettings, "threshold" | "sources" | "exclude" | "judge">;

/** Compiles the settings into a function that inspects one body. */
export function compileInspection(
  settings: Selection,
): (body: Uint8Array, contentType: string | null) => Inspection {
  const excluded = new Set<string>(settings.exclude);
  const scoreOf = compileRules(RULES.filter(({ id }) => !excluded.has(id)));
  const sources = new Set<Source>(settings.sources);
  return (body, contentType) => {
    let highest: Finding | null = null;
    const { texts, identifiers, unreadable } = readBodyTexts(body, contentType);
    if (unreadable !== null) return { finding: null, question: null, unreadable };
    const messages = joinMessages(texts, sources);
    for (const { source, message, text } of messages.toReversed()) {
      const { score, rules } = scoreOf(text);
      if (score > (highest?.score ?? -1)) highest = { score, rules, source, message };
    }
    const [source = "user"] = settings.sources;
    for (const text of phrasesIn(identifiers)) {
      const { score, rules } = scoreOf(text);
      if (score >= settings.threshold && score > (highest?.score ?? -1))
        highest = { score, rules, source, message: -1 };
    }
    if (highest === null) return { finding: null, question: null, unreadable };
    if (highest.score >= settings.threshold) return { finding: highest, question: null, unreadable };
    const isAsked = settings.judge !== null && highest.score >= settings.judge.ask_from;
    const text = isAsked ? judgedText(messages) : "";
    return { finding: null, question: text === "" ? null : { text, highest }, unreadable };
  };
}

/** Names of fields and participants reach the model, and headers of data URLs may. Other URLs have words of pages. */
function phrasesIn(identifiers: readonly RequestIdentifier[]): string[] {
  return identifiers
    .filter(
      ({ kind, text }) =>
        (kind !== "url" || DATA_URL.test(text)) && text.length >= MIN_PHRASE && SEPARATOR.test(text),
    )
    .map(({ text }) => text);
}

interface Message {
  readonly source: Source;
  readonly message: number;
  readonly text: string;
}

/** Texts of one message and source are inspected as one, so that a phrase may extend over several parts. */
function joinMessages(texts: readonly RequestText[], sources: ReadonlySet<Source>): Message[] {
  const parts = new Map<
    string,
    { readonly source: Source; readonly message: number; readonly texts: string[] }
  >();
  for (const each of texts) {
    const source = sourceOf(each);
    if (source === null || !sources.has(source)) continue;
    const key = `${each.message} ${source}`;
    const known = parts.get(key);
    if (known === undefined) parts.set(key, { source, message: each.message, texts: [readable(each)] });
    else known.texts.push(readable(each));
  }
  return [...parts.values()].map(({ source, message, texts: joined }) => ({
    source,
    message,
    text: joined.join("\n"),
  }));
}

/** In JSON, a text may be written with escape sequences. */
function readable({ text, isJson }: RequestText): string {
  if (!isJson || !text.includes("\\")) return text;
  const bytes = Buffer.from(text);
  const strings = new JsonStrings(bytes);
  const found: string[] = [];
  while (strings.next()) found.push(unescaped(bytes.toString("utf8", strings.start - 1, strings.end + 1)));
  return `${text}\n${found.join("\n")}`;
}

/** Returns the string as it is written if it is no JSON. */
function unescaped(json: string): string {
  try {
    return String(JSON.parse(json));
  } catch {
    return json;
  }
}

function sourceOf({ role, kind }: RequestText): Source | null {
  if (kind === "document") return "document";
  return SOURCES.find((source) => source === role) ?? null;
}

/** The latest messages, in their order. */
function judgedText(messages: readonly Message[]): string {
  const parts: string[] = [];
  let left = MAX_JUDGED;
  for (const { text } of messages.toReversed()) {
    if (left <= 0) break;
    const part = text.length <= left ? text : bothEnds(text, left);
    left -= part.length;
    parts.unshift(part);
  }
  return parts.join("\n\n").trim();
}

/** Orders are effective at the start and at the end of a long text. */
function bothEnds(text: string, length: number): string {
  const half = length >> 1;
  return half === 0 ? "" : `${text.slice(0, half)}\n${text.slice(text.length - half + 1)}`;
}
