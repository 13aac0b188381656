// Tools of a gateway whose names look like those of others.
import { foldName, isPlainName } from "../mcp/lookalikes.ts";

export interface NamedTool {
  readonly serverId: string;
  readonly name: string;
}

/**
 * Returns which of a server's names look like another one of the gateway, and which one; null for a name that
 * is not plain ASCII and like none that is known. Equal names of several servers differ in their prefix.
 */
export function lookalikesIn(
  serverId: string,
  names: readonly string[],
  known: readonly NamedTool[],
): Map<string, NamedTool | null> {
  const byFold = new Map<string, NamedTool[]>();
  for (const tool of [...known, ...names.map((name) => ({ serverId, name }))]) {
    const fold = foldName(tool.name);
    const others = byFold.get(fold);
    if (others === undefined) byFold.set(fold, [tool]);
    else others.push(tool);
  }
  const found = new Map<string, NamedTool | null>();
  for (const name of names) {
    const other = byFold.get(foldName(name))?.find((tool) => tool.name !== name) ?? null;
    if (other !== null || !isPlainName(name)) found.set(name, other);
  }
  return found;
}
