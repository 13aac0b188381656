// Writes docs/reference/plugin-sdk.md from the type declarations of the plugin API and their comments.
import ts from "typescript";
import {
  HOOK_NAMES,
  HOOKS,
  LIFECYCLE_HOOKS,
  whyUnsupported,
  type Environment,
  type HookName,
} from "../src/sdk/hook-table.ts";
import { commentOf, hasModifier, sdkDeclarations, type Declared } from "./sdk-declarations.ts";

/** The order of the reference. A declaration that no section names is listed under "Further functions". */
const SECTIONS: readonly { readonly title: string; readonly names: readonly string[] }[] = [
  { title: "Definition", names: ["definePlugin", "PluginDefinition", "PluginHooks", "PluginStage"] },
  {
    title: "Contexts",
    names: [
      ...["PluginContext", "RequestContext", "ClaimContext", "FinalRequestContext", "ResponseContext"],
      ...["ResponseBodyContext", "ResponseTextContext", "EndContext", "PluginResponse", "ReadonlyHeaders"],
      "TokenLimitState",
    ],
  },
  { title: "Host", names: ["PluginHost", "Block", "TaskLimits", "OffLoopError", "LARGE_BODY_BYTES"] },
  {
    title: "Services of the gateway",
    names: [
      "ServiceRequest",
      "ServiceCallOptions",
      "ServiceResponse",
      "ServiceCallError",
      "ServiceCallProblem",
    ],
  },
  {
    title: "Limits",
    names: [
      ...["ClaimSet", "LimitClaim", "RequestsLimitClaim", "RequestsClaim", "TokensLimitClaim", "TokensClaim"],
      ...[
        "WindowTarget",
        "ClaimOptions",
        "ClaimDecision",
        "ClaimState",
        "UnavailablePolicy",
        "TokenEstimate",
      ],
      ...["Counters", "Limit", "LimitState", "Decision"],
    ],
  },
  {
    title: "Text of responses",
    names: ["TextChannel", "ChannelKind", "TextHolds", "TextHold", "TextRejection", "completeHolds"],
  },
  { title: "Kept responses", names: ["ReuseRequest", "ResponseStore", "ResponseStoreLimits"] },
  {
    title: "Text of requests",
    names: [
      ...[
        "RequestTexts",
        "RequestText",
        "RequestIdentifier",
        "readBodyTexts",
        "BodyTexts",
        "TextRole",
        "TextMemory",
        "TextScope",
        "UnknownText",
        "openTextMemory",
      ],
      ...["JsonStrings", "JsonDocument", "JsonNode", "applySplices", "LinearPattern"],
    ],
  },
];

const TESTING_INTRODUCTION =
  "The test harness, `gatehouse/sdk/testing`, runs the hooks of a plugin without a server. `gatehouse plugin test` runs the tests.";

export function sdkReference(): string {
  const { index, testing } = sdkDeclarations();
  const byName = new Map(index.map((each) => [each.name, each]));
  const named = new Set(SECTIONS.flatMap(({ names }) => names));
  const isDeprecated = (each: Declared) =>
    each.statements.some((one) => ts.getJSDocDeprecatedTag(one) !== undefined);
  const rest = index.filter((each) => each.isExported && !named.has(each.name) && !isDeprecated(each));
  const sections = SECTIONS.map(({ title, names }) => ({
    title,
    // A name that is gone, or that another version of the SDK will have.
    declarations: names.flatMap((name) => byName.get(name) ?? []),
  })).filter(({ declarations }) => declarations.length > 0);
  return [
    "# Plugin SDK",
    "Everything that `gatehouse/sdk` and `gatehouse/sdk/testing` export, generated from their types. " +
      "[Write a custom plugin](../guides/custom-plugin.md) explains how to use it; `plugins/examples/` has examples.",
    "`z` is [zod](https://zod.dev). Members that end in `?` are optional.",
    ...sections.flatMap(({ title, declarations }) => [
      `## ${title}`,
      ...declarations.map(describe),
      ...(title === "Definition" ? hookTable() : []),
    ]),
    ...(rest.length === 0 ? [] : ["## Further functions", ...rest.map(describe)]),
    "## Testing",
    TESTING_INTRODUCTION,
    ...testing
      .filter((each) => each.isExported && !isDeprecated(each))
      .sort((a, b) => rankOf(a) - rankOf(b))
      .map(describe),
    "## Deprecated",
    deprecatedNames(index.concat(testing).filter(isDeprecated)),
  ]
    .join("\n\n")
    .concat("\n");
}

