// How the console is served: one page for every path, immutable compressed assets, and a strict content security policy.
import { describe, expect, test } from "bun:test";
import { useGatehouse } from "../support/use-gatehouse.ts";

const gatehouse = await useGatehouse();
const page = await (await fetch(`${gatehouse.adminUrl}/console`)).text();

function get(path: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(gatehouse.adminUrl + path, { headers, decompress: false, redirect: "manual" } as RequestInit);
}

/** The files that the page loads. */
function assets(): string[] {
  return [...page.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
}

/** Also the scripts that these load later, for pages that are rarely opened. */
async function allAssets(): Promise<string[]> {
  const scripts = assets().filter((name) => name.endsWith(".js"));
  const texts = await Promise.all(
    scripts.map(async (name) => (await fetch(gatehouse.adminUrl + name)).text()),
  );
  const imported = texts.flatMap((text) => text.match(/\/console\/[\w-]+\.js/g) ?? []);
  return [...new Set([...assets(), ...imported])];
}

describe("page", () => {
  test.each(["/console", "/console/", "/console/gateways/0189/rules", "/console/history"])(
    "is served at %s",
    async (path) => {
      const response = await get(path);
      expect(response.status).toBe(200);
      expect(response.headers.get("content-type")).toStartWith("text/html");
      expect(await response.text()).toBe(page);
    },
  );

  test("contains no inline script or style and loads only its own files", () => {
    expect(page).not.toMatch(/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/i);
    expect(assets().length).toBeGreaterThanOrEqual(3);
    for (const asset of assets()) expect(asset).toMatch(/^\/console\/[\w-]+\.(js|css|svg)$/);
  });

  test("has a content security policy that forbids everything else", async () => {
    const policy = (await get("/console")).headers.get("content-security-policy") ?? "";
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
  });

  test("is revalidated on each visit and not sent again if unchanged", async () => {
    const first = await get("/console");
    expect(first.headers.get("cache-control")).toBe("no-cache");
    const second = await get("/console", { "If-None-Match": first.headers.get("etag") ?? "" });
    expect(second.status).toBe(304);
    expect(await second.text()).toBe("");
  });
});

describe("assets", () => {
  test("are immutable and compressed; the first load has at most 130 kB, and pages loaded later less", async () => {
    let first = 0;
    let later = 0;
    for (const asset of await allAssets()) {
      const response = await get(asset, { "Accept-Encoding": "gzip" });
      expect(response.status).toBe(200);
      expect(response.headers.get("cache-control")).toContain("immutable");
      expect(response.headers.get("content-encoding")).toBe("gzip");
      const { byteLength } = await response.arrayBuffer();
      if (assets().includes(asset)) first += byteLength;
      else later += byteLength;
    }
    expect(first).toBeGreaterThan(10_000);
    expect(first).toBeLessThanOrEqual(130_000);
    expect(later).toBeGreaterThan(10_000);
    expect(later).toBeLessThan(first);
  });

  test("are the same without compression", async () => {
    const [asset = ""] = assets().filter((name) => name.endsWith(".js"));
    const plain = await get(asset, { "Accept-Encoding": "identity" });
    expect(plain.headers.get("content-encoding")).toBeNull();
    const compressed = await get(asset, { "Accept-Encoding": "gzip" });
    expect(Buffer.from(Bun.gunzipSync(await compressed.arrayBuffer())).toString()).toBe(await plain.text());
  });

  test("contain no URL of another host", async () => {
    for (const asset of await allAssets()) {
      const hosts =
        (await (await fetch(gatehouse.adminUrl + asset)).text()).match(/https?:\/\/[\w.-]+/g) ?? [];
      // The SVG namespace, the address of the fake provider, and OAuth scopes, which nothing fetches, are allowed.
      const allowed =
        /^https?:\/\/(www\.w3\.org|127\.0\.0\.1|www\.googleapis\.com|cognitiveservices\.azure\.com)$/;
      const others = hosts.filter((host) => !allowed.test(host));
      expect(others).toEqual([]);
    }
  });

  test("are 404 if they do not exist", async () => {
    expect((await get("/console/nothing.js")).status).toBe(404);
  });
});

test("only GET and HEAD are allowed", async () => {
  const response = await fetch(`${gatehouse.adminUrl}/console`, { method: "POST" });
  expect(response.status).toBe(405);
  expect(response.headers.get("allow")).toBe("GET, HEAD");
  const head = await fetch(`${gatehouse.adminUrl}/console`, { method: "HEAD" });
  expect(head.status).toBe(200);
});

test("the proxy listener does not serve the console", async () => {
  expect((await fetch(`${gatehouse.proxyUrl}/console`)).status).toBe(404);
});
