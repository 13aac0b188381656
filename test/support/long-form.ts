// Tests that try many inputs have a short form for `npm test` and a long form: `npm run test:long`. GATEHOUSE_LONG is the part of the
// long form that runs: 1 for all of it, 0.25 for a quarter of the inputs.

const part = Number(process.env["GATEHOUSE_LONG"] ?? 0);

export const isLong = part > 0;

/** Returns the number of runs of a property test. */
export function runs({ short, long }: { readonly short: number; readonly long: number }): number {
  return isLong ? Math.max(short, Math.round(long * Math.min(part, 1))) : short;
}
