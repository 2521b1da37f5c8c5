package policy

import _ "embed" // for the starter pack

// starterJSON is the starter pack as it is parsed; TestStarterIsItsText holds it to the text.
//
//go:embed starter.json
var starterJSON []byte

//go:embed starter.yaml
var starterText []byte

// StarterPack returns the rules that apply where no file says "starter: off".
func StarterPack() *Policy {
	d := document{name: "starter", text: starterJSON, lazy: true}
	p, err := d.parse(starterJSON)
	if err != nil {
		return nil // denies everything; a test keeps it from happening
	}
	return p
}

// StarterText returns the rules of the starter pack as a commented file.
func StarterText() []byte { return starterText }
