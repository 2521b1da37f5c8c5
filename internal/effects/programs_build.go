package effects

import "strings"

// buildPrograms are compilers, build systems and what checks or formats sources.
func buildPrograms(name string) (program, bool) {
	switch name {
	case "go":
		return program{options: "C=D", style: oneDash | stops, sub: goSubcommand}, true
	case "make", "bmake", "remake":
		return program{options: makeOptions, operands: "", style: names, more: makeVariables}, true
	case "ninja", "samu":
		return program{options: "C=D f=r j= k= l= t= d= w= n v", style: names}, true
	case "lerna":
		return program{style: names | dashed}, true
	case "just", "task", "mask", "invoke", "rake", "gulp", "grunt", "bazel", "bazelisk", "buck", "buck2", "pants",
		"mage", "scons", "waf", "ant", "mvn", "mvnw", "gradle", "gradlew", "sbt", "mill", "lein", "mix", "rebar3",
		"dotnet", "msbuild", "nx", "turbo", "rush", "cabal", "stack", "dune", "swiftpm", "xcodebuild",
		"flutter", "meson", "earthly", "dagger", "tox", "nox", "pre-commit", "lefthook", "husky", "act":
		return program{options: buildOptions(name), style: names, more: buildCommand}, true
	case "cmake":
		return program{options: cmakeOptions, operands: "r-*", more: cmakeCommand}, true
	case "gcc", "g++", "cc", "c++", "clang", "clang++", "cpp", "ld", "as", "tcc":
		return program{options: gccOptions, operands: "r*", style: oneDash, more: responseFiles}, true
	case "rustc":
		return program{options: rustcOptions, operands: "r*"}, true
	case "cargo":
		return program{options: cargoOptions, style: inherits | names, sub: cargoSubcommand, more: cargoToolchain}, true
	case "javac", "tsc", "swiftc", "zig", "esbuild", "rollup", "webpack", "vite", "parcel", "swc", "babel",
		"protoc", "buf":
		return program{options: javacOptions, operands: "r*", style: oneDash}, true
	case "java":
		return program{options: javaOptions, operands: "-a*", style: oneDash | stops}, true
	case "prettier", "black", "rustfmt", "clang-format", "autopep8", "yapf", "isort", "shfmt", "goimports", "gofumpt",
		"stylua", "terraform-fmt", "biome", "standard", "eslint", "ruff", "stylelint", "rubocop", "swiftlint",
		"ktlint", "golangci-lint":
		return program{options: prettierOptions, operands: "r*", more: formatter}, true
	case "pytest", "py.test", "jest", "vitest", "mocha", "ava", "phpunit", "rspec", "playwright", "cypress":
		return program{options: pytestOptions, operands: "r*"}, true
	case "gofmt":
		return program{}, false
	case "staticcheck", "mypy", "pyright", "pylint", "flake8", "shellcheck", "hadolint", "yamllint", "actionlint",
		"govulncheck", "gosec", "semgrep", "bandit", "trivy", "gitleaks":
		return program{options: staticcheckOptions, operands: "r*"}, true
	}
	return program{}, false
}

const makeOptions = "" +
	"C|directory=D f|file|makefile=r I|include-dir= o|old-file|assume-old= W|what-if|new-file|assume-new= j|jobs=? " +
	"l|load-average|max-load=? E|eval=c O|output-sync=? debug=? shuffle=? B|always-make e|environment-overrides " +
	"i|ignore-errors k|keep-going L n|just-print|dry-run|recon p|print-data-base q|question r R s|silent|quiet S " +
	"t|touch v|version w|print-directory no-print-directory warn-undefined-variables trace"

const cmakeOptions = "" +
	"S=r B=w D= G= T= A= C=r P=r:-* U= E:-* build=r install=r t|target= j|parallel=? config= preset= prefix= " +
	"toolchain=r graphviz=w W=? open="

const gccOptions = "" +
	"o=w I= L= l=? D= U= include=r x= std= isystem= idirafter= iquote= MF=w MT= MQ= Xlinker= Xassembler= " +
	"Xpreprocessor= Xclang= T=r u= z= e= arch= target= framework= isysroot= wrapper=s B= specs=r"

const rustcOptions = "" +
	"o=w out-dir=w L= l= C= A= W= D= F= cfg= crate-name= crate-type= edition= emit= print= target= extern= " +
	"remap-path-prefix= error-format= sysroot= Z= explain= g O test"

