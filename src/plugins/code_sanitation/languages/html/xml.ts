// XML that makes a parser load or run something: entities, inclusions, server-side includes.
import { WHITESPACE } from "../../char-classes.ts";
import { choice, keyword, lit, opt, run, seq, skipTo } from "../../combinators.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { identifier, ows, quote } from "../../tokens.ts";

const space = run(WHITESPACE, 1, 2);

export const XML: readonly Pattern[] = [
  pattern("html.entity-declaration", ["<!entity"], {
    catches: "a declaration of an XML entity",
    from: "relaxed",
    finds: ["<!ENTITY x SYSTEM 'file:///x'>", "<!ENTITY % x PUBLIC 'a' 'b'>", '<!ENTITY x "y">'],
    ignores: ["an <!ENTITY> declaration", "<!ENTITY x NDATA y>"],
    after: seq(
      space,
      opt(seq(lit("%"), space)),
      identifier,
      space,
      choice(lit("system"), lit("public"), quote),
    ),
  }),
  pattern("html.doctype-subset", ["<!doctype"], {
    catches: "a document type that is loaded from a file or by a stream wrapper",
    from: "relaxed",
    finds: [
      "<!DOCTYPE x SYSTEM 'file:///x'>",
      '<!DOCTYPE x SYSTEM "php://filter">',
      "<!DOCTYPE x SYSTEM 'expect://id'>",
      "<!DOCTYPE x SYSTEM 'data:x'>",
    ],
    ignores: [
      "<!DOCTYPE html>",
      '<!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "x.dtd">',
      "<!DOCTYPE x SYSTEM 'x.dtd'>",
    ],
    after: seq(
      space,
      identifier,
      space,
      lit("system"),
      ows,
      quote,
      keyword(["file", "php", "expect", "data"]),
      lit(":"),
    ),
  }),
  pattern("html.xml-include", ["xi:include"], {
    catches: "an XInclude of another document",
    finds: ["<xi:include href='file:///x'/>", "<xi:include parse='text' href=x"],
    ignores: ["The xi:include element", "xi:includes href=x"],
    after: seq(space, skipTo(lit("href"), 60, "<>")),
  }),
  pattern("html.xml-active", ["<xml "], {
    catches: "an XML data island of old browsers",
    finds: ["<xml src=x id=i>", "<xml id=i>"],
    ignores: ["<xml>\n<user id='1'>", "<xml version='1'>"],
    after: choice(lit("src="), lit("id=")),
  }),
  pattern("html.namespace", ["<?import", "<import"], {
    catches: "an import of an element behavior of old browsers",
    finds: ["<?import namespace='x' implementation='#y'>", "<import implementation=x"],
    ignores: ["<?import javafx.scene.control.*?>", '<Import Project="build.props" />'],
    after: seq(space, keyword(["namespace", "implementation"])),
  }),
  pattern("html.server-side-include", ["<!--#"], {
    catches: "a directive of a server-side include",
    from: "relaxed",
    finds: [
      "<!--#exec cmd='id'-->",
      "<!--#include file='x'-->",
      "<!--# echo var='x'-->",
      "<!--#set var='x'-->",
      "<!--#config errmsg='x'-->",
      "<!--#printenv-->",
      "<!--#fsize file='x'-->",
    ],
    ignores: ["<!--# Heading -->", "<!--#endregion-->"],
    after: seq(ows, keyword(["exec", "include", "echo", "set", "config", "printenv", "fsize"])),
  }),
];
