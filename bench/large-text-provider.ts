// A provider of the overload benchmark, in its own process: responds with a text of 30 MB. The path chooses which.
const BYTES = 30_000_000;
const repeatTo = (piece: string) => piece.repeat(Math.ceil(BYTES / Buffer.byteLength(piece)));

const content = (text: string) => ({ role: "assistant", content: text });
const call = (json: string) => ({
  role: "assistant",
  tool_calls: [{ id: "c", type: "function", function: { name: "write", arguments: json } }],
});
const MESSAGES: Readonly<Record<string, () => unknown>> = {
  prose: () =>
    content(repeatTo("Wrote to <EMAIL_1> and <EMAIL_2>, as you asked; nothing else was changed. ")),
  placeholders: () => content(repeatTo("<EMAIL_1>")),
  "angle-brackets": () => content(repeatTo("<")),
  arguments: () => call(`{"list":[${repeatTo("[1],").slice(0, -1)}]}`),
  // The gateway searches responses for the key of the usage.
  usage: () => call(`{"list":[${repeatTo('{"usage":1234567890123456},').slice(0, -1)}]}`),
};
const bodies = new Map(
  Object.entries(MESSAGES).map(([name, message]) => [
    `/${name}`,
    Buffer.from(JSON.stringify({ choices: [{ index: 0, message: message(), finish_reason: "stop" }] })),
  ]),
);

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    await request.bytes();
    const body = bodies.get(new URL(request.url).pathname);
    return new Response(body ?? null, { headers: { "Content-Type": "application/json" } });
  },
});
console.log(server.url.origin);
