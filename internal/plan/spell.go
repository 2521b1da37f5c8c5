package plan

import (
	"fmt"
	"strings"
)

// meant returns a hint at the known word that a misspelt one most likely means, or at all of them where none is near.
func meant(word string, known []string) string {
	best, least := "", max(len(word)/3, 1)+1
	for _, candidate := range known {
		if n := distance(strings.ToLower(word), candidate); n < least {
			best, least = candidate, n
		}
	}
	switch {
	case best != "":
		return fmt.Sprintf("did you mean %q?", best)
	case len(known) == 0:
		return ""
	}
	return "known here: " + strings.Join(known, ", ")
}

// distance returns how many letters must be inserted, removed or replaced, or swapped with the next one, to make b of a.
func distance(a, b string) int {
	var before []int             // the row before the last one
	row := make([]int, len(b)+1) // from the part of a that was read to each beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			if a[i] == b[j] {
				next[j+1] = row[j]
			} else {
				next[j+1] = 1 + min(row[j], row[j+1], next[j])
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], 1+before[j-1])
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}
