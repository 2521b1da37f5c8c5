package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"sallyport/internal/canon"
	"sallyport/internal/schema"
)

func check(t testing.TB, text, args string) error {
	t.Helper()
	s, err := schema.Compile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	v, err := canon.Parse([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return s.Check(v)
}

func TestCheck(t *testing.T) {
	const order = `{"type":"object","properties":{"qty":{"type":"integer","minimum":1},"sku":{"type":"string","maxLength":3},
		"lines":{"type":"array","items":{"properties":{"price":{"multipleOf":0.01}}}}},"required":["qty"],"additionalProperties":false}`
	for _, c := range []struct{ schema, args, want string }{
		{order, `{"qty":2}`, ""},
		{order, `{"qty":2.0}`, ""},
		{order, `{"qty":2.5}`, "arguments/qty: must be integer (type)"},
		{order, `{"qty":0}`, "arguments/qty: must not be less than 1 (minimum)"},
		{order, `{}`, "arguments/qty: must be there (required)"},
		{order, `{"qty":1,"sku":"grün"}`, "arguments/sku: must have at most 3 characters (maxLength)"},
		{order, `{"qty":1,"sku":"grü"}`, ""},
		{order, `{"qty":1,"a/b~c":1}`, "arguments/a~1b~0c: is not a member that the schema knows (additionalProperties)"},
		{order, `{"qty":1,"lines":[{"price":1.1},{"price":19.99}]}`, ""},
		{order, `{"qty":1,"lines":[{"price":1.1},{"price":19.999}]}`, "arguments/lines/1/price: must be a multiple of 0.01 (multipleOf)"},
		{order, `[]`, "arguments: must be object (type)"},
		{`{"type":["string","null"]}`, `1`, "arguments: must be null or string (type)"},
		{`{"type":["integer","number"]}`, `"1"`, "arguments: must be number (type)"},

		// numbers are exact
		{`{"const":9007199254740993}`, `9007199254740993`, ""},
		{`{"const":9007199254740993}`, `9007199254740992`, "arguments: must be one of the values that the schema lists (const)"},
		{`{"maximum":9007199254740993}`, `9007199254740994`, "arguments: must not be greater than 9007199254740993 (maximum)"},
		{`{"exclusiveMaximum":0.3}`, `0.29999999999999999999999999`, ""},
		{`{"exclusiveMaximum":3e-1}`, `0.30`, "arguments: must be less than 3e-1 (exclusiveMaximum)"},
		{`{"type":"integer"}`, `1e400`, "arguments: is a number that not every reader can take"},
		{`{"type":"number"}`, `-1e400`, "arguments: is a number that not every reader can take"},
		{`{"type":"number"}`, `1e-99999999999999999999`, ""},
		{`{"type":"integer"}`, `1e-99999999999999999999`, "arguments: must be integer (type)"},
		{`{"multipleOf":7}`, `1e300`, "arguments: must be a multiple of 7 (multipleOf)"},
		{`{"multipleOf":1e-300}`, `1e300`, ""},
		{`{"enum":[1,"x",{"b":1,"a":[2.0]}]}`, `{"a":[2],"b":1.0}`, ""},
		{`{"uniqueItems":true}`, `[{"a":1,"b":2},{"b":2.0,"a":1}]`, "arguments: must not have the same element twice (uniqueItems)"},

		// boolean schemas, and those that say little
		{`true`, `{"a":1}`, ""},
		{`false`, `{}`, "arguments: must not be there"},
		{`{}`, `{"a":1}`, ""},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, "arguments/a: must be string (type)"},
		{`{"format":"email","description":7}`, `"no email"`, ""},
		{`{"Type":"string","TYPE":1}`, `1`, ""},

		// older drafts
		{`{"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/x","definitions":{"x":{"type":"object","required":["a"]}}}`, `{}`, "arguments/a: must be there (required)"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","items":[{"type":"string"}],"additionalItems":false}`, `["a",1]`, "arguments/1: must not be there"},
		{`{"$schema":"http://json-schema.org/draft-07/schema","dependencies":{"a":["b"]}}`, `{"a":1}`, "arguments/b: must be there beside a (dependentRequired)"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","minimum":1,"exclusiveMinimum":true}`, `1`, "arguments: must be greater than 1 (exclusiveMinimum)"},
		{`{"$schema":"http://json-schema.org/draft-04/schema#","id":"http://x/","const":1}`, `2`, ""},
		{`{"minimum":1,"exclusiveMinimum":true}`, `1`, "arguments: must be greater than 1 (exclusiveMinimum)"},
		{`{"items":[{"type":"string"}]}`, `[1]`, "arguments/0: must be string (type)"},
		{`{"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,"properties":{"a":{"$recursiveRef":"#"}},"unevaluatedProperties":false}`, `{"a":{"b":1}}`, "arguments/a/b: must not be there"},
		{`{"properties":{"a":{"type":"string","required":true}}}`, `{}`, ""},

		// logic
		{`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `1`, "arguments: matches none of the 2 alternatives (anyOf)"},
		{`{"oneOf":[{"minimum":1},{"minimum":2}]}`, `3`, "arguments: matches 2 of the 2 alternatives, not one (oneOf)"},
		{`{"not":{"required":["a"]}}`, `{"a":1}`, "arguments: must not be what the schema excludes (not)"},
		{`{"contains":{"const":1},"maxContains":1}`, `[1,1]`, "arguments: must have at most 1 elements of the kind that the schema counts (maxContains)"},

		// patterns as JavaScript has them
		{`{"pattern":"^\\u00e4\\/\\d$"}`, `"ä/1"`, ""},
		{`{"pattern":"^\\u00e4\\/\\d$"}`, `"a/1"`, "arguments: must match the pattern that the schema has for it (pattern)"},
		{`{"pattern":"^\\ud83d\\ude00.$"}`, "\"😀\u2028\"", "arguments: must match the pattern that the schema has for it (pattern)"},
		{`{"pattern":"^\\s$"}`, "\"\u00a0\"", ""},
		{`{"pattern":"^[\\s\\S]+[[]$"}`, `"a[" `, ""},
	} {
		got := ""
		if err := check(t, c.schema, c.args); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%s against %s: got %q, want %q", c.args, c.schema, got, c.want)
		}
	}
}

func TestAbsentArgumentsAreAnEmptyObject(t *testing.T) {
	s, err := schema.Compile([]byte(`{"type":"object","required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(canon.Value{}); err == nil || err.Error() != "arguments/a: must be there (required)" {
		t.Errorf("got %v", err)
	}
}

// TestZeroSchemaRefuses: nothing is allowed by what was never compiled.
func TestZeroSchemaRefuses(t *testing.T) {
	var none *schema.Schema
	if none.Check(canon.Value{}) == nil || new(schema.Schema).Check(canon.Value{}) == nil {
		t.Error("a schema that was not compiled allows something")
	}
}

// TestErrorsDoNotQuoteValues: what an agent sent may be a secret, and what a server wrote may be an attack on a terminal.
func TestErrorsDoNotQuoteValues(t *testing.T) {
	for _, text := range []string{
		`{"type":"integer"}`, `{"enum":[1]}`, `{"const":"x"}`, `{"maxLength":2}`, `{"pattern":"^x$"}`, `{"anyOf":[{"type":"null"}]}`,
		`{"oneOf":[{"type":"null"}]}`, `{"not":{}}`, `false`, `{"$ref":"#/$defs/a","$defs":{"a":{"type":"null"}}}`,
	} {
		if err := check(t, text, `"s3cret-value"`); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", text, err)
		}
	}
	err := check(t, `{"additionalProperties":false}`, `{"\u001b[2J`+strings.Repeat("k", 1000)+`":1}`)
	if err == nil || strings.ContainsRune(err.Error(), 0x1b) || len(err.Error()) > 300 {
		t.Errorf("got %q", err)
	}
	err = check(t, `{"required":["\u202etxt.exe`+strings.Repeat("k", 1000)+`"]}`, `{}`)
	if err == nil || strings.ContainsRune(err.Error(), 0x202e) || len(err.Error()) > 300 {
		t.Errorf("got %q", err)
	}
}

func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	many := func(n int, each string) string { return strings.TrimSuffix(strings.Repeat(each+",", n), ",") }
	for _, c := range []struct{ schema, want string }{
		{`null`, "the schema: must be an object or a boolean, not null"},
		{`[]`, "the schema: must be an object or a boolean, not array"},
		{``, "the schema: unexpected end at byte 0"},
		{`{"type":"string","type":"object"}`, `the schema: duplicate key "type" at byte 17`},
		{`{"type":"any"}`, "the schema: type must be one of the seven types or a list of them"},
		{`{"properties":{"a":{"type":[]}}}`, "the schema at /properties/a: type must be one of the seven types or a list of them"},
		{`{"properties":{"a":null}}`, "the schema at /properties/a: must be an object or a boolean, not null"},
		{`{"$schema":"http://example.com/mine"}`, "the schema: $schema is none that is known: JSON Schema 2020-12, 2019-09, draft-07, draft-06 and draft-04 are"},
		{`{"$schema":"http://json-schema.org/draft-03/schema#"}`, "the schema: $schema is none that is known: JSON Schema 2020-12, 2019-09, draft-07, draft-06 and draft-04 are"},
		{`{"$schema":7}`, "the schema: $schema is none that is known: JSON Schema 2020-12, 2019-09, draft-07, draft-06 and draft-04 are"},
		{`{"$ref":"http://example.com/x"}`, "the schema: a reference to a schema elsewhere: nothing is fetched"},
		{`{"$ref":"file:///etc/passwd"}`, "the schema: a reference to a schema elsewhere: nothing is fetched"},
		{`{"$ref":"other.json#/x"}`, "the schema: a reference to a schema elsewhere: nothing is fetched"},
		{`{"$ref":"https://json-schema.org/draft/2020-12/schema"}`, "the schema: a reference to a schema elsewhere: nothing is fetched"},
		{`{"$ref":"#/nowhere"}`, "the schema: a reference to nothing"},
		{`{"$ref":"#nobody"}`, "the schema: a reference to nothing"},
		{`{"$ref":7}`, "the schema: $ref must be a reference"},
		{`{"$ref":"#"}`, "the schema refers to itself without an end"},
		{`{"allOf":[{"anyOf":[{"not":{"$ref":"#"}}]}]}`, "the schema refers to itself without an end"},
		{`{"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"$ref":"#/$defs/a"}}}`, "the schema refers to itself without an end"},
		{`{"minLength":-1}`, "the schema: minLength must be a count"},
		{`{"minLength":1.5}`, "the schema: minLength must be a count"},
		{`{"multipleOf":0}`, "the schema: multipleOf must be a number that can be counted in"},
		{`{"minimum":"1"}`, "the schema: minimum must be a number"},
		{`{"anyOf":{}}`, "the schema: anyOf must be a list of schemas"},
		{`{"required":"a"}`, "the schema: required must be a list of names"},
		{`{"$defs":{"a":{"$id":"x"},"b":{"$id":"x"}}}`, "the schema at /$defs/b: another schema has the same $id"},
		{nested(`{"not":`, `{}`, `}`, schema.MaxDepth+1), "schemas, 64 within each other"},
		{`{"allOf":[` + many(schema.MaxSchemas, "true") + `]}`, "the schema has more than may be checked: 10000 schemas"},
		{`{"description":"` + strings.Repeat("x", schema.MaxText) + `"}`, "the schema is larger than 1024 KiB"},
		{"{\"$defs\":{\"\\u001b[2J\":{\"type\":7}}}", `the schema at /$defs/\x1b[2J: type must be`},
	} {
		_, err := schema.Compile([]byte(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) || len(err.Error()) > 400 {
			t.Errorf("%.80s: got %v, want %q", c.schema, err, c.want)
		}
	}
}

// TestPatternsThatCannotRun: they are left to the upstream, and so is every answer that depends on them.
func TestPatternsThatCannotRun(t *testing.T) {
	const ahead = `{"type":"string","pattern":"^(?=.*\\d).{8,}$"}`
	for _, c := range []struct {
		schema, args string
		ok           bool
	}{
		{ahead, `"short"`, true},
		{ahead, `1`, false},
		{`{"not":` + ahead + `}`, `"short"`, true},
		{`{"oneOf":[` + ahead + `,{"type":"string"}]}`, `"short"`, true},
		{`{"oneOf":[{"type":"null"},{"type":"number"}]}`, `"short"`, false},
		{`{"if":` + ahead + `,"then":{"maxLength":1}}`, `"short"`, true},
		{`{"if":` + ahead + `,"then":{"maxLength":1}}`, `1`, true},
		{`{"patternProperties":{"(?!x)":{"type":"string"}},"additionalProperties":false}`, `{"a":1}`, true},
		{`{"contains":` + ahead + `,"maxContains":1}`, `["a","b"]`, true},
		{`{"pattern":"(a)\\1"}`, `"b"`, true},
		{`{"pattern":"[]"}`, `"b"`, true},
		{`{"pattern":"^((a{90}){90}){9}$"}`, `"b"`, true},
	} {
		s, err := schema.Compile([]byte(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		v, err := canon.Parse([]byte(c.args))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Check(v); (err == nil) != c.ok {
			t.Errorf("%s against %s: %v", c.args, c.schema, err)
		}
		if strings.Contains(c.schema, "attern") && len(s.Notes()) != 1 {
			t.Errorf("%s: notes %q", c.schema, s.Notes())
		}
	}
	s, err := schema.Compile([]byte(`{"properties":{"pass":` + ahead + `}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := "pattern at /properties/pass is left to the upstream to check: look-arounds, back references and the like are not supported"
	if got := s.Notes(); len(got) != 1 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// mostTime is far more than the bounds allow, also with the race detector on a machine that does other things besides.
const mostTime = 2 * time.Minute

// TestHostileSchemas holds schemas that would take for ever, or all memory, against values that are meant for them.
func TestHostileSchemas(t *testing.T) {
	numbers := make([]string, 100_000)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	wide := make([]string, 50_000)
	for i := range wide {
		wide[i] = fmt.Sprintf("%q:{}", fmt.Sprint("k", i))
	}
	chain := []string{}
	for i := range 60 {
		chain = append(chain, fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]}`, i, i+1, i+1))
	}
	const tooMuch = "takes more work than is allowed"
	for name, c := range map[string]struct{ schema, args, want string }{
		"alternatives within alternatives": {
			`{"anyOf":[{"properties":{"x":{"$ref":"#"}},"required":["y"]},{"properties":{"x":{"$ref":"#"}},"required":["y"]}]}`,
			nested(`{"x":`, `1`, `}`, 120), tooMuch,
		},
		"a hidden chain":           {`{"not":{"not":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(chain, ",") + `,"d60":false}}`, `1`, tooMuch},
		"not hides nothing":        {`{"not":{"$ref":"#/$defs/d0"},"$defs":{` + strings.Join(chain, ",") + `,"d60":false}}`, `1`, tooMuch},
		"many unique elements":     {`{"uniqueItems":true}`, "[" + strings.Join(numbers, ",") + "]", ""},
		"an expression and a wall": {`{"pattern":"^(([a-z]{1,30}){1,30})+[0-9]$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, tooMuch},
		"a short expression":       {`{"pattern":"^[a-z]*$"}`, `"` + strings.Repeat("a", 1<<20) + `"`, ""},
		"names that all expressions see": {
			`{"patternProperties":{"(a|b|c|d|e|f|g){1,100}x":{},"(a|b|c|d|e|f|g){1,100}y":{}}}`,
			"{" + strings.Join(wide, ",") + "}", tooMuch,
		},
		"a number of a million digits": {`{"multipleOf":3}`, "0." + strings.Repeat("7", 1<<20), "not every reader can take"},
		"a far exponent":               {`{"multipleOf":3}`, "1e308", "must be a multiple of 3"},
		"many required":                {`{"required":[` + strings.Repeat(`"a",`, 100_000) + `"b"]}`, `{"a":1}`, "arguments/b"},
		"unevaluated with many branches": {
			`{"allOf":[` + strings.Repeat(`{"unevaluatedProperties":true},`, 4_000) + `true],"unevaluatedProperties":false}`,
			"{" + strings.Join(wide[:5000], ",") + "}", tooMuch,
		},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			err := check(t, c.schema, c.args)
			if took := time.Since(start); took > mostTime {
				t.Errorf("it took %v", took)
			} else {
				t.Log(took, err)
			}
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// TestHostileSchemaTexts compiles what is as large as a schema may be, in the forms that cost most.
func TestHostileSchemaTexts(t *testing.T) {
	deep := nested(`{"properties":{"`+strings.Repeat("k", 10_000)+`":`, `{}`, `}}`, 60)
	keywords := make([]string, 60_000)
	for i := range keywords {
		keywords[i] = fmt.Sprintf("%q:1", fmt.Sprint("x", i))
	}
	refs := make([]string, 9_000)
	for i := range refs {
		refs[i] = fmt.Sprintf(`{"$ref":"#/x/%d"}`, i)
	}
	for name, text := range map[string]string{
		"deep":           deep,
		"many keywords":  "{" + strings.Join(keywords, ",") + "}",
		"many elsewhere": `{"x":[` + strings.TrimSuffix(strings.Repeat("{},", 9_000), ",") + `],"allOf":[` + strings.Join(refs, ",") + `]}`,
		"expressions":    `{"patternProperties":{` + strings.Join(expressions(5_000), ",") + `}}`,
		"repeated":       `{"pattern":"` + nested("(", "a{9}", "{9})", 300) + `"}`,
		"classes":        `{"pattern":"` + strings.Repeat(`[\\p{L}\\p{M}]`, 300) + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := schema.Compile([]byte(text))
			if took := time.Since(start); took > mostTime {
				t.Errorf("it took %v", took)
			} else {
				t.Log(len(text), took, err)
			}
		})
	}
}

func expressions(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`"^(a|b){1,90}%d$":{}`, i)
	}
	return all
}

// FuzzCheck holds that nothing a stranger writes panics, and that for plain schemas another validator says the same.
func FuzzCheck(f *testing.F) {
	for _, seed := range [][2]string{
		{`{"type":"object","properties":{"a":{"type":["string","null"]}},"required":["a"]}`, `{"a":null}`},
		{`{"items":{"type":"integer","minimum":2,"maximum":9},"uniqueItems":true}`, `[2,3,2.0]`},
		{`{"anyOf":[{"const":1},{"enum":["x",null]}],"not":{"type":"boolean"}}`, `1`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"minLength":2,"pattern":"^a+$"}}}`, `"aa"`},
		{`{"if":{"required":["a"]},"then":{"required":["b"]},"unevaluatedProperties":false}`, `{"a":1}`},
		{`{"$ref":"#"}`, `1`},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, text, args string) {
		s, err := schema.Compile([]byte(text))
		if err != nil {
			return
		}
		v, err := canon.Parse([]byte(args))
		if err != nil {
			return
		}
		got := s.Check(v)
		if again := s.Check(v); (got == nil) != (again == nil) {
			t.Fatalf("two answers: %v and %v", got, again)
		}
		if want, ok := oracle(text, args); ok && len(s.Notes()) == 0 && (got == nil) != want {
			t.Errorf("%s against %s: got %v, another validator says %t", args, text, got, want)
		}
	})
}

var keywords = []string{
	"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern",
	"prefixItems", "items", "additionalItems", "minItems", "maxItems", "uniqueItems", "unevaluatedItems", "minProperties",
	"maxProperties", "required", "dependentRequired", "dependentSchemas", "properties", "patternProperties",
	"additionalProperties", "propertyNames", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "not", "if", "then", "else",
}

// oracle asks another validator about schemas in which it knows the same keywords and gets numbers right.
func oracle(text, args string) (valid, ok bool) {
	for _, word := range []string{"$", "multipleOf", "ontains", "e", "E", "."} {
		switch word {
		case "e", "E", ".":
			if strings.ContainsAny(args, "\\") || strings.ContainsAny(numbersOf(args)+numbersOf(text), word) {
				return false, false
			}
		default:
			if strings.Contains(text, word) {
				return false, false
			}
		}
	}
	if strings.Contains(text, `\`) || strings.Contains(text, "required\":t") || strings.Contains(text, "required\":f") || strings.Contains(text, "dependencies") {
		return false, false
	}
	if strings.ContainsFunc(text, func(r rune) bool { return r >= 0x80 }) {
		return false, false
	}
	for _, key := range keywords { // which it takes in any case
		if strings.Count(strings.ToLower(text), strings.ToLower(key)) != strings.Count(text, key) {
			return false, false
		}
	}
	var s jsonschema.Schema
	if json.Unmarshal([]byte(text), &s) != nil {
		return false, false
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return false, false
	}
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		return false, false
	}
	return resolved.Validate(v) == nil, true
}

// numbersOf returns a text without its strings and words.
func numbersOf(text string) string {
	var out strings.Builder
	quoted := false
	for _, r := range text {
		switch {
		case r == '"':
			quoted = !quoted
		case !quoted && !strings.ContainsRune("truefalsn", r):
			out.WriteRune(r)
		}
	}
	return out.String()
}

func BenchmarkCheck(b *testing.B) {
	s, err := schema.Compile([]byte(`{"type":"object","properties":{"path":{"type":"string"},"head":{"type":"integer","minimum":0}},"required":["path"],"additionalProperties":false,"$schema":"http://json-schema.org/draft-07/schema#"}`))
	if err != nil {
		b.Fatal(err)
	}
	v, err := canon.Parse([]byte(`{"path":"/home/me/project/README.md","head":20}`))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := s.Check(v); err != nil {
			b.Fatal(err)
		}
	}
}
