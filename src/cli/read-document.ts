// Reads a document of the configuration from a file, or with "-" from standard input.
import type { ErrorDetail } from "../base/errors.ts";
import { parseYamlObject } from "../base/yaml.ts";
import { GatehouseError } from "../base/errors.ts";
import { UsageError } from "./command.ts";

export type ReadDocument =
  | { readonly ok: true; readonly document: unknown }
  | { readonly ok: false; readonly faults: readonly ErrorDetail[] };

export async function readDocument(file: string): Promise<ReadDocument> {
  const bytes = await readBytes(file);
  try {
    return { ok: true, document: parseYamlObject(bytes) };
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return { ok: false, faults: error.details ?? [{ path: "", message: error.message }] };
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return file === "-" ? await Bun.stdin.bytes() : await Bun.file(file).bytes();
  } catch (cause) {
    const { code } = cause as { code?: unknown };
    const why = code === "ENOENT" ? "does not exist" : "cannot be read";
    throw new UsageError(`${file} ${why}; give the path of a document, or - for standard input`);
  }
}

/** `file: gateways[0].name: is required`, safe to print: what comes from a file must not steer a terminal. */
export function faultLine(file: string, { path, message }: ErrorDetail, kind = ""): string {
  return printable(
    [file === "-" ? "standard input" : file, kind, path, message].filter((part) => part !== "").join(": "),
  );
}

export function printable(text: string): string {
  return text.replaceAll(/[\u0000-\u001F\u007F-\u009F]/g, "\uFFFD");
}
