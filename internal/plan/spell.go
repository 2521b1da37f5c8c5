package plan

import (
	"fmt"
	"strings"

	"sallyport/internal/cond"
)

// meant returns a hint at the known word that a misspelt one most likely means, or at all of them where none is near.
func meant(word string, known []string) string {
	if best := cond.Nearest(word, known); best != "" {
		return fmt.Sprintf("did you mean %q?", best)
	}
	if len(known) == 0 {
		return ""
	}
	return "known here: " + strings.Join(known, ", ")
}
