// Signatures of AWS's published Signature Version 4 test suite, and of requests that the gateway sends.
import { expect, test } from "bun:test";
import { Sigv4Signer } from "./sigv4.ts";

const KEYS = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: null,
};
const SCOPE = { region: "us-east-1", service: "service" };
const NOW = Date.UTC(2015, 7, 30, 12, 36, 0);
const VANILLA = "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31";
const UNRESERVED = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const STS_TOKEN =
  "AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/" +
  "qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38" +
  "xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==";

interface Vector {
  readonly method?: string;
  readonly target?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly sessionToken?: string;
  readonly signed?: string;
  readonly signature: string;
}

function sign({ method = "GET", target = "/", headers = {}, body, sessionToken }: Omit<Vector, "signature">) {
  const signer = new Sigv4Signer({ ...KEYS, sessionToken: sessionToken ?? null }, SCOPE);
  const bytes = body === undefined ? null : Buffer.from(body);
  return signer.sign({ method, target, host: "example.amazonaws.com", headers, body: bytes }, NOW);
}

const form = "application/x-www-form-urlencoded";

test.each<[name: string, vector: Vector]>([
  ["get-vanilla", { signature: VANILLA }],
  [
    "get-vanilla-query",
    {
      target: "/?Param1=value1",
      signature: "a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb",
    },
  ],
  [
    "get-vanilla-query-order-key-case",
    {
      target: "/?Param2=value2&Param1=value1",
      signature: "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
    },
  ],
  [
    "get-vanilla-query-order-key",
    {
      target: "/?Param1=value2&Param1=value1",
      signature: "5772eed61e12b33fae39ee5e7012498b51d56abc0abb7c60486157bd471c4694",
    },
  ],
  [
    "get-vanilla-query-order-value",
    {
      target: "/?Param1=value2&Param1=Value1",
      signature: "eedbc4e291e521cf13422ffca22be7d2eb8146eecf653089df300a15b2382bd1",
    },
  ],
  [
    "get-vanilla-query-unreserved",
    {
      target: `/?${UNRESERVED}=${UNRESERVED}`,
      signature: "9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197",
    },
  ],
  [
    "get-vanilla-utf8-query",
    {
      target: "/?%E1%88%B4=bar",
      signature: "2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04",
    },
  ],
  [
    "get-unreserved",
    {
      target: `/${UNRESERVED}`,
      signature: "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
    },
  ],
  [
    "get-utf8",
    { target: "/ሴ", signature: "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85" },
  ],
  ["get-relative", { target: "/example/..", signature: VANILLA }],
  ["get-relative-relative", { target: "/example1/example2/../..", signature: VANILLA }],
  ["get-slash", { target: "//", signature: VANILLA }],
  ["get-slash-dot-slash", { target: "/./", signature: VANILLA }],
  [
    "get-slash-pointless-dot",
    {
      target: "/./example",
      signature: "ef75d96142cf21edca26f06005da7988e4f8dc83a165a80865db7089db637ec5",
    },
  ],
  [
    "get-slashes",
    {
      target: "//example//",
      signature: "9a624bd73a37c9a373b5312afbebe7a714a789de108f0bdfe846570885f57e84",
    },
  ],
  [
    "get-header-value-trim",
    {
      headers: { "my-header1": " value1", "my-header2": ' "a   b   c"' },
      signed: "host;my-header1;my-header2;x-amz-date",
      signature: "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
    },
  ],
  [
    "get-header-key-duplicate",
    {
      headers: { "my-header1": "value2,value2,value1" },
      signed: "host;my-header1;x-amz-date",
      signature: "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea",
    },
  ],
  [
    "post-vanilla",
    { method: "POST", signature: "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b" },
  ],
  [
    "post-header-value-case",
    {
      method: "POST",
      headers: { "my-header1": "VALUE1" },
      signed: "host;my-header1;x-amz-date",
      signature: "cdbc9802e29d2942e5e10b5bccfdd67c5f22c7c4e8ae67b53629efa58b974b7d",
    },
  ],
  [
    "post-x-www-form-urlencoded",
    {
      method: "POST",
      headers: { "content-type": form },
      body: "Param1=value1",
      signed: "content-type;host;x-amz-date",
      signature: "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
    },
  ],
  [
    "post-x-www-form-urlencoded-parameters",
    {
      method: "POST",
      headers: { "content-type": `${form}; charset=utf8` },
      body: "Param1=value1",
      signed: "content-type;host;x-amz-date",
      signature: "1a72ec8f64bd914b0e42e42607c7fbce7fb2c7465f63e3092b3b0d39fa77a6fe",
    },
  ],
  [
    "post-sts-header-before",
    {
      method: "POST",
      sessionToken: STS_TOKEN,
      signed: "host;x-amz-date;x-amz-security-token",
      signature: "85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead",
    },
  ],
])("%s", (_, vector) => {
  const { signed = "host;x-amz-date", signature } = vector;
  expect(sign(vector)).toEqual({
    authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, SignedHeaders=${signed}, Signature=${signature}`,
    "x-amz-date": "20150830T123600Z",
    "x-amz-security-token": vector.sessionToken,
  });
});

test("headers that a proxy changes or that are not ASCII are not signed, and a client's own date, token and hash do not count", () => {
  const headers = {
    "user-agent": "x",
    traceparent: "00-1",
    "accept-encoding": "identity",
    authorization: "Bearer client",
    "x-amz-date": "19990101T000000Z",
    "x-amz-security-token": "of the client",
    "x-amz-content-sha256": "of the body that the client signed",
    "x-name": "Zoë",
  };
  expect(sign({ headers })).toEqual(sign({}));
});

test("a path that is encoded is encoded again", () => {
  expect(sign({ target: "/model/a%3A1/invoke" })).not.toEqual(sign({ target: "/model/a:1/invoke" }));
});

test("the bytes of a query are signed, also if they are not UTF-8", () => {
  expect(sign({ target: "/?%e4=100%&x=%zz" })).toEqual(sign({ target: "/?x=%25zz&%E4=100%25" }));
  expect(sign({ target: "/?%E4=1" })).not.toEqual(sign({ target: "/?%25E4=1" }));
});

test("the signing key follows the date", () => {
  const signer = new Sigv4Signer(KEYS, SCOPE);
  const request = { method: "GET", target: "/", host: "example.amazonaws.com", headers: {}, body: null };
  const today = signer.sign(request, NOW);
  expect(signer.sign(request, NOW + 86_400_000)["authorization"]).toContain("/20150831/");
  expect(signer.sign(request, NOW)).toEqual(today);
});
