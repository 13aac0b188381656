// A mirror: a target of a virtual model that gets copies of a share of its requests. No client sees its responses.
import { z } from "zod";

/** `target` differs between records and documents. */
export function mirrorOf<T extends z.ZodType>(target: T) {
  return z
    .strictObject({
      target: target.meta({ description: "The upstream and the model that get the copies." }),
      share: z
        .number()
        .min(0, "must be from 0 to 1")
        .max(1, "must be from 0 to 1")
        .meta({ description: "Share of the requests that are copied, from 0 (off) to 1." }),
    })
    .nullable()
    .default(null)
    .meta({
      description:
        "Another target that gets copies of requests after their responses have begun. Its responses are discarded.",
    });
}