const cargoOptions = "" +
	"C=D config=c color= Z= manifest-path=r target-dir=w lockfile-path=r explain= v|verbose q|quiet locked offline " +
	"frozen list V|version"

const javacOptions = "" +
	"d=w o|outfile=w outdir|outDir=w c|config=r p|project=r classpath|cp= java_out=w go_out=w python_out=w " +
	"I|proto_path="

const javaOptions = "cp|classpath|class-path= jar=r:a* m|module=:a* p|module-path= javaagent:-* D=?"

const prettierOptions = "" +
	"w|write|fix|i|in-place|a|autocorrect|A|F^w c|config=r ignore-path=r parser= l list-different check diff d rule= " +
	"ext= f|format= o|output-file=w select= ignore= plugin= max-warnings= e|exec= line-length= target-version= " +
	"exclude= extend-exclude= s|simplify"

const pytestOptions = "" +
	"k= m= p= n|numprocesses= c|config|config-file=r rootdir=r confcutdir= o= W= " +
	"t|testNamePattern|testnamepattern|test-name-pattern|grep|g= junitxml=w junit-xml=w cov=? cov-report= " +
	"cov-config=r tb= maxfail= durations= ignore= deselect= timeout= r|require= reporter|reporters= e|example= " +
	"project= browser= f|format= x v q s"

const staticcheckOptions = "" +
	"c|config|config-file|rcfile=r f|format= e|exclude= s|severity|shell= checks= tests= ignore= select= " +
	"max-line-length= disable= enable= o|output=w report-path=w x"

// buildOptions are the options with values of build systems whose words are names of tasks.
func buildOptions(name string) string {
	switch name {
	case "just":
		return justOptions
	case "task":
		return "t|taskfile=r d|dir=D"
	case "mvn", "mvnw":
		return "f|file=r s|settings=r D= P= pl= rf= T="
	case "gradle", "gradlew":
		return gradleOptions
	case "rake":
		return "f|rakefile=r C=D e|execute=c I= r="
	case "ant":
		return "f|file|buildfile=r D="
	case "pre-commit":
		return "c|config=r files="
	case "stack", "cabal":
		return "stack-yaml=r"
	}
	return ""
}

const justOptions = "f|justfile=r d|working-directory=D shell= c|command set= dotenv-path=r command-args"

const gradleOptions = "p|project-dir=D b|build-file=r c|settings-file=r I|init-script=r P= D= x="

// goSubcommand is what is known of a subcommand of go 1.26.
func goSubcommand(name string) (string, program) {
	const build = goBuildOptions
	switch name {
	case "build", "install", "list", "get", "vet":
		return name, program{options: build + " f= vettool=s m u t deps test e find", style: oneDash | names}
	case "run":
		return name, program{options: build, operands: "ra*", style: oneDash | stops}
	case "test":
		return name, program{options: build + goTestOptions, style: oneDash | names}
	case "generate":
		return name, program{options: build + " run= skip=", operands: "r*", style: oneDash | names}
	case "tool":
		return name, program{options: "C=D n modfile= overlay=r", operands: "-r*", style: oneDash | stops}
	case "mod", "work":
		return name, program{style: oneDash | names | stops, sub: goModCommand}
	case "fmt", "fix", "doc", "env", "clean", "version", "bug", "telemetry", "help":
		p := program{options: goToolOptions, style: oneDash | names}
		if name == "env" {
			p.more = goEnv
		}
		return name, p
	}
	return "", program{}
}

const goBuildOptions = "" +
	"C=D o=w p= covermode= coverpkg= asmflags= buildmode= buildvcs= compiler= gccgoflags= gcflags= installsuffix= " +
	"ldflags= mod= modfile=w overlay=r pgo=r pkgdir= tags= toolexec=s exec=s a n race msan asan cover v work x json " +
	"linkshared modcacherw trimpath"

const goToolOptions = "C=D w u n x cache testcache modcache fuzzcache all c cmd short src m v json changed"

// goTestOptions are those of go test alone.
const goTestOptions = " run= skip= bench= benchtime= blockprofile=w blockprofilerate= coverprofile=w count= cpu= " +
	"cpuprofile=w fuzz= fuzztime= fuzzminimizetime= list= memprofile=w memprofilerate= mutexprofile=w " +
	"mutexprofilefraction= outputdir=w parallel= shuffle= timeout= trace=w vet= test.fuzzcachedir= test.run= c i short " +
	"failfast benchmem fullpath args:-*"

