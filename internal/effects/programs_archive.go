package effects

// copiesOut judges what cpio reads: the files that its input names with -o and -p, and an archive else.
func copiesOut(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && (t.names == "o|create" || t.names == "p|pass-through") {
			return
		}
	}
	c.stdin = stdinData
}

// paxFiles judges the files that "pax -w" reads; without -w they are patterns of what is taken out of an archive.
func paxFiles(c *call) {
	for _, t := range c.tokens {
		if t.kind == optionToken && t.names == "w" {
			if len(c.operands) == 0 {
				c.stdin = stdinNames
			}
			return
		}
	}
	c.shape = "w*"
}
