// An OTLP collector that accepts and discards everything: `bun collector.ts PORT`.
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  async fetch(request) {
    await request.bytes();
    return Response.json({});
  },
});
