// Large bodies that nothing reads are forwarded while they arrive, at the pace of client and provider.
import { afterAll, afterEach, describe, expect, test } from "bun:test";
import { bufferedBodyBytes, inFlightCount, residentBytes } from "../support/balancing-fixtures.ts";
import { startGatehouseInProcess } from "../support/gatehouse-in-process.ts";
import { pluginsDirectory, scripted, scriptedWhole, SCRIPTED_PLUGINS } from "../support/plugin-fixtures.ts";
import { seedKey, seedRoute } from "../support/proxy-fixtures.ts";
import { connectRaw, type RawClient } from "../support/raw-client.ts";
import { startUploadProvider } from "../support/upload-provider.ts";
import { useGatehouseProcess } from "../support/use-gatehouse.ts";
import { eventLoopTurns, untilStable, waitFor, waitUntil } from "../support/waiting.ts";

const MEGABYTE = 1024 * 1024;
const SIZE = 2 * MEGABYTE;
const HALF = SIZE / 2;
/** More than the buffers of the kernel take. */
const LARGE = 32 * MEGABYTE;
const PACE_MS = 60_000;
const TICK_MS = 50;
const FORM = "Content-Type: multipart/form-data; boundary=b\r\n";

const gatehouse = await startGatehouseInProcess({
  env: {
    PLUGINS_DIR: pluginsDirectory(SCRIPTED_PLUGINS),
    MAX_BODY_BYTES: String(3 * MEGABYTE),
    MAX_UPLOAD_BYTES: String(LARGE),
  },
});
const { clock } = gatehouse;
/** For the measurement of memory. */
const server = await useGatehouseProcess();
const provider = startUploadProvider();
const other = startUploadProvider();
const clients: RawClient[] = [];
afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect(true);
  await waitUntil(async () => (await inFlightCount(gatehouse)) === 0);
  expect(await bufferedBodyBytes(gatehouse)).toBe(0);
  provider.reset();
  other.reset();
});
afterAll(async () => {
  await gatehouse.stop();
  provider.stop();
  other.stop();
});

type Fields = Record<string, unknown>;

interface RouteFields {
  readonly targets?: readonly Fields[];
  readonly upstream?: Fields;
  readonly gateway?: Fields;
}

let routes = 0;

async function fileRoute({ targets, upstream, gateway = {} }: RouteFields = {}) {
  const prefix = `/uploads-${++routes}`;
  const route = await seedRoute(gatehouse, {
    gateway,
    upstream: { targets: targets ?? [{ provider: "openai", base_url: provider.url }], ...upstream },
    rule: { path: `${prefix}/*`, operations: ["files", "audio_transcription", "images", "other"] },
  });
  return { ...route, files: `${prefix}/v1/files` };
}

const bodyOf = (size: number) => Buffer.alloc(size, "0123456789abcdef-");
const sha256 = (bytes: Uint8Array) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex");

async function connect(url = gatehouse.proxyUrl): Promise<RawClient> {
  const client = await connectRaw(Number(new URL(url).port));
  clients.push(client);
  return client;
}

/** Sends the headers of an upload, and the start of its body. */
async function begin(path: string, sent: Buffer, headers = FORM, length = SIZE): Promise<RawClient> {
  const client = await connect();
  client.send(`POST ${path} HTTP/1.1\r\nHost: a\r\n${headers}Content-Length: ${length}\r\n\r\n`);
  client.send(sent);
  return client;
}

const statusOf = (received: string) => Number(received.split(" ")[1] ?? 0);
const responded = async (client: RawClient) => statusOf(await client.until((text) => /\r\n\r\n/.test(text)));

describe("memory", () => {
  test("60 MB to a slow provider take a few buffers, and arrive unchanged", async () => {
    const prefix = "/large";
    await seedRoute(server, {
      upstream: { targets: [{ provider: "openai", base_url: provider.url }] },
      rule: { path: `${prefix}/*`, operations: ["files"] },
    });
    const body = bodyOf(60 * MEGABYTE);
    provider.isPaused = true;
    const before = residentBytes(server);
    const client = await connect(server.proxyUrl);
    client.send(
      `POST ${prefix}/v1/files HTTP/1.1\r\nHost: a\r\n${FORM}Content-Length: ${body.length}\r\n\r\n`,
    );
    client.send(body);
    const upload = await provider.upload();
    // What is sent is in the buffers of the kernel.
    expect(await untilStable(() => client.unsentBytes())).toBeGreaterThan(20 * MEGABYTE);
    expect(await bufferedBodyBytes(server)).toBeLessThan(2 * MEGABYTE);
    expect(residentBytes(server) - before).toBeLessThan(20 * MEGABYTE);
    let largest = 0;
    upload.resume();
    await waitUntil(() => {
      largest = Math.max(largest, residentBytes(server));
      return upload.bytes === body.length;
    });
    expect(upload.hash()).toBe(sha256(body));
    expect(largest - before).toBeLessThan(30 * MEGABYTE);
    expect(await bufferedBodyBytes(server)).toBe(0);
    upload.respond("200 OK");
    expect(await responded(client)).toBe(200);
  });
});

