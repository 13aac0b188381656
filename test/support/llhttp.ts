// Reads requests with llhttp, the HTTP parser of Node.js, as an oracle for the parser of the gateway.

export interface ReadRequest {
  readonly method: string;
  readonly target: string;
  /** Names in lower case and values. */
  readonly headers: readonly (readonly [string, string])[];
  /** As latin1. */
  readonly body: string;
}

export interface ReadRequests {
  /** The complete requests. */
  readonly requests: readonly ReadRequest[];
  /** Why the rest was rejected; null if it is incomplete or empty. */
  readonly error: string | null;
}

/** A program for Node.js: reads a JSON list of inputs from standard input, writes the list of results. */
const PROGRAM = `
const { HTTPParser } = require("node:_http_common");
const { binding } = process;
const METHODS = binding("http_parser").allMethods;
const inputs = JSON.parse(require("node:fs").readFileSync(0, "utf8"));
const results = inputs.map((input) => {
  const requests = [];
  let fields = [];
  let target = "";
  let current = null;
  const parser = new HTTPParser();
  parser.initialize(HTTPParser.REQUEST, {}, 1 << 20, 0);
  parser[HTTPParser.kOnHeaders | 0] = (headers, part) => {
    fields.push(...headers);
    target += part;
  };
  parser[HTTPParser.kOnHeadersComplete | 0] = (major, minor, headers, method, url) => {
    const all = headers === undefined ? fields : headers;
    const pairs = [];
    for (let at = 0; at < all.length; at += 2) pairs.push([all[at].toLowerCase(), all[at + 1]]);
    current = { method: METHODS[method], target: url ?? target, headers: pairs, body: "" };
    return 0;
  };
  parser[HTTPParser.kOnBody | 0] = (bytes) => void (current.body += bytes.toString("latin1"));
  parser[HTTPParser.kOnMessageComplete | 0] = () => {
    requests.push(current);
    fields = [];
    target = "";
  };
  const result = parser.execute(Buffer.from(input, "latin1"));
  return { requests, error: result instanceof Error ? result.code : null };
});
process.stdout.write(JSON.stringify(results));
`;

/** `inputs` have one character per byte. Returns null if Node.js is not installed. */
export function readWithLlhttp(inputs: readonly string[]): ReadRequests[] | null {
  const node = Bun.which("node");
  if (node === null) return null;
  const stdin = Buffer.from(JSON.stringify(inputs));
  const { stdout, stderr, success } = Bun.spawnSync([node, "--no-deprecation", "-e", PROGRAM], { stdin });
  if (!success) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as ReadRequests[];
}
