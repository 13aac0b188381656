// Form of a stored record. It keeps the ETag that the record was read with until it is saved, whatever the page loads
// meanwhile, so that a change of another operator is a conflict and is never overwritten unseen.
import { useRef, useState } from "preact/hooks";
import { ApiError, call, type ApiResponse } from "../api/client.ts";
import { changesBetween, type FieldChange } from "./field-changes.ts";
import { useForm, type Form } from "./form.ts";

/** The record was changed after it was read for this form. */
export interface Conflict {
  /** What the other operator changed in the fields of this form. */
  readonly changes: readonly FieldChange[];
  /** When the record was changed last; null if that is unknown. */
  readonly changedAt: string | null;
  /** Discards the input and shows the stored record. */
  readonly loadTheirs: () => void;
  /** Lets the next submit replace the version that is shown in `changes`. */
  readonly keepMine: () => void;
}

export interface StoredForm<T extends object, R> extends Form<T> {
  /** Returns the version of the record that the next submit replaces; null for a new record. */
  base(): ApiResponse<R> | null;
  readonly conflict: Conflict | null;
}

interface StoredFormOptions<T, R> {
  /** The record as it was read; null for a new one. Only the first value is used. */
  readonly before: ApiResponse<R> | null;
  /** API path of the record. */
  readonly path: string;
  /** Returns the values of the form. */
  readonly toValue: (record: R | undefined) => T;
  /** Path of the form's values within the request body. */
  readonly prefix?: string;
}

export function useStoredForm<T extends object, R>(options: StoredFormOptions<T, R>): StoredForm<T, R> {
  const { before, path, toValue, prefix = "" } = options;
  const base = useRef(before);
  const [theirs, setTheirs] = useState<ApiResponse<R> | null>(null);
  const form = useForm<T>(toValue(before?.data), { prefix });
  const resolve = (version: ApiResponse<R>) => {
    base.current = version;
    setTheirs(null);
  };
  return {
    ...form,
    base: () => base.current,
    conflict:
      theirs === null
        ? null
        : {
            changes: changesBetween(toValue(base.current?.data), toValue(theirs.data), form.value),
            changedAt: updatedAt(theirs.data),
            loadTheirs() {
              resolve(theirs);
              form.reset(toValue(theirs.data));
            },
            keepMine: () => resolve(theirs),
          },
    submit(write) {
      setTheirs(null);
      return form.submit(async (value) => {
        try {
          await write(value);
        } catch (error) {
          if (error instanceof ApiError && error.status === 412) setTheirs(await call<R>("GET", path));
          throw error;
        }
      });
    },
  };
}

function updatedAt(record: unknown): string | null {
  if (typeof record !== "object" || record === null || !("updated_at" in record)) return null;
  return typeof record.updated_at === "string" ? record.updated_at : null;
}
