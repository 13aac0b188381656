// Finds exports that no other file imports: they are either dead code or need no `export`.
import { dirname, join, normalize } from "node:path";
import ts from "typescript";

/** Names that a file exports, with the line of each (NaN if unknown), and names that it imports from other files. */
interface FileNames {
  readonly exports: ReadonlyMap<string, number>;
  readonly imports: readonly { readonly file: string; readonly name: string }[];
}

/** Stands in the place of a name where a file imports everything: `import * as`, `export *`, `import()`. */
const EVERYTHING = "*";

/**
 * Returns `file:line name` for every unused export. Files in `entries` are used from outside the repository; generated files are
 * complete whether or not all of it is used.
 */
export function findUnusedExports(
  files: ReadonlyMap<string, string>,
  entries: ReadonlySet<string>,
): readonly string[] {
  const parsed = new Map([...files].map(([file, text]) => [file, quickNamesOf(file, text)]));
  const used = new Set<string>();
  for (const { imports } of parsed.values())
    for (const { file, name } of imports) used.add(`${file} ${name}`);
  const unused: string[] = [];
  for (const [file, text] of files) {
    if (entries.has(file) || isGenerated(text) || used.has(`${file} ${EVERYTHING}`)) continue;
    const isUnused = (name: string) => !used.has(`${file} ${name}`);
    const { exports } = parsed.get(file) ?? {};
    // A text in a template literal may look like an export.
    if (exports === undefined || ![...exports.keys()].some(isUnused)) continue;
    for (const [name, line] of namesOf(file, text).exports)
      if (isUnused(name)) unused.push(`${file}:${line} ${name}`);
  }
  return unused;
}

function isGenerated(text: string | undefined): boolean {
  return text?.startsWith("// Generated") === true;
}

const IMPORT =
  /^(?:import|export)\s+(?:type\s+)?([\w$*{][^"'`;=()]*?)\s*from\s*"(\.[^"]*)"|^import\s*"(\.[^"]*)"/gm;
const EXPORT =
  /^export\s+(?:(?:declare|abstract|async)\s+)*(?:function\b\s*\*?|class|interface|type|enum|const|let|var)\s*\b([\w$]+)/gm;
/** What the patterns do not understand: an import in an expression or a type, or an export of several names. */
const UNUSUAL = /\bimport\(\s*"\.|^export\s+(?:const|let|var)\s[^=\n]*=[^({[<"'`\n]*,\s*[\w$]+\s*[:=]/m;

/**
 * Returns what `namesOf` does, in a twentieth of the time, and for a few files also texts in template literals that look like exports.
 * Statements start at the beginning of a line, because all files are formatted.
 */
function quickNamesOf(file: string, text: string): FileNames {
  if (UNUSUAL.test(text)) return namesOf(file, text);
  const imports: { file: string; name: string }[] = [];
  for (const [, clause = "", from, plain] of text.matchAll(IMPORT)) {
    const imported = normalize(join(dirname(file), from ?? plain ?? ""));
    for (const name of importedNames(clause)) imports.push({ file: imported, name });
  }
  const exports = new Map<string, number>();
  for (const [, name = ""] of text.matchAll(EXPORT)) exports.set(name, NaN);
  return { exports, imports };
}

/** Returns the names in `{ a, type B, c as local }`. */
function importedNames(clause: string): readonly string[] {
  if (!clause.startsWith("{")) return [EVERYTHING];
  const parts = clause.slice(1, clause.lastIndexOf("}")).split(",");
  return parts.flatMap((part) => /^\s*(?:type\s+(?!as\b))?([\w$]+)/.exec(part)?.[1] ?? []);
}

function namesOf(file: string, text: string): FileNames {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest);
  const exports = new Map<string, number>();
  const imports: { file: string; name: string }[] = [];
  const addImport = (specifier: ts.Node | undefined, name: string) => {
    if (specifier === undefined || !ts.isStringLiteral(specifier) || !specifier.text.startsWith(".")) return;
    imports.push({ file: normalize(join(dirname(file), specifier.text)), name });
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node)) addImported(node, addImport);
    else if (ts.isExportDeclaration(node)) addReexported(node, addImport);
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      addImport(node.arguments[0], EVERYTHING);
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      addImport(node.argument.literal, EVERYTHING);
    else if (isExported(node))
      for (const name of declaredNames(node)) exports.set(name.text, lineOf(source, name));
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { exports, imports };
}

type AddImport = (specifier: ts.Node | undefined, name: string) => void;

function addImported({ importClause, moduleSpecifier }: ts.ImportDeclaration, add: AddImport): void {
  const bindings = importClause?.namedBindings;
  if (bindings === undefined || ts.isNamespaceImport(bindings)) add(moduleSpecifier, EVERYTHING);
  else
    for (const { name, propertyName } of bindings.elements) add(moduleSpecifier, (propertyName ?? name).text);
}

function addReexported({ exportClause, moduleSpecifier }: ts.ExportDeclaration, add: AddImport): void {
  if (exportClause === undefined || ts.isNamespaceExport(exportClause)) add(moduleSpecifier, EVERYTHING);
  else
    for (const { name, propertyName } of exportClause.elements)
      add(moduleSpecifier, (propertyName ?? name).text);
}

function isExported(node: ts.Node): boolean {
  return (
    ts.canHaveModifiers(node) &&
    ts.getModifiers(node)?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true
  );
}

function declaredNames(node: ts.Node): readonly ts.Identifier[] {
  if (ts.isVariableStatement(node))
    return node.declarationList.declarations.map(({ name }) => name).filter(ts.isIdentifier);
  if (
    ts.isFunctionDeclaration(node) ||
    ts.isClassDeclaration(node) ||
    ts.isInterfaceDeclaration(node) ||
    ts.isTypeAliasDeclaration(node) ||
    ts.isEnumDeclaration(node)
  )
    return node.name === undefined ? [] : [node.name];
  return [];
}

function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}
