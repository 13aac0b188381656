// Reads the fields of a large request body in a worker thread.
import { readFields, type BodyFields, type BodySource } from "./request-body.ts";

export function run(source: BodySource): BodyFields {
  return readFields(source);
}
