// A client of the overload benchmark, in its own process: sends texts that are slow to inspect to the given URLs, one after the other,
// until it is killed.
import { HOSTILE_BODIES } from "./hostile-texts.ts";

const urls = process.argv.slice(2);
for (let turn = 0; ; turn++) {
  const url = urls[turn % urls.length] ?? "";
  const body = HOSTILE_BODIES[Math.floor(turn / urls.length) % HOSTILE_BODIES.length] ?? "";
  const response = await fetch(url, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body,
  });
  await response.arrayBuffer();
}
