// Edges: which units may stand at a place, as a table. They spare most rules their work, because a look-up comes first.
import { isOf, WORD } from "./char-classes.ts";

/** By unit, 1 where it is allowed. Unit 0 is the text's own edge, all units beyond ASCII share the last place. */
export type Edge = Uint8Array;

export const BEYOND_ASCII = 0x80;
export const EDGE_SIZE = BEYOND_ASCII + 1;

export function edgeAllows(edge: Edge, code: number): boolean {
  return edge[code < BEYOND_ASCII ? code : BEYOND_ASCII] === 1;
}

export function edgeOf(test: (code: number) => boolean): Edge {
  const edge = new Uint8Array(EDGE_SIZE);
  for (let code = 0; code < EDGE_SIZE; code++) if (test(code)) edge[code] = 1;
  return edge;
}

const edgesOfClasses = new Map<number, Edge>();

function edgeOfClasses(classBits: number): Edge {
  let known = edgesOfClasses.get(classBits);
  if (known === undefined) edgesOfClasses.set(classBits, (known = edgeOf((code) => isOf(code, classBits))));
  return known;
}

/** The classes and the characters named. */
export function edge(classBits: number, characters = ""): Edge {
  if (characters === "") return edgeOfClasses(classBits);
  const named = edgeOfClasses(classBits).slice();
  for (let index = 0; index < characters.length; index++) {
    const code = characters.charCodeAt(index);
    named[code < BEYOND_ASCII ? code : BEYOND_ASCII] = 1;
  }
  return named;
}

/** All but the classes and the characters named. */
export function edgeWithout(classBits: number, characters = ""): Edge {
  const named = edge(classBits, characters);
  return edgeOf((code) => named[code] === 0);
}

/** The characters named, in both cases. */
export function edgeOfLetters(characters: string): Edge {
  return edge(0, characters.toLowerCase() + characters.toUpperCase());
}

export function joinEdges(...edges: readonly Edge[]): Edge {
  const joined = new Uint8Array(EDGE_SIZE);
  for (const one of edges) {
    for (let code = 0; code < EDGE_SIZE; code++) joined[code] = (joined[code] ?? 0) | (one[code] ?? 0);
  }
  return joined;
}

/** The same for edges of which null allows anything. */
export function joinUnlessOpen(edges: readonly (Edge | null)[]): Edge | null {
  const [one = null, ...others] = new Set(edges);
  if (one === null || others.length === 0) return one;
  return others.includes(null) ? null : joinEdges(one, ...others.filter((other) => other !== null));
}

/** Nothing that would make a trigger part of a longer word. */
export const NOT_WORD: Edge = edgeWithout(WORD);
