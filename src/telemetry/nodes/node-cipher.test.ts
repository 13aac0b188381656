// Messages between nodes can be read and sent only with the secret of the nodes.
import { expect, test } from "bun:test";
import { NodeCipher } from "./node-cipher.ts";

const cipher = new NodeCipher("a secret of at least thirty-two bytes");

test("a message is opened with the same secret only, and unchanged only", () => {
  const sealed = cipher.seal("a record with ä");
  expect(new NodeCipher("a secret of at least thirty-two bytes").open(sealed)).toBe("a record with ä");
  expect(new NodeCipher("another secret of thirty-two bytes").open(sealed)).toBeNull();
  for (let at = 0; at < Buffer.from(sealed, "base64").length; at++) {
    const changed = Buffer.from(sealed, "base64");
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(cipher.open(changed.toString("base64"))).toBeNull();
  }
  for (const text of ["", "short", '{"protocol":1}', sealed.slice(0, -8)])
    expect(cipher.open(text)).toBeNull();
});

test("a message shows neither its text nor that it is repeated", () => {
  expect(Buffer.from(cipher.seal("a record"), "base64").toString("latin1")).not.toContain("record");
  expect(cipher.seal("a record")).not.toBe(cipher.seal("a record"));
});

test("installations with different secrets use different channels", () => {
  expect(new NodeCipher("another secret of thirty-two bytes").channel).not.toBe(cipher.channel);
});
