//go:build ignore

// Generate makes rules/secrets.json of the rule file of gitleaks, in which others keep what secrets look like.
//
//	go run generate.go VERSION gitleaks.toml
//
// VERSION is that of github.com/zricethezav/gitleaks/v8, in whose folder config the file is. Left out is what is for
// repositories: paths and commits.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

type allowlist struct {
	Regexes   []string `toml:"regexes" json:"regexes,omitempty"`
	StopWords []string `toml:"stopwords" json:"stopwords,omitempty"`
	Target    string   `toml:"regexTarget" json:"target,omitempty"`
	Condition string   `toml:"condition" json:"condition,omitempty"`
	Paths     []string `toml:"paths" json:"-"`
	Commits   []string `toml:"commits" json:"-"`
}

type rule struct {
	ID         string      `toml:"id" json:"id"`
	Regex      string      `toml:"regex" json:"regex"`
	Path       string      `toml:"path" json:"-"`
	Group      int         `toml:"secretGroup" json:"group,omitempty"`
	Entropy    float64     `toml:"entropy" json:"entropy,omitempty"`
	Keywords   []string    `toml:"keywords" json:"keywords"`
	Allowlists []allowlist `toml:"allowlists" json:"allow,omitempty"`
}

type file struct {
	Source string      `toml:"-" json:"source"`
	Allow  allowlist   `toml:"allowlist" json:"-"`
	Global []allowlist `toml:"-" json:"allow"`
	Rules  []rule      `toml:"rules" json:"rules"`
}

func main() {
	var f file
	if len(os.Args) != 3 {
		log.Fatal("name the version and the file")
	}
	if _, err := toml.DecodeFile(os.Args[2], &f); err != nil {
		log.Fatal(err)
	}
	f.Source = "github.com/zricethezav/gitleaks/v8 " + os.Args[1] + ", config/gitleaks.toml; MIT License, see LICENSE"
	f.Global = used([]allowlist{f.Allow})
	var kept []rule
	for _, r := range f.Rules {
		switch {
		case r.Regex == "" || r.Path != "":
			fmt.Fprintf(os.Stderr, "%s is left out: it is about a file's path\n", r.ID)
			continue
		case len(r.Keywords) == 0:
			log.Fatalf("%s has no keywords, by which it is decided whether it is tried", r.ID)
		}
		for i := range r.Keywords {
			r.Keywords[i] = strings.ToLower(r.Keywords[i])
		}
		r.Allowlists = used(r.Allowlists)
		kept = append(kept, r)
	}
	f.Rules = kept
	text, err := json.MarshalIndent(f, "", " ")
	if err == nil {
		err = os.WriteFile("rules/secrets.json", append(text, '\n'), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// used are the allowlists that are about texts. One that demands a path as well is not met by any.
func used(all []allowlist) []allowlist {
	return slices.DeleteFunc(all, func(a allowlist) bool {
		return len(a.Regexes)+len(a.StopWords) == 0 || a.Condition == "AND" && len(a.Paths)+len(a.Commits) > 0
	})
}
