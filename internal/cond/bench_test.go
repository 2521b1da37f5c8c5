package cond

import (
	"testing"
)

// conditions are some that a policy could have.
func conditions() []string {
	return []string{
		`principal.tenant == args.tenant`,
		`tool in ["Bash", "Monitor"] and any(effects.runs, # startsWith "terraform ")`,
		`none(effects.writes, # startsWith workspace + "/vendor/")`,
		`args.s matches "^h.*o$" and args.n > 3 or args.l[0] == 1`,
	}
}

// BenchmarkCompile also has the time that the module takes for the same, its settings made before.
func BenchmarkCompile(b *testing.B) {
	b.Run("own", func(b *testing.B) {
		for b.Loop() {
			for _, source := range conditions() {
				if _, err := Compile(source); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("module", func(b *testing.B) {
		for b.Loop() {
			for _, source := range conditions() {
				if _, err := reference(source, true); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkEval also has the time that the module takes for the same.
func BenchmarkEval(b *testing.B) {
	call := sampleCalls()[0]
	for _, source := range conditions() {
		e, err := Compile(source)
		if err != nil {
			b.Fatal(err)
		}
		program, err := reference(source, true)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("own", func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Eval(call); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("module", func(b *testing.B) {
			for b.Loop() {
				if _, err := evaluate(program, call); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
