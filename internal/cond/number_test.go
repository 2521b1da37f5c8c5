package cond

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
)

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]string{
		"0": "int 0", "-0": "int 0", "7": "int 7", "-9223372036854775808": "int -9223372036854775808", "9223372036854775807": "int 9223372036854775807",
		"1.0": "float64 1", "-0.0": "float64 -0", "0.1": "float64 0.1", "1e3": "float64 1000", "1.5E-3": "float64 0.0015", "0e99999999999999999999": "float64 0", "9007199254740991.5": "cond.Number 9007199254740991.5",
		"9007199254740992.0": "int 9007199254740992", "9007199254740993.0": "int 9007199254740993", "9.007199254740993e15": "int 9007199254740993", "1e18": "int 1000000000000000000", "-9223372036854775808.000": "int -9223372036854775808",
		"1e19": "cond.Number 1e19", "9223372036854775808": "cond.Number 9223372036854775808", "1e400": "cond.Number 1e400", "-1e400": "cond.Number -1e400", "1e-400": "cond.Number 1e-400",
		"1e99999999999999999999": "cond.Number 1e99999999999999999999", "1e-99999999999999999999": "cond.Number 1e-99999999999999999999",
	} {
		if got := ParseNumber(text); fmt.Sprintf("%T %v", got, got) != want {
			t.Errorf("%s: got %T %v, want %s", text, got, got, want)
		}
	}
}

// TestAFloatThatIsNoLongerExact: nobody can tell which number was meant.
func TestAFloatThatIsNoLongerExact(t *testing.T) {
	for _, tc := range []struct {
		number string
		float  float64
		order  int
		ok     bool
	}{
		{"9007199254740993", 9007199254740992, 1, false},
		{"9007199254740992", 9007199254740992, 0, true},
		{"9007199254740995", 9007199254740992, 1, true},
		{"9223372036854775808", 9223372036854775808, -1, false},
		{"1e300", 1e300, 0, true},
		{"1e301", 1e300, 1, true},
		{"1e400", 1e300, 1, true},
		{"1e-400", 0, 1, true},
		{"9007199254740991.5", 9007199254740991, 1, true},
	} {
		order, ok := compareNumbers(ParseNumber(tc.number), tc.float)
		if order != tc.order || ok != tc.ok {
			t.Errorf("%s and %v: got %d, %v", tc.number, tc.float, order, ok)
		}
		if back, alsoOK := compareNumbers(tc.float, ParseNumber(tc.number)); back != -order || alsoOK != ok {
			t.Errorf("%v and %s: got %d, %v", tc.float, tc.number, back, alsoOK)
		}
	}
}

// randomNumber writes a number of JSON. Many are near to each other, and near to where types end.
func randomNumber(random *rand.Rand) string {
	pick := func(from ...string) string { return from[random.IntN(len(from))] }
	text := pick("", "-") + pick("0", "1", "10", "5", "9007199254740991", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808", "18446744073709551616", strconv.FormatUint(random.Uint64(), 10),
		"1"+strings.Repeat("0", random.IntN(320)))
	text += pick("", "", ".0", ".5", ".000", ".25", "."+strconv.FormatUint(random.Uint64(), 10))
	return text + pick("", "", "", "e0", "E+1", "e-1", "e15", "e-15", "e300", "e-300", "e400", "e-400")
}

// TestNumbersAreComparedByTheirValues holds the comparison to that of fractions. Of a float64 it is the double that counts.
func TestNumbersAreComparedByTheirValues(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	worth := func(text string) *big.Rat {
		if f, ok := ParseNumber(text).(float64); ok {
			text = strconv.FormatFloat(f, 'e', -1, 64)
		}
		r, ok := new(big.Rat).SetString(text)
		if !ok {
			t.Fatalf("%s is no number", text)
		}
		return r
	}
	equal, kinds := 0, map[string]int{}
	for range 20_000 {
		a, b := randomNumber(random), randomNumber(random)
		x, y := ParseNumber(a), ParseNumber(b)
		kinds[fmt.Sprintf("%T %T", x, y)]++
		want := worth(a).Cmp(worth(b))
		if want == 0 {
			equal++
		}
		order, ok := compareNumbers(x, y)
		if !ok || order != want {
			t.Errorf("%s and %s: got %d, %v, want %d", a, b, order, ok, want)
		}
		if back, ok := compareNumbers(y, x); !ok || back != -order {
			t.Errorf("%s and %s: got %d one way and %d the other", a, b, order, back)
		}
	}
	if equal < 50 || len(kinds) != 9 {
		t.Errorf("one-sided: %d equal, %v", equal, kinds)
	}
}
