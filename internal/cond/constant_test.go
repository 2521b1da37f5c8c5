package cond_test

import (
	"testing"

	"sallyport/internal/cond"
)

func TestConstantExpressions(t *testing.T) {
	for source, want := range map[string]string{
		"false":                                 "false",
		"true":                                  "true",
		"not false":                             "true",
		"!(true)":                               "false",
		"1 == 2":                                "false",
		`"a" in ["a", "b"]`:                     "true",
		`tool in []`:                            "",
		`len("abc") > 2`:                        "true",
		`false and args.x == 1`:                 "false",
		`true or args.x.y`:                      "true",
		`tool == "Bash" and false`:              "false",
		`true and tool == "Bash"`:               "",
		`args.x > 1 and false`:                  "", // it may fail first, and then counts for a rule that denies
		`principal.name == "a" or true`:         "true",
		`tool == "Bash"`:                        "",
		`any(effects.runs, # startsWith "git")`: "",
		`any([1, 2], # > 1)`:                    "",
		`int("x") == 1`:                         "",
		`args.x`:                                "",
		`let x = true; x`:                       "",
	} {
		e, err := cond.Compile(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		got := ""
		if value, constant := e.Constant(); constant {
			got = map[bool]string{true: "true", false: "false"}[value]
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", source, got, want)
		}
	}
}
