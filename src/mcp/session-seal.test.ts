import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { runs } from "../../test/support/long-form.ts";
import { openRequestId, sealRequestId, SessionSeal, type ClientSession } from "./session-seal.ts";

const seal = new SessionSeal("a secret");
const owner = { gatewayId: "g", serviceId: "s", client: "k" };
const session: ClientSession = {
  version: "2025-11-25",
  nonce: "",
  createdAt: 1000,
  servers: [
    { tag: "one", version: "2025-06-18", sessionId: "abc" },
    { tag: "two", version: "2026-07-28", sessionId: null },
  ],
};

describe("a sealed session", () => {
  test("is opened by every node with the secret", () => {
    const text = seal.seal(session, owner);
    const opened = new SessionSeal("a secret").open(text, owner, 2000);
    expect({ ...opened, nonce: "" }).toEqual(session);
    expect(text).toMatch(/^[\x21-\x7e]+$/);
    expect(text).not.toContain("abc");
  });

  test.each([
    ["another gateway", { ...owner, gatewayId: "h" }],
    ["another service", { ...owner, serviceId: "t" }],
    ["another client", { ...owner, client: "l" }],
  ])("is not opened for %s", (_, other) => {
    expect(seal.open(seal.seal(session, owner), other, 2000)).toBeNull();
  });

  test("is not opened with another secret, nor after its time", () => {
    const text = seal.seal(session, owner);
    expect(new SessionSeal("other").open(text, owner, 2000)).toBeNull();
    expect(seal.open(text, owner, 1000 + 31 * 24 * 3600 * 1000)).toBeNull();
  });

  test("is not opened if any character differs", () => {
    const text = seal.seal(session, owner);
    fc.assert(
      fc.property(
        fc.nat(text.length - 1),
        fc.constantFrom("A", "a", "0", "_", "-", "~", " "),
        (at, character) => {
          const changed = text.slice(0, at) + character + text.slice(at + 1);
          return changed === text || seal.open(changed, owner, 2000) === null;
        },
      ),
      { numRuns: runs({ short: 50, long: 2000 }) },
    );
    expect(seal.open(`${text}A`, owner, 2000)).toBeNull();
  });

  test("is bounded, whatever the sessions of servers are", () => {
    const servers = Array.from({ length: 64 }, (_, index) => ({
      tag: `tag${index}`,
      version: "2025-11-25",
      sessionId: "s".repeat(512),
    }));
    const text = seal.seal({ ...session, servers }, owner);
    expect(text.length).toBeLessThanOrEqual(6000);
    expect(seal.open(text, owner, 2000)?.servers.length).toBeGreaterThan(3);
  });
});

test("the id of a server's request survives, and others are not opened", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 50 }), fc.integer()), (id) => {
      expect(openRequestId(sealRequestId("tag", id))).toEqual({ tag: "tag", id });
    }),
    { numRuns: runs({ short: 50, long: 1000 }) },
  );
  for (const text of ["", "tag", "tag:", "tag:{", "tag:null", "tag:{}", "tag:[1]"])
    expect(openRequestId(text)).toBeNull();
});

describe("a sealed place in a stream", () => {
  const given = { ...session, nonce: "n" };
  const request = {
    kind: "request",
    id: "call-1",
    method: "tools/call",
    params: { name: "read", arguments: { secret: 1 } },
  } as const;
  const place = { tag: "one", eventId: "event 1", request };

  test("is opened by every node with the secret, with what the request names", () => {
    const text = seal.sealPlace(place, owner, given) ?? "";
    const opened = new SessionSeal("a secret").openPlace(text, owner, given);
    expect(opened).toEqual({ ...place, request: { ...request, params: { name: "read" } } });
    expect(text).toMatch(/^[\x21-\x7e]+$/);
    const ref = { type: "ref/resource", uri: "memo://n" };
    for (const params of [{ uri: "memo://n" }, { ref }, {}]) {
      const named = { ...place, request: { ...request, params } };
      expect(seal.openPlace(seal.sealPlace(named, owner, given) ?? "", owner, given)).toEqual(named);
    }
    const free = { ...place, request: null };
    expect(seal.openPlace(seal.sealPlace(free, owner, given) ?? "", owner, given)).toEqual(free);
  });

  test("is opened only for its client, its session and as what it is", () => {
    const text = seal.sealPlace(place, owner, given) ?? "";
    expect(seal.openPlace(text, { ...owner, client: "l" }, given)).toBeNull();
    expect(seal.openPlace(text, owner, { ...given, nonce: "m" })).toBeNull();
    expect(seal.open(text, owner, 2000)).toBeNull();
    expect(seal.openPlace(seal.seal(session, owner), owner, given)).toBeNull();
  });

  test("is none if the id were longer than header fields may be", () => {
    const params = { uri: "x".repeat(5000) };
    expect(seal.sealPlace({ ...place, request: { ...request, params } }, owner, given)).toBeNull();
  });
});