/** Says what each hook may do, and what it means in each environment in which plugins run. */
function hookTable(): string[] {
  const row = (name: HookName): string => {
    const { stages, mayWait, mayRespond, mayHoldText, harness } = HOOKS[name];
    const may = [mayWait ? "wait" : "", mayRespond ? "respond" : "", mayHoldText ? "hold text" : ""];
    const where = (environment: Environment) => whyUnsupported(name, environment) ?? "yes";
    const columns = [
      `\`${name}\``,
      stages.map((stage) => `\`${stage}\``).join(", "),
      may.filter((each) => each !== "").join(", ") || "nothing",
      where("isolated"),
      where("shadow"),
      where("explain"),
      `\`${harness.method}\``,
    ];
    return `| ${columns.join(" | ")} |`;
  };
  return [
    "### Where hooks run",
    "A hook that is not supported says why. An entry with `isolation` whose plugin has a hook that isolates do not support is rejected; the report " +
      "of an entry in shadow mode names its hooks that do not run.",
    [
      "| hook | stages of the entry | may | in isolation | in shadow mode | in explanations | test harness |",
      "| --- | --- | --- | --- | --- | --- | --- |",
      ...HOOK_NAMES.map(row),
    ].join("\n"),
    "Apart from requests, an instance has:",
    Object.entries(LIFECYCLE_HOOKS)
      .map(([name, text]) => `- \`${name}\`: ${text}`)
      .join("\n"),
  ];
}

/** What a test starts with is first. */
const rankOf = ({ name }: Declared) => ["testPlugin", "PluginTest"].indexOf(name) >>> 0;

function describe({ name, statements, source }: Declared): string {
  const [first] = statements;
  if (first === undefined) return "";
  const text = proseOf(commentOf(first, source));
  const parts = [`### ${name}`, ...(text === "" ? [] : [text])];
  if (ts.isInterfaceDeclaration(first) || ts.isClassDeclaration(first)) {
    const base = first.heritageClauses?.map((clause) => clause.getText(source)).join(" ") ?? "";
    if (base !== "")
      parts.push(code(`${ts.isClassDeclaration(first) ? "class" : "interface"} ${name} ${base}`));
    parts.push(memberTable(first, source));
  } else parts.push(statements.map((each) => code(shortened(each.getText(source)))).join("\n\n"));
  return parts.join("\n\n");
}

function memberTable(node: ts.InterfaceDeclaration | ts.ClassDeclaration, source: ts.SourceFile): string {
  const rows = [...node.members]
    .filter((member) => !isHidden(member))
    .map((member) => {
      const signature = code(shortened(member.getText(source))).replaceAll("|", "\\|");
      return `| ${signature} | ${proseOf(commentOf(member, source)).replaceAll("|", "\\|")} |`;
    });
  if (rows.length === 0) return "It has no further members.";
  return ["| member | description |", "| --- | --- |", ...rows].join("\n");
}

function isHidden(member: ts.ClassElement | ts.TypeElement): boolean {
  if (member.name !== undefined && ts.isPrivateIdentifier(member.name)) return true;
  const isPrivate = hasModifier(member, ts.SyntaxKind.PrivateKeyword);
  return isPrivate || ts.getJSDocDeprecatedTag(member) !== undefined;
}

function deprecatedNames(declarations: readonly Declared[]): string {
  return declarations
    .map(({ name, statements: [first], source }) => {
      const text = first === undefined ? "" : commentOf(first, source);
      return `- \`${name}\`: ${proseOf(text).replace("@deprecated ", "")}`;
    })
    .join("\n");
}

/** Removes what says nothing to a reader, and comments inside of object types. */
function shortened(signature: string): string {
  return signature
    .replaceAll(/\/\*\*[\s\S]*?\*\//g, "")
    .replace(/^(?:export )?(?:declare )?/, "")
    .replace(/^readonly /, "")
    .replace(/;$/, "")
    .replaceAll(/\s+/g, " ");
}

function code(text: string): string {
  return text.includes("`") ? `\`\` ${text} \`\`` : `\`${text}\``;
}

/** Returns the text of a doc comment in one line. */
function proseOf(comment: string): string {
  return comment
    .replace(/^\/\*\*/, "")
    .replace(/\*\/$/, "")
    .replaceAll(/^\s*\* ?/gm, "")
    .replaceAll(/\s+/g, " ")
    .trim();
}
