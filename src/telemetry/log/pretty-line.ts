// Formats log lines for people: `12:30:45 INFO  listening  url=http://…`.

const LEVEL_COLORS: Record<string, string> = { fatal: "31", error: "31", warn: "33", info: "32" };

/** A line break or a terminal sequence in a value that a client sent must not look like another log line. */
function escapeControls(text: string): string {
  return text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Returns the line without a line break. */
export function formatLogLine(
  { time, level, msg, ...fields }: Readonly<Record<string, unknown>>,
  color: boolean,
): string {
  const paint = (code: string, text: string) => (color ? `\x1b[${code}m${text}\x1b[0m` : text);
  const label = escapeControls(String(level));
  const clock = escapeControls(String(time).slice(11, 19));
  const rest = Object.entries(fields)
    .map(([key, value]) => {
      const text = typeof value === "string" ? value : JSON.stringify(value);
      return paint("2", `${escapeControls(key)}=`) + escapeControls(text);
    })
    .join(" ");
  const title = paint(LEVEL_COLORS[label] ?? "2", label.toUpperCase().padEnd(5));
  return `${paint("2", clock)} ${title} ${typeof msg === "string" ? escapeControls(msg) : ""}  ${rest}`;
}
