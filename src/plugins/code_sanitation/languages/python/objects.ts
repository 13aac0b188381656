// Python objects that lead to code: attribute chains, pickles, templates, files with secrets.
import { isInClass, QUOTE, WORD } from "../../char-classes.ts";
import { OPEN_PAREN } from "../../char-codes.ts";
import { charSet, charSetHas } from "../../char-set.ts";
import { choice, keyword, lit, oneOf, opt, seq, skipTo } from "../../combinators.ts";
import { splitWords } from "../../keyword-set.ts";
import {
  afterOneOf,
  atWordStart,
  skipWhitespaceBack,
  wordBefore,
  type LookBehind,
} from "../../look-behind.ts";
import { NO_MATCH, type Matcher } from "../../matcher.ts";
import { unitAt } from "../../normalized-text.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { digits, identifier, ows, quote } from "../../tokens.ts";
import { call, calledOn, UNQUALIFIED } from "../calls.ts";
import { dot } from "../member-access.ts";

const OPEN_BRACKET = 0x5b;
/** Attributes that lead from any object to the builtins. */
const DUNDERS = splitWords(`
  __class__ __mro__ __subclasses__ __globals__ __builtins__ __bases__ __base__ __loader__ __import__ __init__ __closure__ __code__
`);
/** Attributes that an attacker reaches through those; ordinary code reads `__name__` or `__dict__` instead. */
const TARGETS = splitWords(`
  __mro__ __subclasses__ __globals__ __builtins__ __bases__ __base__ __class__ __import__ __loader__ __closure__
  __reduce__
`);
const SENSITIVE_NAMES: Matcher = keyword([...DUNDERS, "system", "popen", "eval", "exec"]);
const ENDS_VALUE = charSet(WORD | QUOTE, ")]");
const callOrEnd = seq(ows, oneOf(")],"));

/** Matches after `['` and `attr('`. */
const quotedAccess: LookBehind = (input, at) => {
  if (!isInClass(unitAt(input, at - 1), QUOTE)) return NO_MATCH;
  const bracket = skipWhitespaceBack(input, at - 1) - 1;
  if (unitAt(input, bracket) === OPEN_BRACKET) {
    const isSubscript = charSetHas(ENDS_VALUE, unitAt(input, skipWhitespaceBack(input, bracket) - 1));
    return isSubscript ? bracket : NO_MATCH;
  }
  return unitAt(input, bracket) === OPEN_PAREN && wordBefore(input, bracket) === "attr" ? bracket : NO_MATCH;
};

