package pretool

import (
	"bytes"
	"strings"

	"sallyport/internal/canon"
)

// maxLines is how many lines a file may have that is read as a whole.
const maxLines = 500

// hints returns what a call could do better. It is no reason to block it.
func hints(tool string, input canon.Value) []string {
	switch tool {
	case "Grep":
		return hintGrep(input)
	case "Read":
		return hintRead(input)
	}
	return nil
}

// hintGrep returns a hint if a Grep does not bound its output.
func hintGrep(input canon.Value) []string {
	if isGiven(input.Get("head_limit")) {
		return nil
	}
	return []string{"Grep without head_limit: add head_limit, such as 100, to bound its output"}
}

// hintRead returns a hint if a Read takes the whole of a long file.
func hintRead(input canon.Value) []string {
	if isGiven(input.Get("offset")) || isGiven(input.Get("limit")) {
		return nil
	}
	name, _ := input.Get("file_path").Text()
	if name = clean(name); name == "" || len(name) > maxPath || !hasMoreLines(name, maxLines) {
		return nil
	}
	return []string{"Read of a file over 500 lines without offset or limit: add offset and limit"}
}

// hasMoreLines reports whether a regular file has more than n lines. It reads no further than that.
func hasMoreLines(name string, n int) bool {
	f, err := openRegular(name)
	if err != nil {
		return false
	}
	defer f.Close()
	buf := make([]byte, 32<<10)
	for {
		read, err := f.Read(buf)
		for rest := buf[:read]; len(rest) > 0; {
			if n == 0 {
				return true // this is a byte of the line after
			}
			end := bytes.IndexByte(rest, '\n')
			if end < 0 {
				break
			}
			rest = rest[end+1:]
			n--
		}
		if err != nil {
			return false
		}
	}
}

// clean returns a name as it is compared: NULs are removed first, so that they cannot hide white space, then the white
// space round it.
func clean(name string) string {
	return strings.TrimSpace(strings.ReplaceAll(name, "\x00", ""))
}
