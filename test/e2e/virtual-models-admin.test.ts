// Virtual models as a resource: fields, names, fallbacks, references to upstreams, documents, and revisions.
import { beforeAll, describe, expect, test } from "bun:test";
import { create, createChain, expectError, type Chain } from "../support/admin-fixtures.ts";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
let chain: Chain;
let models = "";
beforeAll(async () => {
  chain = await createChain(gatehouse, "virtual models");
  models = `/gateways/${chain.gateway}/models`;
});

const target = () => ({ upstream: chain.upstream });
const problemsOf = async (body: object) => {
  const response = await gatehouse.api("POST", models, body);
  expectError(response, 400, "validation_failed");
  return response.body.details as { path: string; message: string }[];
};

test("a virtual model has defaults, and unknown fields are rejected", async () => {
  const model = await create(gatehouse, models, { name: "defaults", targets: [target()] });
  expect(model).toMatchObject({
    aliases: [],
    targets: [{ upstream: chain.upstream, model: null, weight: 1 }],
    strategy: "weighted",
    fallback: [],
    fallback_on: ["unavailable", "rate_limited", "context"],
    sticky: false,
    visible: true,
    canary: null,
    mirror: null,
  });
  expect(await problemsOf({ name: "x", targets: [target()], other: {} })).toMatchObject([{ path: "other" }]);
});

test("a virtual model is created, read, listed, replaced, changed and deleted", async () => {
  const { id, ...created } = await create(gatehouse, models, { name: "crud", targets: [target()] });
  const at = `${models}/${id}`;
  expect((await gatehouse.api("GET", at)).body).toEqual({ id, ...created });
  const listed = await gatehouse.api("GET", `${models}?name=crud`);
  expect(listed.body).toMatchObject({ models: [{ id }], count: 1 });
  expect((await gatehouse.api("GET", `${models}?search=CRU`)).body.count).toBe(1);
  const replaced = { name: "crud", strategy: "fallback", targets: [{ ...target(), model: "m", weight: 2 }] };
  expect((await gatehouse.api("PUT", at, replaced)).body).toMatchObject(replaced);
  const merged = await gatehouse.api("PATCH", at, { visible: false });
  expect(merged.body).toMatchObject({ ...replaced, visible: false });
  const found = await gatehouse.api("GET", "/search?q=crud");
  expect(found.body.results).toContainEqual(expect.objectContaining({ kind: "model", id, name: "crud" }));
  expect((await gatehouse.api("DELETE", at)).status).toBe(204);
  expectError(await gatehouse.api("GET", at), 404, "not_found");
});

test("names are exact or end in *, and aliases are exact", async () => {
  for (const name of ["fast", "gpt-*", "*", "meta/llama-3"])
    await create(gatehouse, models, { name, targets: [target()] });
  for (const name of ["", "g*t", "**"])
    expect(await problemsOf({ name, targets: [target()] })).toMatchObject([{ path: "name" }]);
  expect(await problemsOf({ name: "y", aliases: ["y-*"], targets: [target()] })).toMatchObject([
    { path: "aliases[0]" },
  ]);
});

test("targets are upstreams of the same gateway, at least one, and each once", async () => {
  const other = await createChain(gatehouse, "other gateway");
  expect(await problemsOf({ name: "z", targets: [] })).toMatchObject([{ path: "targets" }]);
  expect(await problemsOf({ name: "z", targets: [target(), { upstream: other.upstream }] })).toEqual([
    { path: "targets[1].upstream", message: `there is no upstream "${other.upstream}" in this gateway` },
  ]);
  expect(await problemsOf({ name: "z", targets: [target(), target()] })).toEqual([
    { path: "targets[1]", message: "is the same as targets[0]" },
  ]);
});

test("every name and alias is unique within the gateway", async () => {
  await create(gatehouse, models, { name: "first", aliases: ["uno"], targets: [target()] });
  const message = '"uno" is already a name of the virtual model "first"';
  expect(await problemsOf({ name: "uno", targets: [target()] })).toEqual([{ path: "name", message }]);
  expect(await problemsOf({ name: "second", aliases: ["uno"], targets: [target()] })).toEqual([
    { path: "aliases[0]", message },
  ]);
});

describe("fallback", () => {
  test("names other virtual models, at most 5, without cycles", async () => {
    chain = await createChain(gatehouse, "fallbacks");
    models = `/gateways/${chain.gateway}/models`;
    const model = (name: string, fallback: string[]) => ({ name, fallback, targets: [target()] });
    const last = await create(gatehouse, models, model("last", []));
    await create(gatehouse, models, model("middle", ["last"]));
    expect(await problemsOf(model("x", ["lost"]))).toMatchObject([
      {
        path: "fallback[0]",
        message: 'there is no virtual model "lost" in this gateway; did you mean "last"?',
      },
    ]);
    expect(await problemsOf(model("x", ["x"]))).toEqual([
      { path: "fallback[0]", message: '"x" leads back to "x"' },
    ]);
    expect(await problemsOf(model("x", ["a", "b", "c", "d", "e", "f"]))).toMatchObject([
      { path: "fallback" },
    ]);
    const cycle = await gatehouse.api("PATCH", `${models}/${last.id}`, { fallback: ["middle"] });
    expectError(cycle, 400, "validation_failed");
    expect(cycle.body.details).toContainEqual({
      path: "fallback[0]",
      message: '"middle" leads back to "last"',
    });
    const used = await gatehouse.api("DELETE", `${models}/${last.id}`);
    expectError(used, 409, "in_use");
    expect(used.body.error).toContain('is a fallback of virtual model "middle"');
  });
});

