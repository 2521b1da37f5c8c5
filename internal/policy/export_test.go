package policy

import "bytes"

// StarterJSON is the embedded form of the starter pack.
var StarterJSON = bytes.TrimSpace(starterJSON)
