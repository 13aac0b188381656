// AWS Signature Version 4 in the Authorization header
// (https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html).
import { createHash, createHmac } from "node:crypto";
import type { AddedHeaders, WireRequest } from "../request-credential.ts";

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string | null;
}

export interface SigningScope {
  readonly region: string;
  readonly service: string;
}

const ALGORITHM = "AWS4-HMAC-SHA256";

/**
 * Headers that are not signed: the gateway or a proxy on the way sets them, or changes their values. `host` is added from the
 * request itself.
 */
const UNSIGNED_HEADERS: ReadonlySet<string> = new Set([
  ...["authorization", "host", "content-length", "transfer-encoding", "connection", "keep-alive", "upgrade"],
  ...["te", "trailer", "expect", "user-agent", "accept-encoding", "via", "x-amzn-trace-id"],
  ...["traceparent", "tracestate", "baggage"],
]);
/** A header with other characters would have to be signed as the bytes that the server reads, which is not defined. */
const ASCII = /^[\t\x20-\x7E]*$/;
const UNRESERVED = /[A-Za-z0-9\-._~]/;

/** Signs requests with one pair of keys. Keeps the signing key of the day, which takes four of the five HMACs. */
export class Sigv4Signer {
  readonly #keys: AwsKeys;
  readonly #scope: SigningScope;
  #keyDate = "";
  #signingKey: Uint8Array = new Uint8Array();

  constructor(keys: AwsKeys, scope: SigningScope) {
    this.#keys = keys;
    this.#scope = scope;
  }

  /** Returns the headers to add to the request; undefined for a header of the client that would contradict them. */
  sign(request: WireRequest, unixNow: number): AddedHeaders {
    const { accessKeyId, sessionToken } = this.#keys;
    const time = new Date(unixNow).toISOString().replaceAll(/[:-]|\.\d{3}/g, "");
    const date = time.slice(0, 8);
    const added = {
      "x-amz-date": time,
      "x-amz-security-token": sessionToken ?? undefined,
      // Of a client that signs its requests. The body that it describes may have changed since.
      "x-amz-content-sha256": undefined,
    };
    const headers = canonicalHeaders({ ...request.headers, ...added }, request.host);
    const signedHeaders = headers.map(([name]) => name).join(";");
    const canonical = [
      request.method,
      canonicalPath(request.target),
      canonicalQuery(request.target),
      ...headers.map(([name, value]) => `${name}:${value}`),
      "",
      signedHeaders,
      hexSha256(request.body ?? ""),
    ].join("\n");
    const scope = `${date}/${this.#scope.region}/${this.#scope.service}/aws4_request`;
    const text = `${ALGORITHM}\n${time}\n${scope}\n${hexSha256(canonical)}`;
    const signature = hmac(this.#signingKeyOf(date), text).toString("hex");
    const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${signedHeaders}, Signature=${signature}`;
    return { ...added, authorization };
  }

  #signingKeyOf(date: string): Uint8Array {
    if (this.#keyDate !== date) {
      const { region, service } = this.#scope;
      let key: Uint8Array = Buffer.from(`AWS4${this.#keys.secretAccessKey}`);
      for (const part of [date, region, service, "aws4_request"]) key = hmac(key, part);
      this.#signingKey = key;
      this.#keyDate = date;
    }
    return this.#signingKey;
  }
}

/** Returns the headers to sign, sorted by name. */
function canonicalHeaders(headers: AddedHeaders, host: string): (readonly [string, string])[] {
  const signed: (readonly [string, string])[] = [["host", host]];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined || UNSIGNED_HEADERS.has(name) || !ASCII.test(value)) continue;
    signed.push([name, value.trim().replaceAll(/[\t ]+/g, " ")]);
  }
  return signed.sort(([a], [b]) => (a < b ? -1 : 1));
}

/** The path is encoded a second time, also if it is encoded already. Empty and dot segments are removed. */
function canonicalPath(target: string): string {
  const [path = ""] = target.split("?", 1);
  const segments: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") segments.pop();
    else if (segment !== "" && segment !== ".") segments.push(encode(segment));
  }
  const isFolder = segments.length > 0 && /\/\.{0,2}$/.test(path);
  return `/${segments.join("/")}${isFolder ? "/" : ""}`;
}

/** Names and values are encoded once, and sorted by their encoded form. */
function canonicalQuery(target: string): string {
  const start = target.indexOf("?");
  if (start < 0) return "";
  const pairs = target
    .slice(start + 1)
    .split("&")
    .filter((pair) => pair !== "")
    .map((pair) => {
      const end = pair.indexOf("=");
      const [name, value] = end < 0 ? [pair, ""] : [pair.slice(0, end), pair.slice(end + 1)];
      return [encode(percentDecodedBytes(name)), encode(percentDecodedBytes(value))] as const;
    });
  pairs.sort(([nameA, valueA], [nameB, valueB]) => compare(nameA, nameB) || compare(valueA, valueB));
  return pairs.map(([name, value]) => `${name}=${value}`).join("&");
}

function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** The bytes may be no UTF-8. A "%" that begins no encoded byte is a character of its own. */
function percentDecodedBytes(text: string): Uint8Array {
  if (!text.includes("%")) return Buffer.from(text);
  const parts = text.split(/%([0-9A-Fa-f]{2})/);
  return Buffer.concat(parts.map((part, index) => Buffer.from(part, index % 2 === 0 ? "utf8" : "hex")));
}

/** Percent-encodes everything but unreserved characters (RFC 3986, 2.3). */
function encode(text: string | Uint8Array): string {
  let encoded = "";
  for (const byte of typeof text === "string" ? Buffer.from(text) : text) {
    const character = String.fromCharCode(byte);
    encoded += UNRESERVED.test(character)
      ? character
      : `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  }
  return encoded;
}

function hmac(key: Uint8Array, text: string): Buffer {
  return createHmac("sha256", key).update(text).digest();
}

function hexSha256(data: string | Uint8Array): string {
  return createHash("sha256").update(data).digest("hex");
}
