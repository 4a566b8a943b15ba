package erase

import (
	"bytes"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mailer/app"
)

// ScrubJSON scrubs the strings in a JSON text: all of them, or those in the given members of the
// object that the text is. A string that is one address, with or without a display name, becomes
// Erased. In an object whose member `email` became Erased, the following names become null. The
// order of members is kept. Text without addresses is returned unchanged.
func (e *Set) ScrubJSON(text string, members ...string) string {
	if !strings.ContainsAny(text, `@%\`) {
		return text
	}
	var out bytes.Buffer
	dec, enc := jsontext.NewDecoder(strings.NewReader(text)), jsontext.NewEncoder(&out)
	s := jsonScrubber{set: e, members: members}
	for {
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		if err := enc.WriteToken(s.scrub(dec, token)); err != nil {
			return e.Scrub(text)
		}
	}
	if dec.StackDepth() > 0 || dec.InputOffset() < int64(len(strings.TrimRight(text, " \t\r\n"))) {
		return e.Scrub(text) // it ended early
	}
	if !s.changed {
		return text
	}
	return strings.TrimSpace(out.String())
}

// jsonScrubber is the state of ScrubJSON in a text.
type jsonScrubber struct {
	set     *Set
	members []string
	names   []string // of the current member, by depth
	erased  []bool   // the object's email became Erased, by depth
	changed bool
}

// scrub returns the token to write for one that was read.
func (s *jsonScrubber) scrub(dec *jsontext.Decoder, token jsontext.Token) jsontext.Token {
	depth := dec.StackDepth()
	for len(s.names) <= depth {
		s.names, s.erased = append(s.names, ""), append(s.erased, false)
	}
	switch kind := token.Kind(); kind {
	case '{', '[':
		s.names[depth], s.erased[depth] = "", false
		return token
	case '"':
	default:
		return token
	}
	text := token.String()
	parent, length := dec.StackIndex(depth)
	if parent == '{' && length%2 == 1 {
		s.names[depth] = text
		return token
	}
	name := s.names[depth]
	if s.erased[depth] && (name == "first_name" || name == "last_name") {
		return jsontext.Null
	}
	if len(s.members) > 0 && (depth == 0 || !slices.Contains(s.members, s.names[1])) {
		return token
	}
	clean := s.set.Scrub(text)
	if clean == text {
		return token
	}
	if a, err := app.ParseAddress(text); err == nil && s.set.Has(a.Mailbox()) {
		clean = app.Erased // with its display name
	}
	s.changed, s.erased[depth] = true, s.erased[depth] || name == "email"
	return jsontext.String(clean)
}

// InJSON reports whether ScrubJSON would change the text.
func (e *Set) InJSON(text string) bool { return e.ScrubJSON(text) != text }

// ScrubList replaces the addresses of the set in a list of app.Address in JSON by app.Erased, with
// their display names.
func (e *Set) ScrubList(text string) string {
	var list []app.Address
	if !e.mayList(text) || json.Unmarshal([]byte(text), &list) != nil {
		return text
	}
	changed := false
	for i, a := range list {
		if e.has(a.Local, a.Domain) {
			list[i] = app.Address{Local: app.Erased}
		} else {
			list[i].Name = e.Scrub(a.Name)
		}
		changed = changed || list[i] != a
	}
	if !changed {
		return text
	}
	clean, err := json.Marshal(list)
	if err != nil {
		return text
	}
	return string(clean)
}

// mayList is a quick test before decoding a list, whose domains are in A-labels. Only a display name
// has an @.
func (e *Set) mayList(text string) bool {
	const few = 16
	if len(e.domains) > few || strings.ContainsAny(text, `@%\`) {
		return text != ""
	}
	for domain := range e.domains {
		if strings.Contains(text, domain) {
			return true
		}
	}
	return false
}
