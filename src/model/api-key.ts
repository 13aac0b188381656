// API key: authorizes a client to use rules of a gateway. The key itself is shown once; only its hash is stored.
import { z } from "zod";
import { idField, nameField } from "./fields.ts";
import { LABEL_NAME } from "./label-name.ts";
import { modelPatternField } from "./model-pattern.ts";
import type { ChildFields } from "./record.ts";
import { instantField } from "./time-field.ts";
import { toolPatternsField } from "./tool-pattern.ts";

const policiesField = z
  .array(idField)
  .max(1000, "must not contain more than 1000 rules")
  .overwrite((ids) => [...new Set(ids)]);

const MAX_LABELS = 8;

const labelNameField = z
  .string()
  .regex(LABEL_NAME, "must have a name of 1 to 32 characters a-z, 0-9, _ and -");

const labelValueField = nameField.max(128, "must not be longer than 128 characters");

/** Sorted by name: records with the same labels are equal, and so are their usage rows. */
const labelsField = z
  .record(labelNameField, labelValueField)
  .refine(
    (labels) => Object.keys(labels).length <= MAX_LABELS,
    `must not contain more than ${MAX_LABELS} labels`,
  )
  .overwrite((labels) => Object.fromEntries(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1))));

const modelsField = z
  .array(modelPatternField)
  .min(1, "must contain at least one model; null allows all models")
  .max(1000, "must not contain more than 1000 models")
  .overwrite((models) => [...new Set(models)]);

export const apiKeySchema = z
  .strictObject({
    name: nameField.meta({ description: "Name of the key." }),
    subject_type: z.literal("gateway").default("gateway"),
    subject: idField.meta({ description: "The gateway that the key belongs to." }),
    policies: policiesField
      .default([])
      .meta({ description: "Ids of the rules that the key is valid for. Empty: all rules of the gateway." }),
    expires_at: instantField
      .nullable()
      .default(null)
      .meta({ description: "ISO 8601 time. Null: the key does not expire.", format: "date-time" }),
    labels: labelsField.default({}).meta({
      description: `At most ${MAX_LABELS} labels, such as a team. Usage can be grouped by them.`,
    }),
    models: modelsField
      .nullable()
      .default(null)
      .meta({
        description:
          "Models that the key may use: exact names, or prefixes that end in `*`. Null: all models. Checked against the " +
          "requested model and against the model that is sent to a provider.",
      }),
    tools: toolPatternsField
      .nullable()
      .default(null)
      .meta({
        description:
          "Tools, prompts and resources of MCP servers that the key may use: patterns of `prefix__name`, where `*` matches any " +
          "characters; the name of a resource or template is its URI. The prefix is that of the server, also where a service " +
          "with one server shows names without it. Null: everything.",
      }),
  })
  .meta({ id: "ApiKey" });

export type ApiKeyFields = z.output<typeof apiKeySchema>;

export type ApiKey = ApiKeyFields &
  ChildFields & {
    /** The first characters of the key, so that people can identify it. */
    readonly prefix: string;
    readonly active: boolean;
    readonly last_used_at: string | null;
  };
