// Finds the ids in a large request body in a worker thread.
import { findIds, type FoundId, type SearchedBody } from "./find-ids.ts";

export function run(body: SearchedBody): FoundId[] {
  return findIds(body);
}
