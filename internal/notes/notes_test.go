package notes_test

import (
	"crypto/sha256"
	"encoding/hex"
)

func noteFile(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "notes/" + hex.EncodeToString(sum[:]) + ".json"
}
