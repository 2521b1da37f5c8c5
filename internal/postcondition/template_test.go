package postcondition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"sallyport/internal/canon"
)

func sample(t testing.TB) Values {
	return Values{
		"args":   read(t, `{"path":"/w/a b","n":1.50,"big":12345678901234567890,"yes":true,"null":null,"l":["x",{"y":"z"}],"o":{"k":[1]},"a-b":"dash","evil":"${args.path}","quote":"\",\"x\":\"","long":"`+strings.Repeat("x", 1<<20)+`"}`),
		"run":    read(t, `{"id":"r1"}`),
		"steps":  read(t, `{"write-it":{"result":{"id":7}}}`),
		"result": {},
	}
}

var sampleNames = []string{"args", "run", "steps", "result"}

func TestTemplates(t *testing.T) {
	for _, tc := range []struct{ template, want string }{
		{`{"path":"${args.path}"}`, `{"path":"/w/a b"}`},
		{`{"a":"${args.n}","b":"${args.big}","c":"${args.yes}","d":"${args.null}"}`, `{"a":1.50,"b":12345678901234567890,"c":true,"d":null}`},
		{`["${args.l}","${args.o}","${run}"]`, `[["x",{"y":"z"}],{"k":[1]},{"id":"r1"}]`},
		{`"${args.l.1.y}-${args.l.0}"`, `"z-x"`},
		{`"n=${args.n} b=${args.big} y=${args.yes}!"`, `"n=1.50 b=12345678901234567890 y=true!"`},
		{`"req-${run.id}/${steps.write-it.result.id}"`, `"req-r1/7"`},
		{`"${args.a-b}"`, `"dash"`},
		{`{"plain":[1,2.0,true,null,"x",{},[]]}`, `{"plain":[1,2.0,true,null,"x",{},[]]}`},
		{`"$${args.path} costs $5 and $$ $"`, `"${args.path} costs $5 and $$ $"`},
		{`"$$${run.id}"`, `"$${run.id}"`},
		{`"$ {run.id} }"`, `"$ {run.id} }"`},
		{`{"$${k}":"${run.id}","é":"\u00e9"}`, `{"${k}":"r1","é":"é"}`},
		{`"${args.evil}"`, `"${args.path}"`}, // a value is no template
		{`"<${args.evil}>"`, `"<${args.path}>"`},
		{`{"a":"${args.quote}","b":"<${args.quote}>"}`, `{"a":"\",\"x\":\"","b":"<\",\"x\":\">"}`},
		{`"<${args.l}>"`, "${args.l} within a text must be a string, a number or a boolean, and is array"},
		{`"<${args.null}>"`, "${args.null} within a text must be a string, a number or a boolean, and is null"},
		{`"${args.gone}"`, "${args.gone} stands for nothing"},
		{`"<${args.gone}>"`, "${args.gone} stands for nothing"},
		{`"${args.path.x}"`, "${args.path.x} stands for nothing"},
		{`"${args.l.2}"`, "${args.l.2} stands for nothing"},
		{`"${args.l.-1}"`, "${args.l.-1} stands for nothing"},
		{`"${args.l.01}"`, "${args.l.01} stands for nothing"},
		{`"${result}"`, "${result} stands for nothing"},
		{`"${steps.other.result}"`, "${steps.other.result} stands for nothing"},
		{`[` + strings.Repeat(`"${args.long}",`, 16) + `1]`, errTooLong.Error()},
		{`"` + strings.Repeat(`<${args.long}>`, 16) + `"`, errTooLong.Error()},
	} {
		template, err := ParseTemplate(read(t, tc.template), sampleNames)
		if err != nil {
			t.Errorf("%s: %v", tc.template, err)
			continue
		}
		v, err := template.Expand(sample(t))
		got := string(v.Bytes())
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%.60s: got %.90s, want %s", tc.template, got, tc.want)
		}
	}
}

func TestTemplateFaults(t *testing.T) {
	const form = "a reference is a name and members with points between them, such as ${args.path} or ${args.files.0}"
	for _, tc := range []struct{ template, at, want, hint string }{
		{`{"a":["${arg.path}"]}`, `"${arg.path}"`, `unknown name "arg" in "${arg.path}"`, `did you mean "args"?`},
		{`"${nothing.like}"`, `"${nothing.like}"`, `unknown name "nothing" in "${nothing.like}"`, `known here: args, run, steps, result`},
		{`{"a":"${args.path"}`, `"${args.path"`, `"${" without a "}" behind it`, `"$${" is a literal "${"`},
		{`"${}"`, `"${}"`, `"${}" is no reference`, form},
		{`"${args.}"`, `"${args.}"`, `"${args.}" is no reference`, form},
		{`"${args..x}"`, `"${args..x}"`, `"${args..x}" is no reference`, form},
		{`"${ args }"`, `"${ args }"`, `"${ args }" is no reference`, form},
		{`"${args[0]}"`, `"${args[0]}"`, `"${args[0]}" is no reference`, form},
		{`"${args.${run.id}}"`, `"${args.${run.id}}"`, `"${args.${run.id}" is no reference`, form},
		{`{"${args.path}":1}`, `1`, "a key cannot have references in it", ""},
		{`{"x${":1}`, `1`, `"${" without a "}" behind it`, `"$${" is a literal "${"`},
		{`1e999`, `1e999`, "the template cannot be read", ""},
	} {
		_, err := ParseTemplate(read(t, tc.template), sampleNames)
		fault, ok := errors.AsType[*Fault](err)
		if !ok {
			t.Errorf("%s: got %v", tc.template, err)
			continue
		}
		if string(fault.At.Bytes()) != tc.at || !strings.HasPrefix(fault.Msg, tc.want) || fault.Hint != tc.hint {
			t.Errorf("%s: got %s: %s (%s)", tc.template, fault.At.Bytes(), fault.Msg, fault.Hint)
		}
	}
	if _, err := ParseTemplate(canon.Value{}, nil); err == nil {
		t.Error("nothing at all is a template")
	}
}

