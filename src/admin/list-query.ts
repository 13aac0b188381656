// Paging and filtering, the same for every list.
import { z } from "zod";

/** A whole number in a query, with its default and bounds. */
export const wholeNumber = (fallback: number, min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,15}$/, "must be a whole number")
    .default(String(fallback))
    .transform(Number)
    .pipe(z.number().min(min).max(max));

export const pageQuery = z.strictObject({
  limit: wholeNumber(100, 1, 1000),
  offset: wholeNumber(0, 0, Number.MAX_SAFE_INTEGER),
});

export const listQuery = pageQuery.extend({ name: z.string().optional() });

export type ListParameters = z.output<typeof listQuery>;

/** `{"gateways": [...], "count": 12, "limit": 100, "offset": 0}` */
export function listResponse(
  key: string,
  records: readonly unknown[],
  count: number,
  { limit, offset }: { limit: number; offset: number },
): Response {
  return Response.json({ [key]: records, count, limit, offset });
}
