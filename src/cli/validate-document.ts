// Judges a document without a server, as far as that goes: fields, references, providers, built-in plugins.
import { BalanceRegistry } from "../balance/balance-registry.ts";
import type { ErrorDetail } from "../base/errors.ts";
import { MemoryCounters } from "../counters/memory.ts";
import { linkProblems } from "../model/document-links.ts";
import { mapTexts, resolveVariables, settleReferences } from "../model/document-variables.ts";
import { documentSchema, type ConfigurationDocument, type DocumentGateway } from "../model/document.ts";
import { check, unknownNameMessage } from "../model/validate.ts";
import { PluginRegistry } from "../plugins/registry.ts";
import { CompileError } from "../snapshot/compile-error.ts";
import { compileUpstream } from "../snapshot/compile-upstream.ts";
import { compileChain } from "../snapshot/plugin-chain.ts";
import { PluginHosts } from "../runtime/plugin-hosts.ts";
import { createLog } from "../telemetry/log/log.ts";

export interface Judgement {
  readonly faults: readonly ErrorDetail[];
  /** What only a server can tell. */
  readonly warnings: readonly ErrorDetail[];
  /** Null where the document could not be understood as a whole. */
  readonly document: ConfigurationDocument | null;
}

export function validateDocument(
  raw: unknown,
  environment: Readonly<Record<string, string | undefined>>,
): Judgement {
  const missing = resolveVariables(raw, environment).unset.filter(({ hasDefault }) => !hasDefault);
  // Anything serves for a variable that is only set where the document is applied.
  const stand = Object.fromEntries(missing.map(({ name }) => [name, "unset"]));
  const resolved = resolveVariables(raw, { ...environment, ...stand });
  const warnings = missing.map(({ path, name }) => ({
    path,
    message: `refers to \${${name}}, which is not set here`,
  }));
  const isOpen = new Set(missing.map(({ path }) => path));
  const ofValues = (problems: readonly ErrorDetail[]) => problems.filter(({ path }) => !isOpen.has(path));
  const { document } = settleReferences(resolved.document);
  let parsed = check(documentSchema, document);
  // Where not just anything serves, a field is judged as if it were not there.
  if (!parsed.ok && ofValues(parsed.details).length === 0)
    parsed = check(
      documentSchema,
      mapTexts(document, (text, path) => (isOpen.has(path) ? undefined : text)),
    );
  if (!parsed.ok)
    return { faults: [...resolved.faults, ...ofValues(parsed.details)], warnings, document: null };
  const links = linkProblems(parsed.value);
  const compiled = parsed.value.gateways.map((gateway, index) => judgeGateway(gateway, `gateways[${index}]`));
  return {
    faults: ofValues([...resolved.faults, ...links, ...compiled.flatMap(({ faults }) => faults)]),
    warnings: [...warnings, ...compiled.flatMap((each) => each.warnings)],
    document: parsed.value,
  };
}

/** Compiles each part by itself, with its place in the document for its id. */
function judgeGateway(gateway: DocumentGateway, place: string): Pick<Judgement, "faults" | "warnings"> {
  const registry = new PluginRegistry();
  const log = createLog({ level: "silent", format: "json" }, { write: () => undefined });
  const hosts = new PluginHosts(new MemoryCounters(), { has: () => false, add: () => undefined }, log);
  const problems: ErrorDetail[] = [];
  const warnings: ErrorDetail[] = [];
  const attempt = (at: string, work: () => void) => {
    try {
      work();
    } catch (error) {
      if (!(error instanceof CompileError)) throw error;
      problems.push(...error.details.map(({ path, message }) => ({ path: `${at}${path}`, message })));
    }
  };
  for (const [index, plugin] of gateway.required_plugins.entries()) {
    const at = `${place}.required_plugins[${index}]`;
    if (registry.get(plugin.name) === undefined) {
      const message = unknownNameMessage(
        plugin.name,
        registry.names(),
        `plugin "${plugin.name}" unless it is custom`,
      );
      warnings.push({ path: `${at}.name`, message });
      continue;
    }
    const before = problems.length;
    attempt("", () => compileChain(at, [{ id: at, ...plugin }], registry, hosts));
    for (const [number, fault] of problems.entries())
      if (number >= before)
        problems[number] = { ...fault, path: fault.path.replace(/^required_plugins\[0\]/, at) };
  }
  const times = { created_at: "", updated_at: "" };
  for (const [index, upstream] of gateway.upstreams.entries()) {
    const at = `${place}.upstreams[${index}]`;
    const targets = upstream.targets.map((target, number) => ({ id: `${at}.${number}`, ...target }));
    const record = { id: at, gateway_id: place, ...upstream, targets, ...times };
    attempt(`${at}.`, () => compileUpstream(record, new BalanceRegistry()));
  }
  return { faults: problems, warnings };
}
