// Credential header of each wire format.

/** Returns the header, with the part of its value that precedes the key. */
export function emptyCredential(format: string | undefined): { header_name: string; header_value: string } {
  return format === "anthropic"
    ? { header_name: "x-api-key", header_value: "" }
    : { header_name: "Authorization", header_value: "Bearer " };
}
