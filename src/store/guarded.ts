// Operations of the store have a deadline, and fail with errors that callers understand.
import type { GatehouseError } from "../base/errors.ts";
import { withinDeadline } from "./database.ts";
import { storeError, unavailable } from "./store-error.ts";

export async function guarded<T>(
  deadlineMs: number,
  work: () => Promise<T>,
  onExpired?: () => void,
): Promise<T> {
  try {
    return await withinDeadline(deadlineMs, work(), onExpired);
  } catch (error) {
    throw storeError(error);
  }
}

export function expiredWrite(): GatehouseError {
  return unavailable("The database did not respond in time; nothing was changed.");
}
