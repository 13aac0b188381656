// Checks the AWS signature of a request as the service does: from the bytes that arrived. Written apart from the signer, after
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html.
import type { RecordedRequest } from "../../src/fake-provider/server.ts";

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, SignedHeaders=([a-z0-9;-]+), Signature=([0-9a-f]{64})$/;

interface CheckedSignature {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  /** Whether the signature is right for the request and the key. */
  readonly isValid: boolean;
}

export async function checkSignature(
  request: RecordedRequest,
  secretAccessKey: string,
): Promise<CheckedSignature> {
  const [, accessKeyId = "", date = "", region = "", service = "", names = "", signature = ""] =
    AUTHORIZATION.exec(request.header("authorization") ?? "") ?? [];
  const signedHeaders = names.split(";");
  const time = request.header("x-amz-date") ?? "";
  const url = new URL(request.target, "http://host");
  const query = [...url.searchParams]
    .map(([name, value]) => `${percent(name)}=${percent(value)}`)
    .sort()
    .join("&");
  const lines = signedHeaders.map(
    (name) => `${name}:${(request.header(name) ?? "").trim().replace(/ {2,}/g, " ")}\n`,
  );
  const path = url.pathname.split("/").map(percent).join("/");
  const payload = await hash(request.body);
  const canonical = `${request.method}\n${path}\n${query}\n${lines.join("")}\n${names}\n${payload}`;
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${await hash(Buffer.from(canonical))}`;
  let key: Uint8Array = Buffer.from(`AWS4${secretAccessKey}`);
  for (const part of [date, region, service, "aws4_request", text]) key = await hmac(key, part);
  const isValid = time.startsWith(date) && signature !== "" && Buffer.from(key).toString("hex") === signature;
  return { accessKeyId, region, service, signedHeaders, isValid };
}

function percent(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

async function hash(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest("SHA-256", Buffer.from(bytes))).toString("hex");
}

async function hmac(key: Uint8Array, text: string): Promise<Uint8Array> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", Buffer.from(key), algorithm, false, ["sign"]);
  return new Uint8Array(await crypto.subtle.sign("HMAC", imported, Buffer.from(text)));
}
