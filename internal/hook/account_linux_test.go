package hook

import "testing"

// TestHomeInTheUserDatabase reads lines as they are found in the wild.
func TestHomeInTheUserDatabase(t *testing.T) {
	passwd := []byte("# users\nroot:x:0:0:root:/root:/bin/bash\nshort:x:7\n\nann:x:1000:1000:Ann,,,:/home/ann/:/bin/zsh\nann2:x:1000:1000::/home/other:\nrel:x:8:8::home:/bin/sh\nlast:x:9:9::/home/last")
	for uid, want := range map[int]string{0: "/root", 1000: "/home/ann", 7: "", 8: "", 9: "/home/last", 5: ""} {
		if got := homeIn(passwd, uid); got != want {
			t.Errorf("user %d: got %q, want %q", uid, got, want)
		}
	}
}