export const OBJECTS: readonly Pattern[] = [
  pattern("python.attribute-walk", DUNDERS, {
    catches: "a chain of attributes that leads from any object to the builtins",
    from: "relaxed",
    finds: [
      "().__class__.__bases__[0]",
      "''.__class__ . __mro__[1]",
      "x.__mro__[1].__subclasses__()",
      "x.__base__.__subclasses__()[40]",
      "f.__globals__['os']",
      "f.__globals__['sys']",
      "f.__globals__['current_app']",
      "f.__code__.__class__",
      'f.__globals__["__builtins__"]',
      "x.__subclasses__()[59]",
      "x.__bases__[0].__subclasses__",
    ],
    ignores: [
      "self.__class__.__name__",
      "self.__class__.__dict__",
      "cls.__subclasses__()",
      "cls.__bases__[0].name",
      "the attribute __class__.__base__",
      "func.__code__.co_varnames",
    ],
    before: afterOneOf("."),
    after: choice(
      seq(dot, keyword(TARGETS)),
      seq(lit("["), digits, lit("]"), dot, keyword(TARGETS)),
      seq(lit("()"), ows, lit("["), ows, digits),
      seq(lit("["), ows, quote, choice(lit("__"), keyword(["os", "sys", "current_app"]))),
    ),
  }),
  pattern("python.attribute-walk", DUNDERS, {
    catches: "an attribute of a chain to the builtins, accessed by a text",
    from: "relaxed",
    finds: [
      "x['__class__']['__base__']",
      "x|attr('__class__')",
      'x["__globals__"].os',
      "''['__class__'] . x",
      "x['__class__'](1)",
    ],
    ignores: ["data['__class__'] = name", "hasattr(x, '__class__')", "x = ['__class__', '__dict__']"],
    before: quotedAccess,
    after: seq(quote, ows, choice(seq(lit("]"), ows, oneOf("[(.")), lit(")"))),
  }),
  pattern("python.builtins-item", ["globals", "locals", "vars"], {
    catches: "the builtins, reached through a dictionary of names",
    finds: [
      "globals()['__builtins__']",
      "locals ( ) [ '__import__' ]",
      "vars()['os']",
      "globals()['eval']",
      "globals()['exec']",
    ],
    ignores: [
      "globals()['total'] = 1",
      "del globals()['__annotations__']",
      "myglobals()['os']",
      "globals()[name]",
    ],
    before: atWordStart,
    after: seq(
      call,
      ows,
      lit(")"),
      ows,
      lit("["),
      ows,
      quote,
      keyword(["__builtins__", "__import__", "os", "eval", "exec"]),
    ),
  }),
  pattern("python.builtins-item", ["getattr"], {
    catches: "a function that runs code, looked up by its name",
    finds: [
      "getattr(os, 'system')('id')",
      "getattr ( x , '__class__' )",
      "getattr(__builtins__, 'ev' + 'al')",
      "getattr(x.y, 'popen')",
    ],
    ignores: [
      "getattr(module, '__version__', None)",
      "getattr(self, 'name')",
      "mygetattr(os, 'system')",
      "getattr(x, 'system_name')",
    ],
    before: atWordStart,
    after: seq(
      call,
      ows,
      identifier,
      opt(seq(dot, identifier)),
      ows,
      lit(","),
      ows,
      quote,
      SENSITIVE_NAMES,
      quote,
      callOrEnd,
    ),
  }),
  pattern("python.unpickle", splitWords("pickle cpickle marshal dill jsonpickle"), {
    catches: "an object loaded from a text or from a request",
    finds: [
      "pickle.loads(b'x')",
      'cPickle . loads ( "x" )',
      "marshal.loads(base64.b64decode(x))",
      "dill.loads(request.data)",
      "jsonpickle.decode('x')",
    ],
    ignores: [
      "x = pickle.loads(data)",
      "x = pickle.load(file)",
      "self.pickle.loads('x')",
      "unpickle.loads('x')",
    ],
    precededBy: UNQUALIFIED,
    after: seq(
      dot,
      keyword(["loads", "decode"]),
      call,
      ows,
      opt(lit("b")),
      choice(quote, lit("ase64."), lit("request.")),
    ),
  }),
  pattern("python.unsafe-yaml", ["!!python/"], {
    catches: "a YAML tag that creates a Python object",
    finds: ["!!python/object:x.Y", "a: !!python/tuple [1]"],
    ignores: ["!!python/ is a prefix", "!!python/3", "python/object"],
    after: identifier,
  }),
  pattern("python.template", ["{{", "{%"], {
    catches: "an expression that probes or leaves a template engine",
    from: "relaxed",
    finds: [
      "{{7*7}}",
      "{{ 7 * '7' }}",
      "{% 8*8 %}",
      "{{config.items()}}",
      "{{ config.__class__ }}",
      "{{ self._TemplateReference__context }}",
      "{{ request.application.__globals__ }}",
      "{{ cycler.__init__ }}",
      "{{lipsum.__globals__}}",
      "{{joiner|attr('__x')}}",
      "{{''.__class__}}",
      '{{"".__class__}}',
      "{{()|attr('__x')}}",
      "{{[].__class__}}",
      "{% import os %}",
    ],
    ignores: [
      "{{ user.name }}",
      "{{ request.args.get('q') }}",
      "{% import 'forms.html' as forms %}",
      "{{ price * 2 }}",
      "{{ config.title }}",
      "{{ self.title() }}",
    ],
    after: seq(
      ows,
      choice(
        seq(digits, ows, lit("*"), ows, opt(quote), digits),
        seq(lit("config"), dot, lit("items()")),
        seq(
          choice(
            keyword(["config", "self", "request", "cycler", "lipsum", "joiner"]),
            lit("''"),
            lit('""'),
            lit("()"),
            lit("[]"),
          ),
          oneOf(".[|"),
          skipTo(lit("__"), 40, "}"),
        ),
        seq(lit("import"), ows, keyword(["os"])),
      ),
    ),
  }),
  pattern("python.open-secret", ["open"], {
    catches: "a file with secrets, opened by its path",
    finds: [
      "open('/etc/passwd')",
      'open ( "/etc/shadow" )',
      "io.open('/proc/self/environ')",
      "open('/root/.ssh/id_rsa')",
      "open('../../../etc/x')",
      "open('c:\\windows\\win.ini')",
    ],
    ignores: ["open('/etc/hosts')", "open('../data/rows.csv')", "reopen('/etc/passwd')", "shelf.open('x')"],
    before: calledOn(["builtins", "io"]),
    after: seq(
      call,
      ows,
      quote,
      choice(
        seq(lit("/etc/"), keyword(["passwd", "shadow"])),
        lit("/proc/self/"),
        lit("/root/"),
        lit("../../../"),
        lit("c:\\windows"),
      ),
    ),
  }),
];
