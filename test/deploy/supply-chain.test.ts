// The SBOM and the checksums that are built with the image and the executable.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, userInfo } from "node:os";
import { join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { addChecksums } from "../../scripts/checksums.ts";
import { createSbom, type LockFile, type Sbom } from "../../scripts/sbom.ts";
import { temporaryDirectory } from "../support/gatehouse-process.ts";
import { copiedFromContext, readDockerfile, ROOT } from "./dockerfile.ts";

const scratch = temporaryDirectory();
afterAll(() => rmSync(scratch, { recursive: true, force: true }));

const lock = JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8")) as LockFile;
const instructions = readDockerfile(readFileSync(join(ROOT, "deploy/docker/Dockerfile"), "utf8"));

/** Builds the SBOM as the image does: from the files that the first stage copies, and with its command. */
function buildInImage(): string {
  const stage = instructions.filter(({ stage: number }) => number === 1);
  const folder = join(scratch, "image");
  for (const { sources, to } of copiedFromContext(stage))
    for (const source of sources) {
      mkdirSync(join(folder, to), { recursive: true });
      cpSync(join(ROOT, source), join(folder, to, source.split("/").at(-1) ?? ""));
    }
  const command = stage.find(({ name, rest }) => name === "RUN" && rest.includes("sbom"))?.rest ?? "";
  const [bun = "", ...args] = command.split(" ");
  const outfile = args.at(-1) ?? "";
  expect([bun, outfile]).toEqual(["bun", "/app/sbom.cdx.json"]);
  const built = join(folder, "sbom.cdx.json");
  const { exitCode, stderr } = Bun.spawnSync([process.execPath, ...args.slice(0, -1), built], {
    cwd: folder,
  });
  expect([exitCode, stderr.toString()]).toEqual([0, ""]);
  return readFileSync(built, "utf8");
}

describe("the SBOM of the image", () => {
  const text = buildInImage();
  const sbom = JSON.parse(text) as Sbom;

  test("is CycloneDX and describes this version", () => {
    expect(sbom).toMatchObject({ bomFormat: "CycloneDX", specVersion: "1.6", version: 1 });
    expect(sbom.serialNumber).toMatch(/^urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(sbom.metadata.component).toMatchObject({ name: "gatehouse", version: packageJson.version });
  });

  test("contains every production dependency of the lock file with its version, and no other", () => {
    const expected = Object.entries(lock.packages)
      .filter(([path, { dev }]) => path !== "" && dev !== true)
      .map(([path, { version }]) => `${path.split("node_modules/").at(-1)}@${version}`);
    const listed = sbom.components.map(({ name, version }) => `${name}@${version}`);
    expect(listed.toSorted()).toEqual([...new Set(expected)].sort());
    for (const [name, version] of Object.entries(packageJson.dependencies))
      expect(listed).toContain(`${name}@${version}`);
    for (const [name, version] of Object.entries(packageJson.devDependencies))
      expect(listed).not.toContain(`${name}@${version}`);
  });

  test("has a package URL, a license and the checksum of the lock file for every dependency", () => {
    for (const { name, version, purl, licenses, hashes } of sbom.components) {
      expect(purl).toBe(`pkg:npm/${name.replace("@", "%40")}@${version}`);
      expect(licenses).toHaveLength(1);
      const [hash] = hashes ?? [];
      const integrity = `sha512-${Buffer.from(hash?.content ?? "", "hex").toString("base64")}`;
      expect([hash?.alg, integrity]).toEqual(["SHA-512", lock.packages[`node_modules/${name}`]?.integrity]);
    }
  });

  test("links dependencies that are in it, from the application to every component", () => {
    const links = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));
    const reached = new Set<string>();
    const visit = (ref: string) => {
      if (reached.has(ref)) return;
      reached.add(ref);
      const next = links.get(ref);
      expect([ref, next === undefined]).toEqual([ref, false]);
      for (const each of next ?? []) visit(each);
    };
    visit(sbom.metadata.component["bom-ref"]);
    expect([...reached].sort()).toEqual([...links.keys()].sort());
    expect(reached.size).toBe(sbom.components.length + 1);
  });

  test("contains no address, path, or name of the machine that built it, and is the same in every build", () => {
    const withoutSchema = text.replace(sbom.$schema, "");
    expect(withoutSchema).not.toMatch(/https?:|registry|localhost/);
    for (const own of [scratch, ROOT, process.cwd(), hostname(), `/${userInfo().username}/`])
      expect(withoutSchema).not.toContain(own);
    expect(sbom).toEqual(createSbom(lock));
  });

  test("is copied into the image", () => {
    const copies = instructions.filter(({ name, stage }) => name === "COPY" && stage === 2);
    expect(copies.map(({ rest }) => rest)).toContain("--from=install /app/sbom.cdx.json /app/sbom.cdx.json");
  });
});

test("a package that is installed twice, nested, and shared is listed once per version", () => {
  const sbom = createSbom({
    name: "app",
    packages: {
      "": { version: "1.0.0", dependencies: { a: "1.0.0", b: "1.0.0" } },
      "node_modules/a": { version: "1.0.0", dependencies: { c: "^2.0.0" } },
      "node_modules/a/node_modules/c": { version: "2.0.0", peerDependencies: { b: "*" } },
      "node_modules/b": { version: "1.0.0", dependencies: { c: "^1.0.0" } },
      "node_modules/c": { version: "1.0.0", license: "MIT OR Apache-2.0" },
      "node_modules/d": { version: "1.0.0", dev: true },
      "node_modules/e/node_modules/c": { version: "2.0.0" },
    },
  });
  expect(sbom.components.map(({ purl }) => purl)).toEqual([
    "pkg:npm/a@1.0.0",
    "pkg:npm/c@2.0.0",
    "pkg:npm/b@1.0.0",
    "pkg:npm/c@1.0.0",
  ]);
  expect(sbom.components.at(-1)?.licenses).toEqual([{ expression: "MIT OR Apache-2.0" }]);
  expect(Object.fromEntries(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))).toMatchObject({
    "pkg:npm/app@1.0.0": ["pkg:npm/a@1.0.0", "pkg:npm/b@1.0.0"],
    "pkg:npm/a@1.0.0": ["pkg:npm/c@2.0.0"],
    "pkg:npm/b@1.0.0": ["pkg:npm/c@1.0.0"],
    "pkg:npm/c@2.0.0": ["pkg:npm/b@1.0.0"],
  });
});

test("SHA256SUMS lists release files in the format that sha256sum checks, and forgets removed ones", () => {
  const folder = join(scratch, "release");
  const file = (name: string) => join(folder, name);
  mkdirSync(folder);
  for (const name of ["gatehouse", "gatehouse.cdx.json", "removed"]) writeFileSync(file(name), name);
  addChecksums(file("removed"));
  rmSync(file("removed"));
  addChecksums(file("gatehouse"));
  addChecksums(file("gatehouse.cdx.json"), file("gatehouse"));
  const check = () => Bun.spawnSync(["sha256sum", "--strict", "--check", "SHA256SUMS"], { cwd: folder });
  expect(check().stdout.toString()).toBe("gatehouse: OK\ngatehouse.cdx.json: OK\n");
  writeFileSync(file("gatehouse"), "changed");
  expect(check().exitCode).toBe(1);
});
