// The head of a provider's answer: parsed strictly, since what another server reads differently is what attacks are made of.
import type { HeaderFieldCache } from "./header-field-cache.ts";

export interface ResponseHead {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly framing: Framing;
  /** Whether the connection can carry another request afterwards. */
  readonly keepsAlive: boolean;
}

/** How the end of the body is told: by its length, by chunks, or by the end of the connection. */
export type Framing = number | "chunked" | "until_close";

/** The answer is not one that HTTP knows. */
export class MalformedResponse extends Error {
  override readonly name = "MalformedAnswer";
}

/** Headers in the order and number in which they came, names in lower case. */
export class ResponseHeaders {
  readonly names: string[] = [];
  readonly values: string[] = [];

  add(name: string, value: string): void {
    this.names.push(name);
    this.values.push(value);
  }

  /** The value of that name, several joined as HTTP says; null where there is none. */
  get(name: string): string | null {
    const { names, values } = this;
    let found: string | null = null;
    for (let index = 0; index < names.length; index++) {
      if (names[index] !== name) continue;
      const value = values[index] ?? "";
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }
}

const STATUS_LINE = /^HTTP\/1\.[01] [1-5]\d\d(?: |\r|$)/;
const TOKEN = /^[!#$%&'*+.^_`|~0-9a-z-]+$/;

/** Line breaks are looked at where lines end. */
const CONTROL = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/;
const DIGITS = /^\d{1,15}$/;
const MAX_HEADERS = 256;
const TAB = 0x09;
const BLANK = 0x20;
const ZERO = 0x30;

/** `text` is the head without its empty line, a character a byte; `known` are the lines of this provider's last one. */
export function parseHead(text: string, method: string, known: HeaderFieldCache): ResponseHead {
  let end = lineEnd(text, 0);
  if (!STATUS_LINE.test(text) || CONTROL.test(text.slice(0, end)))
    throw new MalformedResponse("the status line is not one");
  const isOld = text.charCodeAt(7) === ZERO;
  const status = Number(text.slice(9, 12));
  const headers = new ResponseHeaders();
  let length: number | null = null;
  let coding: string | null = null;
  let connection = isOld ? "close" : "keep-alive";
  for (let place = 0; end < text.length; place++) {
    const start = end + 2;
    end = known.endOf(place, text, start);
    if (end < 0) end = readLine(text, start, place, known, headers);
    else headers.add(known.nameOf(place), known.valueOf(place));
    const name = headers.names[place];
    const value = headers.values[place] ?? "";
    if (name === "content-length") length = oneLength(length, value);
    else if (name === "transfer-encoding") coding = coding === null ? value : `${coding},${value}`;
    else if (name === "connection") connection = value.toLowerCase();
  }
  if (headers.names.length > MAX_HEADERS) throw new MalformedResponse("there are too many headers");
  const framing = framingOf(method, status, length, coding);
  // Length and chunks together: the chunks count, and what follows is not trusted.
  const isClear = framing !== "until_close" && (coding === null || length === null);
  const keepsAlive = isClear && !connection.includes("close") && (!isOld || connection !== "close");
  return { status, headers, framing, keepsAlive };
}

/** Adds the header of the line that begins at `start`, and answers where that ends. */
function readLine(
  text: string,
  start: number,
  place: number,
  known: HeaderFieldCache,
  headers: ResponseHeaders,
): number {
  const end = lineEnd(text, start);
  const line = text.slice(start, end);
  if (CONTROL.test(line)) throw new MalformedResponse("a header holds a control character");
  const colon = line.indexOf(":");
  if (colon < 0) throw new MalformedResponse("a header has no colon");
  const name = line.slice(0, colon).toLowerCase();
  // A folded line begins with a space, which no name does.
  if (!TOKEN.test(name)) throw new MalformedResponse("the name of a header is not one");
  const value = valueBetween(line, colon + 1, line.length);
  headers.add(name, value);
  known.keep(place, text, start, end, name, value);
  return end;
}

/** The end of the line that begins at `start`. A carriage return or a line feed on its own ends none, and is refused. */
function lineEnd(text: string, start: number): number {
  const end = text.indexOf("\r", start);
  const feed = text.indexOf("\n", start);
  if (end < 0 && feed < 0) return text.length;
  if (feed !== end + 1 || end < 0) throw new MalformedResponse("a header holds a control character");
  return end;
}

/** Without the blanks around it. */
function valueBetween(text: string, from: number, to: number): string {
  let start = from;
  let end = to;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(character: number): boolean {
  return character === BLANK || character === TAB;
}

function oneLength(known: number | null, value: string): number {
  if (known === null && DIGITS.test(value)) return Number(value);
  // Some servers repeat it in one header or several; they must agree.
  for (const each of value.split(",")) {
    const digits = each.trim();
    if (!DIGITS.test(digits) || (known !== null && known !== Number(digits)))
      throw new MalformedResponse("its length is not one number");
    known = Number(digits);
  }
  return known ?? 0;
}

function framingOf(method: string, status: number, length: number | null, coding: string | null): Framing {
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) {
    if (coding.trim().toLowerCase() !== "chunked")
      throw new MalformedResponse("its transfer coding is not known");
    return "chunked";
  }
  return length ?? "until_close";
}
