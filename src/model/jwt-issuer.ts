// Issuers of JSON Web Tokens that a gateway accepts at its MCP endpoints, and the claims that identify their clients.
import { z } from "zod";
import { isLoopback } from "../config/loopback.ts";
import { LABEL_NAME } from "./label-name.ts";
import { remoteUrlProblem, urlField } from "./remote-url.ts";

const MAX_ISSUERS = 16;
const MAX_LABELS = 8;

/** A key set that arrives unencrypted could be replaced on its way, and with it every token forged. */
function keySetProblem(text: string): string | null {
  const problem = remoteUrlProblem(text, "https://login.example.com/.well-known/jwks.json");
  if (problem !== null) return problem;
  const { protocol, hostname } = new URL(text);
  return protocol === "https:" || isLoopback(hostname.replaceAll(/[[\]]/g, ""))
    ? null
    : "must start with https://";
}

const textField = (maxCharacters: number) =>
  z
    .string()
    .min(1, "must not be empty")
    .max(maxCharacters, `must not be longer than ${maxCharacters} characters`)
    .regex(/^[\x21-\x7E]*$/, "must contain only visible ASCII characters without spaces");

/** `a.b` is the member `b` of the claim `a`, unless there is a claim `a.b`. */
const claimField = textField(256);

const claimLabelsField = z
  .record(
    z.string().regex(LABEL_NAME, "must have a name of 1 to 32 characters a-z, 0-9, _ and -"),
    claimField,
  )
  .refine(
    (labels) => Object.keys(labels).length <= MAX_LABELS,
    `must not contain more than ${MAX_LABELS} labels`,
  );

const claimsSchema = z
  .strictObject({
    user: claimField.default("sub").meta({ description: "Claim with the id of the user." }),
    labels: claimLabelsField.default({}).meta({
      description:
        "Claims whose values are labels, by the name of the label. Usage and budgets use them as those of API keys.",
    }),
    tools: claimField
      .nullable()
      .default(null)
      .meta({
        description:
          "Claim with the patterns of tools, prompts and resources that the user may use, as in the `tools` of an API key: an array, or a text " +
          "with spaces between them. A token without it may use no tools. Null: all tools.",
      }),
  })
  .meta({ id: "JwtClaims" });

const jwtIssuerSchema = z
  .strictObject({
    issuer: textField(2048).meta({ description: "The claim `iss` of its tokens." }),
    audience: textField(2048).meta({
      description: "A value that the claim `aud` must contain, such as the address of the MCP endpoint.",
    }),
    jwks_url: urlField(keySetProblem).meta({
      description: "Where the public keys of the issuer are. https, except on a loopback address.",
    }),
    claims: claimsSchema.prefault({}),
  })
  .meta({ id: "JwtIssuer" });

export type JwtIssuer = z.output<typeof jwtIssuerSchema>;

export const jwtIssuersField = z
  .array(jwtIssuerSchema)
  .max(MAX_ISSUERS, `must not contain more than ${MAX_ISSUERS} issuers`)
  .superRefine((issuers, context) => {
    const first = new Map<string, number>();
    for (const [index, { issuer, audience }] of issuers.entries()) {
      const key = JSON.stringify([issuer, audience]);
      const known = first.get(key);
      if (known === undefined) first.set(key, index);
      else
        context.addIssue({
          code: "custom",
          path: [index],
          message: `has the same issuer and audience as jwt_issuers[${known}]`,
        });
    }
  });
