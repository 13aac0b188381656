// Which credentials pii_mask finds, by prefix, form, and the name before them.
import { describe, expect, test } from "bun:test";
import { newAdminToken, newApiKey } from "../../base/ids.ts";
import { compileDetector } from "./detect.ts";
import { TYPES } from "./settings.ts";

const detect = compileDetector({ types: [...TYPES], custom: [] });
const found = (text: string): string[] =>
  detect(text).map(({ type, start, end }) => `${type} ${text.slice(start, end)}`);

/** 86 characters of base64, as an account key of Azure has. */
const BASE64 = "q0bB3Zk9/XvT7+mWcR2sLpYf8JdHnG4uAeKiV6oQxMtC1yDwPzEr5lSjIhUaNgOq0bB3Zk9XvT7mWcR2sLpYf8JA";
const TOKEN = "Zk9XvT7mWcR2sLpYf8JdHnG4uAeKiV6oQxMtC1yDwPzEr5lSjIhUaNgOq0bB3Zk9XvT7mWcR2sLpYf8J";
const token = (length: number) => TOKEN.slice(0, length);
const HEX = "0123456789abcdef".repeat(4);
const pem = (kind: string) =>
  `-----BEGIN ${kind}PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAABG5vbmU\nAAAAB2==\n-----END ${kind}PRIVATE KEY-----`;

describe("credentials", () => {
  test.each([
    pem("OPENSSH "),
    pem("RSA "),
    pem("EC "),
    pem("ENCRYPTED "),
    pem(""),
    pem("").replaceAll("\n", "\\n"),
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF\n=abcd\n-----END PGP PRIVATE KEY BLOCK-----",
    "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nP2/56wAA\n---- END SSH2 ENCRYPTED PRIVATE KEY ----",
    `SG.${token(22)}.${token(43)}`,
    `hooks.slack.com/services/T0123ABCD/B0123ABCD/${token(24)}`,
    `hooks.slack.com/workflows/T0123ABCD/A0123ABCD/123456789/${token(24)}`,
    `pypi-AgEIcHlwaS5vcmc${token(60)}`,
    `xapp-1-A0123-${token(20)}`,
    `dapi${HEX.slice(0, 32)}`,
    `dop_v1_${HEX}`,
    `GOCSPX-${token(28)}`,
    `ya29.${token(60)}`,
    `1//0${token(60)}`,
    `sk_test_${token(24)}`,
    `glrt-${token(20)}`,
    `github_pat_${token(22)}_${token(59)}`,
    `sk-ant-api03-${token(70)}`,
    `sk-or-v1-${HEX}`,
    `gsk_${token(52)}`,
    `xai-${token(80)}`,
    `hvs.${token(24)}`,
    `ABSK${BASE64}${BASE64}=`,
    `abc8Q~${token(34)}`,
    `123456789:AA${token(33)}`,
  ])("%s", (secret) => {
    expect(found(`before ${secret} after`)).toEqual([`secret ${secret}`]);
  });

  test("keys and tokens of this gateway", () => {
    for (const secret of [newApiKey(), newAdminToken()])
      expect(found(`before ${secret} after`)).toEqual([`secret ${secret}`]);
  });

  const aws = BASE64.slice(0, 40);
  const azure = `${BASE64.slice(0, 86)}==`;
  test.each([
    [`aws_secret_access_key = ${aws}`, aws],
    [`AWS_SECRET_ACCESS_KEY="${aws}"`, aws],
    [`{"SecretAccessKey": "${aws}"}`, aws],
    [`{\\"SecretAccessKey\\":\\"${aws}\\"}`, aws],
    [
      "aws_secret_access_key=wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
      "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    ],
    [
      `DefaultEndpointsProtocol=https;AccountName=a;AccountKey=${azure};EndpointSuffix=core.windows.net`,
      azure,
    ],
    [`my Azure account key is ${azure}`, azure],
    [`SharedAccessKey=${BASE64.slice(0, 43)}=`, `${BASE64.slice(0, 43)}=`],
    [
      `https://a.blob.core.windows.net/c?sv=2024-11-04&sig=${BASE64.slice(10, 53)}%3D`,
      `${BASE64.slice(10, 53)}%3D`,
    ],
    [`"private_key": "${pem("").replaceAll("\n", "\\n")}\\n"`, pem("").replaceAll("\n", "\\n")],
  ])("%s", (text, secret) => {
    expect(found(text)).toEqual([`secret ${secret}`]);
  });

  test("a key is found at any place", () => {
    for (let before = 0; before < 100; before++)
      expect(found(`${"x".repeat(before)} key: ${aws}\n${"y".repeat(before)}`)).toEqual([`secret ${aws}`]);
  });

  test("the secret after an access key", () => {
    expect(found(`AKIAIOSFODNN7EXAMPLE,${aws}`)).toEqual(["secret AKIAIOSFODNN7EXAMPLE", `secret ${aws}`]);
  });

  test("a private key without an end ends with its lines", () => {
    const start =
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn";
    expect(found(`${start}\nis my key`)).toEqual([`secret ${start}`]);
    expect(found(`${start}\nand ${pem("EC ")} too`)).toEqual([`secret ${start}`, `secret ${pem("EC ")}`]);
  });
});
