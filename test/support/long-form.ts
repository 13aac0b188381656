// Tests that try many inputs have a short form for `npm test` and a long form: `npm run test:long`.

export const isLong = process.env["GATEHOUSE_LONG"] === "1";

/** Returns the number of runs of a property test. */
export function runs({ short, long }: { readonly short: number; readonly long: number }): number {
  return isLong ? long : short;
}
