package effects

import "testing"

func TestRunPatternInCode(t *testing.T) {
	for _, test := range codeTests {
		p, err := ParseRun(test.pattern)
		if err != nil {
			t.Fatal(err)
		}
		c := &Command{Words: []Word{{Text: test.program}, {Text: "-c"}, {Text: test.code}}, Code: test.code}
		if got := p.Match(c); got != test.want {
			t.Errorf("%s: %q in %q: %v, want %v", test.program, test.pattern, test.code, got, test.want)
		}
	}
}

var codeTests = []struct {
	program, code, pattern string
	want                   Match
}{
	{"python3", `import os; os.system("rm -rf x")`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run(["rm", "-rf", "x"])`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run(["rm", "-r", "-f", x])`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run(["/bin/rm", "--recursive", "--force", x])`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run("rm x -rf", shell=True)`, "rm -r -f *", Maybe},
	{"python3", `opts = "-rf"; os.system("rm " + opts + " x")`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run(["rm", path, "-rf"])`, "rm -r -f *", Maybe},
	{"python3", `subprocess.run(["rm", path])`, "rm -r -f *", No},
	{"python3", `subprocess.run(["rm", "-f", "x"])`, "rm -r -f *", No},
	{"python3", `os.system("rm -r x && ls -f")`, "rm -r -f *", No},
	{"python3", `print("the form")`, "rm -r -f *", No},
	{"python3", `os.remove(x)`, "rm -r -f *", No},
	{"python3", `os.system("form -rf")`, "rm -r -f *", No},
	{"python3", `subprocess.run(["ls"])`, "rm -r -f *", No},
	{"python3", `print("rm -rf x")`, "rm -r -f *", No},
	{"python3", `print(1)`, "curl *", No},
	{"python3", `subprocess.run(["git", "commit", "-m", "x"])`, "git commit *", Maybe},
	{"python3", "subprocess.run([\n  'git',\n  'commit',\n])", "git commit *", Maybe},
	{"python3", `subprocess.run(["git", "-C", path, "commit"])`, "git commit *", Maybe},
	{"python3", `subprocess.run(["git", sub]); sub = "commit"`, "git commit *", Maybe},
	{"python3", `subprocess.run(["git", *args]); args = ["commit"]`, "git commit *", Maybe},
	{"python3", `os.system(f"git {sub}"); sub = "commit"`, "git commit *", Maybe},
	{"python3", `os.system("git %s" % "commit")`, "git commit *", Maybe},
	{"python3", `os.system("git " + "commit")`, "git commit *", Maybe},
	{"python3", `subprocess.check_output(["git", "rev-parse", "HEAD"]); print("commit")`, "git commit *", No},
	{"python3", `subprocess.run(["git", "log", "--format=%H"]); commit = 1`, "git commit *", No},
	{"python3", `os.system("git push origin main --force")`, "git push --force *", Maybe},
	{"python3", `os.system("curl http://x")`, "curl *", Maybe},
	{"python3", `os.popen("cd x && curl y")`, "curl *", Maybe},
	{"python3", `print("use curl")`, "curl *", No},
	{"python3", `import pycurl; os.system("ls")`, "curl *", No},
	{"python3", `os.system("ls https://curl.se")`, "curl *", No},
	{"python3", `from sh import curl; curl("x")`, "curl *", Maybe},
	{"python3", `__import__("os").system("yarn")`, "yarn", Maybe},
	{"python3", `os.execvp("yarn", ["yarn"])`, "yarn", Maybe},
	{"python3", `json.load(f)["scripts"]["yarn"]`, "yarn", No},
	{"python3", `os.system("npm publish")`, "npm publish *", Maybe},
	{"python3", `os.system("npm run publish")`, "npm publish *", No},
	{"node", `require("child_process").execSync("rm -rf x")`, "rm -r -f *", Maybe},
	{"node", `spawnSync("git", ["commit", "-m", "x"])`, "git commit *", Maybe},
	{"node", `execSync('git push --force')`, "git push --force *", Maybe},
	{"node", `fs.rm(p, {recursive: true, force: true})`, "rm -r -f *", No},
	{"node", `console.log(require("./package.json").scripts.publish, "npm")`, "npm publish *", No},
	{"node", "console.log(`curl ${x}`)", "curl *", No},
	{"deno", `new Deno.Command("rm", {args: ["-rf", "x"]})`, "rm -r -f *", Maybe},
	{"ruby", "puts `curl x`", "curl *", Maybe},
	{"ruby", `system "rm", "-rf", "x"`, "rm -r -f *", Maybe},
	{"ruby", `puts "curl"`, "curl *", No},
	{"perl", `system("git commit")`, "git commit *", Maybe},
	{"perl", `print qx(curl x)`, "curl *", Maybe},
	{"perl", `open(F, "curl x|")`, "curl *", Maybe},
	{"perl", `print if /curl|wget/`, "curl *", No},
	{"perl", `s/rm -rf/trash/g`, "rm -r -f *", No},
	{"php", `shell_exec("curl x");`, "curl *", Maybe},
	{"lua", `os.execute("rm -rf x")`, "rm -r -f *", Maybe},
	{"awk", `{cmd="rm -rf " $1; system(cmd)}`, "rm -r -f *", Maybe},
	{"crontab", "* * * * * rm -rf x", "rm -r -f *", Maybe},
	{"powershell", "git push --force", "git push --force *", Maybe},
	{"psql", `select 'curl'`, "curl *", No},
	{"psql", `\! curl x`, "curl *", Maybe},
	{"sqlite3", ".shell curl x", "curl *", Maybe},
	{"sqlite3", "select * from curl", "curl *", No},
	{"vim", `call system("rm -rf x")`, "rm -r -f *", Maybe},
	{"osascript", `do shell script "curl x"`, "curl *", Maybe},
	{"python3", `os.system("deploy-tool prod")`, "deploy-tool prod *", Maybe},
	{"python3", `os.system("deploy-tool dev")`, "deploy-tool prod *", No},
	{"python3", `os.system("docker compose down")`, "docker compose down *", Maybe},
}