describe("a body that nothing reads", () => {
  test("is forwarded while it arrives, with its length, and the connections are kept", async () => {
    const { files } = await fileRoute();
    const body = bodyOf(SIZE);
    const client = await begin(files, body.subarray(0, HALF));
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === HALF);
    expect(upload.head).toContain(`\r\nContent-Length: ${SIZE}`);
    expect(upload.head).not.toContain("chunked");
    client.send(body.subarray(HALF));
    await waitUntil(() => upload.bytes === SIZE);
    expect(upload.hash()).toBe(sha256(body));
    clock.advance(500);
    upload.respond("200 OK", '{"id":"file-1"}');
    const response = await client.until((text) => text.includes('"id"'));
    expect(statusOf(response)).toBe(200);
    expect(response).toMatch(/^Server-Timing: .*body;dur=\d+\.\d, .*upstream;dur=5\d\d\.\d/im);
    client.send(`POST ${files} HTTP/1.1\r\nHost: a\r\n${FORM}Content-Length: 3\r\n\r\nabc`);
    await waitUntil(() => upload.bytes > SIZE + 3);
    expect(provider.uploads.length).toBe(1);
  });

  test("has the pieces of the client's connection in any cut, while the provider reads in any rhythm", async () => {
    const { files } = await fileRoute();
    for (let run = 1; run <= 8; run++) {
      const body = Buffer.from(Bun.randomUUIDv7().repeat(40_000)).subarray(
        0,
        MEGABYTE + 1 + Math.floor(Math.random() * 400_000),
      );
      const client = await begin(files, body.subarray(0, 0), FORM, body.length);
      for (let at = 0; at < body.length;) {
        const end = Math.min(body.length, at + Math.ceil(Math.random() ** 4 * 300_000));
        client.send(body.subarray(at, end));
        at = end;
        const upload = provider.uploads[run - 1];
        if (Math.random() < 0.3) upload?.pause();
        if (Math.random() < 0.3) await eventLoopTurns(1);
        if (Math.random() < 0.3) upload?.resume();
      }
      const upload = await waitFor(() => provider.uploads[run - 1] ?? null);
      upload.resume();
      await waitUntil(() => upload.bytes === body.length);
      expect(upload.hash()).toBe(sha256(body));
      upload.respond("200 OK", "{}", "Connection: close\r\n");
      expect(await responded(client)).toBe(200);
    }
  });

  test("is limited by MAX_UPLOAD_BYTES before anything is sent", async () => {
    const { files } = await fileRoute();
    const client = await begin(files, Buffer.alloc(0), FORM, LARGE + 1);
    expect(await client.until((text) => text.includes("MAX_UPLOAD_BYTES"))).toStartWith("HTTP/1.1 413 ");
    expect(provider.uploads.length).toBe(0);
  });

  test("waits for permission if the client does: 100 Continue is sent once, when the provider is connected", async () => {
    const dead = startUploadProvider();
    dead.stop();
    const targets = [{ provider: "openai", base_url: dead.url }];
    const refused = await fileRoute({ targets });
    const rejected = await begin(refused.files, Buffer.alloc(0), `${FORM}Expect: 100-continue\r\n`);
    expect(await responded(rejected)).toBe(502);
    expect(rejected.received()).not.toContain("100 Continue");
    const { files } = await fileRoute();
    const client = await begin(files, Buffer.alloc(0), `${FORM}Expect: 100-continue\r\n`);
    await client.until((text) => text === "HTTP/1.1 100 Continue\r\n\r\n");
    client.send(bodyOf(SIZE));
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === SIZE);
    upload.respond("200 OK");
    const received = await client.until((text) => text.includes("{}"));
    expect(received.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 100", "HTTP/1.1 200"]);
  });
});

