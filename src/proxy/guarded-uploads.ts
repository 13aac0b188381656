// Rejects files with text, forms, batches, WebSockets and MCP, where a guard of the gateway cannot inspect texts.
import { isUtf8 } from "node:buffer";
import { GatehouseError } from "../base/errors.ts";
import { isMediaFile, isTextFile } from "../base/text-bytes.ts";
import { operationSpelledIn } from "../formats/operations.ts";
import { namesOtherCharset } from "../http/charset.ts";
import { isMultipart, isUrlEncoded } from "../http/media-type.ts";
import { readBodyTexts } from "../sdk/index.ts";
import type { CompiledRule } from "../snapshot/compiled-rule.ts";
import type { FileTransport, Refusal, RuleGuards } from "../snapshot/rule-guards.ts";
import type { Exchange } from "./exchange.ts";
import type { RequestBody } from "./request-body.ts";
import { filesInForm } from "./text-files.ts";

/** The paths of APIs that create a batch from the requests in the body. Whatever its spelling: some servers ignore case. */
const BATCH_OF_REQUESTS = /\/messages\/batches\/*$|:batchgeneratecontent$/i;
const FILES: readonly FileTransport[] = ["files"];
const BATCHES: readonly FileTransport[] = ["batches"];
const BOTH: readonly FileTransport[] = [...FILES, ...BATCHES];

/** Throws if the request opens a WebSocket, whose messages no guard inspects. */
export function requireInspectedSocket({ guards }: CompiledRule): void {
  if (guards !== null) refuse(guards.realtime);
}

/** Throws if a guard does not inspect what MCP servers send. */
export function requireInspectedMessages({ rule }: Exchange): void {
  refuse(rule?.guards?.mcp ?? null);
}

/** Throws if the body has texts that a guard cannot inspect. Call before plugins change it. */
export function requireInspectedBody(exchange: Exchange): null {
  const { body, rule } = exchange;
  if (rule === null || rule.guards === null || body === null) return null;
  const { guards } = rule;
  if (guards.batches !== null && isBatchOfRequests(exchange, rule)) refuse(guards.batches);
  if (!guards.readsForms) return null;
  requireInspectedFiles(exchange, rule, body.bytes, guards);
  if (guards.forms !== null && mayHaveOtherText(exchange, body)) refuse(guards.forms);
  return null;
}

/** Plugins read JSON as UTF-8. A server may decode it from the charset that its type names. */
function mayHaveOtherText(exchange: Exchange, { bytes, isJson }: RequestBody): boolean {
  if (namesOtherCharset(exchange.request.headers.get("content-type") ?? "")) return true;
  return !isJson && mayHaveText(exchange, bytes);
}

/** Whether a body that is no JSON may have a text, other than in files of a form. */
function mayHaveText({ request: { headers } }: Exchange, bytes: Uint8Array): boolean {
  const type = headers.get("content-type");
  if (isEncoded(headers.get("content-encoding"))) return true;
  if (!isMultipart(type) && !isUrlEncoded(type)) return bytes.byteLength > 0 && !isMediaFile(type, bytes);
  const { texts, unreadable } = readBodyTexts(bytes, type);
  return texts.length > 0 || unreadable !== null;
}

function isEncoded(encoding: string | null): boolean {
  return encoding !== null && encoding.toLowerCase() !== "identity";
}

function requireInspectedFiles(
  { request: { headers }, sentPath }: Exchange,
  { upstream }: CompiledRule,
  bytes: Uint8Array,
  { files }: RuleGuards,
): void {
  const type = headers.get("content-type");
  const isOpaque = isEncoded(headers.get("content-encoding"));
  if (isMultipart(type)) {
    const form = isOpaque ? null : filesInForm(bytes, type);
    // A form that cannot be read may contain any file. Guards that inspect files reject it themselves.
    const transports = form === null || form.isBatch === null ? BOTH : form.isBatch ? BATCHES : FILES;
    if (form === null || form.hasText) for (const transport of transports) refuse(files[transport].always);
    if (form !== null && form.hasPlainTextFile && !isUtf8(bytes))
      for (const transport of transports) refuse(files[transport].otherThanUtf8);
    return;
  }
  const isUpload = [sentPath, ...upstream.targets.map(({ path }) => path ?? "")].some(
    (path) => operationSpelledIn(path) === "files",
  );
  // Some APIs take a file as the whole body.
  if (isUpload && (isOpaque || isTextFile(type, bytes))) refuse(files.files.always);
}

/** Targets with a path may have one that creates batches. */
function isBatchOfRequests({ sentPath }: Exchange, { upstream }: CompiledRule): boolean {
  const paths = [sentPath, ...upstream.targets.map(({ path }) => path ?? "")];
  return paths.some((path) => BATCH_OF_REQUESTS.test(path));
}

const SUBJECTS: Readonly<Record<Refusal["transport"], string>> = {
  realtime_text: "the texts of a WebSocket",
  realtime_audio: "the audio of a WebSocket",
  files: "the text in a file",
  batches: "the requests of a batch",
  mcp: "what MCP servers send",
  forms: "the text of a form, or of a body that is no JSON",
};

function refuse(refusal: Refusal | null): void {
  if (refusal === null) return;
  throw notApplicable(refusal);
}

export function notApplicable({ guard, transport }: Refusal): GatehouseError {
  return new GatehouseError("guard_not_applicable", refusalMessage(guard, transport));
}

function refusalMessage(guard: string, transport: Refusal["transport"]): string {
  if (transport === "forms")
    return `The plugin ${guard} of the gateway cannot inspect ${SUBJECTS.forms} (transport forms). Send JSON, or let the plugin inspect forms and say so in its inspects.`;
  const missing = transport === "realtime_text" ? '"realtime_text" and "realtime_audio"' : `"${transport}"`;
  return `The plugin ${guard} of the gateway cannot inspect ${SUBJECTS[transport]} (transport ${transport}). To let them pass uninspected, add ${missing} to unguarded of the rule.`;
}
