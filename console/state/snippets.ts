// Renders a chat request as code: curl, Python, TypeScript.
import type { ChatCall } from "./chat.ts";

export const LANGUAGES = ["curl", "Python", "TypeScript"] as const;
export type Language = (typeof LANGUAGES)[number];

export function snippet(language: Language, origin: string, call: ChatCall): string {
  const url = origin + call.path;
  switch (language) {
    case "curl":
      return curl(url, call);
    case "Python":
      return python(url, call);
    case "TypeScript":
      return typescript(url, call);
  }
}

function curl(url: string, { method, headers, body }: ChatCall): string {
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${shellQuote(`${name}: ${value}`)} \\`);
  return [
    `curl -sSN -X ${method} ${shellQuote(url)} \\`,
    ...lines,
    `  -d ${shellQuote(JSON.stringify(body))}`,
  ].join("\n");
}

/** Quotes for a POSIX shell. Within single quotes only the quote itself is special. */
function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function python(url: string, { method, headers, body }: ChatCall): string {
  // JSON literals are not valid Python (true, false, null), so the body is a string literal.
  return `import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    method=${JSON.stringify(method)},
    headers=${JSON.stringify(headers)},
    data=${JSON.stringify(JSON.stringify(body))}.encode(),
)
with urllib.request.urlopen(request) as response:
    for line in response:
        print(line.decode(), end="")
`;
}

function typescript(url: string, { method, headers, body }: ChatCall): string {
  const sent = JSON.stringify(body, null, 2).replaceAll("\n", "\n  ");
  return `const response = await fetch(${JSON.stringify(url)}, {
  method: ${JSON.stringify(method)},
  headers: ${JSON.stringify(headers, null, 2).replaceAll("\n", "\n  ")},
  body: JSON.stringify(${sent}),
});
const decoder = new TextDecoder();
for await (const chunk of response.body!) {
  console.log(decoder.decode(chunk, { stream: true }));
}
`;
}
