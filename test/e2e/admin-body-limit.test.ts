// The default limit of request bodies.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { callRaw, chunked, expectError, type RawBody } from "../support/admin-fixtures.ts";
import { startGatehouseOnSystemClock } from "../support/gatehouse-in-process.ts";
import type { RunningGatehouse } from "../support/gatehouse-process.ts";

describe("MAX_BODY_BYTES defaults to 10485760", () => {
  let gatehouse: RunningGatehouse;
  const megabyte = new Uint8Array(1024 * 1024).fill(32);
  beforeAll(async () => {
    gatehouse = await startGatehouseOnSystemClock();
  });
  afterAll(() => gatehouse.stop());

  const send = (body: RawBody) =>
    callRaw(gatehouse, "POST", "/api/v1/gateways", {
      headers: { "Content-Type": "application/json" },
      body,
    });

  test("11 MiB return 413, with Content-Length and chunked", async () => {
    const declared = new Uint8Array(11 * megabyte.length).fill(32);
    expectError(await send(declared), 413, "body_too_large");
    expectError(await send(chunked(megabyte, 11)), 413, "body_too_large");
  });

  test("10 MiB are accepted, with Content-Length and chunked", async () => {
    const declared = new Uint8Array(10 * megabyte.length).fill(32);
    declared.set(new TextEncoder().encode('{"name":"large"}'));
    expect((await send(declared)).status).toBe(201);
    expectError(await send(chunked(megabyte, 10)), 400, "invalid_json");
  });

  test("the gateway still responds afterwards", async () => {
    expect((await gatehouse.api("GET", "/gateways")).body.count).toBe(1);
  });
});
