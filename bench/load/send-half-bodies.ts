// Opens connections that send half of a large body and then wait. Arguments: port, path, connections, size of the body.
import { connect } from "node:net";

const [port = "0", path = "/", connections = "0", size = "0"] = process.argv.slice(2);
const half = Buffer.alloc(Number(size) / 2, "a");

for (let index = 0; index < Number(connections); index++) {
  const socket = connect(Number(port), "127.0.0.1");
  socket.on("error", () => undefined);
  // Every client has an address of its own, as a trusted proxy would report it.
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n` +
      `X-Forwarded-For: 198.51.100.${index}\r\nContent-Length: ${size}\r\n\r\n`,
  );
  socket.write(half);
}
// Keeps the connections open until the process is ended.
setInterval(() => undefined, 1000);
