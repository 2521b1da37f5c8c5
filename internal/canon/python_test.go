package canon_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"math"
	"math/rand/v2"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"sallyport/internal/canon"
)

// TestCanonicalAgreesWithPython spells many generated texts, and damaged ones, here and in Python.
func TestCanonicalAgreesWithPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 here to compare with")
	}
	g := generator{rand.New(rand.NewPCG(1, 2))}
	texts := make([][]byte, 0, 20_000)
	for len(texts) < cap(texts) {
		text := g.value(nil, 4)
		texts = append(texts, text, g.damage(text))
	}
	for range 10_000 {
		texts = append(texts, g.number(nil))
	}
	var in bytes.Buffer
	for _, text := range texts {
		fmt.Fprintf(&in, "%x\n", text)
	}
	command := exec.Command(python, "testdata/python.py")
	command.Stdin = &in
	out, err := command.Output()
	if err != nil {
		t.Fatalf("running python3: %v", err)
	}
	answers := strings.Split(strings.TrimSuffix(string(out), "\n"), "\n")
	if len(answers) != len(texts) {
		t.Fatalf("python3 gave %d answers to %d texts", len(answers), len(texts))
	}
	taken := 0
	for i, text := range texts {
		canonical, err := canon.Canonical(text)
		switch answer := strings.TrimSuffix(answers[i], "\r"); {
		case err != nil && strings.HasPrefix(answer, "refused"):
		case err == nil && hex.EncodeToString(canonical) == answer:
			taken++
			checkAgreement(t, text)
			checkAgreement(t, canonical)
		default:
			spelt, _ := hex.DecodeString(answer)
			t.Errorf("Canonical(%q) = %q, %v\nPython: %q (%s)", text, canonical, err, spelt, answer)
		}
	}
	if refused := len(texts) - taken; taken < len(texts)/2 || refused < len(texts)/20 {
		t.Errorf("of %d texts %d are taken and %d refused: the generator is out of balance", len(texts), taken, refused)
	}
}

// generator makes JSON texts: seldom canonical, mostly such as we take.
type generator struct{ *rand.Rand }

func (g generator) value(dst []byte, depth int) []byte {
	kinds := 8
	if depth == 0 {
		kinds = 5
	}
	switch g.IntN(kinds) {
	case 0:
		return append(dst, []string{"null", "true", "false"}[g.IntN(3)]...)
	case 1, 2:
		return g.number(dst)
	case 3, 4:
		return g.string(dst, g.text())
	case 5:
		dst = g.space(append(dst, '['))
		for i := range g.IntN(5) {
			if i > 0 {
				dst = g.space(append(dst, ','))
			}
			dst = g.space(g.value(dst, depth-1))
		}
		return append(dst, ']')
	default:
		return g.object(dst, depth)
	}
}

func (g generator) object(dst []byte, depth int) []byte {
	dst = g.space(append(dst, '{'))
	seen := make(map[string]bool)
	members := g.IntN(5)
	if g.IntN(20) == 0 {
		members = 10 + g.IntN(30)
	}
	for range members {
		key := g.text()
		if seen[key] && g.IntN(50) > 0 {
			continue
		}
		if len(seen) > 0 {
			dst = g.space(append(dst, ','))
		}
		seen[key] = true
		dst = g.space(g.string(dst, key))
		dst = g.space(append(dst, ':'))
		dst = g.space(g.value(dst, depth-1))
	}
	return append(dst, '}')
}

func (g generator) space(dst []byte) []byte {
	for g.IntN(6) == 0 {
		dst = append(dst, " \t\r\n"[g.IntN(4)])
	}
	return dst
}

func (g generator) number(dst []byte) []byte {
	switch g.IntN(8) {
	case 0:
		return strconv.AppendInt(dst, int64(g.IntN(21)-10), 10)
	case 1:
		return strconv.AppendInt(dst, int64(g.Uint64()), 10)
	case 2: // long integers
		dst = append(dst, "-"[:g.IntN(2)]...)
		dst = append(dst, byte('1'+g.IntN(9)))
		for range g.IntN(60) {
			dst = append(dst, byte('0'+g.IntN(10)))
		}
		return dst
	case 3: // any float at all, in digits enough
		f := math.Float64frombits(g.Uint64())
		if math.IsNaN(f) || math.IsInf(f, 0) {
			f = math.MaxFloat64
		}
		return strconv.AppendFloat(dst, f, "eEf"[g.IntN(3)], -1+g.IntN(2)*25, 64)
	case 4: // powers of two and their neighbours, where the shortest spelling is hardest
		f := math.Ldexp(1, g.IntN(2098)-1074)
		f = math.Nextafter(f, []float64{0, f, math.MaxFloat64}[g.IntN(3)])
		return strconv.AppendFloat(dst, f, 'g', 17, 64)
	case 5: // round numbers about the ends of the forms without exponent
		f := float64(1+g.IntN(99)) * math.Pow10(g.IntN(30)-10)
		return strconv.AppendFloat(dst, f, "eEf"[g.IntN(3)], g.IntN(20), 64)
	case 6: // past the largest and the smallest float
		return fmt.Appendf(dst, "-%d.%de%d", g.IntN(10), g.IntN(1000), g.IntN(700)-350)
	default:
		return fmt.Appendf(dst, "%d.%d", g.IntN(1e6), g.IntN(1e6))
	}
}

func (g generator) text() string {
	const awkward = "\x00\x01\b\t\n\f\r\x1f\"\\/\x7f\u0080é\u2028\ud7ff\ue000\ufeff\uffff😀\U0010FFFF"
	var text []rune
	for range g.IntN(20) {
		if g.IntN(5) == 0 {
			runes := []rune(awkward)
			text = append(text, runes[g.IntN(len(runes))])
		} else {
			text = append(text, rune(' '+g.IntN(95)))
		}
	}
	return string(text[:g.IntN(len(text)+1)])
}

// string spells a string with more escapes than it needs.
func (g generator) string(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case g.IntN(10) == 0 && r > 0xFFFF:
			dst = fmt.Appendf(dst, `\u%04x\u%04X`, 0xD800+(r-0x10000)>>10, 0xDC00+(r-0x10000)&0x3FF)
		case g.IntN(10) == 0 && r <= 0xFFFF:
			dst = fmt.Appendf(dst, `\u%04x`, r)
		case r == '/' && g.IntN(2) == 0:
			dst = append(dst, `\/`...)
		default:
			spelt := canon.AppendString(nil, string(r))
			dst = append(dst, spelt[1:len(spelt)-1]...)
		}
	}
	if g.IntN(300) == 0 {
		dst = fmt.Appendf(dst, `\ud8%02x`, g.IntN(256))
	}
	return append(dst, '"')
}

// damage changes a text a little, so that most often it is refused.
func (g generator) damage(text []byte) []byte {
	text = append([]byte(nil), text...)
	for range 1 + g.IntN(3) {
		at := g.IntN(len(text))
		switch g.IntN(4) {
		case 0:
			text[at] = byte(g.Uint32())
		case 1:
			text[at] = "{}[]:,\"\\0-.eE+ tu\n"[g.IntN(18)]
		case 2:
			text = append(text[:at:at], text[min(at+1+g.IntN(4), len(text)):]...)
		default:
			text = append(append(text[:at:at], text[g.IntN(len(text)):]...), text[at:]...)
		}
		if len(text) == 0 {
			return []byte(" ")
		}
	}
	return text
}
