// Reads a configuration document from a file, or from standard input if the file is "-", and formats its problems.
import { errorCode } from "../base/error-code.ts";
import { GatehouseError, type ErrorDetail } from "../base/errors.ts";
import { parseYamlDocument } from "../base/yaml.ts";
import { UsageError } from "./command.ts";
import { printable } from "./terminal.ts";

/** Adds the position in the file to a problem, if it is known. */
type Locate = (problem: ErrorDetail) => ErrorDetail;

type ReadDocument =
  | { readonly ok: true; readonly document: unknown; readonly locate: Locate }
  | { readonly ok: false; readonly problems: readonly ErrorDetail[] };

export async function readDocument(file: string): Promise<ReadDocument> {
  const bytes = await readBytes(file);
  try {
    const { object, positions } = parseYamlDocument(bytes);
    const locate: Locate = (problem) =>
      positions === null ? problem : { ...problem, ...positions.at(problem.path) };
    return { ok: true, document: object, locate };
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return { ok: false, problems: error.details ?? [{ path: "", message: error.message }] };
  }
}

async function readBytes(file: string): Promise<Uint8Array> {
  try {
    return file === "-" ? await Bun.stdin.bytes() : await Bun.file(file).bytes();
  } catch (error) {
    const reason = errorCode(error) === "ENOENT" ? "does not exist" : "cannot be read";
    throw new UsageError(`${file} ${reason}; give the path of a document, or - for standard input`);
  }
}

/** Returns a line such as `file:3:5: gateways[0].name: is required`, with line and column if they are known. */
export function problemLine(
  file: string,
  { path, message, line, column = 1 }: ErrorDetail,
  kind = "",
): string {
  const place = `${file === "-" ? "standard input" : file}${line === undefined ? "" : `:${line}:${column}`}`;
  return printable([place, kind, path, message].filter((part) => part !== "").join(": "));
}
