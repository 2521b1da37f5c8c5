package policy

import (
	"fmt"
	"slices"
	"strings"

	"sallyport/internal/canon"
	"sallyport/internal/effects"
)

// toolCall is the method of which a rule speaks that names none.
const toolCall = "tools/call"

// GovernedMethods are the methods, beside tools/call, of which it is known that rules can speak: requests of clients, and
// those by which servers ask clients for something. Rules can name others.
func GovernedMethods() []string {
	return []string{
		"completion/complete", "elicitation/create", "logging/setLevel", "prompts/get", "resources/read", "resources/subscribe",
		"resources/unsubscribe", "roots/list", "sampling/createMessage", "subscriptions/listen",
		"tasks/cancel", "tasks/get", "tasks/list", "tasks/result", "tasks/update",
	}
}

// isToolCall reports whether a method is a call of a tool: what a hook's host is about to do is one too.
func isToolCall(method string) bool {
	return method == toolCall || method == "" || strings.HasPrefix(method, "hook/")
}

// speaksOfMethod reports whether a rule speaks of requests of a method. A rule without methods speaks of calls of tools. If
// it denies or asks, and does not say of which tools, it speaks of all methods: of who asks, or of what is done, whatever
// the way.
func (r *rule) speaksOfMethod(method string) bool {
	switch {
	case isToolCall(method):
		return r.methods == nil || matchesAny(r.methods, toolCall) || matchesAny(r.methods, method)
	case r.methods != nil:
		return matchesAny(r.methods, method)
	default:
		return r.decision != Allow && !r.namesTools()
	}
}

// namesTools reports whether a rule is one for some tools.
func (r *rule) namesTools() bool {
	return r.tools != nil && !slices.ContainsFunc(r.tools, func(g glob) bool { return g.text == "*" })
}

// deniesAll reports whether a rule that may be one for who, or for nil, anybody, denies each of their requests of a method,
// whatever it does. Of calls it is for the caller to look at the rule's tools.
func (r *rule) deniesAll(who *Who, method string) bool {
	return r.decision == Deny && r.speaksOfMethod(method) && (r.blanket() || who != nil && r.blanketButFor())
}

// mayBeBy reports whether the rule speaks of what who does; of nil, anybody, each rule may speak.
func (r *rule) mayBeBy(who *Who) bool {
	return who == nil || matchesAny(r.principals, who.Principal) && matchesAny(r.tenants, who.Tenant)
}

// methodVisible: a method is hidden if a rule denies all of it, or if the default denies it and no rule could lift that.
func (v *version2) methodVisible(who *Who, method string) bool {
	if isToolCall(method) {
		return true
	}
	lifted := v.fallback(false) != Deny
	for i := range v.rules {
		r := &v.rules[i]
		switch {
		case r.observe || !r.mayBeBy(who):
		case r.deniesAll(who, method):
			return false
		case r.lifts && r.decision != Deny && r.methods != nil && r.speaksOfMethod(method):
			lifted = true
		}
	}
	return lifted
}

// methodVisible of version 1, which speaks of tools only.
func (r *version1) methodVisible(_ *Who, method string) bool { return isToolCall(method) }

// MethodVisible reports whether a request of a method could be allowed with some params. Of tools/call it is always true:
// see Visible.
func (p *Policy) MethodVisible(method string) bool {
	return p != nil && p.rules != nil && p.rules.methodVisible(nil, method)
}

// MethodVisibleTo is MethodVisible for requests of one who asks.
func (p *Policy) MethodVisibleTo(who Who, method string) bool {
	return p != nil && p.rules != nil && p.rules.methodVisible(&who, method)
}

// RequestName returns what a request of a method other than tools/call asks for, by which it is judged and recorded: a
// resource's URI, a prompt's name, or "".
func RequestName(method string, params canon.Value) string {
	key := "name"
	switch {
	case strings.HasPrefix(method, "resources/"):
		key = "uri"
	case method != "prompts/get":
		return ""
	}
	name, _ := params.Get(key).Text()
	return name
}

// MethodEffects returns what a request of a method other than tools/call would do, as far as its params say it: a resource
// that is a file is read. A rule about reading files then judges that as it judges the calls of tools.
func MethodEffects(method string, params canon.Value, w *effects.World) []effects.Effect {
	if method != "resources/read" && method != "resources/subscribe" {
		return nil
	}
	uri, ok := params.Get("uri").Text()
	if !ok {
		return nil
	}
	uri = asURLParsersReadIt(uri)
	scheme, _, found := strings.Cut(uri, ":")
	switch {
	case found && strings.EqualFold(scheme, "file"), strings.HasPrefix(strings.ToLower(scheme), "vscode"):
	case found && isScheme(scheme):
		return nil
	}
	path, err := canon.Parse(append(canon.AppendString([]byte(`{"uri":`), filePath(uri)), '}'))
	if err != nil || strings.ContainsRune(uri, 0) || strings.Contains(uri, "%00") { // some cut a path there, and some do not
		return []effects.Effect{{Kind: effects.Read, By: -1, Opaque: "the resource's URI"}}
	}
	return effects.Of(method, path, &effects.Declaration{Reads: []string{"uri"}}, w)
}

// asURLParsersReadIt takes away what the URL parsers of the web do not see: white space and control characters around a
// URL, and line breaks and tabs anywhere in it.
func asURLParsersReadIt(uri string) string {
	uri = strings.TrimFunc(uri, func(r rune) bool { return r <= ' ' })
	return strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(uri)
}

// filePath gives "file:x", which some take for a path, the form in which it is read as one.
func filePath(uri string) string {
	if rest := uri[min(len(uri), len("file:")):]; strings.EqualFold(uri[:len(uri)-len(rest)], "file:") && !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) {
		return rest
	}
	return uri
}

// isScheme reports whether a text can be the scheme of a URI (RFC 3986, 3.1), rather than the letter of a drive.
func isScheme(text string) bool {
	for i, r := range text {
		letter := 'a' <= r|0x20 && r|0x20 <= 'z'
		if !letter && (i == 0 || !('0' <= r && r <= '9') && !strings.ContainsRune("+-.", r)) {
			return false
		}
	}
	return len(text) > 1
}

// methods reads the list of methods of which a rule speaks.
func (d document) methods(v canon.Value) ([]glob, error) {
	return d.globs("methods", "method", v)
}

// methodFault says what is wrong with the methods of a rule that names tools, or says how calls of them are verified, or "".
func (r *rule) methodFault() (key, msg, hint string) {
	for _, g := range r.methods {
		switch {
		case g.text == toolCall || strings.HasPrefix(g.text, "hook/"):
		case r.terms.Verify != nil:
			return "verify", fmt.Sprintf(`"verify" is for calls of tools, and the rule speaks of method %q`, g.text), "for calls of tools write a rule of its own"
		case r.tools != nil:
			return "tools", fmt.Sprintf(`"tools" is for calls of tools, and the rule speaks of method %q`, g.text),
				`name what a method is asked for under "args": {"uri": {"matches": "file:.*"}} or {"name": {"equals": "review"}}; for calls of tools write a rule of its own`
		}
	}
	return "", "", ""
}
