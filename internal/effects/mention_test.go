package effects

import "testing"

// TestPathPatternInCodeThatOnlyNames holds what is a use of a path in code, and what only names it.
func TestPathPatternInCodeThatOnlyNames(t *testing.T) {
	tests := []struct {
		program, code string
		want          bool
	}{
		{"python3", `print(open(".env").read())`, true},
		{"python3", `p = Path(".env"); print(p.read_text())`, true},
		{"python3", `shutil.copy(".env", x)`, true},
		{"python3", `load_dotenv(".env")`, true},
		{"python3", `print(f"{open('.env').read()}")`, true},
		{"python3", `subprocess.run("cat .env", shell=True)`, true},
		{"python3", "import os\nos.system('''\ncat .env\n''')", true},
		{"python3", `for f in (".env", "x"): print(open(f).read())`, true},
		{"python3", `names = {".env"}` + "\nfor f in names: open(f)", true},
		{"python3", `open(".env", "w").write("x") # skip`, true},
		{"python3", `os.remove(".env")`, true},
		{"python3", "# opens .env\nopen('.env')", true},
		{"python3", `if f == ".env": print(open(f).read())`, true},
		{"python3", `skip = {".git", ".env"}` + "\nprint([f for f in os.listdir('.') if f not in skip])", false},
		{"python3", `names = [".git", ".env"]` + "\nprint([open(f) for f in os.listdir('.') if f not in names])", false},
		{"python3", `dirs[:] = [d for d in dirs if d not in ('.git', '.env')]; open(x)`, false},
		{"python3", `dirs.remove(".env"); open(x)`, false},
		{"python3", `if f != ".env": open(f)`, false},
		{"python3", `if ".env" in line: open(f)`, false},
		{"python3", "# reads .env.example, never .env\nprint(open('.env.example').read())", false},
		{"python3", "    # .env\nopen(x)", false},
		{"python3", `print("Copy .env.example to .env first"); open(x)`, false},
		{"python3", `print("Don't commit .env", file=open(x))`, false},
		{"python3", `s = s.replace("foo", "see .env for"); open(p, "w").write(s)`, false},
		{"python3", "open(p, 'w').write(\"\"\"\nCopy .env first.\n\"\"\")", false},
		{"python3", `requests.get("https://x.org/.env"); open(x)`, false},
		{"python3", `shutil.copytree(a, b, ignore=shutil.ignore_patterns(".env"))`, false},
		{"python3", `x = ".env"`, false},
		{"node", `console.log(fs.readFileSync(".env", "utf8"))`, true},
		{"node", "fs.readFileSync(`${dir}/.env`)", true},
		{"node", "console.log(`${fs.readFileSync('.env')}`)", true},
		{"node", `const skip = new Set([".git", ".env"]); fs.readdirSync(".")`, false},
		{"node", `fs.readdirSync(".").filter(f => ![".git", ".env"].includes(f))`, false},
		{"node", `fs.readdirSync(".").filter(f => f !== ".env")`, false},
		{"node", `console.log("see .env"); fs.readdirSync(".")`, false},
		{"node", "// .env\nfs.readdirSync('.')", false},
		{"ruby", `puts File.read(".env")`, true},
		{"ruby", "puts `cat .env`", true},
		{"ruby", `puts ".env".then { |f| File.read(f) }`, true},
		{"ruby", `puts "copy .env first"; File.read(x)`, false},
		{"perl", `open F, "<.env"; print <F>`, true},
		{"perl", `print "see .env\n"; open F, "x"`, false},
		{"sqlite3", `.read .env`, true},
		{"", `open(".env")`, true},
	}
	for _, test := range tests {
		w := pathWorld()
		w.disk = newDisk(0)
		w.learnCode([]Effect{{Kind: Run, Command: &Command{Words: []Word{{Text: test.program}}, Code: test.code}}})
		if got := mustParsePath(t, "**/.env").In(test.code, w); got != test.want {
			t.Errorf("%s: %s: got %v", test.program, test.code, got)
		}
	}
}

// FuzzMentions holds that code of any kind is looked at without a panic, and that what is opened by its name is found
// behind it.
func FuzzMentions(f *testing.F) {
	for _, code := range []string{"", `skip = {".env"}`, `print("x", ".env")`, `f"{open('.env')}"`, "'''\n.env", `x not in (".env"`, "a='.env'\\", `)]}".env"`} {
		f.Add(code)
	}
	p, err := ParsePath("**/.env")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, code string) {
		if len(code) > 10_000 {
			return
		}
		for _, program := range []string{"python3", "node", "ruby", "unknown"} {
			w := pathWorld()
			w.disk = newDisk(0)
			whole := code + "\nopen('.env')"
			w.learnCode([]Effect{{Kind: Run, Command: &Command{Words: []Word{{Text: program}}, Code: whole}}})
			p.In(code, w)
			if !p.In(whole, w) {
				t.Errorf("%s: %q", program, whole)
			}
		}
	})
}
