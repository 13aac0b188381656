// JavaScript that leaves the sandbox of a Node.js program: child processes and internal bindings.
import { choice, keyword, lit, seq } from "../../combinators.ts";
import { afterOneOf, atWordStart } from "../../look-behind.ts";
import { pattern, type Pattern } from "../../pattern.ts";
import { ows, quote } from "../../tokens.ts";
import { call } from "../calls.ts";
import { dot, memberCall } from "../member-access.ts";

const COMMAND_CALLS = ["exec", "execsync", "spawn", "spawnsync"];

export const NODE: readonly Pattern[] = [
  pattern("js.child-process", ["child_process"], {
    catches: "a command that is run with a module loaded in the same expression",
    finds: [
      "require('child_process').exec('ls')",
      "require('child_process').spawn(x)",
      "require('child_process')['exec'](x)",
      "require('child_process')['execSync'](x)",
      "require('child_process') [ 'spawn' ](x)",
      "require('child_process')['spawnSync'](x)",
      "require('child_process'). exec('ls')",
      "require('child_process'). exec([x])",
      'require ( "node:child_process" ) . spawnSync ("ls")',
      "process.mainModule.require('child_process').execSync('id')",
    ],
    ignores: [
      "const { exec } = require('child_process');",
      "Use require('child_process'). Exec (see above) runs it.",
      "import { spawn } from 'child_process'",
      "What is child_process').exec('ls')?",
    ],
    before: afterOneOf("'\"`:"),
    after: seq(
      quote,
      ows,
      lit(")"),
      choice(memberCall(COMMAND_CALLS), seq(ows, lit("["), ows, quote, keyword(COMMAND_CALLS), quote)),
    ),
  }),
  pattern("js.child-process", ["child_process"], {
    catches: "a command given as a text",
    finds: [
      "child_process.exec('ls')",
      "child_process.execSync('ls')",
      "child_process.spawnSync('ls')",
      "child_process . spawn ( `ls` )",
    ],
    ignores: ["child_process.exec(command, done)", "mychild_process.exec('ls')"],
    before: atWordStart,
    after: seq(dot, keyword(COMMAND_CALLS), call, ows, quote),
  }),
  pattern("js.main-module", ["process"], {
    catches: "access to the loader or to internal bindings of Node.js",
    from: "relaxed",
    finds: [
      "this.constructor.constructor('return process')().mainModule.require('fs')",
      "process.mainModule.require('fs')",
      "process . mainModule ['require']",
      "process.binding('spawn_sync')",
    ],
    ignores: [
      "if (require.main === process.mainModule) start();",
      "process.env.HOME",
      "subprocess.mainModule.x",
      "Binding (a process. Binding ('x') is next)",
    ],
    before: atWordStart,
    after: choice(
      seq(dot, lit("mainmodule"), choice(dot, seq(ows, lit("[")))),
      seq(dot, lit("binding"), call, ows, quote),
      seq(quote, lit(")()"), dot, lit("mainmodule")),
    ),
  }),
];
