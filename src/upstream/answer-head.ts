// The head of a provider's answer: parsed strictly, since what another server reads differently is what attacks are made of.

export interface AnswerHead {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly framing: Framing;
  /** Whether the connection can carry another request afterwards. */
  readonly keepsAlive: boolean;
}

/** How the end of the body is told: by its length, by chunks, or by the end of the connection. */
export type Framing = number | "chunked" | "until_close";

/** The answer is not one that HTTP knows. */
export class MalformedAnswer extends Error {
  override readonly name = "MalformedAnswer";
}

/** Headers in the order and number in which they came, names in lower case. */
export class AnswerHeaders {
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

/** `text` is the head without its empty line, a character a byte. */
export function parseHead(text: string, method: string): AnswerHead {
  if (CONTROL.test(text)) throw new MalformedAnswer("a header holds a control character");
  // Names are taken from here: lowering all of it at once costs less than each by itself.
  const lower = text.toLowerCase();
  let end = lineEnd(text, 0);
  if (!STATUS_LINE.test(text)) throw new MalformedAnswer("the status line is not one");
  const isOld = text.charCodeAt(7) === ZERO;
  const status = Number(text.slice(9, 12));
  const headers = new AnswerHeaders();
  let length: number | null = null;
  let coding: string | null = null;
  let connection = isOld ? "close" : "keep-alive";
  while (end < text.length) {
    const start = end + 2;
    end = lineEnd(text, start);
    const colon = text.indexOf(":", start);
    if (colon < 0 || colon > end) throw new MalformedAnswer("a header has no colon");
    const name = lower.slice(start, colon);
    // A folded line begins with a space, which no name does.
    if (!TOKEN.test(name)) throw new MalformedAnswer("the name of a header is not one");
    const value = valueBetween(text, colon + 1, end);
    headers.add(name, value);
    if (name === "content-length") length = oneLength(length, value);
    else if (name === "transfer-encoding") coding = coding === null ? value : `${coding},${value}`;
    else if (name === "connection") connection = value.toLowerCase();
  }
  if (headers.names.length > MAX_HEADERS) throw new MalformedAnswer("there are too many headers");
  const framing = framingOf(method, status, length, coding);
  // Length and chunks together: the chunks count, and what follows is not trusted.
  const isClear = framing !== "until_close" && (coding === null || length === null);
  const keepsAlive = isClear && !connection.includes("close") && (!isOld || connection !== "close");
  return { status, headers, framing, keepsAlive };
}

/** The end of the line that begins at `start`. A carriage return or a line feed on its own ends none, and is refused. */
function lineEnd(text: string, start: number): number {
  const end = text.indexOf("\r", start);
  const feed = text.indexOf("\n", start);
  if (end < 0 && feed < 0) return text.length;
  if (feed !== end + 1 || end < 0) throw new MalformedAnswer("a header holds a control character");
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
      throw new MalformedAnswer("its length is not one number");
    known = Number(digits);
  }
  return known ?? 0;
}

function framingOf(method: string, status: number, length: number | null, coding: string | null): Framing {
  if (method === "HEAD" || status < 200 || status === 204 || status === 304) return 0;
  if (coding !== null) {
    if (coding.trim().toLowerCase() !== "chunked")
      throw new MalformedAnswer("its transfer coding is not known");
    return "chunked";
  }
  return length ?? "until_close";
}
