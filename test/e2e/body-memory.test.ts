// The memory of a body is used again as soon as nothing needs it. Whatever the size, and whoever reads it, every provider and every plugin
// sees the body of its own request.
import { expect, test } from "bun:test";
import type { FakeProvider } from "../../src/fake-provider/server.ts";
import {
  pluginsDirectory,
  postChat,
  scriptedWhole,
  SCRIPTED_PLUGINS,
  type Fields,
} from "../support/plugin-fixtures.ts";
import { seedRoute, targetAt } from "../support/proxy-fixtures.ts";
import { useFakeProvider, useGatehouse } from "../support/use-gatehouse.ts";

const env = { PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS) };
const [gatehouse, one, two] = await Promise.all([
  useGatehouse({ env }),
  useFakeProvider({ name: "one" }),
  useFakeProvider({ name: "two" }),
]);

/** Around the sizes from which memory is freed early, and from which a body arrives in several pieces. */
const SIZES = [500, 16_000, 16_384, 20_000, 65_000, 65_536, 66_000, 130_000, 300_000];
const ROUNDS = 5;
const CONCURRENT = 24;

const SANITATION = {
  name: "code_sanitation",
  stage: "pre_request",
  priority: 1,
  settings: { languages: [{ language: "sql" }], content_to_check: ["body"], action: "block" },
};
/** Keeps the memory of all bodies, and says in how many of them the bytes have changed. */
const KEEPER = scriptedWhole(
  "pre_request",
  `const kept = host.keep("bodies", () => []);
   kept.push({ view: context.bodyView, text: context.bodyText });
   const changed = kept.filter(({ view, text }) => Buffer.from(view).toString() !== text);
   context.setResponseHeader("X-Kept", kept.length + " " + changed.length);`,
  { priority: 2 },
);

/** Returns a body whose text occurs in no other one. */
function bodyOf(size: number, serial: number): string {
  const words = `letter ${serial} of the museum `;
  const content = words.repeat(Math.ceil(size / words.length)).slice(0, size);
  return JSON.stringify({ model: "gpt-fake", messages: [{ role: "user", content }] });
}

/** One of eight requests is sent to a second provider, because the first one fails. */
async function sendAll(plugins: readonly Fields[]): Promise<Response[]> {
  const targets = [targetAt(one, { priority: 1 }), targetAt(two, { priority: 2 })];
  const route = await seedRoute(gatehouse, { gateway: { required_plugins: plugins }, upstream: { targets } });
  for (const provider of [one, two]) provider.reset();
  // Not more often: retries have a budget.
  one.behave(({ serial }) => (serial % 8 === 0 ? { status: 503 } : {}));
  const bodies = Array.from({ length: ROUNDS * SIZES.length }, (_, at) =>
    bodyOf(SIZES[at % SIZES.length] ?? 0, at),
  );
  const responses: Response[] = [];
  let next = 0;
  const client = async () => {
    for (let body = bodies[next++]; body !== undefined; body = bodies[next++]) {
      const response = await postChat(gatehouse, route, { body });
      await response.text();
      responses.push(response);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT }, client));
  expect(responses.map(({ status }) => status)).toEqual(bodies.map(() => 200));
  expect(receivedBy(one).toSorted()).toEqual(bodies.toSorted());
  const failed = receivedBy(one).filter((_, at) => (at + 1) % 8 === 0);
  expect(receivedBy(two).toSorted()).toEqual(failed.toSorted());
  return responses;
}

function receivedBy(provider: FakeProvider): string[] {
  return provider.requests.map(({ body }) => Buffer.from(body).toString());
}

test("providers receive every body as it was sent", async () => {
  await sendAll([]);
});

test("providers receive every body as it was sent if a plugin of Gatehouse reads it", async () => {
  await sendAll([SANITATION]);
});

test("a custom plugin may keep the memory of a body", async () => {
  const responses = await sendAll([SANITATION, KEEPER]);
  const kept = responses.map(({ headers }) => headers.get("x-kept"));
  expect(kept.toSorted()).toEqual(responses.map((_, at) => `${at + 1} 0`).toSorted());
});
