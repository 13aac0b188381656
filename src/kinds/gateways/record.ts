// Gateways: the tenants of an installation, to which all other records belong.
import type { KindDeclaration } from "../kind.ts";

export const gateways: KindDeclaration<"gateways"> = {
  singular: "gateway",
  resource: "gateway",
  parent: "installation",
  columns: ["name", "subdomain"],
  columnsOnly: [],
  addedFields: {
    error_format: "gatehouse",
    cors: null,
    prices: [],
    trust_user_header: false,
    jwt_issuers: [],
  },
  unique: { subdomain: "all" },
  refersTo: {},
  usesWhile: null,
  secrets: null,
  searched: ["subdomain"],
  shownInSearch: ({ subdomain }) => subdomain,
  isConfiguration: true,
  dependents: [],
};
