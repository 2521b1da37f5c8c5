package cond

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number is a number that neither an int nor a float64 is without loss. It is compared by its value, and that is all that
// can be done with it.
type Number struct {
	text  string
	value decimal
	known bool // value is what it is worth; else it can be compared with nothing
}

// String returns the number as it was written.
func (n Number) String() string { return n.text }

// exact is where float64 begins to leave out whole numbers: 2^53.
const exact = 1 << 53

// ParseNumber returns what an expression of CompileNames makes of a number of JSON: an int for a whole number that fits into
// 64 bits, though with a fraction or an exponent only from 2^53 on; a float64 for what is less than 2^53 and has a fraction or
// an exponent; a Number for anything else, such as 12345678901234567890, 1e400 and 1e-400.
func ParseNumber(text string) any {
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return int(i)
	}
	value, known := decimalOf(text)
	if f, err := strconv.ParseFloat(text, 64); err == nil && math.Abs(f) < exact && strings.ContainsAny(text, ".eE") && (f != 0 || value.digits == "") {
		return f
	}
	if zeros := value.exponent; known && 0 <= zeros && zeros <= 19 {
		if i, err := strconv.ParseInt(value.sign()+value.digits+strings.Repeat("0", int(zeros)), 10, 64); err == nil {
			return int(i)
		}
	}
	return Number{text: text, value: value, known: known}
}

// decimal is a number as its digits, without zeros before and behind them, times a power of ten. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

func (d decimal) sign() string {
	if d.negative {
		return "-"
	}
	return ""
}

// maxExponent bounds the exponents with which can be calculated.
const maxExponent = 1 << 40

// decimalOf reads a number as JSON and Go write it. It fails for an exponent that is beyond all bounds, unless the number is
// zero.
func decimalOf(text string) (d decimal, ok bool) {
	text, d.negative = strings.CutPrefix(text, "-")
	exponent := "0"
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		text, exponent = text[:i], text[i+1:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(all, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	e, err := strconv.ParseInt(exponent, 10, 64)
	d.exponent = e - int64(len(fraction)) + int64(len(all)-len(d.digits))
	return d, err == nil && -maxExponent < e && e < maxExponent
}

// compare returns -1, 0 or 1.
func (d decimal) compare(other decimal) int {
	if d.direction() != other.direction() || d.digits == "" {
		return cmp.Compare(d.direction(), other.direction())
	}
	c := cmp.Or(
		cmp.Compare(d.exponent+int64(len(d.digits)), other.exponent+int64(len(other.digits))), // where the first digit stands
		strings.Compare(d.digits, other.digits),                                               // a prefix is less
	)
	return c * d.direction()
}

// direction returns -1, 0 or 1: on which side of zero the number is.
func (d decimal) direction() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

// compareNumbers compares two numbers by their values; ok is false where they cannot be compared.
func compareNumbers(a, b any) (order int, ok bool) {
	x, xIsInt := wholeNumber(a)
	y, yIsInt := wholeNumber(b)
	f, xIsFloat := a.(float64)
	g, yIsFloat := b.(float64)
	switch {
	case math.IsNaN(f) || math.IsInf(f, 0) || math.IsNaN(g) || math.IsInf(g, 0):
		return 0, false
	case xIsInt && yIsInt:
		return cmp.Compare(x, y), true
	case xIsFloat && yIsFloat:
		return cmp.Compare(f, g), true
	}
	d, known := valueOf(a)
	e, alsoKnown := valueOf(b)
	if !known || !alsoKnown {
		return 0, false
	}
	order = d.compare(e)
	return order, order == 0 || !(xIsFloat && blurs(f, b) || yIsFloat && blurs(g, a))
}

// blurs reports whether a float64, such as 9007199254740993.0 in an expression, could have been written for another number: it is
// from 2^53 on, and the nearest to it.
func blurs(f float64, other any) bool {
	nearest, _ := strconv.ParseFloat(fmt.Sprint(other), 64)
	return math.Abs(f) >= exact && nearest == f
}

func isNumber(v any) bool {
	switch v.(type) {
	case int, uint8, float64, Number:
		return true
	}
	return false
}

func wholeNumber(v any) (i int, ok bool) {
	switch v := v.(type) {
	case int:
		return v, true
	case uint8:
		return int(v), true
	}
	return 0, false
}

// valueOf returns what a number is worth. A float64 is worth the shortest text that stands for it.
func valueOf(v any) (d decimal, ok bool) {
	switch v := v.(type) {
	case Number:
		return v.value, v.known
	case float64:
		return decimalOf(strconv.FormatFloat(v, 'e', -1, 64))
	}
	i, _ := wholeNumber(v)
	return decimalOf(strconv.Itoa(i))
}
