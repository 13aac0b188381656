// The `cors` setting of a gateway: which websites may call it from a browser.
import { z } from "zod";
import { ANY_ORIGIN } from "./any-origin.ts";

const MAX_ORIGINS = 32;
const MAX_HEADERS = 64;
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#@*\s,]+$/;

const originField = z
  .string()
  .max(255, "must not be longer than 255 characters")
  .overwrite((origin) => origin.toLowerCase())
  .refine(isOrigin, 'must be "*" or an origin such as "https://app.example.com", without a path or wildcard');

/** Browsers never send the default port of a URL, and origins are compared as a whole: one with a wildcard would match nothing. */
function isOrigin(origin: string): boolean {
  if (origin === ANY_ORIGIN) return true;
  if (!ORIGIN.test(origin) || !URL.canParse(origin)) return false;
  return !/^https?:/.test(origin) || new URL(origin).origin === origin;
}

const headerNameField = z
  .string()
  .max(128, "must not be longer than 128 characters")
  .overwrite((name) => name.toLowerCase())
  .regex(/^[!#$%&'*+.^_`|~0-9a-z-]+$/, "must be a header name");

export const corsField = z
  .strictObject({
    origins: z
      .array(originField)
      .min(1, "must contain at least one origin")
      .max(MAX_ORIGINS, `must not contain more than ${MAX_ORIGINS} origins`)
      .meta({
        description:
          'Websites that may call the gateway, such as `https://app.example.com`, or `"*"` for all.',
      }),
    headers: z
      .array(headerNameField)
      .max(MAX_HEADERS, `must not contain more than ${MAX_HEADERS} headers`)
      .nullable()
      .default(null)
      .meta({ description: "Request headers that scripts may send. Null: every header they ask for." }),
    max_age: z
      .int("must be a whole number")
      .min(0, "must be at least 0")
      .max(86_400, "must be at most 86400")
      .default(600)
      .meta({ description: "Seconds for which browsers remember the permission." }),
  })
  .meta({ id: "Cors" });

export type Cors = z.output<typeof corsField>;
