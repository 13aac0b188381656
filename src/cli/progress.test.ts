// The progress line: on a terminal only, redrawn at a bounded rate, and cleared at the end.
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { ManualClock } from "../base/manual-clock.fixture.ts";
import { Progress } from "./progress.ts";

const termBefore = process.env["TERM"];
beforeEach(() => {
  process.env["TERM"] = "xterm";
});
afterEach(() => {
  if (termBefore === undefined) delete process.env["TERM"];
  else process.env["TERM"] = termBefore;
});

function watched({ isTTY = true, columns = 80 } = {}) {
  const written: string[] = [];
  const write = (text: string) => written.push(text) > 0;
  const clock = new ManualClock();
  return { progress: new Progress({ isTTY, write, columns }, clock), written, clock };
}

const CLEAR = "\r\x1b[K";

describe("a progress bar", () => {
  test("rewrites one line and clears it at the end", async () => {
    const { progress, written, clock } = watched();
    progress.show("half", 0.5);
    expect(written.at(-1)).toBe(`${CLEAR}${"█".repeat(12)}${"░".repeat(12)} half`);
    clock.advance(100);
    expect(await progress.during("work", 0.5, 1, 10, () => Promise.resolve(7))).toBe(7);
    expect(written.at(-1)).toEndWith(" work");
    progress.end();
    expect(written.at(-1)).toBe(CLEAR);
    expect(clock.timerCount).toBe(0);
  });

  test("is redrawn at most ten times per second, and shows the last state", () => {
    const { progress, written, clock } = watched();
    for (let step = 0; step < 1000; step++) {
      progress.show(`step ${step}`, step / 1000);
      clock.advance(1);
    }
    expect(written.length).toBeLessThanOrEqual(11);
    progress.show("last", 1);
    clock.advance(100);
    expect(written.at(-1)).toEndWith(" last");
    const count = written.length;
    clock.advance(10_000);
    expect(written).toHaveLength(count);
  });

  test("fits into the width of the terminal, because a second line could not be cleared", () => {
    const { progress, written } = watched({ columns: 30 });
    progress.show("a label that is too long", 0);
    expect(Bun.stringWidth(written.at(-1)?.replace(CLEAR, "") ?? "")).toBe(29);
  });
});

describe("waiting", () => {
  test("shows the elapsed seconds after half a second, and clears the line", async () => {
    const { progress, written, clock } = watched();
    const { promise, resolve } = Promise.withResolvers<string>();
    const waiting = progress.waiting("applying", () => promise);
    clock.advance(499);
    expect(written).toEqual([]);
    clock.advance(1);
    expect(written).toEqual([`${CLEAR}applying …`]);
    clock.advance(3500);
    expect(written.at(-1)).toBe(`${CLEAR}applying … 4 s`);
    expect(written.length).toBeLessThanOrEqual(41);
    resolve("done");
    expect(await waiting).toBe("done");
    expect(written.at(-1)).toBe(CLEAR);
    expect(clock.timerCount).toBe(0);
  });

  test("clears the line if the work fails", async () => {
    const { progress, written, clock } = watched();
    const { promise, reject } = Promise.withResolvers<string>();
    const waiting = progress.waiting("applying", () => promise);
    clock.advance(1000);
    reject(new Error("failed"));
    expect(await waiting.catch(String)).toBe("Error: failed");
    expect(written.at(-1)).toBe(CLEAR);
  });
});

describe("nothing is printed", () => {
  const runAll = async ({ progress, written, clock }: ReturnType<typeof watched>) => {
    await progress.during("work", 0, 1, 10, () => Promise.resolve());
    const { promise, resolve } = Promise.withResolvers<null>();
    const waiting = progress.waiting("work", () => promise);
    clock.advance(5000);
    resolve(null);
    await waiting;
    progress.end();
    return written;
  };

  test("if the stream is not a terminal", async () => {
    expect(await runAll(watched({ isTTY: false }))).toEqual([]);
  });

  test("on a dumb terminal, which cannot clear a line", async () => {
    process.env["TERM"] = "dumb";
    expect(await runAll(watched())).toEqual([]);
  });
});
