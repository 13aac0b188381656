// Query parameters and response shape that all lists share.
import { z } from "zod";

/** Schema of a whole number in a query. */
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

export interface ListParameters extends z.output<typeof listQuery> {
  /** Of API keys: the gateway that they belong to. */
  readonly subject?: string | undefined;
}

/** `{"gateways": [...], "count": 12, "limit": 100, "offset": 0}` */
export function listResponse(
  key: string,
  records: readonly unknown[],
  count: number,
  { limit, offset }: { limit: number; offset: number },
): Response {
  return Response.json({ [key]: records, count, limit, offset });
}
