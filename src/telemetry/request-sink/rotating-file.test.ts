// The file of the request log: rotation, several writers, and lines that were cut off.
import { afterAll, describe, expect, test } from "bun:test";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { RotatingFile } from "./rotating-file.ts";

const root = mkdtempSync(join(tmpdir(), "gatehouse-rotating-"));
afterAll(() => rmSync(root, { recursive: true }));
let folders = 0;

function newFile(maxBytes: number, keptFiles = 3) {
  const folder = join(root, String(folders++));
  const path = join(folder, "deep", "requests.jsonl");
  const create = () => new RotatingFile({ path, maxBytes, keptFiles });
  const read = (suffix = "") => (existsSync(path + suffix) ? readFileSync(path + suffix, "utf8") : null);
  return { path, create, read, names: () => readdirSync(join(folder, "deep")).sort() };
}

const lines = (text: string) => Buffer.from(`${text}\n`);

describe("rotation", () => {
  test("a file that would exceed the limit is renamed; the oldest is deleted", async () => {
    const { create, read, names } = newFile(8, 2);
    const file = create();
    for (const text of ["one", "two", "three", "four", "five"]) await file.append(lines(text));
    await file.close();
    expect([read(), read(".1"), read(".2")]).toEqual(["five\n", "four\n", "three\n"]);
    expect(names()).toEqual(["requests.jsonl", "requests.jsonl.1", "requests.jsonl.2"]);
  });

  test("lines that are longer than the limit get a file of their own", async () => {
    const { create, read } = newFile(8);
    const file = create();
    for (const text of ["longer than the limit", "next"]) await file.append(lines(text));
    await file.close();
    expect([read(), read(".1")]).toEqual(["next\n", "longer than the limit\n"]);
  });

  test("only the user of the gateway can read the file", async () => {
    const { create, path } = newFile(8);
    const file = create();
    await file.append(lines("x"));
    await file.close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test("a lock that a killed process left behind is removed", async () => {
    const { create, read, path } = newFile(4);
    const file = create();
    await file.append(lines("one"));
    writeFileSync(`${path}.lock`, "");
    await file.append(lines("two"));
    // The owner of the lock may be rotating the file.
    expect(read()).toBe("one\ntwo\n");
    utimesSync(`${path}.lock`, 1, 1);
    await file.append(lines("three"));
    await file.append(lines("four"));
    await file.close();
    expect([read(), read(".1")]).toEqual(["four\n", "one\ntwo\nthree\n"]);
  });
});

describe("other writers", () => {
  test("several processes share one file: every line is whole and present once", async () => {
    const { path, create, names } = newFile(20_000, 100);
    const writers = Array.from({ length: 4 }, create);
    const text = (writer: number, line: number) => `${writer}-${line} ${"x".repeat(line % 200)} end`;
    await Promise.all(
      writers.map(async (file, writer) => {
        for (let line = 0; line < 300; line++) await file.append(lines(text(writer, line)));
        await file.close();
      }),
    );
    const found = names().flatMap((name) => readFileSync(join(path, "..", name), "utf8").split("\n"));
    const expected = writers.flatMap((_, writer) =>
      Array.from({ length: 300 }, (_, line) => text(writer, line)),
    );
    expect(found.filter((line) => line !== "").sort()).toEqual(expected.sort());
    expect(names().length).toBeGreaterThan(4);
  });

  test("a file that another process renamed or deleted is created again", async () => {
    const { path, create, read } = newFile(1000);
    const file = create();
    await file.append(lines("one"));
    renameSync(path, `${path}.moved`);
    await file.append(lines("two"));
    rmSync(path);
    await file.append(lines("three"));
    await file.close();
    expect([read(".moved"), read()]).toEqual(["one\n", "three\n"]);
  });
});

test("a line that was cut off is ended before the next one", async () => {
  const { path, create, read } = newFile(1000);
  const file = create();
  await file.append(lines("one"));
  await file.close();
  writeFileSync(path, "one\ntw");
  const restarted = create();
  await restarted.append(lines("three"));
  await restarted.append(lines("four"));
  await restarted.close();
  expect(read()).toBe("one\ntw\nthree\nfour\n");
});

describe("a full disk", () => {
  test.skipIf(!existsSync("/dev/full"))("rejects if nothing can be written", async () => {
    const file = new RotatingFile({ path: "/dev/full", maxBytes: 1000, keptFiles: 1 });
    const error = await file.append(lines("one")).catch(String);
    expect(error).toContain("ENOSPC");
    await file.close();
  });

  test("returns the lines that were not written as a whole", () => {
    const { path, read } = newFile(0);
    // The limit of the file size acts like a full disk: a write may be cut off.
    const program = `
      import { RotatingFile } from ${JSON.stringify(join(import.meta.dir, "rotating-file.ts"))};
      const file = new RotatingFile({ path: ${JSON.stringify(path)}, maxBytes: 1_000_000, keptFiles: 1 });
      const line = (name) => name + "x".repeat(799) + "\\n";
      const rest = await file.append(Buffer.from(line("a") + line("b") + line("c")));
      const error = await file.append(rest).catch((error) => error.code);
      console.log(JSON.stringify({ rest: String(rest), error }));`;
    const limited = [
      "bash",
      "-c",
      'trap "" XFSZ; ulimit -f 2; exec "$0" "$@"',
      process.execPath,
      "-e",
      program,
    ];
    const { rest, error } = JSON.parse(Bun.spawnSync(limited).stdout.toString());
    expect([rest, error]).toEqual([`c${"x".repeat(799)}\n`, "EFBIG"]);
    expect(read()).toStartWith(`a${"x".repeat(799)}\nb${"x".repeat(799)}\nc`);
  });
});
