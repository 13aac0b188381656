// The image: rules for its Dockerfile, and a gateway started from exactly the files that the Dockerfile copies.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, statSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { readSettings, SETTINGS } from "../../src/config/settings.ts";
import { startGatehouseProcess, temporaryDirectory } from "../support/gatehouse-process.ts";
import {
  copiedFromContext,
  existsInContext,
  hasExactTag,
  ignoreRules,
  isIgnored,
  readDockerfile,
  ROOT,
} from "./dockerfile.ts";

const instructions = readDockerfile(readFileSync(join(ROOT, "deploy/docker/Dockerfile"), "utf8"));
const final = instructions.filter(({ stage }) => stage === instructions.at(-1)?.stage);
const only = (name: string): string => {
  const found = final.filter((instruction) => instruction.name === name);
  expect(found).toHaveLength(1);
  return found[0]!.rest;
};
const environment = Object.fromEntries(
  only("ENV")
    .split(/\s+/)
    .map((pair) => pair.split("=") as [string, string]),
);

describe("the Dockerfile", () => {
  test("uses base images with exact versions", () => {
    const images = instructions
      .filter(({ name }) => name === "FROM")
      .map(({ rest }) => rest.split(" ")[0] ?? "");
    for (const image of images) expect([image, hasExactTag(image)]).toEqual([image, true]);
    expect(images.length).toBeGreaterThan(1);
    for (const vague of ["debian", "debian:latest", "debian:12", "node:24-slim"])
      expect(hasExactTag(vague)).toBe(false);
  });

  test("runs as a numeric user other than root", () => {
    expect(only("USER")).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(only("USER").split(":")[0]).toBe("10001");
    const lastWrite = final.findLastIndex(({ name }) => name === "COPY" || name === "RUN");
    expect(final.findIndex(({ name }) => name === "USER")).toBeGreaterThan(lastWrite);
  });

  test("starts the launcher without a shell, so that it receives signals", () => {
    expect(JSON.parse(only("ENTRYPOINT"))).toEqual(["/app/bin/gatehouse"]);
    expect(JSON.parse(only("CMD"))).toEqual(["serve"]);
    expect(readFileSync(join(ROOT, "bin/gatehouse"), "utf8")).toContain(
      'exec bun "$home/src/cli/main.ts" "$@"',
    );
    expect(statSync(join(ROOT, "bin/gatehouse")).mode & 0o111).toBe(0o111);
  });

  test("sets only existing settings and variables of Bun", () => {
    for (const name of Object.keys(environment))
      expect([...Object.keys(SETTINGS), "BUN_RUNTIME_TRANSPILER_CACHE_PATH"]).toContain(name);
    expect(readSettings(environment)).toMatchObject({
      HOST: "0.0.0.0",
      DATA_DIR: "/data",
      PLUGINS_DIR: "/plugins",
    });
    expect(only("VOLUME")).toBe("/data");
    const { ADMIN_PORT, PROXY_PORT } = readSettings(environment);
    expect(only("EXPOSE")).toBe(`${ADMIN_PORT} ${PROXY_PORT}`);
  });

  test("copies only files that exist and are not ignored", () => {
    const sources = copiedFromContext(instructions).flatMap((each) => each.sources);
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources) expect([source, existsInContext(source)]).toEqual([source, true]);
    expect(sources).not.toContain(".");
  });

  test("contains no secret", () => {
    const text = instructions.map(({ rest }) => rest).join("\n");
    for (const name of ["SERVER_SECRET_KEY", "ENCRYPTION_KEY", "DATABASE_URL"])
      expect(text).not.toContain(name);
  });
});

describe(".dockerignore", () => {
  test.each([
    ...["node_modules/zod/index.js", "data/gatehouse.db", "data/server_secret_key", ".git/config", ".env"],
    ...[".env.local", "src/.env", "console/.env.production", "deploy/.env", "dist/gatehouse", "bench/run.ts"],
    ...["src/config/settings.test.ts", "notes.txt", "docs/settings.md"],
  ])("excludes %s", (path) => expect(isIgnored(path)).toBe(true));

  test.each(["src/main.ts", "bin/gatehouse", "package-lock.json", "console/index.html", ".npmrc"])(
    "includes %s",
    (path) => expect(isIgnored(path)).toBe(false),
  );

  test("applies the last matching rule", () => {
    const ignored = ignoreRules("*\n!a\na/b\n");
    expect(["a/c", "a/b/c", "x/a"].map(ignored)).toEqual([false, true, true]);
  });
});

describe("the files of the image", () => {
  const staged = temporaryDirectory();
  afterAll(() => rmSync(staged, { recursive: true, force: true }));

  test("serve both planes and the console; the health check fails when the gateway is stopped", async () => {
    for (const { sources, to } of copiedFromContext(final))
      for (const source of sources) {
        const name = to.endsWith("/") ? join(to, source.split("/").at(-1) ?? "") : to;
        mkdirSync(join(staged, name, ".."), { recursive: true });
        const filter = (from: string) => !isIgnored(relative(ROOT, from));
        cpSync(join(ROOT, source), join(staged, name), { recursive: true, filter });
      }
    symlinkSync(join(ROOT, "node_modules"), join(staged, "node_modules"));

    const gateway = await startGatehouseProcess({
      program: join(staged, "bin/gatehouse"),
      env: { HOST: environment["HOST"]!, PLUGINS_DIR: join(staged, "none") },
    });
    const [command = "", ...args] = JSON.parse(
      /CMD (\[.*\])$/.exec(only("HEALTHCHECK"))?.[1] ?? "[]",
    ) as string[];
    expect(command).toBe("bun");
    const check = async () =>
      await Bun.spawn([process.execPath, ...args], {
        env: { PROXY_PORT: new URL(gateway.proxyUrl).port },
        stdio: ["ignore", "ignore", "ignore"],
      }).exited;
    try {
      expect(await check()).toBe(0);
      const page = await fetch(`${gateway.adminUrl}/console`);
      expect(await page.text()).toContain("<script");
      expect((await gateway.api("GET", "/gateways")).status).toBe(200);
    } finally {
      await gateway.stop();
    }
    expect(await check()).toBe(1);

    // The help loads all commands, and the types of the SDK are among the files.
    const run = (...args: readonly string[]) =>
      Bun.spawnSync([join(staged, "bin/gatehouse"), ...args], {
        cwd: staged,
        env: { PATH: process.env["PATH"] },
      });
    expect(run("--help").exitCode).toBe(0);
    expect(run("plugin", "types", "--dir", "plugins").stderr.toString()).toBe("");
  });
});
