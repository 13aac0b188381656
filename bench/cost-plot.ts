// Draws CPU time per request against body size as an SVG, both axes logarithmic. It has its own background, so that it is
// readable on light and dark pages.

interface PlotPoint {
  readonly bytes: number;
  readonly microseconds: number;
  /** Drawn as a separate hollow mark: its requests repeat earlier text. */
  readonly isConversation: boolean;
}

export interface PlotSeries {
  readonly title: string;
  readonly points: readonly PlotPoint[];
}

const [WIDTH, HEIGHT] = [720, 400];
const AREA = { left: 70, right: 560, top: 44, bottom: 340 };
const TICK_LENGTH = 5;
/** Lines are told apart by color and by the shape of the dashes. */
const DASHES = ["", "6 3", "2 3", "8 3 2 3"];
const LABEL_HEIGHT = 16;

const STYLE = `
.page { fill: #ffffff; } text { fill: #1f2328; font: 13px system-ui, sans-serif; } .grid { stroke: #d1d9e0; } .mark { fill: #ffffff; }
.c0 { --c: #59636e; } .c1 { --c: #0969da; } .c2 { --c: #bc4c00; } .c3 { --c: #8250df; } .c4 { --c: #1a7f37; } .c5 { --c: #bf3989; }
@media (prefers-color-scheme: dark) {
  .page { fill: #0d1117; } text { fill: #e6edf3; } .grid { stroke: #30363d; } .mark { fill: #0d1117; }
  .c0 { --c: #9198a1; } .c1 { --c: #4493f8; } .c2 { --c: #f0883e; } .c3 { --c: #ab7df8; } .c4 { --c: #3fb950; } .c5 { --c: #db61a2; }
}
.line { fill: none; stroke: var(--c); stroke-width: 2; } .dot { fill: var(--c); } .mark { stroke: var(--c); stroke-width: 2; }
.title { font-weight: 600; } .end { text-anchor: end; } .middle { text-anchor: middle; }`;

export function drawCostPlot(series: readonly PlotSeries[]): string {
  const points = series.flatMap((each) => each.points);
  const x = scale(
    points.map(({ bytes }) => bytes),
    AREA.left,
    AREA.right,
  );
  const y = scale(
    points.map(({ microseconds }) => microseconds),
    AREA.bottom,
    AREA.top,
  );
  const hasConversation = points.some(({ isConversation }) => isConversation);
  const note = hasConversation ? "; hollow marks: conversations that repeat 90 % of their bytes" : "";
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="CPU time per request by body size">`,
    `<style>${STYLE}</style>`,
    `<rect class="page" width="${WIDTH}" height="${HEIGHT}" rx="6"/>`,
    `<text class="title" x="${AREA.left}" y="26">CPU time per request, µs</text>`,
    ...x.ticks.flatMap((tick) => [
      `<line class="grid" x1="${x.at(tick)}" y1="${AREA.top}" x2="${x.at(tick)}" y2="${AREA.bottom + TICK_LENGTH}"/>`,
      `<text class="middle" x="${x.at(tick)}" y="${AREA.bottom + 22}">${formatBytes(tick)}</text>`,
    ]),
    ...y.ticks.flatMap((tick) => [
      `<line class="grid" x1="${AREA.left - TICK_LENGTH}" y1="${y.at(tick)}" x2="${AREA.right}" y2="${y.at(tick)}"/>`,
      `<text class="end" x="${AREA.left - 10}" y="${y.at(tick) + 4}">${tick.toLocaleString("en")}</text>`,
    ]),
    `<text class="middle" x="${(AREA.left + AREA.right) / 2}" y="${AREA.bottom + 46}">size of the request body${note}</text>`,
    ...series.flatMap((each, index) => drawSeries(each, index, x.at, y.at)),
    ...drawLabels(series, y.at),
    "</svg>\n",
  ].join("\n");
}

type Place = (value: number) => number;

function drawSeries({ points }: PlotSeries, index: number, x: Place, y: Place): string[] {
  const onLine = points.filter(({ isConversation }) => !isConversation).sort((a, b) => a.bytes - b.bytes);
  const at = ({ bytes, microseconds }: PlotPoint) => `${x(bytes)},${y(microseconds)}`;
  const dash = DASHES[Math.floor(index / 6) % DASHES.length] ?? "";
  return [
    `<g class="c${index % 6}">`,
    `<polyline class="line"${dash === "" ? "" : ` stroke-dasharray="${dash}"`} points="${onLine.map(at).join(" ")}"/>`,
    ...points.map(
      (point) =>
        `<circle class="${point.isConversation ? "mark" : "dot"}" cx="${x(point.bytes)}" cy="${y(point.microseconds)}" r="4"/>`,
    ),
    "</g>",
  ];
}

/** Places the names beside the ends of the lines, from top to bottom without overlaps. */
function drawLabels(series: readonly PlotSeries[], y: Place): string[] {
  const labels = series
    .map(({ title, points }, index) => {
      const onLine = points.filter(({ isConversation }) => !isConversation);
      const last = [...(onLine.length > 0 ? onLine : points)].sort((a, b) => b.bytes - a.bytes)[0];
      return { title, index, top: last === undefined ? AREA.bottom : y(last.microseconds) };
    })
    .sort((a, b) => a.top - b.top);
  let next = AREA.top;
  return labels.map(({ title, index, top }) => {
    const place = Math.max(top, next);
    next = place + LABEL_HEIGHT;
    return (
      `<circle class="c${index % 6} dot" cx="${AREA.right + 16}" cy="${place}" r="4"/>` +
      `<text x="${AREA.right + 26}" y="${place + 4}">${escape(title)}</text>`
    );
  });
}

/** Returns a logarithmic scale with a tick at every power of ten, and at 2 and 5 times it if there are few. */
function scale(values: readonly number[], from: number, to: number): { ticks: number[]; at: Place } {
  const [least, greatest] = [Math.min(...values) / 1.15, Math.max(...values) * 1.15];
  const span = Math.log(greatest / least);
  const at = (value: number) => Math.round(from + ((to - from) * Math.log(value / least)) / span);
  const powers = Array.from({ length: 12 }, (_, power) => 10 ** power);
  const within = (ticks: number[]) => ticks.filter((tick) => tick >= least && tick <= greatest);
  const few = within(powers);
  return {
    ticks: few.length >= 3 ? few : within(powers.flatMap((power) => [power, 2 * power, 5 * power])),
    at,
  };
}

function formatBytes(bytes: number): string {
  return bytes >= 1_000_000 ? `${bytes / 1_000_000} MB` : bytes >= 1000 ? `${bytes / 1000} kB` : `${bytes} B`;
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
}
