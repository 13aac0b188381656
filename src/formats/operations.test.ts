// What the end-to-end tests of operations do not cover: names with special characters, spellings, and hostile paths.
import { describe, expect, test } from "bun:test";
import { endpointIn, operationSpelledIn } from "./operations.ts";

describe("models", () => {
  test.each([
    ["/v1/models", "/models"],
    ["/v1/models/a/b", "/models/a/b"],
    ["/v1/models/ft:gpt-4o:acme::1", "/models/ft:gpt-4o:acme::1"],
    ["/v1/models/llama3:latest", "/models/llama3:latest"],
  ])("%s", (path, tail) => {
    expect(endpointIn(path)).toMatchObject({ operation: "models", tail });
  });

  test.each(["/v1/models/", "/v1beta/models/m:batchGenerateContent", "/v1/models/m:predict", "/v1/mymodels"])(
    "not %s",
    (path) => {
      expect(endpointIn(path)).toBeNull();
    },
  );
});

test("the time for a path with many names is linear", () => {
  const path = `${"/models/".repeat(100_000)}m:generateText`;
  // Linear time takes a few milliseconds, quadratic time minutes, which exceed the timeout of the test.
  expect(endpointIn(path)).toBeNull();
});

describe("spellings that a server may accept for an endpoint", () => {
  test.each([
    ["/v1/files/", "files"],
    ["/v1/%66iles", "files"],
    ["/v1/Files/file-1/content", "files"],
    ["/v1/files%2ffile-1", "files"],
    ["/v1/files;x=y/file-1", "files"],
    ["/v1/files%20", "files"],
    ["/v1/batches//batch_1", "batches"],
    ["/v1/responses/resp_1/", "responses"],
    ["/v1/fine_tuning/jobs/%zz/", "fine_tuning"],
  ] as const)("%s is for %s", (path, operation) => {
    expect(endpointIn(path)).toBeNull();
    expect(operationSpelledIn(path)).toBe(operation);
  });

  test.each(["/v1/vector_stores/vs_1/files/", "/v1/threads/t/messages/", "/v1/uploads", "/"])(
    "%s is for none",
    (path) => {
      expect(operationSpelledIn(path)).toBeNull();
    },
  );
});
