// Expression languages and lookups that run Java: OGNL, SpEL, JNDI.
import { NOT_WORD } from "../../char-set.ts";
import { choice, keyword, lit, oneOf, opt, run, seq, skipTo, times } from "../../combinators.ts";
import { LETTER } from "../../char-classes.ts";
import { splitWords } from "../../keyword-set.ts";
import { atWordStart } from "../../look-behind.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, ows } from "../../tokens.ts";

const JNDI_SCHEMES = splitWords("ldap ldaps rmi dns iiop corba nis nds http https corbaname iiopname");

export const EXPRESSIONS: readonly Pattern[] = [
  pattern(
    "java.expression",
    splitWords(`
    #_memberaccess @java.lang #context[ %{(# \${(# @ognl. #attr[ #parameters[ allowstaticmethodaccess
    xwork.methodaccessor
  `),
    {
      catches: "an OGNL expression that reaches classes of the server",
      from: "relaxed",
      finds: [
        "%{#_memberAccess=x}",
        "(@java.lang.Runtime@getRuntime())",
        "#context['x']",
        "%{(#a=1)}",
        "${(#a=1)}",
        "@ognl.OgnlContext",
        "#attr['x']",
        "#parameters['x']",
        "allowStaticMethodAccess=true",
        "xwork.MethodAccessor.denyMethodExecution",
      ],
      ignores: ["# context", "${(a)}", "%{x}", "java.lang"],
    },
  ),
  pattern("java.expression", ["t(java", "t (java", "t( java", "t ( java"], {
    catches: "a SpEL reference to a Java class",
    from: "relaxed",
    finds: [
      "T(java.lang.Runtime)",
      "#{T ( java.lang.System ).x}",
      "${T(javax.script.X)}",
      "T (java.lang.X)",
      "T( java.lang.X)",
    ],
    ignores: ["print(java.util.List)", "T(x)", "#{t('hello.title')}", "T(javascript)"],
    precededBy: NOT_WORD,
    after: seq(opt(lit("x")), lit(".")),
  }),
  pattern("java.jndi", ["jndi"], {
    catches: "a JNDI lookup of another host",
    from: "relaxed",
    finds: ["jndi:ldap://x.example/a", "${jndi : rmi://x}", "jndi:${lower:l}dap", "jndi:dns:/x"],
    ignores: ["JNDI: LDAP and DNS providers", "myjndi:ldap://x", "jndi:name"],
    before: atWordStart,
    after: seq(ows, lit(":"), ows, choice(seq(keyword(JNDI_SCHEMES), lit(":")), lit("${"))),
  }),
  pattern("java.lookup", ["${"], {
    catches: "a lookup that hides a name, runs a script or computes",
    from: "relaxed",
    finds: [
      "${jndi:x}",
      "${::-j}",
      "${lower:j}",
      "${upper:j}",
      "${base64:x}",
      "${script:javascript:x}",
      "${url:UTF-8:x}",
      "${env:X:-j}",
      "${sys:x:-l}",
      "${date:'j'}",
      "${java:x:-:}",
      "${ctx:x:-d}",
      "${k8s:x:-nd}",
      "${main:x:-}",
      "${7*7}",
      "${ 7 * 7 }",
      "${${env:X}",
      "${${sys:X}",
    ],
    ignores: [
      "${env:HOME}",
      "${sys:log.path}",
      "${date:yyyy-MM-dd}",
      "${name}",
      "${env:PORT:-8080}",
      "${a * b}",
    ],
    after: choice(
      seq(keyword(["jndi", "lower", "upper", "base64", "script", "url"]), lit(":")),
      lit("::-"),
      seq(
        keyword(["env", "sys", "java", "ctx", "k8s", "main"]),
        lit(":"),
        skipTo(seq(lit(":-"), times(0, 2, oneOf("jndilaprms:/")), lit("}")), 40, " \n}"),
      ),
      seq(lit("date:'"), run(LETTER, 1, 2), lit("'")),
      seq(ows, digits, ows, lit("*"), ows, digits, ows, lit("}")),
      seq(lit("${"), seq(keyword(["env", "sys"]), lit(":"))),
    ),
  }),
];
