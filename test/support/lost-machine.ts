// A machine that loses its power or its network: nothing that is sent to one of its ports arrives, and nothing comes back. Connections
// are neither refused nor closed, as with a real one.
import { isInstalled } from "./required-program.ts";

const nft = Bun.which("nft", { PATH: `${process.env["PATH"] ?? ""}:/usr/sbin` });

/** Only root may drop packets. */
export const canLoseMachines =
  process.getuid?.() === 0 &&
  isInstalled(nft, {
    name: "nft",
    tests: "tests with machines that are lost",
    install: "apt-get install nftables",
  });

/** Drops all packets from and to a port of 127.0.0.1. Returns a function that ends it. */
export function loseMachine(port: number): () => void {
  const table = `gatehouse_test_${process.pid}_${port}`;
  run(
    `table inet ${table} {
      chain input {
        type filter hook input priority 0;
        ip daddr 127.0.0.1 tcp dport ${port} drop
        ip saddr 127.0.0.1 tcp sport ${port} drop
      }
    }`,
  );
  return () => run(`delete table inet ${table}`);
}

function run(rules: string): void {
  const { exitCode, stderr } = Bun.spawnSync([nft ?? "nft", "-f", "-"], { stdin: Buffer.from(rules) });
  if (exitCode !== 0) throw new Error(`nft failed: ${stderr.toString()}`);
}
