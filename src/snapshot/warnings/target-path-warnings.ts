// Warnings about the paths and formats that requests of a rule have at its targets.
import { EndpointTable } from "../../formats/endpoint-table.ts";
import type { FormatName } from "../../formats/format-names.ts";
import { endpointIn, type Operation } from "../../formats/operations.ts";
import { formatOf, isKnownProvider, providerNamed } from "../../formats/providers.ts";
import { formatNamed, formatOfChatPath } from "../../formats/registry.ts";
import type { Target } from "../../model/target.ts";
import { usedTargets, type RoutedRule } from "./routed-rule.ts";
import type { ConfigurationWarning } from "./warning.ts";

/** Operations to which the gateway itself responds where no provider has them. */
const OWN_OPERATIONS: ReadonlySet<Operation> = new Set(["models", "count_tokens"]);

/** A target that a warning is about: one with a `path`. */
interface PathTarget {
  readonly index: number;
  readonly target: Target;
  readonly path: string;
}

/** Returns a warning if the path names an operation that no target has. */
export function missingEndpoint(routed: RoutedRule): ConfigurationWarning[] {
  const { rule, service, upstream, endpoint } = routed;
  const used = usedTargets(upstream);
  if (endpoint === null || OWN_OPERATIONS.has(endpoint.operation) || used.length === 0) return [];
  const isServed = used.some(
    ({ target: { path, provider, format } }) =>
      path !== null || EndpointTable.of(providerNamed(provider), format).has(endpoint),
  );
  if (isServed) return [];
  const providers = [...new Set(used.map(({ target }) => target.provider))].join(", ");
  const message = `no target supports the operation "${endpoint.operation}" (providers: ${providers})`;
  const places = [
    { recordId: rule.id, path: "path" },
    { recordId: service.id, path: "upstream_id" },
    ...used.map(({ index }) => ({ recordId: upstream.id, path: `targets[${index}].provider` })),
  ];
  return [{ places, message }];
}

/** Returns the warnings about targets that have a `path`. */
export function pathWarnings(routed: RoutedRule): ConfigurationWarning[] {
  const targets = usedTargets(routed.upstream).flatMap(({ index, target }) =>
    target.path === null ? [] : [{ index, target, path: target.path }],
  );
  if (targets.length === 0) return [];
  const { rule, isPrefix } = routed;
  if (rule.strip_path) return isPrefix ? strippedPrefix(routed, targets) : strippedPath(routed, targets);
  return isPrefix ? collapsedPaths(routed, targets) : otherFormats(routed, targets);
}

/** All paths that the prefix matches become the one path of the target. */
function collapsedPaths(routed: RoutedRule, targets: readonly PathTarget[]): ConfigurationWarning[] {
  const fixed = targets.filter(({ path }) => path !== "");
  return warning(routed, "path", fixed, ({ path, target }) => {
    const all = `all requests that match ${routed.rule.path} are sent to ${path} of ${target.provider}, whatever their path`;
    return `${all}; leave out the path of the target, or give the rule an exact path`;
  });
}

/** The path of a request is appended to the path of an endpoint. */
function strippedPrefix(routed: RoutedRule, targets: readonly PathTarget[]): ConfigurationWarning[] {
  const operation = routed.endpoint?.operation ?? null;
  const appended = targets.filter(({ path }) => {
    const named = endpointIn(path)?.operation ?? null;
    return named !== null && named !== operation;
  });
  const shortened = targets.filter(
    ({ path, target }) => path === "" && target.base_url === null && isPrefixOfProvider(routed.base, target),
  );
  return [
    ...warning(
      routed,
      "strip_path",
      appended,
      ({ path }) =>
        `strip_path of the rule ${routed.rule.path} appends the rest of the path to ${path}, which is a complete path; leave out the path of the target`,
    ),
    ...warning(
      routed,
      "strip_path",
      shortened,
      ({ target }) =>
        `strip_path of the rule ${routed.rule.path} removes ${routed.base}, with which paths of ${target.provider} start; set strip_path to false`,
    ),
  ];
}

/** Whether all paths of the provider start with the path that is stripped, so that it is missing afterwards. */
function isPrefixOfProvider(base: string, { provider }: Target): boolean {
  const { apis } = providerNamed(provider);
  return isKnownProvider(provider) && apis.every(({ prefix }) => prefix !== "" && base.endsWith(prefix));
}

/** Nothing remains of the path. */
function strippedPath(routed: RoutedRule, targets: readonly PathTarget[]): ConfigurationWarning[] {
  const empty = targets.filter(({ path, target }) => path === "" && !hasPath(baseUrlOf(target)));
  return warning(routed, "strip_path", empty, ({ target }) => {
    const url = baseUrlOf(target) ?? target.provider;
    return `strip_path of the rule ${routed.rule.path} removes the whole path: requests are sent to ${url} without one; leave out the path of the target`;
  });
}

function baseUrlOf({ base_url, provider }: Target): string | null {
  return base_url ?? providerNamed(provider).base_url;
}

function hasPath(url: string | null): boolean {
  return url === null || !URL.canParse(url) || new URL(url).pathname !== "/";
}

/** Clients get responses in another format than that of the path, because responses of such targets are not translated. */
function otherFormats(routed: RoutedRule, targets: readonly PathTarget[]): ConfigurationWarning[] {
  const { rule } = routed;
  const client = formatOfChatPath(rule.path);
  if (client === null || rule.response_format !== null) return [];
  const others = targets.filter((each) => formatAt(rule.path, each) !== client.name);
  return warning(routed, "response_format", others, (each) => {
    const format = formatAt(rule.path, each);
    const problem = `clients of ${rule.path} expect the format ${client.name} and get responses in the format ${format} from ${each.target.provider}`;
    return `${problem}; leave out the path of the target, or set response_format to "request"`;
  });
}

/** Returns the format of the endpoint that requests to the path of the rule are sent to. */
function formatAt(rulePath: string, { target, path }: PathTarget): FormatName {
  const sent = path === "" ? rulePath : path;
  const own = formatNamed(target.format ?? formatOf(providerNamed(target.provider)));
  return (own.isChatPath(sent) ? own : (formatOfChatPath(sent) ?? own)).name;
}

/** Returns one warning for all of these targets, which describes the first; none without targets. */
function warning(
  { rule, service, upstream }: RoutedRule,
  field: "path" | "strip_path" | "response_format",
  targets: readonly PathTarget[],
  describe: (first: PathTarget) => string,
): ConfigurationWarning[] {
  const [first] = targets;
  if (first === undefined) return [];
  const places = [
    { recordId: rule.id, path: field },
    { recordId: service.id, path: "upstream_id" },
    ...targets.map(({ index }) => ({ recordId: upstream.id, path: `targets[${index}].path` })),
  ];
  return [{ places, message: describe(first) }];
}
