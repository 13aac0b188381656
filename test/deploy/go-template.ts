// Renders the part of Go's template language that the Helm chart uses; what it does not know, it refuses.
import { expression, truth, type Scope } from "./go-expression.ts";

/** A stretch of text, or an action between braces. */
type Piece = { readonly text: string } | { readonly action: string };

type Node =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "print"; readonly code: string }
  | {
      readonly kind: "if" | "with" | "range";
      readonly code: string;
      readonly body: Node[];
      readonly otherwise: Node[];
    };

export type Definitions = Map<string, Node[]>;

/** Reads a template; what it defines is added to `definitions`. */
export function parseTemplate(source: string, definitions: Definitions): Node[] {
  const pieces = split(source);
  let at = 0;
  const parseUntil = (...ends: string[]): { nodes: Node[]; end: string } => {
    const nodes: Node[] = [];
    while (at < pieces.length) {
      const piece = pieces[at++]!;
      if ("text" in piece) {
        nodes.push({ kind: "text", text: piece.text });
        continue;
      }
      const [word = "", rest = ""] = /^(\S+)\s*([\s\S]*)$/.exec(piece.action)?.slice(1) ?? [];
      if (ends.includes(word)) return { nodes, end: word };
      if (word === "if" || word === "with" || word === "range") {
        const { nodes: body, end } = parseUntil("else", "end");
        const otherwise = end === "else" ? parseUntil("end").nodes : [];
        nodes.push({ kind: word, code: rest, body, otherwise });
      } else if (word === "define") {
        definitions.set(JSON.parse(rest) as string, parseUntil("end").nodes);
      } else if (word === "else" || word === "end") {
        throw new Error(`{{ ${piece.action} }} ends nothing`);
      } else if (!piece.action.startsWith("/*")) {
        nodes.push({ kind: "print", code: piece.action });
      }
    }
    if (ends.length > 0) throw new Error(`{{ ${ends.join(" or ")} }} is missing`);
    return { nodes, end: "" };
  };
  return parseUntil().nodes;
}

export function renderNodes(nodes: readonly Node[], scope: Scope): string {
  return nodes.map((node) => renderNode(node, scope)).join("");
}

function renderNode(node: Node, scope: Scope): string {
  switch (node.kind) {
    case "text":
      return node.text;
    case "print":
      return show(expression(node.code, scope));
    case "if":
      return renderNodes(truth(expression(node.code, scope)) ? node.body : node.otherwise, scope);
    case "with": {
      const value = expression(node.code, scope);
      return truth(value)
        ? renderNodes(node.body, { ...scope, dot: value })
        : renderNodes(node.otherwise, scope);
    }
    case "range": {
      const [, key = "", item = "", code = ""] =
        /^(\$\w+), (\$\w+) := ([\s\S]+)$/.exec(node.code) ??
        refuse(`range ${node.code}: give it a key and a value`);
      const entries = Object.entries((expression(code, scope) ?? {}) as Record<string, unknown>).sort();
      return entries
        .map(([name, value]) => {
          const variables = { ...scope.variables, [key]: name, [item]: value };
          return renderNodes(node.body, { ...scope, dot: value, variables });
        })
        .join("");
    }
  }
}

/** Cuts at the braces; a dash inside them takes the white space beside them away. */
function split(source: string): Piece[] {
  const pieces: Piece[] = [];
  let at = 0;
  let cut = false;
  const addText = (end: number, cutEnd: boolean) => {
    let text = source.slice(at, end);
    if (/\{\{|\}\}/.test(text)) throw new Error(`braces do not balance: ${text}`);
    if (cut) text = text.trimStart();
    if (cutEnd) text = text.trimEnd();
    pieces.push({ text });
  };
  for (const match of source.matchAll(/\{\{(-?)\s*((?:"(?:[^"\\]|\\.)*"|[^"])*?)\s*(-?)\}\}/g)) {
    const [whole, cutBefore, action = "", cutAfter] = match;
    addText(match.index, cutBefore === "-");
    pieces.push({ action });
    at = match.index + whole.length;
    cut = cutAfter === "-";
  }
  addText(source.length, false);
  return pieces;
}

/** Go prints absent values in its own way, which no manifest should hold. */
function show(value: unknown): string {
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return refuse("a value that is printed is absent, or a map or list; use toYaml");
}

function refuse(sentence: string): never {
  throw new Error(sentence);
}
