// The 404 of the admin listener for a path that does not exist.
import { GatehouseError } from "../base/errors.ts";

export function unknownPathError(path: string): GatehouseError {
  return new GatehouseError("not_found", `There is nothing at ${path.slice(0, 200)}.`);
}
