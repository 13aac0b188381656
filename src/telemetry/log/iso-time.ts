// Formats the time of a log line. Many lines fall into the same millisecond, and formatting a date costs more than the rest
// of a line, so the last result is kept.

let lastMs = NaN;
let lastText = "";

export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = new Date(ms).toISOString();
  }
  return lastText;
}
