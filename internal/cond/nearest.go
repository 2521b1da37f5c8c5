package cond

import (
	"fmt"
	"strings"
)

// didYouMean returns the hint for a word that is not known, "" where none of the known ones is near.
func didYouMean(word string, variables []variable, known ...[]string) string {
	var all []string
	for _, v := range variables {
		all = append(all, v.name)
	}
	for _, words := range known {
		all = append(all, words...)
	}
	if meant := Nearest(word, all); meant != "" {
		return fmt.Sprintf("did you mean %q?", meant)
	}
	return ""
}

// Nearest returns the known word that a misspelt one most likely means, or "" where none is near: at most a third of the
// word's letters may differ, and case does not count. It is for hints.
func Nearest(word string, known []string) string {
	best, least := "", max(len(word)/3, 1)+1
	for _, candidate := range known {
		if len(candidate) > 64 || len(word) > 64 {
			continue
		}
		if n := Distance(strings.ToLower(word), strings.ToLower(candidate)); n < least {
			best, least = candidate, n
		}
	}
	return best
}

// Distance returns how many letters must be inserted, removed or replaced, or swapped with the next one, to make b of a.
func Distance(a, b string) int {
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
