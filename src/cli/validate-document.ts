// Validates a document as far as possible without a server: fields, references, providers, built-in plugins.
import { BalanceRegistry } from "../balance/balance-registry.ts";
import type { ErrorDetail } from "../base/errors.ts";
import { MemoryLedger } from "../ledger/memory-ledger.ts";
import { documentWarnings } from "./document-warnings.ts";
import { linkProblems, linkProblemsBeside } from "../model/document-links.ts";
import { mapTexts, resolveVariables, applyDefaults } from "../model/document-variables.ts";
import { documentSchema, type ConfigurationDocument, type DocumentGateway } from "../model/document.ts";
import { HIDDEN } from "../model/secret-mask.ts";
import { check, formatPath, unknownNameMessage } from "../model/validate.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import { compileUpstream } from "../snapshot/compile-upstream.ts";
import { compileChain } from "../snapshot/plugin-chain.ts";
import { OffLoop } from "../off-loop/off-loop.ts";
import { PluginHosts } from "../runtime/plugin-hosts.ts";
import { usesEnvironment, type TargetCredentials } from "../upstream/credentials/cloud-credentials.ts";
import { createLog } from "../telemetry/log/log.ts";

export interface DocumentValidation {
  readonly problems: readonly ErrorDetail[];
  /** What only the server can decide (unset variables, unknown plugins), and what is legal but probably wrong. */
  readonly warnings: readonly ErrorDetail[];
  /** Null if the document as a whole is invalid. */
  readonly document: ConfigurationDocument | null;
}

export function validateDocument(
  raw: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): DocumentValidation {
  const registry = new PluginRegistry();
  const settingsOf = (plugin: string) => registry.get(plugin)?.settings;
  const missing = resolveVariables(raw, environment).unset.filter(({ hasDefault }) => !hasDefault);
  // A variable may be set only where the document is applied: use a placeholder.
  const placeholders = Object.fromEntries(missing.map(({ name }) => [name, "unset"]));
  const resolved = resolveVariables(raw, { ...environment, ...placeholders }, settingsOf);
  const warnings = missing.map(({ path, name }) => ({
    path,
    message: `refers to \${${name}}, which is not set here`,
  }));
  const unsetPaths = new Set(missing.map(({ path }) => path));
  const withoutUnset = (problems: readonly ErrorDetail[]) =>
    problems.filter(({ path }) => !unsetPaths.has(path));
  const { document } = applyDefaults(resolved.document);
  let parsed = check(documentSchema, document);
  // If only placeholders are invalid, validate the document with masks, which every secret accepts, or else without the fields.
  for (const replacement of [HIDDEN, undefined]) {
    if (parsed.ok || withoutUnset(parsed.details).length > 0) break;
    const isMask = replacement === HIDDEN;
    const replaced = isMask ? new Set(parsed.details.map(({ path }) => path)) : unsetPaths;
    const changed = mapTexts(document, (text, keys) => (replaced.has(formatPath(keys)) ? replacement : text));
    parsed = check(documentSchema, changed);
  }
  if (!parsed.ok) {
    const reported = new Set(resolved.problems.map(({ path }) => path));
    const fields = parsed.details.filter(({ path }) => !reported.has(path));
    const links = linkProblemsBeside(fields, document);
    return {
      problems: withoutUnset([...resolved.problems, ...fields, ...links]),
      warnings,
      document: null,
    };
  }
  const links = linkProblems(parsed.value);
  const compiled = parsed.value.gateways.map((gateway, index) =>
    validateGateway(gateway, `gateways[${index}]`),
  );
  const problems = withoutUnset([
    ...resolved.problems,
    ...links,
    ...compiled.flatMap((each) => each.problems),
  ]);
  const doubtful = problems.length === 0 ? withoutUnset(documentWarnings(parsed.value)) : [];
  return {
    problems,
    warnings: [...warnings, ...compiled.flatMap((each) => each.warnings), ...doubtful],
    document: parsed.value,
  };
}

/** Nothing is sent, and only the server knows whether targets may use the role of its environment. */
const UNUSED_CREDENTIALS: TargetCredentials = { of: () => null, problemOf: () => null };

type GatewayValidation = Pick<DocumentValidation, "problems" | "warnings">;

/** Compiles each plugin and upstream separately; its path in the document is used as its id. */
function validateGateway(gateway: DocumentGateway, gatewayPath: string): GatewayValidation {
  const registry = new PluginRegistry();
  const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
  const blocks = { has: () => false, add: () => true, canAdd: () => true };
  const hosts = new PluginHosts(new MemoryLedger(), blocks, log, new OffLoop());
  const problems: ErrorDetail[] = [];
  const warnings: ErrorDetail[] = [];
  const compile = (work: () => void, pathOf: (path: string) => string) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      problems.push(...error.details.map(({ path, message }) => ({ path: pathOf(path), message })));
    }
  };
  for (const [index, plugin] of gateway.required_plugins.entries()) {
    const at = `${gatewayPath}.required_plugins[${index}]`;
    if (registry.get(plugin.name) === undefined) {
      const message = unknownNameMessage(
        plugin.name,
        registry.names(),
        `plugin "${plugin.name}" unless it is custom`,
      );
      warnings.push({ path: `${at}.name`, message });
      continue;
    }
    compile(
      () => compileChain(at, [{ id: at, ...plugin }], registry, hosts),
      (path) => path.replace(/^required_plugins\[0\]/, at),
    );
  }
  const times = { created_at: "", updated_at: "" };
  for (const [index, upstream] of gateway.upstreams.entries()) {
    const at = `${gatewayPath}.upstreams[${index}]`;
    const targets = upstream.targets.map((target, number) => ({ id: `${at}.${number}`, ...target }));
    for (const [number, { credentials }] of targets.entries()) {
      if (credentials === null || !usesEnvironment(credentials)) continue;
      const message =
        "uses the role of the server's environment, which ALLOW_ENVIRONMENT_CREDENTIALS must allow there";
      warnings.push({ path: `${at}.targets[${number}].credentials`, message });
    }
    const record = { id: at, gateway_id: gatewayPath, ...upstream, targets, ...times };
    compile(
      () => compileUpstream(record, new BalanceRegistry(), UNUSED_CREDENTIALS),
      (path) => `${at}.${path}`,
    );
  }
  return { problems, warnings };
}
