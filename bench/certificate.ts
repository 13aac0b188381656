// A self-signed certificate for 127.0.0.1 and localhost, created for each run.
import { join } from "node:path";

interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
}

/** Returns null if openssl is not installed. */
export function makeCertificate(folder: string): Certificate | null {
  if (Bun.which("openssl") === null) return null;
  const [certFile, keyFile] = [join(folder, "cert.pem"), join(folder, "key.pem")];
  const names = "subjectAltName=IP:127.0.0.1,DNS:localhost";
  const options = [
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-days",
    "2",
  ];
  const files = ["-subj", "/CN=localhost", "-addext", names, "-keyout", keyFile, "-out", certFile];
  const { exitCode, stderr } = Bun.spawnSync(["openssl", ...options, ...files]);
  if (exitCode !== 0) throw new Error(stderr.toString());
  return { certFile, keyFile };
}
