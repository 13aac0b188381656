// Ordinary programs, pages, scripts, configuration files and logs contain nothing that the relaxed patterns find: coding agents send them.
import { expect, test } from "bun:test";
import { compileDetector } from "./detector.ts";
import { LANGUAGES } from "./settings.ts";

const relaxed = compileDetector(LANGUAGES.map((language) => ({ language, sensitivity: "relaxed" as const })));

const ORDINARY: Readonly<Record<string, string>> = {
  PHP: `<?php
namespace App\\Http\\Controllers;
use Illuminate\\Http\\Request;
class UserController extends Controller {
  public function show(Request $request, $id) {
    $user = DB::table('users')->where('id', $_GET['id'])->first();
    $stmt = $pdo->prepare("SELECT * FROM users WHERE email = '" . $email . "' OR name = ?");
    return view('user.profile', ['user' => $user, 'title' => "It's {$user->name}'s page"]);
  }
}
?>
<a href="<?php echo $url; ?>">x</a>
<div class="x"><?= htmlspecialchars($user->name) ?></div>
<?php if ($a && $b): ?><p><?php echo $x; ?></p><?php endif; ?>
$out = shell_exec('ls -la'); eval($code); system($cmd); $f = 'strtoupper'; $f('x'); call_user_func_array([$this, 'run'], $args); include __DIR__ . '/../vendor/autoload.php';`,
  Java: `package com.example;
import java.util.*;
@Value("\${app.name:demo}")
public class Main {
  public static void main(String[] args) throws Exception {
    Process p = Runtime.getRuntime().exec(new String[]{"ls", "-la"});
    ProcessBuilder b = new ProcessBuilder("git", "status");
    Class<?> c = Class.forName("com.example.Plugin");
    Method m = c.getMethod("run"); m.invoke(null);
    String sql = "SELECT * FROM t WHERE a = '" + a + "' AND b = '" + b + "'";
    ObjectInputStream in = new ObjectInputStream(socket.getInputStream());
    System.out.printf("%s %d%n", "it's", 1);
  }
}`,
  "C#": `using System.Diagnostics;
var psi = new ProcessStartInfo { FileName = "cmd.exe", Arguments = "/c dir" };
Process.Start(psi);
var t = Type.GetType("System.String"); var a = Assembly.LoadFrom("x.dll");
var q = $"SELECT * FROM users WHERE name = '{name}' AND pw = '{pw}'";
@if (Model.Items.Any()) { <p>@Model.Title</p> }
BinaryFormatter f = new BinaryFormatter();`,
  Ruby: `class User < ApplicationRecord
  def run(cmd)
    out = \`git status\`
    system("ls -la #{dir}")
    exec 'bundle', 'exec', 'rails s'
    eval(File.read('x.rb'))
    obj.send(:define_method, name) { |x| x }
    User.where("name = '#{name}' OR email = ?", email)
    Kernel.const_get(name).new
    instance_eval(&block)
    %x(uname -a)
  end
end
<%= link_to 'Home', root_path, onclick: "go()" %>
<% @posts.each do |p| %><li><%= p.title %></li><% end %>`,
  JSX: `export function App() {
  const [a, setA] = useState('');
  return (
    <div className="x" onClick={() => setA('y')}>
      <input value={a} onChange={(e) => setA(e.target.value)} />
      <button onClick={go} disabled>Go</button>
      <img src="x.png" onError={() => null} />
      {items.map((i) => <a key={i} href={'#' + i} onMouseEnter={f}>x</a>)}
    </div>
  );
}`,
  Vue: `<template>
  <button @click="go" v-on:click="a && b">{{ msg.split('').reverse().join('') }}</button>
  <p v-html="raw" :class="{ on: isOn }"></p>
</template>
<script setup>
const x = ref(1 + 1)
</script>
<style>
a { color: red }
</style>`,
  HTML: `<!doctype html>
<html><head><title>x</title><script src="app.js"></script><style>a{}</style><link rel="stylesheet" href="x.css"></head>
<body onload="init()"><a href="javascript:void(0)" onclick="go('x'); return false;">x</a>
<img src="x" onerror="this.src='y.png'"><iframe src="https://example.com"></iframe>
<form action="/x"><input type="text" onfocus="f()"></form>
<svg onload="x()"></svg></body></html>`,
  "a Helm template": `{{- if .Values.a }}
  image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
  args: ["sh", "-c", "exec /bin/x --a=$(POD_IP) && sleep 5"]
{{- end }}
{{ include "x.labels" . | nindent 4 }}`,
  "a workflow": `on: push
jobs:
  b:
    steps:
      - run: |
          echo "x=$(git rev-parse HEAD)" >> $GITHUB_OUTPUT
          curl -fsSL https://example.com/install.sh | bash -s -- --yes
          if [ "\${{ github.event_name }}" = 'push' ]; then npm ci && npm test; fi`,
  Bash: `#!/usr/bin/env bash
set -euo pipefail
IFS=$'\\n\\t'
OLD_IFS="$IFS"; IFS=','
for f in "\${files[@]}"; do cat "$f" | sed 's/a/b/g' > /tmp/x; done
eval "$(ssh-agent -s)"
cmd="\${1:-}"; shift || true
case "$cmd" in start) nohup ./x & ;; *) echo "usage: $0 {start|stop}" >&2; exit 1;; esac
echo aGk= | base64 -d | sh
printf '\\x1b[31m%s\\n' "$x"
\${var//a/b} \${x:0:3} $((1+2)) {a,b,c} {1..10}`,
  SQL: `CREATE TABLE users (id INT, name TEXT DEFAULT '');
INSERT INTO users VALUES (1, 'O''Neil'), (2, 'x'); -- seed
SELECT * FROM users WHERE name = 'a' OR name = 'b' UNION SELECT 1, 'x' FROM t; /* c */
DROP TABLE IF EXISTS users; DELETE FROM t WHERE 1=1;
SELECT CASE WHEN 1=1 THEN 'x' ELSE 'y' END || 'z';`,
  Python: `import os, subprocess, pickle
class A:
    def __init__(self): super().__init__()
    def f(self):
        os.system('ls -la'); subprocess.Popen(['ls'], shell=True)
        x = eval(s); exec(code, {}); __import__('os')
        q = "SELECT * FROM t WHERE a = '%s' OR b = '%s'" % (a, b)
        q2 = f"SELECT * FROM t WHERE a = '{a}' or b = '{b}' -- x"
        cls = type(self).__mro__[1]; self.__class__.__name__; globals()['x']; getattr(self, 'x')
        return '{{ x }}'.format()
`,
  "a log": `2026-11-16T08:00:00Z ERROR [main] o.a.c.c.C - Servlet.service() threw: java.lang.NullPointerException
\tat com.x.Y.z(Y.java:10)
psql: ERROR:  syntax error at or near "'" LINE 1: SELECT * FROM t WHERE a = 'x' OR ''='
127.0.0.1 - - [x] "GET /?q=1 HTTP/1.1" 200 12 "-" "Mozilla/5.0"`,
  "a Kubernetes manifest": `command: ["/bin/sh", "-c"]
args:
  - >
    apt-get update && apt-get install -y curl;
    while true; do nc -z db 5432 && break; sleep 1; done`,
  Perl: `my %h = map { $_ => 1 } @x; $s =~ s/'/\\\\'/g; print "it's $x" . "\\n"; my $o = \`ls\`; $r = qr/['"\`]/;`,
};

test.each(Object.entries(ORDINARY))("nothing is found in %s", (_, text) => {
  const found = relaxed.findAll(text);
  expect(found.map(({ pattern, start, end }) => `${pattern}: ${text.slice(start, end)}`)).toEqual([]);
});
