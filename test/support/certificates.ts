// Certificates for TLS servers of tests, made with openssl.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

interface CertificateFiles {
  readonly key: string;
  readonly cert: string;
}

/** Creates a self-signed certificate for `names`. `validity` is two times such as 20200101000000Z. */
export function createCertificate(
  directory: string,
  name: string,
  validity: readonly [from: string, to: string],
  names = "DNS:localhost",
): CertificateFiles {
  const folder = join(directory, name);
  mkdirSync(folder);
  const at = (file: string) => join(folder, file);
  writeFileSync(at("index.txt"), "");
  writeFileSync(
    at("ca.cnf"),
    [
      ...["[ca]", "default_ca = own", "[own]", `database = ${at("index.txt")}`, `new_certs_dir = ${folder}`],
      ...["default_md = sha256", "policy = any", "rand_serial = yes", "x509_extensions = names"],
      ...["[any]", "commonName = supplied", "[names]", `subjectAltName = ${names}`],
    ].join("\n"),
  );
  const openssl = (...args: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(["openssl", ...args]);
    if (exitCode !== 0) throw new Error(stderr.toString());
  };
  openssl(
    ...["req", "-new", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost"],
    ...["-keyout", at("key.pem"), "-out", at("request.pem")],
  );
  const [from, to] = validity;
  openssl(
    ...["ca", "-batch", "-notext", "-selfsign", "-config", at("ca.cnf"), "-keyfile", at("key.pem")],
    ...["-in", at("request.pem"), "-out", at("cert.pem"), "-startdate", from, "-enddate", to],
  );
  return { key: at("key.pem"), cert: at("cert.pem") };
}
