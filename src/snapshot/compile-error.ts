// The error for a configuration that does not compile: names the record and the fields that are invalid.
import type { ErrorDetail } from "../base/errors.ts";
import type { Kind } from "../kinds/kind.ts";

export class CompileError extends Error {
  readonly kind: Kind;
  readonly id: string;
  readonly details: readonly ErrorDetail[];

  constructor(kind: Kind, id: string, details: readonly ErrorDetail[]) {
    super(details.map(({ path, message }) => `${kind}/${id} ${path}: ${message}`).join("; "));
    this.name = "CompileError";
    this.kind = kind;
    this.id = id;
    this.details = details;
  }
}
