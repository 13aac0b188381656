import { expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { PublicNames } from "./public-names.ts";

const serverWith = (prefix: string) => ({ prefix });

test("names and URIs lead back to their server, whatever they contain", () => {
  const servers = ["a", "a-b", "A_b", "1x"].map(serverWith);
  const names = new PublicNames(servers, true);
  const text = fc.oneof(fc.string(), fc.constantFrom("__", "a__b", "_x", "git+https://x", "+"));
  fc.assert(
    fc.property(fc.constantFrom(...servers), text, (server, name) => {
      expect(names.find(names.nameFor(server, name))).toEqual({ server, name });
      expect(names.findUri(names.uriFor(server, name))).toEqual({ server, name });
    }),
    { numRuns: runs({ short: 100, long: 5000 }) },
  );
  for (const unknown of ["", "x", "b__x", "__x", "a_x"]) expect(names.find(unknown)).toBeNull();
  expect(names.findUri("file:///x")).toBeNull();
});

test("URIs have a valid scheme, in lower case", () => {
  const server = serverWith("9_Docs");
  expect(new PublicNames([server], true).uriFor(server, "file:///x")).toBe("mcp.9.docs+file:///x");
});

test("a service with one server keeps the server's names", () => {
  const server = serverWith("a");
  const names = new PublicNames([server], false);
  expect(names.nameFor(server, "x")).toBe("x");
  expect(names.find("b__x")).toEqual({ server, name: "b__x" });
  expect(names.uriFor(server, "file:///x")).toBe("file:///x");
});
