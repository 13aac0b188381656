// Collects the type declarations of the public plugin API, with everything that they refer to, from the sources: `sdk/index.d.ts` and
// `sdk/testing.d.ts` of the package, and docs/reference/plugin-sdk.md, are written from them. `npm run docs` writes all of these.
import { readFileSync } from "node:fs";
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

const ROOT = join(import.meta.dir, "..");
const INDEX = "src/sdk/index.ts";
const TESTING = "src/sdk/testing.ts";

/** A declaration in the sources; a function may have several signatures. */
export interface Declared {
  readonly name: string;
  readonly file: string;
  readonly statements: readonly ts.DeclarationStatement[];
  readonly source: ts.SourceFile;
  /** Whether plugins can import it. */
  readonly isExported: boolean;
}

interface ParsedFile {
  readonly source: ts.SourceFile;
  readonly declared: ReadonlyMap<string, ts.DeclarationStatement[]>;
  /** By local name: where it is from. */
  readonly imported: ReadonlyMap<string, { readonly file: string; readonly name: string }>;
}

/** Returns what the two modules export, each with the declarations that are not exported and that it needs. */
export function sdkDeclarations(): { readonly index: Declared[]; readonly testing: Declared[] } {
  const files = new Map<string, ParsedFile>();
  const parsed = (file: string): ParsedFile => {
    const known = files.get(file) ?? parseFile(file);
    files.set(file, known);
    return known;
  };
  const index = collect(INDEX, parsed, new Set());
  const testing = collect(TESTING, parsed, new Set(index.map(({ name }) => name)));
  return { index, testing };
}

/** `known` are names that the module imports from the index. */
function collect(
  entry: string,
  parsed: (file: string) => ParsedFile,
  known: ReadonlySet<string>,
): Declared[] {
  const found = new Map<string, Declared>();
  const visit = (file: string, name: string, isExported: boolean): void => {
    const { source, declared, imported } = parsed(file);
    const statements = declared.get(name);
    const from = imported.get(name);
    if (statements === undefined) {
      if (from !== undefined) visit(from.file, from.name, isExported);
      // Otherwise a type of the language or of a package.
      return;
    }
    const existing = found.get(name);
    if (existing !== undefined && existing.file !== file)
      throw new Error(`${file} and ${existing.file} both declare ${name}; rename one`);
    if (existing !== undefined || known.has(name)) return;
    if (statements.some(hasInferredType))
      throw new Error(`${file}: a type in the declaration of ${name} is inferred; write it down`);
    found.set(name, { name, file, statements, source, isExported });
    for (const statement of statements) for (const each of referencesIn(statement)) visit(file, each, false);
  };
  for (const { file, name } of exportsOf(entry, parsed(entry))) visit(file, name, true);
  // A type that an exported one refers to may be exported later in the list.
  const exported = new Set(exportsOf(entry, parsed(entry)).map(({ name }) => name));
  return [...found.values()].map((each) => ({ ...each, isExported: exported.has(each.name) }));
}

function exportsOf(entry: string, { source, declared }: ParsedFile): { file: string; name: string }[] {
  const names: { file: string; name: string }[] = [];
  for (const statement of source.statements) {
    if (!ts.isExportDeclaration(statement)) continue;
    const { exportClause, moduleSpecifier } = statement;
    if (exportClause === undefined || !ts.isNamedExports(exportClause) || moduleSpecifier === undefined)
      throw new Error(`${entry} exports something without naming it`);
    const file = resolveFile(entry, moduleSpecifier);
    if (file !== null) for (const { name } of exportClause.elements) names.push({ file, name: name.text });
  }
  for (const [name, [first]] of declared)
    if (first !== undefined && hasModifier(first, ts.SyntaxKind.ExportKeyword))
      names.push({ file: entry, name });
  return names;
}

/** Removes the bodies of functions and private members, as `tsc --declaration` does, without checking the types. */
function parseFile(file: string): ParsedFile {
  const text = readFileSync(join(ROOT, file), "utf8");
  const { outputText } = ts.transpileDeclaration(text, {
    fileName: file,
    compilerOptions: { target: ts.ScriptTarget.ESNext, isolatedDeclarations: true, strict: true },
  });
  const source = ts.createSourceFile(file, outputText, ts.ScriptTarget.Latest, true);
  const declared = new Map<string, ts.DeclarationStatement[]>();
  const imported = new Map<string, { file: string; name: string }>();
  for (const statement of source.statements) {
    if (ts.isImportDeclaration(statement)) addImports(file, statement, imported);
    else
      for (const name of namesOf(statement))
        declared.set(name, [...(declared.get(name) ?? []), statement as ts.DeclarationStatement]);
  }
  return { source, declared, imported };
}

