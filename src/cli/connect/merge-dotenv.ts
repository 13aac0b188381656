// Sets variables in the text of a `.env` file. Everything else stays as it is.

/** A value that begins with a quote and does not end with it continues on the next line. */
const OPEN_QUOTE = /^\s*(?:export\s+)?[A-Za-z_]\w*\s*=\s*(["'`])(?:(?!\1).)*$/;

/** Throws if it is not clear where a variable is set. */
export function mergeDotenv(before: string, variables: Readonly<Record<string, string>>): string {
  const end = before.includes("\r\n") ? "\r\n" : "\n";
  const lines = before === "" ? [] : before.replace(/\r?\n$/, "").split(/\r?\n/);
  for (const [name, value] of Object.entries(variables)) {
    const assignment = new RegExp(`^\\s*((?:export\\s+)?)${name}\\s*=`);
    const found = lines.flatMap((line, index) => (assignment.test(line) ? [index] : []));
    const [index] = found;
    if (index === undefined) {
      lines.push(`${name}=${value}`);
      continue;
    }
    if (found.length > 1) throw new Error(`${name} is set ${found.length} times`);
    if (lines.some((line) => OPEN_QUOTE.test(line))) throw new Error("it has a value of several lines");
    const [, prefix = ""] = assignment.exec(lines[index] ?? "") ?? [];
    lines[index] = `${prefix}${name}=${value}`;
  }
  return lines.join(end) + end;
}
