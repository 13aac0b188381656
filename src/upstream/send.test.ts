// Connections to a provider, over real sockets: how many are opened for how many requests.
import { afterAll, expect, test } from "bun:test";
import { readWhole } from "./read-answer.ts";
import { send } from "./send.ts";

const ANSWER = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const AT_ONCE = 4;
const BURSTS = 100;
let opened = 0;

const provider = Bun.listen({
  hostname: "127.0.0.1",
  port: 0,
  socket: {
    open() {
      opened++;
    },
    data(socket) {
      socket.write(ANSWER);
    },
  },
});
afterAll(() => provider.stop(true));

test("as many connections are opened as requests are under way at once, and none besides", async () => {
  const request = {
    // A name takes longer to look up than this provider to answer.
    baseUrl: `http://localhost:${provider.port}`,
    path: "/",
    method: "POST",
    headers: {},
    body: Buffer.from("{}"),
  };
  const ask = async () => {
    const answer = send(request, { connect: 5000, first_byte: 5000 });
    await answer.arrival;
    expect(Buffer.from(await readWhole(answer, 1024)).toString()).toBe("ok");
  };
  await Promise.all(Array.from({ length: AT_ONCE - 1 }, ask));
  // The one too many of each burst finds that another is done before its own connection is open.
  for (let burst = 0; burst < BURSTS; burst++) await Promise.all(Array.from({ length: AT_ONCE }, ask));
  expect(opened).toBeLessThanOrEqual(AT_ONCE);
});