test("an upstream that a virtual model uses cannot be deleted", async () => {
  const upstream = await create(gatehouse, `/gateways/${chain.gateway}/upstreams`, {
    name: "used",
    targets: [{ provider: "openai" }],
  });
  const model = await create(gatehouse, models, { name: "user", targets: [{ upstream: upstream.id }] });
  const at = `/gateways/${chain.gateway}/upstreams/${upstream.id}`;
  const refused = await gatehouse.api("DELETE", at);
  expectError(refused, 409, "in_use");
  expect(refused.body.error).toContain(`virtual model "user" (${model.id})`);
  expect((await gatehouse.api("DELETE", `${models}/${model.id}`)).status).toBe(204);
  expect((await gatehouse.api("DELETE", at)).status).toBe(204);
});

test("warnings name targets and names that no request reaches", async () => {
  const upstream = await create(gatehouse, `/gateways/${chain.gateway}/upstreams`, {
    name: "unrouted",
    targets: [{ provider: "openai", models: ["gpt-5"] }],
  });
  const model = await create(gatehouse, models, {
    name: "warned",
    targets: [{ upstream: upstream.id, model: "gpt-4" }],
    strategy: "fallback",
    sticky: true,
  });
  expect(model.warnings).toEqual([
    { path: "targets[0].model", message: 'no target of the upstream "unrouted" serves the model "gpt-4"' },
    {
      path: "targets",
      message:
        "no rule serves this name: no service with a rule leads to one of its upstreams or has virtual_models: any",
    },
    { path: "sticky", message: "has no effect with the strategy fallback" },
  ]);
});

test("documents contain virtual models with the names of upstreams, and apply, check and prune them", async () => {
  const { gateway, upstream } = await createChain(gatehouse, "documented");
  const at = `/gateways/${gateway}`;
  await create(gatehouse, `${at}/models`, { name: "fast", targets: [{ upstream, model: "gpt-5-mini" }] });
  await create(gatehouse, `${at}/models`, { name: "best", fallback: ["fast"], targets: [{ upstream }] });
  await gatehouse.api("PATCH", `${at}/services/${(await serviceOf(gateway)).id}`, { virtual_models: "any" });
  const exported = (await gatehouse.api("GET", "/export", undefined, { Accept: "application/json" })).body;
  const document = exported.gateways.find(({ name }: { name: string }) => name === "documented");
  exported.gateways = [document];
  expect(document.models).toEqual([
    { name: "fast", targets: [{ upstream: "models", model: "gpt-5-mini" }] },
    { name: "best", targets: [{ upstream: "models" }], fallback: ["fast"] },
  ]);
  expect(document.services[0].virtual_models).toBe("any");
  const same = await gatehouse.api("POST", "/apply", exported);
  expect(same.body.changes.every(({ action }: { action: string }) => action === "none")).toBe(true);
  document.models = [{ name: "best", targets: [{ upstream: "models", model: "gpt-5" }] }];
  const pruned = await gatehouse.api("POST", "/apply?prune=true", exported);
  expect(pruned.body.changes.filter(({ action }: { action: string }) => action !== "none")).toMatchObject([
    { action: "update", resource: "model", name: "best" },
    { action: "delete", resource: "model", name: "fast" },
  ]);
  document.models = [
    { name: "a", fallback: ["b"], targets: [{ upstream: "none" }] },
    { name: "b", fallback: ["a"], targets: [{ upstream: "models" }] },
  ];
  const invalid = await gatehouse.api("POST", "/apply", exported);
  expectError(invalid, 400, "validation_failed");
  expect(invalid.body.details.map(({ path }: { path: string }) => path)).toEqual([
    "gateways[0].models[0].fallback[0]",
    "gateways[0].models[1].fallback[0]",
    "gateways[0].models[0].targets[0].upstream",
  ]);
});

test("a rollback restores virtual models together with their upstreams", async () => {
  const { gateway, upstream } = await createChain(gatehouse, "rolled back");
  const at = `/gateways/${gateway}/models`;
  const { id } = await create(gatehouse, at, { name: "kept", targets: [{ upstream, model: "one" }] });
  const [latest] = (await gatehouse.api("GET", `/revisions?limit=1`)).body.revisions;
  expect(latest).toMatchObject({ action: "create", resource: "model", resource_id: id });
  await gatehouse.api("DELETE", `${at}/${id}`);
  await gatehouse.api("POST", `/revisions/${latest.revision}/rollback`);
  expect((await gatehouse.api("GET", at)).body.models).toMatchObject([{ id, name: "kept" }]);
});

async function serviceOf(gateway: string) {
  return (await gatehouse.api("GET", `/gateways/${gateway}/services`)).body.services[0];
}
