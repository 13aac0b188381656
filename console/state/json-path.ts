// Reads and writes a value at a field path in the API's notation: `targets[0].credentials.header_name`.

type Step = string | number;

export function parsePath(path: string): Step[] {
  return [...path.matchAll(/([^.[\]]+)|\[(\d+)\]/g)].map(([, name, index]) =>
    index === undefined ? (name ?? "") : Number(index),
  );
}

export function joinPath(path: string, step: Step): string {
  if (typeof step === "number") return `${path}[${step}]`;
  return path === "" ? step : `${path}.${step}`;
}

export function valueAt(root: unknown, steps: readonly Step[]): unknown {
  let value = root;
  for (const step of steps) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<Step, unknown>)[step];
  }
  return value;
}

/** Returns a copy with the value set. Copies only the containers along the path. `undefined` removes the field. */
export function withValueAt(root: unknown, steps: readonly Step[], value: unknown): unknown {
  const [step, ...rest] = steps;
  if (step === undefined) return value;
  const inner = withValueAt(valueAt(root, [step]), rest, value);
  if (typeof step === "number") {
    const before: readonly unknown[] = Array.isArray(root) ? root : [];
    const list = [...before];
    list[step] = inner;
    return list;
  }
  const record: Record<string, unknown> =
    typeof root === "object" && root !== null && !Array.isArray(root) ? { ...root } : {};
  if (inner !== undefined) return { ...record, [step]: inner };
  return Object.fromEntries(Object.entries(record).filter(([name]) => name !== step));
}

/** Whether `path` equals `outer` or is below it. */
export function isWithin(path: string, outer: string): boolean {
  return path === outer || path.startsWith(`${outer}.`) || path.startsWith(`${outer}[`);
}
