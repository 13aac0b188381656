import { expect, test } from "bun:test";
import { STATUS_CODES } from "node:http";
import { REASON_PHRASES } from "./reason-phrases.ts";

test("reason phrases are those that clients of other servers know", () => {
  expect<Readonly<Record<number, string | undefined>>>(REASON_PHRASES).toEqual(STATUS_CODES);
});
