// A call as code to paste: curl, Python, TypeScript.
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
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)} \\`);
  return [`curl -sSN -X ${method} ${quoted(url)} \\`, ...lines, `  -d ${quoted(JSON.stringify(body))}`].join(
    "\n",
  );
}

/** For a POSIX shell: nothing within single quotes is special but the quote itself. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

function python(url: string, { method, headers, body }: ChatCall): string {
  // JSON is not Python (true, false and null differ), so the body goes as a text.
  return `import urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    method=${JSON.stringify(method)},
    headers=${JSON.stringify(headers)},
    data=${JSON.stringify(JSON.stringify(body))}.encode(),
)
with urllib.request.urlopen(request) as answer:
    for line in answer:
        print(line.decode(), end="")
`;
}

function typescript(url: string, { method, headers, body }: ChatCall): string {
  const sent = JSON.stringify(body, null, 2).replaceAll("\n", "\n  ");
  return `const answer = await fetch(${JSON.stringify(url)}, {
  method: ${JSON.stringify(method)},
  headers: ${JSON.stringify(headers, null, 2).replaceAll("\n", "\n  ")},
  body: JSON.stringify(${sent}),
});
const decoder = new TextDecoder();
for await (const chunk of answer.body!) {
  console.log(decoder.decode(chunk, { stream: true }));
}
`;
}