// goModCommand are the subcommands of "go mod" and "go work".
func goModCommand(name string) (string, program) {
	switch name {
	case "download", "edit", "graph", "init", "tidy", "vendor", "verify", "why", "use", "sync":
		return name, program{style: oneDash | names, options: "C=D o=w"}
	}
	return "", program{}
}

// goEnv judges "go env -w NAME=VALUE": some name programs.
func goEnv(c *call) {
	for _, w := range c.operands {
		if name, value, found := strings.Cut(w.Text, "="); found {
			switch name {
			case "CC", "CXX", "AR", "FC", "GCCGO", "PKG_CONFIG":
				c.use('s', Word{Text: value, Splits: w.Splits})
			case "GOFLAGS":
				if _, command, found := strings.Cut(value, "exec="); found {
					c.use('s', Word{Text: command, Splits: w.Splits})
				}
			}
		}
	}
}

// makeVariables judges variables of make that name programs, and a makefile from the standard input.
func makeVariables(c *call) {
	for _, w := range c.operands {
		name, value, found := strings.Cut(w.Text, "=")
		if !found {
			continue
		}
		c.assign(w)
		switch strings.TrimRight(name, ":?+") {
		case "SHELL", "RM", "AR", "LD", "INSTALL", "MAKE", "PYTHON", "GO":
			c.use('s', Word{Text: value, Splits: w.Splits})
		default:
			if strings.Contains(value, "$(shell ") || strings.Contains(value, "!=") {
				c.use('c', Word{Text: value, Splits: w.Splits})
			}
		}
	}
	for _, t := range c.tokens {
		switch {
		case t.kind != optionToken || !strings.HasPrefix(t.names, "f|"):
		case isStdin(t.value.Text):
			c.stdin = stdinCode
		default:
			c.scripts = append(c.scripts, t.value)
		}
	}
}

// cargoSubcommand is what is known of a subcommand of cargo 1.83.
func cargoSubcommand(name string) (string, program) {
	const common = cargoCommandOptions
	switch name {
	case "b":
		name = "build"
	case "c":
		name = "check"
	case "t":
		name = "test"
	case "r":
		name = "run"
	case "d":
		name = "doc"
	case "rm":
		name = "remove"
	}
	switch name {
	case "run", "bench", "test":
		return name, program{options: common, style: names, more: behindDashes}
	case "build", "check", "doc", "clean", "new", "init", "add", "remove", "update", "search", "publish", "install",
		"uninstall", "clippy", "fmt", "fix", "fetch", "generate-lockfile", "locate-project", "login", "logout",
		"metadata", "owner", "package", "pkgid", "report", "rustc", "rustdoc", "tree", "vendor", "verify-project",
		"yank", "version", "help", "nextest", "audit", "deny", "expand", "watch", "outdated", "edit", "make",
		"tarpaulin", "llvm-cov", "miri", "machete", "release", "binstall", "hack", "info", "leptos", "tauri",
		"zigbuild":
		p := program{options: common, style: names}
		if name == "watch" {
			p.options = "s|shell=s x|exec= w|watch= i|ignore= d|delay= " + common
			p.style |= dashed
		}
		return name, p
	}
	return "", program{}
}

const cargoCommandOptions = "" +
	"p|package= bin= example= test= bench= exclude= F|features= profile= target= j|jobs= message-format= root=w git=u " +
	"branch= tag= rev= path=r registry= index=u vers|version= name= vcs= edition= token= rename= e|edges= i|invert= " +
	"depth= format= filter-platform= allow-dirty dry-run n no-verify r|release workspace all lib bins examples tests " +
	"benches all-targets all-features no-default-features doc no-run no-fail-fast keep-going open dev build s g " +
	"f|force aggressive precise= recursive undo add= remove= list= "

// cargoToolchain starts "cargo run" behind "cargo +nightly run".
func cargoToolchain(c *call) {
	if len(c.operands) > 0 && strings.HasPrefix(c.operands[0].Text, "+") {
		c.startWords(append([]Word{c.words[0]}, c.words[c.places[0]+1:]...)...)
		c.shape = ""
	}
}

// formatter judges those that change the files that they are given without an option that says so.
func formatter(c *call) {
	switch c.program {
	case "black", "isort", "rustfmt", "yapf", "stylua":
		for _, t := range c.tokens {
			if t.kind == optionToken && (t.names == "check" || t.names == "diff" || t.names == "l") {
				return
			}
		}
		c.also += "w"
	case "ruff", "biome", "golangci-lint":
		if len(c.operands) > 0 && c.operands[0].Text == "format" {
			c.also += "w"
		}
	}
}
