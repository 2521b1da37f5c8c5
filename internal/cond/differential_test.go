package cond

import (
	"testing"
)

// TestGeneratedExpressionsAreAsInExprLang compares what was generated with what the module makes of it.
func TestGeneratedExpressionsAreAsInExprLang(t *testing.T) {
	var all tally
	for seed := range uint64(4000) {
		source := generate(seed)
		one := compare(t, source)
		all.refused += one.refused
		all.failed += one.failed
		all.values += one.values
		compare(t, garble(source, []byte{byte(seed), byte(seed >> 3), byte(seed >> 5)}))
	}
	t.Logf("%d refused, %d failed, %d gave a value", all.refused, all.failed, all.values)
	if all.refused < 500 || all.failed < 500 || all.values < 2000 {
		t.Errorf("the generator has become one-sided: %+v", all)
	}
}

// FuzzAgainstExprLang compares what is generated, and what is near to it, with what the module makes of it.
func FuzzAgainstExprLang(f *testing.F) {
	for seed := range uint64(50) {
		f.Add(generate(seed), seed)
	}
	f.Fuzz(func(t *testing.T, source string, seed uint64) {
		compare(t, source)
		made := generate(seed)
		compare(t, made)
		compare(t, garble(made, []byte(source)))
	})
}
