// Mutated requests: valid ones, changed at random places in ways on which HTTP parsers disagree.

type Random = () => number;

/** Mulberry32, seeded so that a failing run can be repeated. */
export function randomFrom(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

const upTo = (random: Random, end: number) => Math.floor(random() * end);
const oneOf = <T>(random: Random, choices: readonly T[]): T => choices[upTo(random, choices.length)] as T;

/** Returns a valid request. It contains `marker`, so that a response can be matched with its request. */
function validRequest(random: Random, path: string, marker: string): string {
  const body = `{"model":"gpt-fake","messages":[{"role":"user","content":"${marker}"}]}`;
  const headers = (line: string, ...fields: string[]) =>
    [line, "Host: gatehouse.test", `X-Marker: ${marker}`, ...fields, "", ""].join("\r\n");
  const chunk = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`;
  switch (upTo(random, 6)) {
    case 0:
      return headers(`GET ${path}?a=${marker} HTTP/1.1`, "Accept: */*");
    case 1:
      return (
        headers(`POST ${path} HTTP/1.1`, "Content-Type: application/json", "Transfer-Encoding: chunked") +
        `${chunk(body.slice(0, 30))}${chunk(body.slice(30))}0\r\n\r\n`
      );
    case 2:
      return headers(`POST ${path} HTTP/1.1`, "Content-Length: 0");
    case 3:
      return (
        headers(
          `PUT ${path}/deeper HTTP/1.1`,
          "Content-Type: text/plain",
          `Content-Length: ${marker.length}`,
          "Connection: close",
        ) + marker
      );
    case 4:
      return headers(`DELETE http://gatehouse.test${path} HTTP/1.1`, "Connection: keep-alive, X-Marker");
    default:
      return (
        headers(`POST ${path} HTTP/1.1`, "Content-Type: application/json", `Content-Length: ${body.length}`) +
        body
      );
  }
}

const ODD_BYTES = [
  "\0",
  "\r",
  "\n",
  "\r\n",
  " ",
  "\t",
  "\x0b",
  ":",
  ";",
  ",",
  "/",
  "?",
  "#",
  "%",
  "\x7f",
  "\xff",
];
const ODD_LINES = [
  "Content-Length: 0",
  "Content-Length: 5",
  "Content-Length: 5, 5",
  "Content-Length: +5",
  "Content-Length: 99999999999999999999",
  "Content-Length : 3",
  " folded",
  "\tfolded: too",
  "Transfer-Encoding: chunked",
  "Transfer-Encoding: xchunked",
  "Transfer-Encoding: chunked, chunked",
  "Transfer-Encoding: identity",
  "Transfer_Encoding: chunked",
  "Host: other.test",
  "Host:",
  "Connection: close",
  "Connection: X-GW-API-Key, Host, Content-Length",
  "Upgrade: h2c",
  "Expect: 100-continue",
  "no colon here",
  ": no name",
  "X-\0: nul",
];
const TAILS = [
  "\0\x01\x02",
  "GET / HTTP/1.1\r\n\r\n",
  "G",
  "garbage without an end",
  "BAD BAD\r\n\r\n",
  "0\r\n\r\n",
  "\r\n",
  "\r\n\r\n\r\n",
  "POST /smuggled HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
  "\x16\x03\x01\x02\x00",
];

type Mutation = (text: string, random: Random) => string;

const replaceAt = (text: string, at: number, length: number, by: string) =>
  text.slice(0, at) + by + text.slice(at + length);

const MUTATIONS: readonly Mutation[] = [
  // Flip a bit.
  (text, random) => {
    const at = upTo(random, text.length);
    return replaceAt(text, at, 1, String.fromCharCode((text.charCodeAt(at) ^ (1 << upTo(random, 8))) & 0xff));
  },
  // Insert a byte with a special meaning, or replace one.
  (text, random) => replaceAt(text, upTo(random, text.length), upTo(random, 2), oneOf(random, ODD_BYTES)),
  // Remove bytes.
  (text, random) => replaceAt(text, upTo(random, text.length), 1 + upTo(random, 8), ""),
  // Repeat bytes.
  (text, random) => {
    const at = upTo(random, text.length);
    return replaceAt(text, at, 0, text.slice(at, at + 1 + upTo(random, 40)));
  },
  // Add an unusual line.
  (text, random) => {
    const ends = [...text.slice(0, text.indexOf("\r\n\r\n") + 2).matchAll(/\r\n/g)];
    const at = (oneOf(random, ends)?.index ?? 0) + 2;
    return replaceAt(text, at, 0, `${oneOf(random, ODD_LINES)}\r\n`);
  },
  // Remove the CR of a line end.
  (text, random) => {
    const at = text.indexOf("\r\n", upTo(random, text.length));
    return at < 0 ? text : replaceAt(text, at, 2, "\n");
  },
  // Change a number.
  (text, random) => {
    const numbers = [...text.matchAll(/\d+/g)];
    const number = oneOf(random, numbers);
    if (number === undefined) return text;
    return replaceAt(text, number.index, number[0].length, String(upTo(random, 200) - 20));
  },
  // Append bytes.
  (text, random) => text + oneOf(random, TAILS),
  // Repeat the request.
  (text) => text + text,
  // Truncate.
  (text, random) => text.slice(0, upTo(random, text.length)),
];

/** Returns a valid request with one to three changes; sometimes with none, so that some requests are accepted. */
export function mutatedRequest(random: Random, path: string, marker: string): string {
  let text = validRequest(random, path, marker);
  for (let changes = upTo(random, 10) === 0 ? 0 : 1 + upTo(random, 3); changes > 0; changes--)
    text = oneOf(random, MUTATIONS)(text, random) || "\0";
  return text;
}
