// Error codes of system errors and of other values.
import { expect, test } from "bun:test";
import { errorCode } from "./error-code.ts";

test("errorCode returns the code of a system error, and undefined for any other value", () => {
  expect(errorCode(Object.assign(new Error("no entry"), { code: "ENOENT" }))).toBe("ENOENT");
  for (const value of [new Error("no code"), { code: 2 }, "ENOENT", null, undefined])
    expect(errorCode(value)).toBeUndefined();
});
