// Values that identify nobody: those that standards reserve for examples, and addresses of every host itself. Models write them into their
// reasoning, which cannot be masked if the provider signed it.

/** RFC 2606 and RFC 6761. */
const EXAMPLE_DOMAIN = /[@.](?:example\.(?:com|net|org)|example|test|invalid|localhost)$/i;
/** Numbers for fiction in North America: 555-0100 to 555-0199. */
const FICTIONAL_PHONE = /^1?[2-9]\d{2}55501\d{2}$/;
/** RFC 5737, and loopback, unspecified and broadcast addresses (RFC 6890). */
const EXAMPLE_IPV4 =
  /^(?:192\.0\.2|198\.51\.100|203\.0\.113|127\.\d+\.\d+)\.\d+$|^0\.0\.0\.0$|^255\.255\.255\.255$/;
/** RFC 3849 and RFC 9637, and the loopback address. */
const EXAMPLE_IPV6 = /^(?:2001:0?db8|3fff:[0-9a-f]{1,3}):|^2001:0?db8::|^::1$/i;

export function isInvented(type: string, value: string): boolean {
  switch (type) {
    case "email":
      return EXAMPLE_DOMAIN.test(value);
    case "phone":
      return FICTIONAL_PHONE.test(value.replaceAll(/\D/g, ""));
    case "ip":
      return EXAMPLE_IPV4.test(value) || EXAMPLE_IPV6.test(value);
    default:
      return false;
  }
}