describe("failures of the provider", () => {
  test("another target is tried if none of the body was forwarded", async () => {
    const dead = startUploadProvider();
    dead.stop();
    const targets = [dead, other].map(({ url }) => ({ provider: "openai", base_url: url }));
    const { files } = await fileRoute({ targets, upstream: { algorithm: "round-robin" } });
    const body = bodyOf(SIZE);
    for (let number = 1; number <= 2; number++) {
      const client = await begin(files, body);
      const upload = await other.upload(number);
      await waitUntil(() => upload.bytes === SIZE);
      expect(upload.hash()).toBe(sha256(body));
      upload.respond("200 OK", "{}", "Connection: close\r\n");
      expect(await responded(client)).toBe(200);
    }
  });

  test.each(["reset", "end"] as const)(
    "after its first byte no other target is tried (%s): 502",
    async (how) => {
      const targets = [provider, other].map(({ url }) => ({ provider: "openai", base_url: url }));
      const { files } = await fileRoute({ targets, upstream: { algorithm: "round-robin" } });
      const client = await begin(files, bodyOf(HALF));
      await waitUntil(() => [...provider.uploads, ...other.uploads].some(({ bytes }) => bytes === HALF));
      for (const upload of [...provider.uploads, ...other.uploads]) upload[how]();
      expect(await client.until((text) => text.includes("upstream_unreachable"))).toStartWith(
        "HTTP/1.1 502 ",
      );
      expect(provider.uploads.length + other.uploads.length).toBe(1);
      expect((await client.ended).received).toContain("\r\nConnection: close\r\n");
    },
  );

  test("a status that is otherwise retried is relayed", async () => {
    const targets = [provider, other].map(({ url }) => ({ provider: "openai", base_url: url }));
    const { files } = await fileRoute({ targets });
    const client = await begin(files, bodyOf(SIZE));
    await waitUntil(() => [...provider.uploads, ...other.uploads].some(({ bytes }) => bytes === SIZE));
    for (const upload of [...provider.uploads, ...other.uploads]) upload.respond("503 Service Unavailable");
    expect(await responded(client)).toBe(503);
    expect(provider.uploads.length + other.uploads.length).toBe(1);
  });

  test.each(["keeps its connection", "closes its connection", "resets its connection"])(
    "an early error is relayed, and the rest of the upload is not read: the provider %s",
    async (how) => {
      const { files } = await fileRoute();
      provider.isPaused = true;
      const client = await begin(files, bodyOf(LARGE), FORM, LARGE);
      const upload = await provider.upload();
      await untilStable(() => client.unsentBytes());
      upload.respond("413 Content Too Large", '{"error":"too large"}');
      if (how.startsWith("closes")) upload.end();
      if (how.startsWith("resets")) upload.reset();
      const received = await client.until((text) => text.includes("too large"));
      expect(received).toStartWith("HTTP/1.1 413 ");
      if (how.startsWith("keeps")) upload.resume();
      await waitUntil(() => upload.isClosed);
      expect(upload.bytes).toBeLessThan(LARGE);
    },
  );

  test("one that stops reading times out after first_byte, and the client's time does not count", async () => {
    const { files } = await fileRoute({ upstream: { timeouts: { first_byte: 5000 } } });
    const client = await begin(files, bodyOf(HALF));
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === HALF);
    clock.advance(PACE_MS - 2 * TICK_MS);
    await eventLoopTurns();
    expect(client.received()).toBe("");
    client.send(bodyOf(HALF));
    await waitUntil(() => upload.bytes === SIZE);
    clock.advance(5000 + 2 * TICK_MS);
    expect(await client.until((text) => text.includes("upstream_timeout"))).toStartWith("HTTP/1.1 504 ");
  });
});

describe("failures of the client", () => {
  test("one that disconnects leaves the provider with an incomplete body", async () => {
    const { files } = await fileRoute();
    const client = await begin(files, bodyOf(HALF));
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === HALF);
    client.disconnect(true);
    await waitUntil(() => upload.isClosed);
    expect(upload.bytes).toBe(HALF);
  });

  test.each([0, HALF])(
    "one that stops after %d bytes gets 408 after 60 seconds, and no target fails",
    async (sent) => {
      const { files, upstream, gateway } = await fileRoute();
      const client = await begin(files, bodyOf(sent));
      const upload = await provider.upload();
      await waitUntil(() => upload.bytes === sent);
      clock.advance(PACE_MS - 2 * TICK_MS);
      await eventLoopTurns();
      expect(client.received()).toBe("");
      clock.advance(4 * TICK_MS);
      expect((await client.ended).received).toMatch(/^HTTP\/1\.1 408 [^]*request_timeout/);
      await waitUntil(() => upload.isClosed);
      expect(provider.uploads.length).toBe(1);
      const health = await gatehouse.api("GET", `/gateways/${gateway}/upstreams/${upstream}/health`);
      expect(JSON.stringify(health.body)).not.toContain('"unhealthy"');
    },
  );

  test("the total timeout applies", async () => {
    const { files } = await fileRoute({ upstream: { timeouts: { total: 10_000 } } });
    const client = await begin(files, bodyOf(HALF));
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === HALF);
    clock.advance(10_000);
    expect(await client.until((text) => text.includes("upstream_timeout"))).toStartWith("HTTP/1.1 504 ");
    await waitUntil(() => upload.isClosed);
  });
});

