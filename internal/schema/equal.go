package schema

import (
	"cmp"
	"slices"

	"sallyport/internal/canon"
)

// normal returns the one spelling that equal values share: 1 and 1.0 are equal, and so are objects whose members are in
// another order.
func normal(v canon.Value) string { return string(appendNormal(nil, v)) }

func appendNormal(dst []byte, v canon.Value) []byte {
	switch v.Kind() {
	case canon.Number:
		return parseDecimal(v.Bytes()).append(dst)
	case canon.String:
		text, _ := v.Text()
		return canon.AppendString(dst, text)
	case canon.Array:
		dst = append(dst, '[')
		for element := range v.Elements() {
			dst = append(appendNormal(dst, element), ',')
		}
		return append(dst, ']')
	case canon.Object:
		type member struct {
			key   string
			value canon.Value
		}
		var members []member
		for key, value := range v.Members() {
			members = append(members, member{key, value})
		}
		slices.SortFunc(members, func(a, b member) int { return cmp.Compare(a.key, b.key) })
		dst = append(dst, '{')
		for _, m := range members {
			dst = append(canon.AppendString(dst, m.key), ':')
			dst = append(appendNormal(dst, m.value), ',')
		}
		return append(dst, '}')
	default:
		return append(dst, v.Bytes()...)
	}
}
