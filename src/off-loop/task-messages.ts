// The messages between the event loop and a worker thread, and the conversion of errors, which lose their class on the way.
import { ERRORS, GatehouseError, type ErrorCode, type ErrorDetail } from "../base/errors.ts";
import type { StringPlace } from "./large-strings.ts";

/** Large strings are sent before, as an array. `places` says where they belong. */
export interface TaskRequest {
  /** URL of the module that exports `run`. */
  readonly module: string;
  readonly input: unknown;
  readonly places: readonly StringPlace[];
}

export type TaskReply =
  { readonly output: unknown; readonly places: readonly StringPlace[] } | { readonly error: TaskError };

interface TaskError {
  readonly name: string;
  readonly message: string;
  readonly stack: string | null;
  /** Null if it is not a GatehouseError. */
  readonly code: ErrorCode | null;
  readonly details: readonly ErrorDetail[] | null;
}

export function toTaskError(thrown: unknown): TaskError {
  if (!(thrown instanceof Error))
    return { name: "Error", message: String(thrown), stack: null, code: null, details: null };
  const { name, message, stack = null } = thrown;
  const known = isGatehouseError(thrown) ? thrown : null;
  return { name, message, stack, code: known?.code ?? null, details: known?.details ?? null };
}

/**
 * `instanceof` would be false in the single executable: there, the module of a task and this one are separate bundles, and each
 * has its own copy of the class.
 */
function isGatehouseError(thrown: Error): thrown is GatehouseError {
  return (
    "code" in thrown &&
    "details" in thrown &&
    typeof thrown.code === "string" &&
    Object.hasOwn(ERRORS, thrown.code)
  );
}

/** Returns a GatehouseError if the task threw one, otherwise a plain Error with the name and stack of the original. */
export function fromTaskError({ name, message, stack, code, details }: TaskError): Error {
  const isKnown = code !== null && Object.hasOwn(ERRORS, code);
  const error = isKnown
    ? new GatehouseError(code, message, details === null ? {} : { details })
    : new Error(message);
  if (!isKnown) error.name = name;
  if (stack !== null) error.stack = stack;
  return error;
}
