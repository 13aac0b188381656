// Texts that take code_sanitation the most work per byte. `npm run fuzz:sanitation` finds more.

export const HOSTILE: Readonly<Record<string, string>> = {
  spaces: " ",
  quotes: "'",
  "<": "<",
  "SELECT ": "SELECT ",
  "or 1 ": "or 1 ",
  "%25": "%25",
  "/*": "/*",
  "; ": "; ",
  "' or ": "' or ",
  "' ||": "' ||",
  backticks: "`",
  "<!--": "<!--",
  "eval(x)id;": "eval(x)id;",
  // Found by the fuzzer: the most work when blocking, and when masking.
  "dashes and double encoding": "&&\n---\\%2527",
  "quotes, entities and comments": "'or''/*&amp;';--",
  "quotes and double encoding": "'&&''#%2527*/",
  "quotes, escapes and comments": `"or"\\u0027;") --`,
  // Found by the fuzzer: the most time per step.
  "names of functions": "file_",
  "long names": "&lt;%2527() {fn_varbintohexstr",
  "quotes and tabs": '"\t',
  "quotes and escapes": "''\n\\u0027",
  "comments and escapes": "/*\\u0027<xml base64_",
  wildcards: "/o*?",
  parameters: "$0",
};

const WORST = ["' or ", "' ||", HOSTILE["quotes and double encoding"] ?? ""];
/** Just below the size from which a body is inspected in a worker thread, and two sizes above it. */
const SIZES = [250_000, 2_000_000, 10_000_000];

export const HOSTILE_BODIES: readonly string[] = SIZES.flatMap((size) =>
  WORST.map((piece) => JSON.stringify({ messages: [{ role: "user", content: repeatTo(piece, size) }] })),
);

export function repeatTo(piece: string, length: number): string {
  return piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
}