describe("plugins that do not read the body", () => {
  test("run before it arrives, know its size, and may replace it", async () => {
    const code = 'context.setHeader("x-size", String(context.bodySize));';
    const sized = await fileRoute({ gateway: { required_plugins: [scripted("pre_request", code)] } });
    await begin(sized.files, bodyOf(HALF));
    const upload = await provider.upload();
    expect(upload.head).toContain(`x-size: ${SIZE}`);
    const replacing = scripted("pre_request", 'context.replaceBody("short");');
    const replaced = await fileRoute({ gateway: { required_plugins: [replacing] } });
    await begin(replaced.files, bodyOf(HALF));
    const second = await provider.upload(2);
    await waitUntil(() => second.bytes === 5);
    expect(second.head).toContain("Content-Length: 5");
  });

  test("one that reads it without declaring that fails, and nothing is sent", async () => {
    for (const name of ["body", "bodyView", "bodyText"]) {
      const plugin = scripted("pre_request", `context.setHeader("x-read", String(context.${name}));`);
      const { files } = await fileRoute({ gateway: { required_plugins: [plugin] } });
      const client = await begin(files, bodyOf(HALF));
      expect(await client.until((text) => text.includes("plugin_failed"))).toStartWith("HTTP/1.1 500 ");
    }
    expect(provider.uploads.length).toBe(0);
  });

  test("one that changes the path gets the body collected: the new path may need it", async () => {
    const { files } = await fileRoute({
      gateway: {
        required_plugins: [
          scripted("pre_request", 'context.setPath(context.path.replace("files", "images/edits"));'),
        ],
      },
    });
    await expectCollected(files);
  });
});

/** Expects that no request is sent before the body is complete, and that the body arrives unchanged. */
async function expectCollected(path: string, headers = FORM, body = bodyOf(SIZE)): Promise<void> {
  const client = await begin(path, body.subarray(0, HALF), headers, body.length);
  await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) === HALF);
  expect(provider.uploads.length).toBe(0);
  client.send(body.subarray(HALF));
  const upload = await provider.upload();
  await waitUntil(() => upload.bytes === body.length);
  expect(upload.hash()).toBe(sha256(body));
}

describe("a body is collected", () => {
  const JSON_BODY = Buffer.from(JSON.stringify({ input: "a".repeat(SIZE) }).padEnd(SIZE));
  const target = () => ({ provider: "openai", base_url: provider.url });

  test("if it is JSON", async () => {
    const { files } = await fileRoute();
    await expectCollected(files, "Content-Type: application/json\r\n", JSON_BODY);
  });

  test("if a plugin reads it", async () => {
    const { files } = await fileRoute({ gateway: { required_plugins: [scriptedWhole("pre_request", "")] } });
    await expectCollected(files);
  });

  test("if it is recorded", async () => {
    const { files } = await fileRoute({ gateway: { log_bodies: true } });
    await expectCollected(files);
  });

  test("if its model decides on the target", async () => {
    const { files } = await fileRoute({ targets: [{ ...target(), models: ["whisper-1"] }] });
    await expectCollected(files);
  });

  test("if it is signed for the target", async () => {
    const keys = { region: "eu-west-1", access_key_id: "AKIDEXAMPLE", secret_access_key: "secret" };
    const credentials = { type: "aws_sigv4", service: "bedrock", ...keys };
    const { files } = await fileRoute({ targets: [{ ...target(), credentials }] });
    await expectCollected(files);
  });

  test("if it may contain ids of stored objects", async () => {
    const { files } = await fileRoute();
    await expectCollected(files.replace("files", "images/edits"));
  });

  test("if its model is checked for the API key", async () => {
    const { files, gateway } = await fileRoute();
    const { key } = await seedKey(gatehouse, gateway, { models: ["whisper-1"] });
    const start =
      '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper-1\r\n--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n';
    const body = Buffer.from(`${start.padEnd(SIZE - 9, "a")}\r\n--b--\r\n`);
    const path = files.replace("files", "audio/transcriptions");
    await expectCollected(path, `${FORM}X-GW-API-Key: ${key}\r\n`, body);
  });

  test("if its length is not declared", async () => {
    const { files } = await fileRoute();
    const body = bodyOf(SIZE);
    const client = await connect();
    client.send(
      `POST ${files} HTTP/1.1\r\nHost: a\r\n${FORM}Transfer-Encoding: chunked\r\n\r\n${SIZE.toString(16)}\r\n`,
    );
    client.send(body.subarray(0, HALF));
    await waitUntil(async () => (await bufferedBodyBytes(gatehouse)) === HALF);
    expect(provider.uploads.length).toBe(0);
    client.send(body.subarray(HALF));
    client.send("\r\n0\r\n\r\n");
    const upload = await provider.upload();
    await waitUntil(() => upload.bytes === SIZE);
  });
});
