// The time of a log line. Many lines fall into one millisecond, and writing a date costs more than the rest of a line.

let lastMs = NaN;
let lastText = "";

export function isoTime(ms: number): string {
  if (ms !== lastMs) {
    lastMs = ms;
    lastText = new Date(ms).toISOString();
  }
  return lastText;
}
