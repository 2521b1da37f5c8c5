package canon

import "testing"

func TestPlacesAreThoseThatPeopleCount(t *testing.T) {
	text := []byte("{\"é\": 1,\n \"b\": [\"x\", 22]}")
	v, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		offset, line, column int
	}{
		{v.OffsetIn(text), 1, 1},
		{v.Get("é").OffsetIn(text), 1, 7},
		{v.Get("b").OffsetIn(text), 2, 7},
		{Value{}.OffsetIn(text), 1, 1},
		{-1, 1, 1},
		{len(text), 2, 17},
		{len(text) + 9, 2, 17},
	} {
		if line, column := Place(text, test.offset); line != test.line || column != test.column {
			t.Errorf("Place(%d) = %d:%d, want %d:%d", test.offset, line, column, test.line, test.column)
		}
	}
}
