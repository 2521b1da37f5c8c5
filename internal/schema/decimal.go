package schema

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
)

// decimal is a JSON number, exact: 0.DIGITS times ten to the power of exp.
type decimal struct {
	negative bool
	digits   string // neither begins nor ends with 0; "" is the number 0
	exp      int
}

// farExponent stands for any exponent that is farther from zero.
const farExponent = 1 << 40

// parseDecimal reads a number that canon has checked.
func parseDecimal(raw []byte) decimal {
	var d decimal
	if raw[0] == '-' {
		d.negative, raw = true, raw[1:]
	}
	if i := bytes.IndexAny(raw, "eE"); i >= 0 {
		d.exp = exponent(string(raw[i+1:]))
		raw = raw[:i]
	}
	whole, fraction, _ := bytes.Cut(raw, []byte("."))
	d.digits = string(whole) + string(fraction)
	d.exp += len(whole)
	short := strings.TrimLeft(d.digits, "0")
	d.exp -= len(d.digits) - len(short)
	if d.digits = strings.TrimRight(short, "0"); d.digits == "" {
		return decimal{}
	}
	return d
}

func exponent(text string) int {
	n, err := strconv.Atoi(text)
	switch {
	case err != nil && strings.HasPrefix(text, "-"), n < -farExponent:
		return -farExponent
	case err != nil, n > farExponent:
		return farExponent
	}
	return n
}

// compare is negative, zero or positive as d is less than, equal to or greater than o.
func (d decimal) compare(o decimal) int {
	if a, b := d.sign(), o.sign(); a != b || a == 0 {
		return a - b
	}
	order := d.exp - o.exp
	if order == 0 {
		order = strings.Compare(d.digits, o.digits)
	}
	if d.negative {
		return -order
	}
	return order
}

func (d decimal) sign() int {
	switch {
	case d.digits == "":
		return 0
	case d.negative:
		return -1
	}
	return 1
}

func (d decimal) integer() bool { return d.exp >= len(d.digits) }

// multipleOf reports whether d is an integral multiple of a positive number.
func (d decimal) multipleOf(unit decimal) bool {
	if d.digits == "" {
		return true
	}
	shift := (d.exp - len(d.digits)) - (unit.exp - len(unit.digits))
	if shift < 0 { // the digits of d would have to end with a 0
		return false
	}
	a, okA := new(big.Int).SetString(d.digits, 10)
	b, okB := new(big.Int).SetString(unit.digits, 10)
	if !okA || !okB {
		return false
	}
	power := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(shift)), b)
	return a.Mod(a.Mul(a, power), b).Sign() == 0
}

// count returns the non-negative integer that d is, or the largest int where it is larger.
func (d decimal) count() (n int, ok bool) {
	const most = int(^uint(0) >> 1)
	switch {
	case d.negative || !d.integer():
		return 0, false
	case d.digits == "":
		return 0, true
	case d.exp > 18:
		return most, true
	}
	n, err := strconv.Atoi(d.digits + strings.Repeat("0", d.exp-len(d.digits)))
	return n, err == nil
}

// tooLarge reports whether a number has no finite float and is not written as an integer: other readers would take it for
// infinity, or not at all.
func tooLarge(raw []byte, d decimal) bool {
	if d.exp < 309 || !bytes.ContainsAny(raw, ".eE") {
		return false
	}
	_, err := strconv.ParseFloat(string(raw), 64)
	return err != nil
}

// append appends the one spelling that equal numbers share.
func (d decimal) append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	dst = append(dst, d.digits...)
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, int64(d.exp), 10)
}
