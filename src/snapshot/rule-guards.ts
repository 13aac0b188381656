// Guards: the plugins that inspect texts. A rule knows which of them cannot inspect texts of its requests, so that these are rejected.
import type { PluginStage } from "../model/plugin-stage.ts";
import type { Unguarded } from "../model/rule.ts";
import type { PluginDefinition, PluginHooks, TextInspection } from "../sdk/index.ts";

/** An entry of `required_plugins` that takes effect and inspects texts. */
export interface Guard {
  /** The name of the plugin. */
  readonly name: string;
  readonly inspects: Required<TextInspection>;
}

/** A guard, and where it cannot inspect texts. */
export interface Refusal {
  readonly guard: string;
  /** `forms`: fields of forms, and text that is no JSON. No rule can let them pass. */
  readonly transport: Unguarded | "forms";
}

/** Each is null if guards inspect these texts, or if the rule lets them pass. */
export interface RuleGuards {
  /** For WebSockets. Guards inspect neither texts nor audio of their messages. */
  readonly realtime: Refusal | null;
  /** For text files, by the transport that the form names. */
  readonly files: { readonly [Transport in FileTransport]: FileRefusals };
  /** For batches whose requests are in the body that creates them. */
  readonly batches: Refusal | null;
  /** For fields of forms, and bodies that are text but no JSON. */
  readonly forms: Refusal | null;
  /** Whether `files` or `forms` has a refusal. */
  readonly readsForms: boolean;
  /** For MCP servers: by a guard that does not inspect what they send. */
  readonly mcp: Refusal | null;
  /** Whether files of MCP servers that no guard can inspect are rejected. */
  readonly rejectsMcpFiles: boolean;
}

export type FileTransport = "files" | "batches";

interface FileRefusals {
  /** By a guard that inspects no files. */
  readonly always: Refusal | null;
  /** By a guard that inspects files of forms in UTF-8, for other forms. */
  readonly otherThanUtf8: Refusal | null;
}

const REALTIME: readonly Unguarded[] = ["realtime_text", "realtime_audio"];
const NO_INSPECTION: TextInspection = { files: false, forms: false, batches: false };
const NO_REFUSALS: FileRefusals = { always: null, otherThanUtf8: null };
const NOTHING = {
  realtime: null,
  files: { files: NO_REFUSALS, batches: NO_REFUSALS },
  batches: null,
  forms: null,
  readsForms: false,
};

/** Returns null if the plugin inspects no texts. */
export function inspectionOf(
  definition: PluginDefinition,
  settings: unknown,
  stage: PluginStage,
  hooks: PluginHooks,
): Required<TextInspection> | null {
  if (stage !== "pre_request" && stage !== "pre_response") return null;
  const needsText = definition.needs?.includes("text") === true;
  const inspection =
    definition.inspects === undefined ? (needsText ? NO_INSPECTION : null) : definition.inspects(settings);
  if (inspection === null) return null;
  const seesMessages = needsText || (stage === "pre_response" && hooks.pre_response !== undefined);
  return { forms: false, mcp: seesMessages, ...inspection };
}

/** As `compileGuards`, for a rule that leads to MCP servers. */
export function compileMcpGuards(
  guards: readonly Guard[] | null,
  unguarded: readonly Unguarded[],
): RuleGuards | null {
  if (guards === null || unguarded.includes("mcp")) return null;
  const blind = guards.find(({ inspects }) => !inspects.mcp);
  const mcp = blind === undefined ? null : ({ guard: blind.name, transport: "mcp" } as const);
  return { ...NOTHING, mcp, rejectsMcpFiles: true };
}

/** Returns null if the rule rejects nothing because of its guards. */
export function compileGuards(
  guards: readonly Guard[] | null,
  unguarded: readonly Unguarded[],
): RuleGuards | null {
  if (guards === null) return null;
  const refusal = (transport: Unguarded, inspects: (inspection: Guard["inspects"]) => boolean) => {
    const guard = guards.find((each) => !inspects(each.inspects));
    return guard === undefined || unguarded.includes(transport) ? null : { guard: guard.name, transport };
  };
  const filesAs = (transport: FileTransport): FileRefusals => ({
    always: refusal(transport, ({ files }) => files),
    otherThanUtf8: refusal(transport, ({ files }) => !files),
  });
  const [realtime = null] = REALTIME.flatMap((transport) => refusal(transport, () => false) ?? []);
  const files = { files: filesAs("files"), batches: filesAs("batches") };
  const batches = refusal("batches", (inspection) => inspection.batches);
  const formGuard = guards.find(({ inspects }) => !inspects.forms);
  const forms: Refusal | null =
    formGuard === undefined ? null : { guard: formGuard.name, transport: "forms" };
  const readsFiles = [files.files, files.batches].some(
    ({ always, otherThanUtf8 }) => always !== null || otherThanUtf8 !== null,
  );
  const readsForms = readsFiles || forms !== null;
  return realtime === null && batches === null && !readsForms
    ? null
    : { realtime, files, batches, forms, readsForms, mcp: null, rejectsMcpFiles: false };
}
