// Secrets of conversations: equal on all nodes, and different for every other conversation.
import { expect, test } from "bun:test";
import { ConversationKeys, type Conversation } from "./conversation-keys.ts";
import { SessionSeal } from "./session-seal.ts";

const owner = { gatewayId: "g", serviceId: "s", client: "k" };
const conversation: Conversation = { owner, user: "k/u", session: null };
const secret = "secret of the server";
const keys = new ConversationKeys(secret);

test("nodes with the same secret derive the same key for a session that one of them sealed", () => {
  const session = { version: "2025-11-25", nonce: "", createdAt: 0, servers: [] };
  const sealed = new SessionSeal(secret).seal(session, owner);
  const keyAt = (node: ConversationKeys) => {
    const opened = new SessionSeal(secret).open(sealed, owner, 0);
    return node.keyOf({ ...conversation, session: opened?.nonce ?? null }, "p");
  };
  expect(keyAt(new ConversationKeys(secret))).toBe(keyAt(keys));
  expect(keyAt(keys)).toMatch(/^[\w-]{43}$/);
});

test("other secrets, plugins, sessions, users, clients, services and gateways have other keys", () => {
  const others: Partial<Conversation>[] = [
    {},
    { session: "n" },
    { user: "" },
    { owner: { ...owner, client: "" } },
    { owner: { ...owner, serviceId: "k", client: "s" } },
    { owner: { ...owner, gatewayId: "h" } },
  ];
  const derived = others.flatMap((other) =>
    ["p", "q"].map((plugin) => keys.keyOf({ ...conversation, ...other }, plugin)),
  );
  derived.push(new ConversationKeys("another secret").keyOf(conversation, "p"));
  expect(new Set(derived).size).toBe(derived.length);
});
