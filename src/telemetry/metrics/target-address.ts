// The host and port of a target, as spans report them.

export interface TargetAddress {
  readonly hostname: string;
  readonly port: number;
}

export function addressOf(baseUrl: string): TargetAddress {
  const { hostname, port, protocol } = new URL(baseUrl);
  return { hostname, port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port) };
}
