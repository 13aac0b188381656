import { expect, test } from "bun:test";
import { drawCostPlot } from "./cost-plot.ts";

const point = (bytes: number, microseconds: number, isConversation = false) => ({
  bytes,
  microseconds,
  isConversation,
});

test("draws a line per series on logarithmic axes, conversations as hollow marks, and the names", () => {
  const svg = drawCostPlot([
    { title: "nginx", points: [point(1000, 16), point(10_000, 30), point(100_000, 60)] },
    { title: "A & B", points: [point(1000, 40), point(10_000, 100), point(110_000, 300, true)] },
  ]);
  const lines = [...svg.matchAll(/<polyline [^>]*points="([^"]*)"/g)].map(([, points = ""]) =>
    points.split(" ").map((pair) => pair.split(",").map(Number)),
  );
  expect(lines.map(({ length }) => length)).toEqual([3, 2]);
  const [first, second, third] = lines[0]!.map(([x = 0]) => x);
  expect(Math.abs(second! - first! - (third! - second!))).toBeLessThan(2);
  expect(svg.match(/class="mark"/g)).toHaveLength(1);
  expect(svg).toContain(">A &amp; B</text>");
  expect(svg).not.toContain("NaN");
});
