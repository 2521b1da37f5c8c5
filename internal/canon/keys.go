package canon

import (
	"bytes"
	"hash/maphash"
	"math/bits"
)

// A key is an entry of scanner.keys. Before those of each object stands one that holds the base of the object round it.
type key struct {
	hash uint64 // of the unescaped key
	at   int    // where its opening quote is in the text, or a base
}

// pairwise is up to how many keys each is compared with those before it; more are looked up in a table.
const pairwise = 16

// checkKeys refuses the first of keys that is there already.
func (s *scanner) checkKeys(keys []key) {
	if len(keys) > pairwise {
		s.checkManyKeys(keys)
		return
	}
	for i, k := range keys {
		for _, earlier := range keys[:i] {
			if s.sameKey(k, earlier) {
				s.refuse(Duplicate, k.at)
				return
			}
		}
	}
}

func (s *scanner) checkManyKeys(keys []key) {
	// An open hash table at most half full; an entry is the index of a key plus one.
	table := make([]uint32, 1<<bits.Len(uint(2*len(keys))))
	mask := uint64(len(table) - 1)
	for i, k := range keys {
		slot := k.hash & mask
		for ; table[slot] != 0; slot = (slot + 1) & mask {
			if s.sameKey(k, keys[table[slot]-1]) {
				s.refuse(Duplicate, k.at)
				return
			}
		}
		table[slot] = uint32(i + 1)
	}
}

func (s *scanner) sameKey(a, b key) bool {
	return a.hash == b.hash && compareKeys(keyAt(s.text, a.at), keyAt(s.text, b.at)) == 0
}

// keyAt returns the checked key whose opening quote is at i as it stands, without its quotes.
func keyAt(text []byte, i int) []byte { return text[i+1 : skipString(text, i)-1] }

// seed makes the hashes of keys unpredictable, so that no text can be made to collide.
var seed = maphash.MakeSeed()

func hashKey(raw []byte) uint64 {
	if bytes.IndexByte(raw, '\\') < 0 {
		return maphash.Bytes(seed, raw)
	}
	var buf [64]byte
	return maphash.Bytes(seed, unescape(buf[:0], raw))
}

// ascending reports whether key b, unescaped, comes after key a. Both are checked and without their quotes.
func ascending(a, b []byte) bool {
	if len(a) > 0 && len(b) > 0 && a[0] != b[0] && a[0] != '\\' && b[0] != '\\' {
		return a[0] < b[0]
	}
	return compareKeys(a, b) < 0
}

// compareKeys orders two checked keys, given without their quotes, by what they are when unescaped.
func compareKeys(a, b []byte) int {
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return bytes.Compare(a, b)
	}
	var bufA, bufB [64]byte
	return bytes.Compare(unescape(bufA[:0], a), unescape(bufB[:0], b))
}