func TestTemplateSaysWhatItRefersTo(t *testing.T) {
	template, err := ParseTemplate(read(t, `{"b":"${steps.b.result.x} ${args.path}", "a" : ["${run}","$${result}","${args.n}"]}`), sampleNames)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"args", "run", "steps"}, template.Names()); diff != "" {
		t.Errorf("names (-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"steps", "b", "result", "x"}, {"args", "path"}, {"run"}, {"args", "n"}}, template.References()); diff != "" {
		t.Errorf("references (-want +got)\n%s", diff)
	}
	const want = `before {"a":["${run}","$${result}","${args.n}"],"b":"${steps.b.result.x} ${args.path}"}`
	if got := string(template.AppendCanonical([]byte("before "))); got != want {
		t.Errorf("canonical: got %s, want %s", got, want)
	}
}

// TestExpandMakesAValueOfItsOwn: two expansions share nothing, and a template of nothing expands to nothing that passes.
func TestExpandMakesAValueOfItsOwn(t *testing.T) {
	template, err := ParseTemplate(read(t, `{"a":"${args.path}"}`), sampleNames)
	if err != nil {
		t.Fatal(err)
	}
	first, _ := template.Expand(Values{"args": read(t, `{"path":"1"}`)})
	second, _ := template.Expand(Values{"args": read(t, `{"path":"2"}`)})
	if string(first.Bytes()) != `{"a":"1"}` || string(second.Bytes()) != `{"a":"2"}` {
		t.Errorf("got %s and %s", first.Bytes(), second.Bytes())
	}
	if v, err := new(Template).Expand(nil); err == nil {
		t.Errorf("a template of nothing expands to %s", v.Bytes())
	}
	twice, err := canon.Skim([]byte(`{"a":1,"a":2}`))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := ParseTemplate(read(t, `"${args}"`), sampleNames)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := whole.Expand(Values{"args": twice}); err == nil {
		t.Errorf("what can be read in two ways expands to %s", v.Bytes())
	}
}

// FuzzTemplate holds templates to their promises: what is parsed expands to JSON that can be read in one way or says why not,
// a template without references expands to itself, and a value that is put into a text is there as it is.
func FuzzTemplate(f *testing.F) {
	for _, template := range []string{`{"path":"${args.path}"}`, `"a ${run.id} $${x} $$${args.n}"`, `["${args.l.0}",{"$":"$"}]`, `{"\u0024{a}":"\u0024{args}"}`, `"${"`} {
		f.Add([]byte(template), "value")
	}
	f.Fuzz(func(t *testing.T, text []byte, value string) {
		v, err := canon.Parse(text)
		if err != nil {
			return
		}
		template, err := ParseTemplate(v, sampleNames)
		if err != nil {
			if fault, ok := errors.AsType[*Fault](err); !ok || fault.Msg == "" {
				t.Fatalf("%s: got %#v", text, err)
			}
			return
		}
		canonical, err := v.AppendCanonical(nil)
		if err != nil || string(template.AppendCanonical(nil)) != string(canonical) {
			t.Errorf("%s: canonical is %s, want %s", text, template.AppendCanonical(nil), canonical)
		}
		value = strings.ToValidUTF8(value, "?")
		quoted := canon.AppendString(nil, value)
		args, err := canon.Parse([]byte(`{"path":` + string(quoted) + `,"n":1}`))
		if err != nil {
			t.Fatal(err)
		}
		out, err := template.Expand(Values{"args": args, "run": args})
		if err != nil {
			if len(template.Names()) == 0 {
				t.Errorf("%s: %v", text, err)
			}
			return
		}
		if !strings.Contains(string(text), "$") && !strings.Contains(string(text), `\u`) {
			if got, err := out.AppendCanonical(nil); err != nil || string(got) != string(canonical) {
				t.Errorf("%s: expands to %s, %v", text, got, err)
			}
		}
		inside, err := ParseTemplate(canonString(t, "<${args.path}>"), sampleNames)
		if err != nil {
			t.Fatal(err)
		}
		out, err = inside.Expand(Values{"args": args})
		if got, _ := out.Text(); err != nil || got != "<"+value+">" {
			t.Errorf("%q: got %q, %v", value, got, err)
		}
	})
}

func canonString(t testing.TB, text string) canon.Value {
	return read(t, string(canon.AppendString(nil, text)))
}