function addImports(
  file: string,
  { importClause, moduleSpecifier }: ts.ImportDeclaration,
  imported: Map<string, { file: string; name: string }>,
): void {
  const from = resolveFile(file, moduleSpecifier);
  const bindings = importClause?.namedBindings;
  if (from === null || bindings === undefined || !ts.isNamedImports(bindings)) return;
  for (const { name, propertyName } of bindings.elements)
    imported.set(name.text, { file: from, name: (propertyName ?? name).text });
}

function namesOf(statement: ts.Statement): string[] {
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.map(({ name }) => name.getText());
  if (
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement)
  )
    return statement.name === undefined ? [] : [statement.name.text];
  return [];
}

/** Returns null for a package. */
function resolveFile(from: string, specifier: ts.Expression): string | null {
  if (!ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return null;
  return normalize(join(dirname(from), specifier.text));
}

/** Returns the names of types and values that a declaration refers to. */
function referencesIn(node: ts.Node): string[] {
  const names: string[] = [];
  const add = (entity: ts.EntityName | ts.Expression) => {
    let first: ts.Node = entity;
    while (ts.isQualifiedName(first)) first = first.left;
    if (ts.isIdentifier(first)) names.push(first.text);
  };
  const visit = (each: ts.Node): void => {
    if (ts.isTypeReferenceNode(each)) add(each.typeName);
    else if (ts.isTypeQueryNode(each)) add(each.exprName);
    else if (ts.isExpressionWithTypeArguments(each)) add(each.expression);
    ts.forEachChild(each, visit);
  };
  visit(node);
  return names;
}

/** A type that is not written in the source becomes `any`, which is not used otherwise. */
function hasInferredType(node: ts.Node): boolean {
  return (
    node.kind === ts.SyntaxKind.AnyKeyword ||
    ts.forEachChild(node, (child) => hasInferredType(child) || undefined) === true
  );
}

export function hasModifier(node: ts.Node, kind: ts.SyntaxKind): boolean {
  return ts.canHaveModifiers(node) && ts.getModifiers(node)?.some((each) => each.kind === kind) === true;
}

const HEADER = "// Generated from src/sdk by `npm run docs`. Do not edit.";
/** Of these, only the types are used. */
const CONSTANTS = "/* eslint-disable @typescript-eslint/no-unused-vars -- constants that only have a type */";

/** Returns the text of each file in sdk/, by its name. */
export function declarationFiles(): Map<string, string> {
  const { index, testing } = sdkDeclarations();
  return new Map([
    ["sdk/index.d.ts", `${HEADER}\n${CONSTANTS}\n${indexImports()}\n${textOf(index)}\n\nexport {};\n`],
    [
      "sdk/testing.d.ts",
      `${HEADER}\nimport type { ${usedNames(testing, index)} } from "./index.js";\n\n${textOf(testing)}\n\nexport {};\n`,
    ],
  ]);
}

const indexImports = () => `import { z } from "zod";\nexport { z };\n`;

/** A name that the index does not export cannot be imported from it. */
function usedNames(testing: readonly Declared[], index: readonly Declared[]): string {
  const used = new Set(testing.flatMap(({ statements }) => statements.flatMap(referencesIn)));
  const names = index.filter(({ name }) => used.has(name));
  const hidden = names.filter(({ isExported }) => !isExported);
  if (hidden.length > 0)
    throw new Error(
      `the test harness uses ${hidden.map(({ name }) => name).join(", ")}: export it in ${INDEX}`,
    );
  return names
    .map(({ name }) => name)
    .sort()
    .join(", ");
}

function textOf(declarations: readonly Declared[]): string {
  return declarations
    .map(({ statements, source, isExported }) =>
      [...new Set(statements)].map((statement) => statementText(statement, source, isExported)).join("\n"),
    )
    .join("\n\n");
}

function statementText(statement: ts.Statement, source: ts.SourceFile, isExported: boolean): string {
  const comment = commentOf(statement, source);
  const text = source.text.slice(statement.getStart(source), statement.end).replace(/^export /, "");
  return (comment === "" ? "" : `${comment}\n`) + (isExported ? `export ${text}` : text);
}

/** Returns the doc comment directly before a node, as it is written. */
export function commentOf(node: ts.Node, source: ts.SourceFile): string {
  const ranges = ts.getLeadingCommentRanges(source.text, node.getFullStart()) ?? [];
  const last = ranges.at(-1);
  if (last === undefined) return "";
  const text = source.text.slice(last.pos, last.end);
  return text.startsWith("/**") ? text : "";
}
