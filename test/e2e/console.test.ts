// The console as it is served: one page for every path below it, small files that browsers keep, nothing that could run
// from elsewhere.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { startGatehouseProcess, type GatehouseProcess } from "../support/gatehouse-process.ts";

let gatehouse: GatehouseProcess;
let page = "";

beforeAll(async () => {
  gatehouse = await startGatehouseProcess();
  page = await (await fetch(`${gatehouse.adminUrl}/console`)).text();
});
afterAll(() => gatehouse.stop());

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gatehouse.adminUrl + path, { headers, decompress: false, redirect: "manual" } as RequestInit);
}

/** The files that the page asks for. */
function assets(): string[] {
  return [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
}

describe("the page", () => {
  test.each(["/console", "/console/", "/console/gateways/0189/rules", "/console/history"])(
    "is at %s",
    async (path) => {
      const answer = await get(path);
      expect(answer.status).toBe(200);
      expect(answer.headers.get("content-type")).toStartWith("text/html");
      expect(await answer.text()).toBe(page);
    },
  );

  test("holds no script, no style and no address of its own: only files of ours", () => {
    expect(page).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/i);
    expect(assets().length).toBeGreaterThanOrEqual(3);
    for (const asset of assets()) expect(asset).toMatch(/^\/console\/[\w-]+\.(js|css|svg)$/);
  });

  test("is told by its headers to run nothing else", async () => {
    const policy = (await get("/console")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  test("is asked for again each time, and not sent again when it is the same", async () => {
    const first = await get("/console");
    expect(first.headers.get("cache-control")).toBe("no-cache");
    const second = await get("/console", { "If-None-Match": first.headers.get("etag") ?? "" });
    expect(second.status).toBe(304);
    expect(await second.text()).toBe("");
  });
});

describe("its files", () => {
  test("may be kept for good, come compressed, and weigh under 200 kB together", async () => {
    let weight = 0;
    for (const asset of assets()) {
      const answer = await get(asset, { "Accept-Encoding": "gzip" });
      expect(answer.status).toBe(200);
      expect(answer.headers.get("cache-control")).toContain("immutable");
      expect(answer.headers.get("content-encoding")).toBe("gzip");
      weight += (await answer.arrayBuffer()).byteLength;
    }
    expect(weight).toBeGreaterThan(10_000);
    expect(weight).toBeLessThan(200_000);
  });

  test("are the same to a client that takes no compression", async () => {
    const [asset = ""] = assets().filter((name) => name.endsWith(".js"));
    const plain = await get(asset, { "Accept-Encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const compressed = await get(asset, { "Accept-Encoding": "gzip" });
    expect(Buffer.from(Bun.gunzipSync(await compressed.arrayBuffer())).toString()).toBe(await plain.text());
  });

  test("name no other host", async () => {
    for (const asset of assets()) {
      const hosts =
        (await (await fetch(gatehouse.adminUrl + asset)).text()).match(/https?:\/\/[\w.-]+/g) ?? [];
      // The name space of SVG and the address of the stand-in provider.
      const strangers = hosts.filter((host) => !/^https?:\/\/(www\.w3\.org|127\.0\.0\.1)$/.test(host));
      expect(strangers).toEqual([]);
    }
  });

  test("that do not exist are not found", async () => {
    expect((await get("/console/nothing.js")).status).toBe(404);
  });
});

test("only GET and HEAD are possible", async () => {
  const answer = await fetch(`${gatehouse.adminUrl}/console`, { method: "POST" });
  expect(answer.status).toBe(405);
  expect(answer.headers.get("allow")).toBe("GET, HEAD");
  const head = await fetch(`${gatehouse.adminUrl}/console`, { method: "HEAD" });
  expect(head.status).toBe(200);
});

test("the proxy listener has no console", async () => {
  expect((await fetch(`${gatehouse.proxyUrl}/console`)).status).toBe(404);
});
