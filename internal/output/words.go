package output

// words finds many words in a text at once (Aho and Corasick, 1975), in time that does not depend on how many they are.
// Letters of ASCII are found in either case.
type words struct {
	class [256]uint8 // of each byte; 0 is for those that are in no word
	width int        // how many classes there are
	next  []int32    // the state after a byte, by state*width + class
	ends  [][]int32  // the words that end in a state
}

// newWords returns what finds the words, which are in small letters.
func newWords(list []string) *words {
	w := &words{width: 1}
	for _, word := range list {
		for i := range len(word) {
			c := word[i]
			if w.class[c] != 0 {
				continue
			}
			w.class[c] = uint8(w.width)
			if 'a' <= c && c <= 'z' {
				w.class[c-'a'+'A'] = uint8(w.width)
			}
			w.width++
		}
	}
	w.addState()
	for i, word := range list {
		state := int32(0)
		for j := range len(word) {
			at := int(state)*w.width + int(w.class[word[j]])
			if w.next[at] == 0 {
				w.next[at] = w.addState()
			}
			state = w.next[at]
		}
		w.ends[state] = append(w.ends[state], int32(i))
	}
	w.link()
	return w
}

func (w *words) addState() int32 {
	w.next = append(w.next, make([]int32, w.width)...)
	w.ends = append(w.ends, nil)
	return int32(len(w.ends) - 1)
}

// link gives each state, breadth first, the ways of the longest other state that is its end.
func (w *words) link() {
	fail := make([]int32, len(w.ends))
	var queue []int32
	for _, state := range w.next[:w.width] {
		if state != 0 {
			queue = append(queue, state)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		w.ends[state] = append(w.ends[state], w.ends[fail[state]]...)
		for class := range w.width {
			at, other := int(state)*w.width+class, w.next[int(fail[state])*w.width+class]
			if child := w.next[at]; child != 0 {
				fail[child] = other
				queue = append(queue, child)
			} else {
				w.next[at] = other
			}
		}
	}
}

// find tells each word that is found, by its index, and where it ends.
func (w *words) find(text string, found func(word, end int)) {
	state := int32(0)
	for i := range len(text) {
		state = w.next[int(state)*w.width+int(w.class[text[i]])]
		for _, word := range w.ends[state] {
			found(int(word), i+1)
		}
	}
}
